"""A reading program that is slow: the kernel's window beside the engine's."""

from pathlib import Path

import pytest

from ackclock import Result, Scenario, simulate
from ackclock.run.emulation import emulate

pytestmark = pytest.mark.usefixtures("emulation")

SLOW = """
schema = 1
duration = "12 s"
warmup = "2 s"
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "20 Mbit/s" }}
queue = {{ kind = "droptail", limit = "100 packets" }}
delay = "10 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "10 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]

[flows.transport]
kind = "tcp"
control = {{ kind = "cubic" }}
preset = "linux"
receive_window = "{window}"
read_rate = "{rate}"
"""


def counted(result: Result, host: str, name: str) -> int:
    """Returns a counter of `nstat`."""
    rows = result.tables["counters"].to_pylist()
    [value] = [row["value"] for row in rows if (row["host"], row["name"]) == (host, name)]
    return int(value)


def both(tmp_path: Path, rate: str, window: str) -> tuple[Result, Result]:
    """Returns the simulation and the emulation of a slow reader."""
    scenario = Scenario.from_toml(SLOW.format(rate=rate, window=window))
    return simulate(scenario), emulate(scenario, tmp_path / "run", pcap=False)


def flow(result: Result) -> dict[str, float]:
    """Returns the row of the flow."""
    [row] = result.tables["flows"].to_pylist()
    return row


def test_the_kernel_sends_what_the_engine_sends_to_a_slow_reader(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, "2 Mbit/s", "64 kB")
    assert flow(theirs)["goodput_bit_per_s"] == pytest.approx(2e6, rel=0.02)
    assert flow(theirs)["sent_packets"] == pytest.approx(flow(ours)["sent_packets"], rel=0.02)
    [control] = ours.tables["flow_control"].to_pylist()
    last = theirs.tables["tcp_info"].to_pylist()[-1]
    limited = control["receive_window_limited_s"]
    assert last["receive_window_limited_s"] == pytest.approx(limited, rel=0.02)
    assert counted(theirs, "senders", "TCPWinProbe") == 0 == control["window_probes"]


def test_the_kernels_window_closes_as_often_as_the_engines(tmp_path: Path) -> None:
    """Two segments are read in .39 s, more than the kernel waits before it asks: each time the
    window closes, there is one probe. A turn more or less is the end of the run.
    """
    ours, theirs = both(tmp_path, "60 kbit/s", "32 kB")
    assert flow(theirs)["sent_packets"] == pytest.approx(flow(ours)["sent_packets"], abs=3)
    for host, name in [
        ("senders", "TCPWinProbe"),
        ("receivers", "TCPToZeroWindowAdv"),
        ("receivers", "TCPFromZeroWindowAdv"),
    ]:
        assert counted(theirs, host, name) == pytest.approx(counted(ours, host, name), abs=2), name
        assert counted(ours, host, name) > 20


def test_a_program_that_never_reads_lets_the_buffer_through(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, "0 bit/s", "32 kB")
    assert flow(theirs)["delivered_bytes"] == 0 == flow(ours)["delivered_bytes"]
    new = "TCPOrigDataSent"  # without the tail loss probe of a receiver that delays its ACK
    assert counted(theirs, "senders", new) == counted(ours, "senders", new) == 22
    probes = "TCPWinProbe"
    assert counted(theirs, "senders", probes) == pytest.approx(
        counted(ours, "senders", probes), abs=1
    )
