"""The engine in the page gives the numbers of the engine in Python, bit by bit."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import engine, load, metrics, simulate
from ackclock.laboratory import page
from ackclock.scenario import Scenario

from .conftest import EXAMPLES

pytestmark = pytest.mark.usefixtures("fresh_engine")

#: Long enough for losses, a sweep's first point and warm-up; whole runs take minutes.
SHORT = {"duration": "8 s", "warmup": "2 s"}
REPLICATE = 1


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
        input=json.dumps({"requests": requests}),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def in_page(node: str) -> dict[str, dict[str, Any]]:
    """What the page's engine gives for each example."""
    found = in_node(node, [shortened(path) for path in EXAMPLES])
    return dict(zip([path.stem for path in EXAMPLES], found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_cell_is_equal(path: Path, in_page: dict[str, dict[str, Any]]) -> None:
    found = in_page[path.stem]
    tables = native(shortened(path))
    expected = {
        name: {column: digest(rows) for column, rows in columns.items()}
        for name, columns in tables.items()
    }
    assert found["digests"] == expected
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
@pytest.mark.parametrize("stem", ["first", "dumbbell", "arrivals"])
def test_the_page_computes_the_metrics_of_the_library(
    stem: str, in_page: dict[str, dict[str, Any]]
) -> None:
    scenario = shortened(next(path for path in EXAMPLES if path.stem == stem))
    result = simulate(scenario.replace(replicates=REPLICATE + 1))

    def of(name: str, subject: str | None = None) -> list[float]:
        return [
            value.value
            for value in metrics.metric(name).values(result)
            if value.replicate == REPLICATE and subject in (None, value.subject)
        ]

    found = in_page[stem]["metrics"]
    hop = in_page[stem]["hop"]
    assert found["goodput"] == pytest.approx(np.nansum(of("goodput")) * 1e-6, rel=1e-9)
    assert found["utilisation"] == pytest.approx(of("utilisation", hop)[0] * 100, rel=1e-9)
    assert found["queueing"] == pytest.approx(of("queueing_delay", hop)[0] * 1e3, rel=1e-9)
    if stem == "first":
        assert found["rtt"] == pytest.approx(of("rtt")[0] * 1e3, rel=1e-9)
        assert found["retransmitted"] == pytest.approx(of("retransmissions")[0] * 100, rel=1e-9)


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
        [found] = in_node(node, [asked], files={})
        [error] = found["errors"]
        assert error["field"] == f"{control}.kind"
        assert error["message"].startswith(f'"{written["kind"]}" does not run in a page')
        assert remedy in error["message"]
