"""The five documents have an answer for each row, and the page says what the list says."""

import importlib.util
import shlex
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from ackclock.cli import cli
from ackclock.reproduction import experiments
from ackclock.scenario import load
from ackclock_papers.seeds import DOCUMENTS, Document, Row, Sentence, page

ROOT = Path(__file__).parents[2]

ROWS = [(document, row) for document in DOCUMENTS for row in document.rows]
SENTENCES = [sentence for document in DOCUMENTS for sentence in document.sentences]
COMMANDS = sorted(
    {command for _, row in ROWS for command in row.commands}
    | {command for sentence in SENTENCES for command in sentence.commands}
)

#: Experiments of which no sentence is judged: they judge those of other figures again.
AGAIN = {"westwood-readings", "markov-validation-simulated"}
#: Those of real time, which tests do not conclude.
IN_REAL_TIME = {
    "abr-on-linux", "markov-validation", "tfrcp-on-linux", "westwood-validation"
}  # fmt: skip

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each.groups[0])


@every_document
def test_each_numbered_item_has_one_row(document: Document) -> None:
    items = Counter(row.item for row in document.rows)
    assert max(items.values()) == 1
    assert [name for name in document.numbered if name not in items] == []
    kinds = ("Figure ", "Table ", "Equation ")
    unlisted = [item for item in items if item.startswith(kinds)]
    assert set(unlisted) == set(document.numbered)


@every_document
def test_each_experiment_of_a_document_has_a_row(document: Document) -> None:
    names = {name for row in document.rows for name in row.experiments}
    ours = {each.name for each in experiments() if each.group in document.groups}
    assert names == ours


@pytest.mark.parametrize(
    "row", [row for _, row in ROWS], ids=[f"{each.groups[0]}-{row.item}" for each, row in ROWS]
)
def test_a_row_has_an_answer_or_a_reason(row: Row) -> None:
    assert row.answers or row.lacking
    # A reason is a sentence, not a word.
    assert not row.lacking or len(row.lacking.split()) >= 6
    for words in (row.describes, row.lacking):
        assert "|" not in words
        assert not words.endswith(".")


@pytest.mark.parametrize(
    "sentence", SENTENCES, ids=[f"{each.section}: {each.states:.40}" for each in SENTENCES]
)
def test_a_sentence_has_an_answer_or_a_reason(sentence: Sentence) -> None:
    assert sentence.claims or sentence.commands or sentence.lacking
    assert not sentence.lacking or len(sentence.lacking.split()) >= 6
    for words in (sentence.section, sentence.states, sentence.lacking):
        assert "|" not in words
        assert not words.endswith(".")
    # Restated: the words of a document are its authors'.
    assert len(sentence.states.split()) <= 35
    # No claim begins with so few words by accident.
    assert all(len(claim.begins.split()) >= 2 for claim in sentence.claims)
    # test_catalogue.py looks for the claims in what these experiments conclude.
    assert set(sentence.experiments) <= {each.name for each in experiments()} - IN_REAL_TIME


@every_document
def test_a_sentence_is_listed_once(document: Document) -> None:
    listed = Counter((sentence.section, sentence.states) for sentence in document.sentences)
    assert max(listed.values()) == 1


@every_document
def test_each_experiment_of_a_document_answers_a_sentence(document: Document) -> None:
    ours = {each.name for each in experiments() if each.group in document.groups}
    answering = {name for sentence in document.sentences for name in sentence.experiments}
    reasons = " ".join(sentence.lacking for sentence in document.sentences)
    named = {name for name in ours if f"`{name}`" in reasons}
    assert ours - AGAIN - IN_REAL_TIME == (answering & ours) | (named - IN_REAL_TIME)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_answers(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # some read files of the examples
    verb, *arguments = shlex.split(command)[1:]
    if verb == "simulate":
        assert load(ROOT / arguments[0]).expand()
        return
    asked = ["show", "experiments", *arguments] if verb == "reproduce" else [verb, *arguments]
    outcome = CliRunner().invoke(cli, asked)
    assert outcome.exit_code == 0, outcome.stderr


def test_the_page_has_what_the_list_and_the_gallery_say() -> None:
    place = ROOT / "benches" / "seeds.py"
    if not place.exists():
        pytest.skip("not in a repository: what writes the page is not there")
    text = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- seeds: begin -->")
    shown = rest.partition("<!-- seeds: end -->")[0].strip()
    assert shown == page(DOCUMENTS, _verdicts(place)), "make it anew: benches/seeds.py"


def _verdicts(place: Path) -> dict[str, str]:
    """Returns the gallery's verdicts, as the script of the page reads them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(place.parent)
        spec = importlib.util.spec_from_file_location("seeds_page", place)
        assert spec is not None
        assert spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        verdicts: dict[str, str] = script.verdicts()
    return verdicts
