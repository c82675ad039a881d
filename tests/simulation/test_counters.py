"""The table of counters: what loss recovery did, under the names of `nstat`."""

from __future__ import annotations

import pytest

from ackclock import Result, simulate
from ackclock.elements.registry import registry

from .paths import flow, loss, path, scenario, tcp, udp
from .rows import column

JITTER = {
    "kind": "jitter",
    "distribution": {"kind": "uniform", "maximum": "5 ms"},
    "reordering": "allowed",
}
#: A queue of ten packets, random loss, and a delay that varies: every rule has work.
PATH = path("10 Mbit/s", "20 ms", "10 packets", loss("1 %"), JITTER)


@pytest.fixture(scope="module")
def ran() -> Result:
    """Two flows of preset linux, and one UDP flow."""
    tcps = flow(tcp("cubic", "linux"), "bulk", count=2)
    constant = flow(udp(), "voice", traffic={"kind": "cbr", "rate": "64 kbit/s"})
    return simulate(scenario(PATH, [tcps, constant], "60 s", warmup="20 s"))


def counters(result: Result, column_name: str = "value") -> dict[str, int]:
    rows = result.tables["counters"]
    return dict(zip(rows["name"].to_pylist(), rows[column_name].to_pylist(), strict=True))


def test_they_agree_with_the_flows(ran: Result) -> None:
    counted = counters(ran)
    sent, again, timeouts = (
        column(ran, "flows", name)[:2].sum()
        for name in ("sent_packets", "retransmitted_packets", "timeouts")
    )
    assert counted["TCPOrigDataSent"] == sent - again
    assert counted["RetransSegs"] - counted["TCPSynRetrans"] == again > 0
    assert counted["TCPTimeouts"] - counted["TCPSynRetrans"] == timeouts


def test_they_are_nstats_and_include_the_warm_up(ran: Result) -> None:
    registered = [counter["name"] for counter in registry()["counters"]]
    counted, measured = counters(ran), counters(ran, "measured_value")
    assert counted.keys() <= set(registered)
    assert all(0 <= measured[name] <= counted[name] for name in counted)
    assert 0 < measured["TCPOrigDataSent"] < counted["TCPOrigDataSent"]
    assert counted["TCPSackRecovery"] > 0 == counted["TCPRenoRecovery"]
    assert counted["TCPSACKReorder"] > 0, "packets overtake each other"


def test_without_tcp_there_is_nothing_to_count() -> None:
    constant = flow(udp(), traffic={"kind": "cbr", "rate": "64 kbit/s"})
    assert simulate(scenario(PATH, [constant], "5 s")).tables["counters"].num_rows == 0
