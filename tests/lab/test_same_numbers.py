"""The engine in the page gives the numbers of the engine in Python, bit by bit."""

import hashlib
import json
import math
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import engine, load, simulate, units
from ackclock.laboratory import page
from ackclock.laboratory.definitions import definitions
from ackclock.metrics import METRICS, Formula
from ackclock.plot import FIGURES, FigureSpec, View
from ackclock.scenario import Scenario
from ackclock.table import Interval, text

from .conftest import EXAMPLES

pytestmark = pytest.mark.usefixtures("fresh_engine")

#: Long enough for losses, a sweep's first point and warm-up; whole runs take minutes.
SHORT = {"duration": "8 s", "warmup": "2 s"}
REPLICATE = 1
#: The metrics that are plain formulas.
FORMULAS = {
    name: metric.values for name, metric in METRICS.items() if isinstance(metric.values, Formula)
}


def shortened(path: Path) -> Scenario:
    """The first point of an example, shorter."""
    return load(path).expand()[0].scenario.replace(SHORT)


def native(scenario: Scenario) -> dict[str, engine.Columns]:
    outcome = engine.simulate(
        [scenario.replace(replicates=REPLICATE + 1).tree],
        scenario.folder,
        threads=1,
        memory=None,
        packets=False,
        pcap_folder=None,
        finished=[(0, number) for number in range(REPLICATE)],
        take=None,
        progress=None,
    )
    tables: dict[str, engine.Columns] = outcome["tables"]
    return tables


def digest(column: tuple[Any, ...]) -> list[Any]:
    kind, data, *words = column
    if kind == "str":
        indices = np.frombuffer(data, "<i4")
        text = "\n".join(words[0][index] for index in indices)
        return [len(indices), hashlib.sha256(text.encode()).hexdigest()]
    rows = np.frombuffer(data, "<f8" if kind == "f8" else "<i8").copy()
    if kind == "f8":
        rows[np.isnan(rows)] = np.nan
    return [len(rows), hashlib.sha256(rows.tobytes()).hexdigest()]


def in_node(
    node: str, scenarios: list[Scenario], files: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    requests = [
        {
            "scenario": scenario.tree,
            "files": page.beginning("", scenario, files).files,
            "replicate": REPLICATE,
        }
        for scenario in scenarios
    ]
    static = Path(page.__file__).parent / "static"
    done = subprocess.run(
        [node, str(Path(__file__).with_name("in_node.mjs")), str(static)],
        input=json.dumps(
            {
                "requests": requests,
                "definitions": json.loads(definitions()),
                "formulas": {name: asdict(formula) for name, formula in FORMULAS.items()},
            }
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module")
def in_page(node: str) -> dict[str, dict[str, Any]]:
    """What the page's engine gives for each example."""
    answers = in_node(node, [shortened(path) for path in EXAMPLES])
    return dict(zip([path.stem for path in EXAMPLES], answers, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_cell_is_equal(path: Path, in_page: dict[str, dict[str, Any]]) -> None:
    answer = in_page[path.stem]
    tables = native(shortened(path))
    expected = {
        name: {column: digest(rows) for column, rows in columns.items()}
        for name, columns in tables.items()
    }
    assert answer["digests"] == expected
    assert expected["samples"]["cwnd_bytes"][0] > 1


def test_a_side_with_another_control_has_the_same_cross_traffic() -> None:
    """Sides differ in what the page changes alone: here the arrivals of a UDP flow stay."""
    mixed = load(next(path for path in EXAMPLES if path.stem == "on-off-udp"))
    mixed = mixed.replace(SHORT | {"flows.video.start": "1 s", "replicates": 2})
    arrivals, windows = [], []
    for control in ("reno", "cubic"):
        side = mixed.replace({"flows.download.transport.control": {"kind": control}})
        result = simulate(side)
        sent = result.rows("samples", flow="video").select(["replicate", "time_s", "sent_packets"])
        arrivals.append(sent.to_pylist())
        windows.append(result.rows("samples", flow="download")["cwnd_bytes"].to_pylist())
    assert arrivals[0] == arrivals[1]
    assert max(row["sent_packets"] for row in arrivals[0]) > 100
    assert windows[0] != windows[1]


@pytest.mark.slow
@pytest.mark.parametrize("stem", ["first", "dumbbell", "arrivals", "on-off-udp"])
def test_the_page_evaluates_every_formula_as_the_library_does(
    stem: str, in_page: dict[str, dict[str, Any]]
) -> None:
    scenario = shortened(next(path for path in EXAMPLES if path.stem == stem))
    result = simulate(scenario.replace(replicates=REPLICATE + 1))
    answer = in_page[stem]
    for name, formula in FORMULAS.items():
        expected = {
            value.subject: pytest.approx(value.value, rel=1e-9, nan_ok=True)
            for value in formula(result)
            if value.replicate == REPLICATE
        }
        values = {  # JSON has no NaN
            subject: math.nan if value is None else value
            for subject, value in answer["values"][name].items()
        }
        assert values == expected, name
    shown = {record["name"]: record["scale"] for record in json.loads(definitions())["metrics"]}
    by_metric = {name: values for name, values in answer["values"].items() if name in shown}
    goodput = sum(value or 0.0 for value in by_metric["goodput"].values())
    assert answer["metrics"]["goodput"] == pytest.approx(goodput * shown["goodput"], rel=1e-9)
    for name in ("utilisation", "queueing_delay"):
        of_hop = by_metric[name][answer["hop"]] * shown[name]
        assert answer["metrics"][name] == pytest.approx(of_hop, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stem", "kinds"),
    [
        ("l4s-coexistence", {"ecn_echo": "mark"}),
        ("dumbbell", {"fast_retransmit": "loss", "probe_recovery": "loss", "timeout": "timeout"}),
    ],
)
def test_ticks_are_reactions_and_each_has_its_cause(
    stem: str, kinds: dict[str, str], in_page: dict[str, dict[str, Any]]
) -> None:
    """The end of a recovery is none. Of each kind there is one in each thousandth of the run."""
    scenario = shortened(next(path for path in EXAMPLES if path.stem == stem))
    events = simulate(scenario.replace(replicates=REPLICATE + 1)).rows("events")
    duration_s = units.seconds(SHORT["duration"])

    def thousandth(time_s: float) -> int:
        return math.floor(1e3 * time_s / duration_s)

    expected = {
        (kinds[event["kind"]], thousandth(event["time_s"]))
        for event in events.to_pylist()
        if event["replicate"] == REPLICATE and event["kind"] in kinds
    }
    drawn = in_page[stem]["curves"]["events"]
    assert expected
    assert {(tick["kind"], thousandth(tick["time"])) for tick in drawn} == expected
    assert len(drawn) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cwnd", "queue", "rtt"])
def test_the_page_draws_the_curves_of_the_librarys_figures(
    name: str, in_page: dict[str, dict[str, Any]]
) -> None:
    first = shortened(next(path for path in EXAMPLES if path.stem == "first"))
    result = simulate(first.replace(replicates=REPLICATE + 1))
    [kind] = [kind for kind in FIGURES if kind.name == name and "simulate" in kind.methods]
    spec = kind.spec(result, View(replicate=REPLICATE))
    assert isinstance(spec, FigureSpec)
    expected = [series for series in spec.panels[0].series if series.form != "ticks"]
    curves = in_page["first"]["curves"][name]
    assert [curve["form"] for curve in curves] == [series.form for series in expected]
    assert [curve["words"] for curve in curves] == [series.label for series in expected]
    for curve, series in zip(curves, expected, strict=True):
        np.testing.assert_allclose(curve["x"], series.x, rtol=1e-12)
        np.testing.assert_allclose(np.array(curve["y"], float), series.y, rtol=1e-12)


def test_a_page_writes_numbers_as_tables_do(node: str) -> None:
    means = (0.0, 3e-5, 0.0123456, 0.98765, 9.6534, 123.456, 54_321.0, -11.989)
    pairs = [(mean, half) for mean in means for half in (None, 0.0, 0.0017, 0.34, 12.0)]
    code = (
        "import(process.argv[1]).then(({ written }) => process.stdout.write(JSON.stringify("
        "JSON.parse(process.argv[2]).map(([mean, half]) => written(mean, half)))))"
    )
    address = page.static()["figures.js"].as_uri()
    done = subprocess.run(
        [node, "--experimental-default-type=module", "-e", code, address, json.dumps(pairs)],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        text(Interval(mean, math.nan if half is None else half, 2)).replace("-", "−")
        for mean, half in pairs
    ]
    assert json.loads(done.stdout) == expected


def test_a_page_answers_a_program_by_one_line(node: str) -> None:
    """The page has no machine for programs; everything else of the scenario is known there."""
    first = shortened(next(path for path in EXAMPLES if path.stem == "first"))
    control = "flows.download.transport.control"
    for written, remedy in (
        ({"kind": "kernel", "shipped": "aimd"}, "use ackclock simulate"),
        ({"kind": "kernel", "name": "bbr"}, "ackclock emulate"),
        ({"kind": "python", "file": "mine.py", "class": "Mine"}, "use ackclock simulate"),
    ):
        asked = Scenario(engine.replace(first.tree, {control: written}), first.folder)
        [answer] = in_node(node, [asked], files={})
        [error] = answer["errors"]
        assert error["field"] == f"{control}.kind"
        assert error["message"].startswith(f'"{written["kind"]}" does not run in a page')
        assert remedy in error["message"]
