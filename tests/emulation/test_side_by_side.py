"""Emulated runs in parallel, each between its own hosts; skipped where this machine cannot.

Their reliability depends on how busy the machine is, so nothing is asserted about it.
"""

from pathlib import Path
from typing import Any

import pytest

from ackclock import Result, Scenario, simulate
from ackclock.run.emulation import emulate

from . import short

RUNS = [(point, replicate) for point in (0, 1) for replicate in (0, 1)]


@pytest.mark.usefixtures("emulation")
def test_four_runs_at_once_are_four_runs(tmp_path: Path) -> None:
    """Each has the links of its simulation. A fixture checks that each replay decides the same."""
    swept = {
        "sweep": {
            "hops.there.link": [
                {"kind": "markov", "rates": RATES, "mean_sojourn": "0.1 s"},
                CONSTANT,
            ]
        }
    }
    scenario = Scenario.from_toml(short.SCENARIO).replace(swept)
    seen: list[dict[str, Any]] = []
    emulated = emulate(scenario, tmp_path / "run", side_by_side=4, progress=seen.append)
    # All had begun before the first one ended.
    assert any(now["run"] == now["runs"] == 4 and now["fraction"] < 1 / 4 for now in seen)
    assert seen[-1]["fraction"] == 1
    assert not emulated.partial

    for name in ("flows", "fidelity"):
        rows = emulated.tables[name].to_pylist()
        assert [(row["point"], row["replicate"]) for row in rows] == RUNS, name
    for name in ("samples", "hops", "tcp_info"):
        rows = emulated.tables[name].to_pylist()
        assert {(row["point"], row["replicate"]) for row in rows} == set(RUNS), name
    names = {f"point-{point}-replicate-{replicate}" for point, replicate in RUNS}
    assert {path.stem for path in (tmp_path / "run" / "record").iterdir()} == names
    # Each path carries only the packets of its own sender, and of no other run.
    for row in emulated.tables["flows"].to_pylist():
        assert 0 < row["delivered_bytes"] <= 1448 * row["sent_packets"]

    # A link's rate is a function of its stream and of time, whatever runs beside it, or sends.
    links = [rates(result) for result in (emulated, simulate(scenario))]
    assert links[0] == links[1]
    assert links[0][0, 0] != links[0][0, 1]


def rates(result: Result) -> dict[tuple[int, int], dict[float, float]]:
    """Returns the rates of the first hop by run and time."""
    by_run: dict[tuple[int, int], dict[float, float]] = {run: {} for run in RUNS}
    for row in result.tables["hops"].to_pylist():
        if row["hop"] == "there":
            by_run[row["point"], row["replicate"]][row["time_s"]] = row["rate_bit_per_s"]
    return by_run


RATES = ["10 Mbit/s", "5 Mbit/s"]
CONSTANT = {"kind": "constant", "rate": "10 Mbit/s"}
