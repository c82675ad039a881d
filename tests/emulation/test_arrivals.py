"""Arriving transfers by the kernel's TCP: the same as the engine's, and named so in captures."""

from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, Scenario, measure, simulate
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate

from .short import SCENARIO

pytestmark = pytest.mark.usefixtures("emulation")

ARRIVING = """
[[flows]]
name = "short"
arrivals = { kind = "poisson", mean_interval = "50 ms" }
stop = "1.5 s"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
traffic = { kind = "transfer", size = { kind = "uniform", low = "2 kB", high = "9 kB" } }
"""


def arrived(result: Result, replicate: int) -> dict[int, tuple[float, float, bool]]:
    """Returns start, delivered bytes and completeness of each instance."""
    flows = result.tables["flows"]
    own = (column(flows, "flow") == "short") & (column(flows, "replicate") == replicate)
    names = ("instance", "start_s", "delivered_bytes", "completion_time_s")
    rows = zip(*(column(flows, name)[own] for name in names), strict=True)
    return {
        int(number): (start, delivered, not np.isnan(took))
        for number, start, delivered, took in rows
    }


def test_the_kernel_has_the_engines_arrivals_and_sizes(tmp_path: Path) -> None:
    # Another flow behind them: the assignment of connections must not depend on the number of
    # arrivals.
    scenario = Scenario.from_toml(SCENARIO.replace("[[flows]]", ARRIVING + "\n[[flows]]", 1))
    engines = simulate(scenario)
    kernels = emulate(scenario, tmp_path / "run")
    captured = measure(tmp_path / "run", tmp_path / "measured")
    for replicate in (0, 1):
        ours, theirs, seen = (arrived(result, replicate) for result in (engines, kernels, captured))
        assert len(ours) > 10
        assert ours.keys() == theirs.keys()
        both = [number for number in ours if ours[number][2] and theirs[number][2]]
        assert len(both) > 5
        for number in both:
            assert theirs[number][1] == ours[number][1], "the size is drawn once"
            assert theirs[number][0] >= ours[number][0], "nobody comes sooner than drawn"
            assert seen[number][1] == ours[number][1]
