"""The worst cells of an evaluation on the kernel, with simulations in its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock import LackingError, simulate
from ackclock.evaluation import Candidate, Plan, emulated, evaluate, load
from ackclock.scenario import Scenario


def evaluated(folder: Path, number: int) -> dict[str, Any]:
    suite = load("rfc9743")
    cases = suite.chosen("Q3,Q16,Q28")
    plan = Plan(suite, cases, Candidate.read("bbr1"), suite.paths, (1, 2))
    record, complete = evaluate(plan, folder, emulate=number)
    assert complete
    written = json.loads((folder / "evaluation.json").read_text())
    assert written.pop("digest")
    assert written == record
    return record


@pytest.mark.slow
def test_the_worst_cell_of_each_case_is_emulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Scenario] = []

    def as_kernel(scenario: Scenario, _folder: Path, **_options: Any):
        asked.append(scenario)
        return simulate(scenario)

    monkeypatch.setattr(emulated, "emulate", as_kernel)
    record = evaluated(tmp_path / "bbr1", 2)
    assert [cell["case"] for cell in record["emulated"]] == ["high-loss", "varying-delay"]
    (lossy, _) = record["emulated"]
    assert lossy["metric"] == "hop_drops"
    assert lossy["kernel"] == pytest.approx(lossy["simulated"], rel=0.1)
    assert [scenario.tree["replicates"] for scenario in asked] == [1, 1]
    assert "The worst cells on the running kernel" in (tmp_path / "bbr1/index.html").read_text()


@pytest.mark.slow
def test_a_machine_that_cannot_emulate_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_arguments: Any, **_options: Any) -> None:
        raise LackingError("lacking", "", "no permission to make namespaces")

    monkeypatch.setattr(emulated, "emulate", absent)
    (cell,) = evaluated(tmp_path / "bbr1", 1)["emulated"]
    assert cell["kernel"] is None
    assert "no permission" in cell["why_not"]
