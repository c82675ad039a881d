"""`ackclock cite`: entries of ackclock and of what its records rest on."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from ackclock.cli.cite import _references
from ackclock.report.works import ackclock as itself
from ackclock.report.works import works

from .in_process import ackclock
from .refusals import check, error_of

ROOT = Path(__file__).resolve().parent.parent

#: What a work has in a reference: a year in brackets or behind names, an RFC, a draft.
CITED = re.compile(r"RFC \d+|draft-[a-z]+-|[A-Z][a-z]+ (?:et al\. |and others )?\(?(?:19|20)\d\d")


def test_what_cites_a_work_has_one() -> None:
    lacking = {
        name: reference
        for name, references in _references().items()
        for reference in references
        if CITED.search(reference) and not works(reference) and "ackclock" not in reference
    }
    assert not lacking, "add the work to report/works.py"


def test_every_rfc_has_its_title() -> None:
    untitled = {
        work.title
        for references in _references().values()
        for reference in references
        for work in works(reference)
        if re.fullmatch(r"RFC \d+", work.title)
    }
    assert not untitled, "add the RFC to report/works.py"


def test_entries_are_well_formed() -> None:
    entries = {
        work.key: work
        for references in _references().values()
        for reference in references
        for work in works(reference)
    }
    assert len(entries) > 50
    for work in entries.values():
        text = work.bibtex()
        assert text.count("{") == text.count("}")
        assert re.match(r"@(article|inproceedings|techreport|misc)\{[\w.-]+,\n", text), text
        assert all(re.fullmatch(r"  [a-z]+ = \{.+\},", line) for line in text.split("\n")[1:-1])
        if work.address:
            assert work.address.startswith("https://")


def test_addresses_are_those_of_their_work() -> None:
    reddy, buffers = works(
        'D. A. M. Reddy, "Influence of router buffer size on TCP execution", of the buffer of T. '
        'Li, D. J. Leith, "Buffer sizing for TCP flows in 802.11e WLANs", 2008'
    )
    assert reddy.address == ""
    assert buffers.address == "https://doi.org/10.1109/LCOMM.2008.071882"
    [modeling] = works("R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, IMC 2019")
    assert modeling.address == "https://doi.org/10.1145/3355369.3355604"


def test_ackclock_is_cited_as_its_file_says() -> None:
    file = ROOT / "CITATION.cff"
    if not file.exists():
        pytest.skip("not in a repository")
    every = file.read_text("utf-8").splitlines()
    lines = dict(line.split(": ", 1) for line in every if re.match(r"\w+.*: ", line))
    work = itself()
    assert work.title == lines["title"].strip('"')
    assert work.address == lines["repository-code"]
    assert work.authors in file.read_text("utf-8")
    assert str(work.year) == lines["date-released"][:4]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert lines["version"] == cargo["workspace"]["package"]["version"] == work.version


def test_forms() -> None:
    assert ackclock("cite").stdout.startswith("@misc{ackclock,\n")
    outcome = ackclock("cite", "cubic", "codel")
    assert outcome.exit_code == 0
    assert "  doi = {10.17487/RFC9438}," in outcome.stdout
    assert outcome.stdout.count("@") == 4
    [line] = ackclock("cite", "cubic", "--format", "text").stdout.splitlines()
    assert line.endswith("RFC 9438. 2023. https://doi.org/10.17487/RFC9438")
    [entry] = json.loads(ackclock("cite", "westwood-figure-2", "--json").stdout)
    assert entry["year"] == 2002
    assert "R. Wang" in entry["authors"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("cubc", "unknown-name", 'did you mean "cubic"'), ("bulk", "no-data", "no publication")],
)
def test_mistakes_are_one_line(name: str, code: str, words: str) -> None:
    check(error_of(ackclock("cite", name)), code, "NAME", words)
