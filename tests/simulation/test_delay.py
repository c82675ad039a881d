"""What is there to keep queues short: Vegas at the sender, CoDel at the bottleneck."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, simulate

from .paths import flow, path, scenario, tcp
from .rows import at_end, column, goodput, one

#: 1250 packets of 1000 bytes, headers included, per second.
RATE = 10e6
#: Of an empty path, in seconds.
RTT = 0.04


@cache
def run(control: str, queue: tuple[tuple[str, object], ...], ecn: bool = False) -> Result:
    """A flow alone on 10 Mbit/s and 40 ms."""
    transport = tcp(control, recovery="sack", mss="960 bytes", ecn=ecn)
    return simulate(scenario(path("10 Mbit/s", "20 ms", dict(queue)), [flow(transport)], "60 s", warmup="10 s"))


def droptail(limit: str) -> tuple[tuple[str, object], ...]:
    return (("kind", "droptail"), ("limit", limit))


def codel(**more: object) -> tuple[tuple[str, object], ...]:
    return (("kind", "codel"), ("limit", "1000 packets"), *more.items())


def utilisation(result: Result) -> float:
    """Share of the link that is used after the warm-up."""
    time, served = (column(result, "hops", name, hop="out") for name in ("time_s", "served_bytes"))
    after = time >= 10
    return 8 * np.ptp(served[after]) / np.ptp(time[after]) / RATE


def test_vegas_fills_the_link_with_a_few_packets_queued_and_loses_none() -> None:
    result = run("vegas", droptail("100 packets"))
    queued = (one(result, "flows", "rtt_mean_s") - RTT) * RATE / 8000
    # From α to β, and the packet that is being sent.
    assert 2 <= queued <= 5
    assert utilisation(result) > 0.999
    assert at_end(result, "drops_queue") == 0


def test_vegas_yields_to_a_flow_that_fills_the_buffer() -> None:
    flows = [flow(tcp(control, recovery="sack"), name=control) for control in ("vegas", "reno")]
    result = simulate(scenario(path("10 Mbit/s", "20 ms", "100 packets"), flows, "60 s", warmup="10 s"))
    assert goodput(result, flow="vegas")[0] < 0.5 * goodput(result, flow="reno")[0]


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_codel_keeps_the_queue_near_its_target_where_drop_tail_fills_the_buffer(control: str) -> None:
    short, long = run(control, codel()), run(control, droptail("1000 packets"))
    delay, full = (one(result, "flows", "rtt_mean_s") - RTT for result in (short, long))
    assert delay < 2 * 0.005
    assert full > 0.3
    assert at_end(short, "drops_queue") == 0
    assert at_end(short, "drops_aqm") > 10
    assert utilisation(short) > (0.94 if control == "cubic" else 0.8)


def test_codel_with_ecn_marks_and_drops_nothing() -> None:
    result = run("cubic", codel(ecn=True), ecn=True)
    assert at_end(result, "marks") > 10
    assert at_end(result, "drops_aqm") == 0
    assert one(result, "flows", "retransmitted_packets") == 0
    assert one(result, "flows", "rtt_mean_s") - RTT < 2 * 0.005
