"""The page of a sweep, and what commands for results say of its folder."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..refusals import check_refusal
from ..test_report import check, data_of
from .small import BUFFER, ackclock, written

pytestmark = pytest.mark.usefixtures("in_this_process")

RATE = "hops.b.link.rate=1..4 Mbit/s"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path)
    path.write_text(path.read_text().split("[sweep]")[0])
    return path


def page(small: Path, *options: object) -> str:
    assert ackclock("sweep", "run", small, *options, "-o", "s").exit_code == 0
    outcome = ackclock("report", "s")
    assert (outcome.exit_code, outcome.stdout) == (0, "report: s/report.html\n"), outcome.stderr
    text = Path("s/report.html").read_text()
    check(text)
    return text.replace("\u00a0", " ")


def shown(figure: dict[str, Any]) -> list[list[float]]:
    return [series["y"] for panel in figure["panels"] for series in panel["series"]]


@pytest.mark.slow
def test_the_page_of_a_sweep_answers_and_draws_its_axis(small: Path) -> None:
    text = page(small, "--vary", BUFFER, "--design", "grid:3", "--method", "predict,simulate")
    assert re.search(
        r"Goodput of the simulation goes from 0\.\d+ Mbit/s \(limit \d+ packets\)", text
    )
    assert "Mean queueing delay at b of the simulation" in text
    assert "--design grid:3 --method predict,simulate --replicates 3" in text
    goodput = data_of(text)["s0-figure-goodput"]
    rows = json.loads(ackclock("sweep", "show", "s", "--json").stdout)
    values = {
        method: [float(f"{row['goodput'] * 1e-6:.4g}") for row in rows if row["method"] == method]
        for method in ("predict", "simulate")
    }
    assert shown(goodput) == [values[key["s"]] for key in goodput["keys"]]
    assert len(values["simulate"]) == 3
    # The sweep goes on with a page in its folder.
    assert ackclock("sweep", "resume", "s").exit_code == 0


@pytest.mark.slow
def test_a_prediction_that_violates_an_assumption_is_marked(small: Path) -> None:
    lossy = 'delay = "20 ms"\nimpairments = [{ kind = "iid_loss", probability = "1 %" }]'
    long = small.read_text().replace('duration = "2 s"', 'duration = "60 s"')
    small.write_text(long.replace('delay = "20 ms"', lossy, 1))
    loss = "hops.b.impairments.0.probability=0,10 %"
    text = page(small, "--vary", loss, "--method", "predict,simulate")
    assert "? violates an assumption of the model" in text
    [panel] = data_of(text)["s0-figure-goodput"]["panels"]
    drawn = {series["s"]: series.get("doubts") for series in panel["series"]}
    assert drawn == {"predict": [False, True], "simulate": None}
    assert ackclock("sweep", "show", "s").stdout.count("? ") == 2  # One number, one legend.


@pytest.mark.slow
def test_two_swept_values_are_a_heat_map(small: Path) -> None:
    text = page(small, "--vary", BUFFER, "--vary", RATE, "--design", "grid:2", "--replicates", 1)
    assert 'id="s0-heatmap-utilisation"' in text
    assert "Utilisation at b" in text
    assert "No interval:" in text


@pytest.mark.slow
def test_identical_replicates_are_no_evidence(small: Path) -> None:
    same = small.read_text().replace('start = ["0 s", "200 ms"]\n', "")
    small.write_text(f'vary = "nothing"\n{same}')
    text = page(small, "--vary", BUFFER, "--design", "grid:2", "--replicates", 5)
    assert "Identical replicates:" in text
    assert "at 2 of 2 points" in text
    assert "Enough replicates:" not in text
    rows = json.loads(ackclock("sweep", "show", "s", "--json").stdout)
    assert [(row["replicates"], row["identical"]) for row in rows] == 2 * [(5, True)]
    assert ackclock("sweep", "show", "s").stdout.count("5 identical") == 2


@pytest.mark.slow
def test_replicates_that_differ_are_counted(small: Path) -> None:
    text = page(small, "--vary", BUFFER, "--design", "grid:2", "--replicates", 5)
    assert "Enough replicates:" in text
    assert "identical" not in ackclock("sweep", "show", "s").stdout


@pytest.mark.slow
def test_points_at_random_are_not_joined(small: Path) -> None:
    text = page(small, "--vary", BUFFER, "--vary", RATE, "--design", "sobol:4", "--replicates", 2)
    drawn = data_of(text)
    assert list(drawn) == [
        "s0-figure-goodput-hops-b-queue-limit",
        "s0-figure-goodput-hops-b-link-rate",
    ]
    panels = [panel for figure in drawn.values() for panel in figure["panels"]]
    assert {series["draw"] for panel in panels for series in panel["series"]} == {"marks"}
    assert "vary at random too" in text


@pytest.mark.slow
def test_a_sweep_has_a_page_of_its_own(small: Path) -> None:
    page(small, "--vary", BUFFER, "--design", "grid:2", "--replicates", 1)
    check_refusal(ackclock("report", "s", "s"), "contradiction", "s", "sweep")
    for verb in (("plot", "s"), ("table", "s", "goodput"), ("measure", "s")):
        check_refusal(ackclock(*verb), "file", "s", "ackclock sweep show")


def test_a_sweep_without_runs_has_no_page(small: Path) -> None:
    assert ackclock("sweep", "run", small, "--vary", BUFFER, "--shard", "9/9", "-o", "s",
                    "--design", "grid:2").exit_code == 0  # fmt: skip
    check_refusal(ackclock("report", "s"), "no-data", "s", "no values")
    assert not Path("s/report.html").exists()
