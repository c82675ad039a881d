"""RED and adaptive RED on a link that TCP flows fill."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, simulate

from . import laws
from .paths import Tree, flow, path, scenario, tcp
from .rows import at_end, column

#: 1250 packets of 1500 bytes per second.
RATE = "15 Mbit/s"
RED: Tree = {
    "kind": "red",
    "limit": "200 packets",
    "minimum_threshold": "15 packets",
    "maximum_threshold": "45 packets",
}
ADAPTIVE: Tree = {"kind": "adaptive_red", "limit": "200 packets"}


@cache
def _run(queue: tuple[tuple[str, object], ...], flows: int, ecn: bool) -> Result:
    transport = tcp(recovery="sack", mss="1460 bytes", ecn=ecn)
    senders = [flow(transport, count=flows, start=["0 s", "2 s"])]
    times = {"warmup": "20 s", "sample_interval": "50 ms", "replicates": 2}
    return simulate(scenario(path(RATE, "30 ms", dict(queue)), senders, "80 s", **times))


def run(queue: Tree, flows: int = 20, ecn: bool = False) -> Result:
    """Returns flows of NewReno with SACK over 60 ms."""
    return _run(tuple(queue.items()), flows, ecn)


def mean_queue(result: Result) -> float:
    """Returns the time-averaged queue after the warm-up, in packets."""
    time, waiting = (
        column(result, "hops", name, hop="out") for name in ("time_s", "backlog_packets")
    )
    return float(np.mean(waiting[time > 20]))


@pytest.mark.slow
@pytest.mark.parametrize("flows", [10, 20, 40])
@pytest.mark.parametrize("delay_ms", [20, 40])
def test_adaptive_red_steers_the_queue_to_the_middle_of_its_thresholds(
    flows: int, delay_ms: int
) -> None:
    """The target is 0.4 to 0.6 of the way between the thresholds, and so is the mean queue."""
    low = 1250 * delay_ms / 1000 / 2
    high = 3 * low
    result = run(ADAPTIVE | {"target_delay": f"{delay_ms} ms"}, flows)
    place = (mean_queue(result) - low) / (high - low)
    assert 0.4 < place < 0.6


@pytest.mark.slow
def test_static_red_has_a_queue_that_depends_on_the_load() -> None:
    queues = [mean_queue(run(RED, flows)) for flows in (5, 10, 20, 40)]
    assert all(np.diff(queues) > 2), queues


@pytest.mark.slow
def test_red_drops_early_and_keeps_the_queue_short() -> None:
    result = run(RED)
    tail = run({"kind": "droptail", "limit": "200 packets"})
    assert at_end(result, "drops_aqm") > 100
    assert at_end(result, "drops_queue") == 0
    assert at_end(tail, "drops_aqm") == 0
    assert mean_queue(result) < 0.5 * mean_queue(tail)


@pytest.mark.slow
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_behind_codel_a_mark_costs_what_a_drop_costs(control: str) -> None:
    """One flow uses the link equally well, within 3 percent, whether CoDel marks or drops.

    Two reactions to a mark, as of a sender that answers the last echo of a window again, would cost
    CUBIC a tenth of the link.
    """

    def run(ecn: bool) -> Result:
        queue = {"kind": "codel", "limit": "1000 packets", "ecn": ecn}
        transport = tcp(control, "linux", mss="1448 bytes", ecn=ecn)
        hops = path("20 Mbit/s", "20 ms", queue)
        result = simulate(scenario(hops, [flow(transport)], "60 s", warmup="5 s"))
        laws.check(result)
        return result

    marked, dropped = (column(run(ecn), "flows", "goodput_bit_per_s")[0] for ecn in (True, False))
    assert marked == pytest.approx(dropped, abs=0.03 * 20e6)


@pytest.mark.slow
def test_with_ecn_packets_are_marked_and_not_lost() -> None:
    marking = RED | {"ecn": True, "gentle": True}
    result = run(marking, ecn=True)
    assert at_end(result, "marks") > 100
    assert at_end(result, "drops_aqm") < 0.1 * at_end(result, "marks")
    assert column(result, "flows", "retransmitted_packets")[0] < 0.1 * at_end(result, "marks")
    # Senders without ECN lose the packets that others have marked.
    assert at_end(run(marking), "marks") == 0
    assert at_end(run(marking), "drops_aqm") > 100


@pytest.mark.slow
def test_a_queue_that_waits_is_longer() -> None:
    """With ns-2's `wait_`, gaps between drops are three times as long at the same average queue.

    Fifty flows need a given share of drops, so that the average rises.
    """
    without, waiting = (
        float(np.mean(column(_run(tuple((RED | more).items()), 50, False), "hops",
                             "backlog_packets", hop="out")))
        for more in ({}, {"wait": True})
    )  # fmt: skip
    assert waiting > 1.2 * without
