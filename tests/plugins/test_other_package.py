"""Models, metrics, figures and experiments of other packages: `other/gauges` has one of each."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ackclock import Result, plot, plugins
from ackclock.metrics import METRICS, Metric
from ackclock.models import MODELS
from ackclock.plot import FIGURES
from ackclock.reproduction import experiments

OTHER = Path(__file__).parent / "other"
EXAMPLE = Path(__file__).parents[2] / "examples" / "first.toml"

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def ackclock(run_python: Run, tmp_path: Path) -> Run:
    """Runs a command where the packages of some folders are installed, by default `gauges`."""
    shutil.copy(EXAMPLE, tmp_path)

    def run(*arguments: str, installed: tuple[Path, ...] = (OTHER,)) -> subprocess.CompletedProcess:
        paths = os.pathsep.join(map(str, installed))
        environment = os.environ | {"PYTHONPATH": paths}
        return run_python("-m", "ackclock", *arguments, env=environment)

    return run


def answer(ended: subprocess.CompletedProcess) -> Any:
    assert (ended.returncode, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


#: Prints the names of all records of some kinds.
NAMES = """
import json
from ackclock.cli.records import records
kinds = ("models", "metrics", "figures", "experiments")
print(json.dumps({kind: list(records(kind)) for kind in kinds}))
"""


@pytest.mark.slow
def test_records_are_shown_beside_our_own(run_python: Run) -> None:
    ended = run_python("-c", NAMES, env=os.environ | {"PYTHONPATH": str(OTHER)})
    shown = answer(ended)
    assert shown["models"] == [*(model.name for model in MODELS), "equal_share"]
    assert shown["metrics"] == [*METRICS, "delivered"]
    assert shown["figures"] == [*plot.names(), "delivered"]
    assert set(shown["experiments"]) == {each.name for each in experiments()} | {"gauges-figure-1"}


@pytest.mark.long
def test_a_model_answers_scenarios_and_plain_numbers(ackclock: Run) -> None:
    rows = answer(ackclock("predict", "first.toml", "--json"))
    [row] = [row for row in rows if row["model"] == "equal_share"]
    assert row["outputs"]["share"] == pytest.approx(1e7 / 1500 / 8)  # Packets have 1500 bytes.
    numbers = ("--rate", "100 segments/s", "--flows", "4")
    [alone] = answer(ackclock("predict", "equal_share", *numbers, "--json"))["answers"]
    assert alone["outputs"] == {"share": 25}


@pytest.mark.long
def test_all_three_are_used_by_each_verb(ackclock: Run, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        ended = ackclock(*arguments)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    short = ("--set", "duration=6 s", "--set", "replicates=2")
    run("compare", "first.toml", "--methods", "predict,simulate", *short, "-o", "compared")
    predicted = Result.load(tmp_path / "compared" / "predict")
    assert "equal_share" in predicted.tables["predictions"]["model"].to_pylist()
    assert "delivered MB" in run("table", "compared/simulate", "delivered")
    run("plot", "compared/simulate", "--kind", "delivered", "-o", "drawn.svg")
    assert "delivered (MB)" in (tmp_path / "drawn.svg").read_text(encoding="utf-8")
    varied = ("--vary", "hops.bottleneck.delay=10 ms,20 ms", "--metric", "delivered")
    run("sweep", "run", "first.toml", *varied, *short, "-o", "swept")
    assert "delivered" in run("sweep", "show", "swept")


@pytest.mark.long
def test_an_experiment_is_reproduced(ackclock: Run) -> None:
    ended = ackclock("reproduce", "gauges-figure-1", "--json")
    [record] = json.loads(ended.stdout)["experiments"]
    assert record["verdict"]["kind"] == "reproduced"


@pytest.mark.long
def test_a_package_may_be_imported_before_ackclock(run_python: Run) -> None:
    program = "import gauges; from ackclock import models; print(models.model('equal_share').label)"
    ended = run_python("-c", program, env=os.environ | {"PYTHONPATH": str(OTHER)})
    assert (ended.stdout, ended.stderr) == ("equal share\n", "")


@pytest.mark.long
def test_a_broken_package_is_one_line_and_breaks_nothing(ackclock: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    described = broken / "others-1.0.dist-info"
    described.mkdir(parents=True)
    (broken / "others.py").write_text("import nothing_of_this_name")
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[ackclock.metrics]\nothers = others:METRIC\n")
    ended = ackclock("show", "metrics", "--json", installed=(broken, OTHER))
    assert ended.returncode == 0
    assert ended.stderr == (
        'ackclock: entry point others = "others:METRIC" of ackclock.metrics: ModuleNotFoundError: '
        "No module named 'nothing_of_this_name'; repair or uninstall others\n"
    )
    assert [record["name"] for record in json.loads(ended.stdout)] == [*METRICS, "delivered"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("others:FLOWS", "is not a Metric"),
        ("others:nothing", "AttributeError"),
        ("others:GOODPUT", 'ackclock already has "goodput"; rename it'),
    ],
)
def test_what_is_no_record_or_has_a_name_that_is_taken_is_left_out(
    monkeypatch: pytest.MonkeyPatch, value: str, why: str
) -> None:
    goodput = METRICS["goodput"]
    others = SimpleNamespace(FLOWS=[goodput.subjects], GOODPUT=goodput)
    monkeypatch.setitem(sys.modules, "others", others)
    entry = EntryPoint("others", value, "ackclock.metrics")
    monkeypatch.setattr(plugins, "_entries", lambda _group: [entry])
    records = plugins.Records(value, Metric, [goodput])
    with pytest.warns(plugins.PluginWarning, match=why):
        assert list(records) == [goodput]


def test_our_own_records_are_found_without_looking_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_group: str) -> list:
        raise AssertionError("looked for other packages")

    monkeypatch.setattr(plugins, "_entries", refuse)
    goodput = METRICS["goodput"]
    fresh = plugins.ByName(plugins.Records("ackclock.metrics", Metric, [goodput]))
    assert fresh["goodput"] is goodput
    assert "goodput" in fresh
    with pytest.raises(AssertionError, match="looked"):
        fresh["another"]


def test_own_records_come_first() -> None:
    assert MODELS[: len(MODELS.own)] == MODELS.own
    assert FIGURES[: len(FIGURES.own)] == FIGURES.own


@pytest.mark.slow
def test_a_suite_of_another_package_evaluates(ackclock: Run) -> None:
    asked = ("evaluate", "reno", "--suite", "gauges", "--seeds", "1", "-o", "out", "--json")
    ended = ackclock(*asked)
    assert ended.returncode == 0, ended.stderr
    evaluation = json.loads(ended.stdout)
    assert evaluation["badge"] == "1: 1 pass"
    assert evaluation["suite"]["name"] == "gauges"
