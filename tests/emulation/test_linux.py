"""The kernel's reno and cubic against the engine's, on a drop-tail path with a buffer of one BDP.

There the saw-tooth decides everything and chance nothing, so one short run of each is informative.
The guide on fidelity has five paths with five replicates, and the source of the tolerances. If the
machine was too busy, the test is skipped with a message. Two conditions decide that: the verdict,
and whether the sending program got the processor when it wanted to write. All numbers are the
kernel's, so it does not matter when the receiving program got it.
"""

from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, Scenario, simulate
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate, replay

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("emulation")]

WARMUP_S = 4
ATTEMPTS = 3
#: The writing program reads the kernel every 10 ms. A full socket buffer lasts longer than this.
LONGEST_AWAY_S = 0.1

PATH = """
schema = 1
name = "one product"
duration = "12 s"
warmup = "4 s"
sample_interval = "20 ms"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "33 packets" }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
"""


def measured(result: Result) -> tuple[float, float]:
    """Returns goodput in bit/s and mean smoothed round-trip time in seconds, without warm-up."""
    samples = result.tables["samples"]
    warm = column(samples, "time_s") >= WARMUP_S
    times, delivered = (column(samples, name)[warm] for name in ("time_s", "delivered_bytes"))
    goodput = 8 * (delivered[-1] - delivered[0]) / (times[-1] - times[0])
    return float(goodput), float(np.nanmean(column(samples, "smoothed_rtt_s")[warm]))


def too_busy(result: Result) -> str | None:
    """Returns the reason why a run is uninformative, or None."""
    if result.unreliable:
        return str(result.tables["fidelity"]["verdict"][0])
    away_s = np.diff(column(result.tables["tcp_info"], "time_s")).max()
    return f"the sending program was away for {away_s:.3f} s" if away_s > LONGEST_AWAY_S else None


#: The kernel's cubic has HyStart and the Reno-friendly growth of RFC 8312. The engine's gets both.
AS_LINUX = {"reno": {}, "cubic": {"slow_start_exit": "hystart", "friendly_speedup": False}}


@pytest.mark.parametrize("control", list(AS_LINUX))
def test_goodput_and_round_trip_time(control: str, tmp_path: Path) -> None:
    scenario = Scenario.from_toml(PATH).replace({"flows.main.transport.control": {"kind": control}})
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        linux = emulate(scenario, folder)
        assert [run["difference"] for run in replay(folder)] == [None]
        why_not = too_busy(linux)
        if why_not is None:
            break
    else:
        pytest.skip(f"this machine was too busy: {why_not}")
    goodput, rtt = measured(linux)
    alike = scenario.replace(
        {"flows.main.transport.control": {"kind": control, **AS_LINUX[control]}}
    )
    expected_goodput, expected_rtt = measured(simulate(alike))
    assert goodput == pytest.approx(expected_goodput, rel=0.01)
    assert rtt == pytest.approx(expected_rtt, rel=0.04)
