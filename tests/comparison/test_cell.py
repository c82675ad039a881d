"""`ackclock compare` where a method is impossible or has no answer: a cell, unmodelled flows."""

import json
from pathlib import Path

import pytest

from ..in_process import ackclock

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ("--set", 'duration="6 s"', "--set", 'warmup="2 s"', "--replicates", "2")


@pytest.mark.long
def test_a_cell_is_predicted_and_simulated(tmp_path: Path) -> None:
    scenario, folder = EXAMPLES / "wifi-cell.toml", tmp_path / "every"
    sweep = ("--set", "sweep={}", "--set", 'flows.download.transport.receive_window="unlimited"')
    outcome = ackclock("compare", scenario, *SHORT, *sweep, "-o", folder, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    answer = json.loads(outcome.stdout)
    answered = {method["name"]: method["answered"] for method in answer["methods"]}
    assert answered == {
        "predict": True, "simulate": True, "measure-simulate": True, "emulate": False,
        "measure-emulate": False,
    }  # fmt: skip
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("emulate: ")]
    assert len(lines) == 1
    assert "real time" not in lines[0]
    predictions = [
        row for row in answer["rows"] if row["method"] == "predict" and row["metric"] == "goodput"
    ]
    assert [row["subject"] for row in predictions if row["mean"] is not None] == [
        "download",
        "upload",
    ]
    assert ackclock("report", folder).exit_code == 0
    assert "EDCA" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_where_no_model_has_an_answer_a_line_says_so(tmp_path: Path) -> None:
    methods = ("--methods", "predict,simulate", "-o", tmp_path / "every")
    vegas = ("--set", "flows.downloads.transport.control.kind=vegas")
    outcome = ackclock("compare", EXAMPLES / "buffer-on-a-backbone.toml", *SHORT, *vegas, *methods)
    assert outcome.exit_code == 0, outcome.stderr
    assert "predict: no chosen model has an answer; see ackclock predict" in outcome.stderr
    assert "downloads" in outcome.stdout
