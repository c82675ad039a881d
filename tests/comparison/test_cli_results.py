"""`compare`, `plot` and `table` of several results."""

import json
from pathlib import Path

import pytest

from ackclock import Scenario, simulate

from ..in_process import ackclock
from ..refusals import check, error_of

POINT = {"sweep": {}, "duration": "4 s", "warmup": "1 s", "replicates": 3}


@pytest.fixture(scope="module")
def place(leaky_pipe: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results `plain` and `lossier`, and a sweep of each, `few` and `many`."""
    place = tmp_path_factory.mktemp("results")
    lossier = {"hops.wireless.impairments.0.probability": "5 %"}
    simulate(leaky_pipe.replace(POINT)).save(place / "plain")
    simulate(leaky_pipe.replace(POINT).replace(lossier)).save(place / "lossier")
    sweep = {"sweep": {"hops.wired.delay": ["10 ms", "30 ms"]}}
    simulate(leaky_pipe.replace(POINT | sweep)).save(place / "few")
    simulate(leaky_pipe.replace(POINT | sweep).replace(lossier)).save(place / "many")
    return place


def test_two_results_are_printed_beside_each_other(place: Path) -> None:
    outcome = ackclock("compare", "plain", "lossier", place=place)
    assert outcome.exit_code == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert lines[0] == "plain and lossier: 2 simulations of 3 runs; paired by seed"
    assert any("impairments.0.probability" in line and "5 %" in line for line in lines)
    [goodput] = [line for line in lines if line.startswith("goodput Mbit/s")]
    assert goodput.endswith("≠")
    assert "wider terminal" not in outcome.stdout


@pytest.mark.parametrize("names", ["plain lossier", "plain lossier again"])
def test_narrow_terminals_keep_relative_differences(
    place: Path, names: str, leaky_pipe: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "again" in names and not (place / "again").exists():
        simulate(leaky_pipe.replace(POINT)).save(place / "again")
    monkeypatch.setenv("COLUMNS", "80")
    outcome = ackclock("compare", *names.split(), place=place)
    assert max(map(len, outcome.stdout.splitlines())) <= 80
    heads = [line for line in outcome.stdout.splitlines() if line.startswith("metric")]
    assert all("plain" in head and "in %" in head for head in heads)
    assert len(heads) == len(names.split()) - 1


def test_a_bound_that_is_missed_ends_with_4(place: Path) -> None:
    bounds = ("--fail-if", "goodput < -3 %", "--fail-if", "goodput > 50 %")
    outcome = ackclock("compare", "plain", "lossier", *bounds, place=place)
    assert outcome.exit_code == 4
    [line] = outcome.stderr.splitlines()
    assert line.startswith("ackclock: goodput of main in lossier fell by ")
    assert "✗ fails" in outcome.stdout
    assert "✓ holds" in outcome.stdout
    assert ackclock("compare", "lossier", "plain", *bounds[:2], place=place).exit_code == 0


def test_a_folder_takes_page_and_numbers(place: Path, tmp_path: Path) -> None:
    arguments = ("compare", "plain", "lossier", "-o", tmp_path / "page", "--json")
    outcome = ackclock(*arguments, place=place)
    assert outcome.exit_code == 0, outcome.stderr
    printed = json.loads(outcome.stdout)
    written = json.loads((tmp_path / "page" / "differences.json").read_text(encoding="utf-8"))
    assert written["rows"] == printed["rows"]
    assert printed["reference"] == "plain"
    assert [result["paired"] for result in printed["results"]] == [None, True]
    [goodput] = [row for row in printed["rows"] if row["metric"] == "goodput"]
    assert goodput["values"][1]["beyond_chance"]
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    assert "plain and lossier beside each other" in page
    assert ackclock(*arguments, place=place).exit_code == 0  # Nothing is lost.
    again = ackclock("report", tmp_path / "page")
    check(error_of(again), "unsupported", str(tmp_path / "page"), "report.html")


def test_sweeps_are_compared_point_by_point(place: Path) -> None:
    outcome = ackclock("compare", "few", "many", "--json", place=place)
    rows = [row for row in json.loads(outcome.stdout)["rows"] if row["metric"] == "goodput"]
    assert [row["assignments"]["hops.wired.delay"] for row in rows] == ["10 ms", "30 ms"]


def test_several_are_drawn_in_one_figure(place: Path, tmp_path: Path) -> None:
    for kind in ("throughput", "cwnd", "rtt", "sweep"):
        file = tmp_path / f"{kind}.svg"
        outcome = ackclock("plot", "plain", "lossier", "--kind", kind, "-o", file, place=place)
        assert outcome.exit_code == 0, outcome.stderr
        assert "lossier" in file.read_text(encoding="utf-8")
    outcome = ackclock("plot", "few", "many", "-o", tmp_path / "all", place=place)
    assert outcome.exit_code == 0, outcome.stderr
    assert (tmp_path / "all" / "sweep_goodput.svg").exists()


def test_a_table_of_several_has_a_column_of_names(place: Path, tmp_path: Path) -> None:
    outcome = ackclock("table", "plain", "lossier", "goodput", "rtt", "--json", place=place)
    rows = json.loads(outcome.stdout)
    assert [row["result"] for row in rows] == ["plain", "lossier"]
    alone = json.loads(ackclock("table", "plain", "goodput", "rtt", "--json", place=place).stdout)
    assert rows[0] == {"result": "plain", **alone[0]}
    assert "lossier" in ackclock("table", "plain", "lossier", "goodput", place=place).stdout
    for ending in ("csv", "tex", "parquet"):
        file = tmp_path / f"table.{ending}"
        assert ackclock("table", "plain", "few", "rtt", "-o", file, place=place).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "field", "words"),
    [
        ("compare plain", "missing", "plain", "another one"),
        ("compare plain plian", "file", "plian", 'did you mean "plain"?'),
        ("compare plain plain", "contradiction", "plain", "twice"),
        ("compare plain lossier --seed 2", "contradiction", "--seed", "remove it"),
        ("compare plain lossier --reference x", "unknown-name", "--reference", '"x"'),
        ("compare plain lossier --metrics gooodput", "unknown-name", "--metrics", "goodput"),
        ("compare plain lossier --fail-if goodput<3%", "out-of-range", "--fail-if", "< -3%"),
        ("plot plain lossier", "missing", "-o", "name a file"),
        ("table plain lossier", "missing", "METRIC", "goodput"),
        ("table plain goodput lossier", "syntax", "RUN", "name results first"),
        ("table plain lossier godput", "unknown-name", "METRIC", "goodput"),
    ],
)
def test_mistakes_are_one_line(
    place: Path, arguments: str, code: str, field: str, words: str
) -> None:
    outcome = ackclock(*arguments.split(), place=place)
    assert outcome.exit_code == 2
    check(error_of(outcome), code, field, words)
