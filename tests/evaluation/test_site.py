"""The evaluations of the site: a page for each control and a matrix, the same bytes each time."""

from dataclasses import replace
from pathlib import Path

import pytest

import evaluations
from ackclock.evaluation import evaluate
from tests.test_report import Checker

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_pages_of_what_is_recorded_are_those_that_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(evaluations, "CONTROLS", ("reno", "bbr1"))
    suite = evaluations.load("rfc9743")
    few = suite.chosen("Q9,Q20")
    monkeypatch.setattr(evaluations, "load", lambda _: replace(suite, cases=few, seeds=(2, 2)))
    for name in ("a", "b"):
        made, record = tmp_path / name, tmp_path / f"record-{name}"
        evaluations.main(["make", str(made), "reno", "bbr1", "--record", str(record)])
    evaluations.main(["pages", str(tmp_path / "pages"), "--record", str(tmp_path / "record-a")])
    text = (tmp_path / "a" / "index.html").read_text()
    checker = Checker()
    checker.feed(text)
    assert (checker.open, checker.outside) == ([], ["reno/index.html", "bbr1/index.html"])
    assert text.count("– does not apply") == 2
    assert text.count("✓ pass") == 2
    assert '<a href="bbr1/index.html">BBRv1</a>.' in text
    for file in sorted(path for path in (tmp_path / "a").rglob("*") if path.is_file()):
        other = tmp_path / "b" / file.relative_to(tmp_path / "a")
        assert file.read_bytes() == other.read_bytes(), file.name
    for name in ("index.html", "bbr1/index.html", "bbr1/cells.csv"):
        assert (tmp_path / "pages" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    table = evaluations.verdicts(
        {
            name: evaluations.read_record(tmp_path / "record-a" / f"{name}.json.xz")["evaluation"]
            for name in evaluations.CONTROLS
        }
    )
    assert table.splitlines()[0] == "|  | question | `reno` | `bbr1` |"
    assert len(table.splitlines()) == 4


def test_every_control_is_recorded_and_its_verdicts_are_on_the_page() -> None:
    records = {
        name: evaluations.read_record(ROOT / evaluations.RECORD / f"{name}.json.xz")["evaluation"]
        for name in evaluations.CONTROLS
    }
    suite = evaluations.load("rfc9743")
    for record in records.values():
        assert [case["id"] for case in record["cases"]] == [case.id for case in suite.cases]
        assert not record["partial"]
    text = (ROOT / evaluations.PAGE).read_text(encoding="utf-8")
    assert evaluations.verdicts(records) in text, "make evaluations"


@pytest.mark.long
@pytest.mark.parametrize("control", ["reno", "vegas"])
def test_what_is_recorded_is_what_the_engine_gives(control: str, tmp_path: Path) -> None:
    """Two cheap cases of two controls; whatever changed them changed others, too."""
    recorded = evaluations.read_record(ROOT / evaluations.RECORD / f"{control}.json.xz")
    suite = evaluations.load("rfc9743")
    assert recorded["evaluation"]["suite"]["digest"] == suite.digest, "make evaluations"
    asked = evaluations.plan(control)
    made, _ = evaluate(replace(asked, cases=suite.chosen("Q1,Q18")), tmp_path)
    numbers = {case["id"]: numbers_of(case) for case in recorded["evaluation"]["cases"]}
    for case in made["cases"]:
        assert numbers_of(case) == numbers[case["id"]], f"{case['id']}: make evaluations"


def numbers_of(case: dict) -> list[tuple]:
    return [
        (criterion["says"], cell["cell"], cell["mean"], cell["low"], cell["high"], cell["grade"])
        for run in case["runs"]
        for criterion in run["criteria"]
        for cell in criterion["cells"]
    ]
