"""Metrics of references that are kept: the same bytes, and no simulation twice."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ackclock.evaluation import Candidate, KeptMetrics, Plan, evaluate, load, measured

from ..damage import DAMAGE
from ..in_process import ackclock

FILES = ("evaluation.json", "cells.csv", "index.html")


@pytest.fixture(name="ran")
def _ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the kinds of the controls whose cells are simulated, in order."""
    ran: list[str] = []
    simulated = measured._simulated

    def noted(cells, quantities):
        ran.append(cells[0].candidate.kind)
        return simulated(cells, quantities)

    monkeypatch.setattr(measured, "_simulated", noted)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return ran


def plan(control: str, kept: KeptMetrics | None, only: str = "Q20", seeds: int = 2) -> Plan:
    suite = load("rfc9743")
    return Plan(
        suite, suite.chosen(only), Candidate.read(control), suite.paths,
        tuple(range(1, seeds + 1)), kept=kept,
    )  # fmt: skip


@pytest.mark.slow
def test_a_second_control_simulates_no_reference_and_gives_the_same_bytes(
    tmp_path: Path, ran: list[str]
) -> None:
    kept = KeptMetrics(tmp_path / "kept")
    evaluate(plan("vegas", None), tmp_path / "alone")
    assert ran == ["vegas", "cubic", "reno"]
    ran.clear()
    evaluate(plan("bbr1", kept), tmp_path / "first")
    assert ran == ["bbr1", "cubic", "reno"]
    ran.clear()
    evaluate(plan("vegas", kept), tmp_path / "second")
    assert ran == ["vegas"]
    for name in FILES:
        texts = [(tmp_path / folder / name).read_bytes() for folder in ("alone", "second")]
        assert texts[0] == texts[1], name
    ran.clear()
    evaluate(plan("reno", kept), tmp_path / "reference")
    assert ran == [], "a reference is nothing new either"


@pytest.mark.slow
def test_other_seeds_cases_and_metrics_are_other_metrics(tmp_path: Path, ran: list[str]) -> None:
    kept = KeptMetrics(tmp_path / "kept")
    first = plan("vegas", kept)
    evaluate(first, tmp_path / "first")
    ran.clear()
    evaluate(plan("vegas", kept, seeds=3), tmp_path / "seeds")
    assert ran == ["vegas", "cubic", "reno"]
    ran.clear()
    (case,) = first.cases
    (setup,) = case.setups
    (criterion,) = setup.criteria
    other = replace(criterion, quantity=replace(criterion.quantity, parameters='{"n": 2}'))
    cases = (replace(case, setups=(replace(setup, criteria=(other,)),)),)
    evaluate(replace(first, cases=cases), tmp_path / "metrics")
    assert ran == ["vegas", "cubic", "reno"], "parameters of a metric count"


@pytest.mark.slow
def test_a_damaged_file_is_made_again(tmp_path: Path, ran: list[str]) -> None:
    kept = KeptMetrics(tmp_path / "kept")
    evaluate(plan("vegas", kept), tmp_path / "first")
    for name, damage in DAMAGE.items():
        for file in kept.folder.iterdir():
            damage(file)
        ran.clear()
        evaluate(plan("vegas", kept), tmp_path / name)
        assert ran == ["vegas", "cubic", "reno"], name
        for file in FILES:
            texts = [(tmp_path / folder / file).read_bytes() for folder in ("first", name)]
            assert texts[0] == texts[1], (name, file)


def test_numbers_are_kept_to_the_bit(tmp_path: Path) -> None:
    kept = KeptMetrics(tmp_path / "kept")
    asked = plan("vegas", kept)
    (case,) = asked.cases
    cells = asked.cells(case, case.setups[0], asked.paths[0])
    scenario = measured.together(cells.cells)
    odd = np.array([0.1, -0.0, np.nan, np.inf, 5e-324])
    kept.write(scenario, cells.quantities, [{"goodput(x)": odd}, {}])
    (first, second) = kept.read(scenario, cells.quantities) or ()
    assert first["goodput(x)"].tobytes() == odd.tobytes()
    assert second == {}


def test_the_files_of_longest_ago_go(tmp_path: Path) -> None:
    for age in range(4):
        file = tmp_path / f"{age}.json"
        file.write_text("x" * 100)
        os.utime(file, (1e9 - age, 1e9 - age))
    KeptMetrics(tmp_path, most_bytes=250).trim()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "1.json"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path, ran: list[str]) -> None:
    (tmp_path / "file").write_text("")
    for name in ("first", "second"):
        ran.clear()
        _, complete = evaluate(plan("vegas", KeptMetrics(tmp_path / "file")), tmp_path / name)
        assert complete
        assert ran == ["vegas", "cubic", "reno"]


@pytest.mark.slow
def test_the_command_keeps_them_unless_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    asked = ("evaluate", "vegas", "--only", "Q20", "--seeds", 2)
    assert ackclock(*asked, "--no-cache", place=tmp_path).exit_code == 0
    assert not (tmp_path / "caches").exists()
    assert ackclock(*asked, "-o", "again", place=tmp_path).exit_code == 0
    assert len(list((tmp_path / "caches" / "ackclock" / "references").iterdir())) == 2
