"""The kernel's reno and cubic against the engine's, on a drop-tail path with a buffer of one BDP.

There the saw-tooth decides everything and chance nothing, so one short run of each is informative.
The guide on fidelity has five paths with five replicates, and the source of the tolerances. If the
machine was too busy, the test is skipped with a message. Two conditions decide that: the verdict,
and whether the sending program got the processor when it wanted to write. All numbers are the
kernel's, so it does not matter when the receiving program got it.
"""

import numpy as np
import pytest

from ackclock import Result, Scenario, simulate
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate, replay

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("emulation")]

WARMUP_S = 2
ATTEMPTS = 3
#: The writing program reads the kernel every 10 ms. A full socket buffer lasts longer than this.
LONGEST_AWAY_S = 0.1

PATH = """
schema = 1
name = "one product"
duration = "7 s"
warmup = "2 s"
sample_interval = "20 ms"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "25 packets" }
delay = "15 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "15 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
"""


def measured(result: Result, point: int) -> tuple[float, float]:
    """Returns goodput in bit/s and mean smoothed round-trip time in seconds, without warm-up."""
    samples = result.rows("samples", point=point)
    warm = column(samples, "time_s") >= WARMUP_S
    times, delivered = (column(samples, name)[warm] for name in ("time_s", "delivered_bytes"))
    goodput = 8 * (delivered[-1] - delivered[0]) / (times[-1] - times[0])
    return float(goodput), float(np.nanmean(column(samples, "smoothed_rtt_s")[warm]))


def too_busy(result: Result) -> str | None:
    """Returns the reason why a run is uninformative, or None."""
    if result.unreliable:
        return str(result.tables["fidelity"]["verdict"].to_pylist())
    for point in range(len(AS_LINUX)):
        away_s = np.diff(column(result.rows("tcp_info", point=point), "time_s")).max()
        if away_s > LONGEST_AWAY_S:
            return f"the sending program was away for {away_s:.3f} s"
    return None


#: The kernel's cubic has HyStart and the Reno-friendly growth of RFC 8312. The engine's gets both.
AS_LINUX = {"reno": {}, "cubic": {"slow_start_exit": "hystart", "friendly_speedup": False}}


def each(controls: list[dict[str, object]]) -> Scenario:
    """Returns the path with each control in turn."""
    return Scenario.from_toml(PATH).replace({"sweep": {"flows.main.transport.control": controls}})


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of each control, at the same time: both take a small part of the processors."""
    for _ in range(ATTEMPTS):
        folder = tmp_path_factory.mktemp("linux") / "result"
        result = emulate(each([{"kind": kind} for kind in AS_LINUX]), folder, side_by_side=2)
        assert [run["difference"] for run in replay(folder)] == [None, None]
        why_not = too_busy(result)
        if why_not is None:
            return result
    pytest.skip(f"this machine was too busy: {why_not}")


@pytest.fixture(scope="module")
def simulated() -> Result:
    return simulate(each([{"kind": kind, **more} for kind, more in AS_LINUX.items()]))


@pytest.mark.parametrize("point", range(len(AS_LINUX)), ids=list(AS_LINUX))
def test_goodput_and_round_trip_time(point: int, linux: Result, simulated: Result) -> None:
    goodput, rtt = measured(linux, point)
    expected_goodput, expected_rtt = measured(simulated, point)
    assert goodput == pytest.approx(expected_goodput, rel=0.01)
    assert rtt == pytest.approx(expected_rtt, rel=0.04)
