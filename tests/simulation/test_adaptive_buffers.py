"""eBDP, ALT and A* on links that TCP flows fill."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest

from ackclock import Result, simulate

from ..refusals import refused
from .paths import Tree, flow, path, scenario, tcp
from .rows import at_end, column

#: 1000 packets of 1040 bytes per second.
RATE = "8.32 Mbit/s"
#: Rates at which ALT raises and lowers the limit, and the share of time with a queue where it
#: settles.
RISE, FALL = 10.0, 1.0
BUSY = 1 / (1 + FALL / RISE)


@cache
def _run(kind: str, flows: int, delay_ms: int, more: tuple[tuple[str, object], ...]) -> Result:
    transport = tcp(recovery="sack", delayed_ack={"every": "1 packet"})
    various = {"access_delay": ["0 ms", "50 ms"]} if flows > 1 else {}
    senders = [flow(transport, count=flows, start=["0 s", "2 s"], **various)]
    times = {"warmup": "200 s", "sample_interval": "100 ms"}
    queue = {"kind": kind} | dict(more)
    return simulate(scenario(path(RATE, f"{delay_ms} ms", queue), senders, "800 s", **times))


def run(kind: str, flows: int = 1, delay_ms: int = 100, **more: object) -> Result:
    """Returns flows of Reno with SACK and an ACK for each packet over two delays.

    Several flows have slightly different delays, so that they are not synchronised.
    """
    return _run(kind, flows, delay_ms, tuple(more.items()))


def series(result: Result, name: str) -> np.ndarray:
    """Returns a column of the bottleneck after the warm-up."""
    time, values = (column(result, "hops", each, hop="out") for each in ("time_s", name))
    return np.asarray(values[time > 200])


def busy(result: Result) -> float:
    """Returns the share of time in which the link is busy."""
    time, spent = (series(result, name) for name in ("time_s", "busy_s"))
    return float((spent[-1] - spent[0]) / (time[-1] - time[0]))


def settled(pipe: float) -> float:
    """Returns ALT's limit Q at which a Reno flow leaves the link idle for its share of the time.

    The flow halves its window P + Q. Let x = Q/P and d = (1 - x)/2, in units of P²/rate. The link
    is idle for d²/2 in a cycle of d + x + x²/2: below P the round trip is constant, above it grows.
    So (1 + RISE/FALL) d²/2 = d + x + x²/2, a quadratic equation.
    """
    r = 1 + RISE / FALL
    a, b, c = r / 8 - 0.5, -r / 4 - 0.5, r / 8 - 0.5
    return pipe * (-b - sqrt(b * b - 4 * a * c)) / (2 * a)


@pytest.mark.long
@pytest.mark.parametrize("delay_ms", [30, 100])
def test_alt_settles_where_the_link_is_busy_for_its_share_of_the_time(delay_ms: int) -> None:
    """Its limit at the overflows is that of the fluid saw-tooth, within 8 %.

    The fixed point P(1 - b)/(b + FALL/RISE) assumes an empty queue while the window is below P. It
    is an upper bound, since the link is not idle throughout that time.
    """
    result = run("alt", delay_ms=delay_ms)
    pipe = 2.0 * delay_ms + 1
    assert busy(result) == pytest.approx(BUSY, abs=0.005)
    limits, drops = (series(result, name) for name in ("limit_packets", "drops_queue"))
    at_overflow = limits[1:][np.diff(drops) > 0]
    assert at_overflow.size > 10
    assert at_overflow.mean() == pytest.approx(settled(pipe), rel=0.08)
    assert at_overflow.max() < pipe * 0.5 / (0.5 + FALL / RISE)


@pytest.mark.slow
def test_alt_forgets_where_it_began() -> None:
    low, high = (
        series(run("alt", initial=f"{initial} packets"), "limit_packets").mean()
        for initial in (5, 200)
    )
    assert low == pytest.approx(high, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["alt", "a_star"])
def test_several_flows_need_less_and_only_ebdp_does_not_see_it(kind: str) -> None:
    """They do not halve their windows at the same time."""
    ebdp = series(run("ebdp", 10), "limit_packets")
    assert ebdp == pytest.approx(240, abs=1e-6), "200 ms at 1000 packets per second, and 40"
    assert series(run("ebdp"), "limit_packets") == pytest.approx(240, abs=1e-6), "however many"
    single, ten = (series(run(kind, flows), "limit_packets").mean() for flows in (1, 10))
    assert ten < 0.5 * single
    assert ten < 0.2 * ebdp.mean()
    assert busy(run(kind, 10)) > BUSY - 0.005, "and the link is as busy"


@pytest.mark.slow
def test_a_star_is_below_both() -> None:
    """With a target of 50 ms eBDP's limit is 55 packets, at times less than ALT's."""
    both, by_idleness = (series(run(kind, **more), "limit_packets") for kind, more in
                         (("a_star", {"target_delay": "50 ms"}), ("alt", {})))  # fmt: skip
    assert both.max() <= 55 + 1e-6
    assert both.mean() < by_idleness.mean()
    assert (both > 54).any()
    assert series(run("a_star"), "limit_packets").max() <= 205 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ebdp", "alt", "a_star"])
def test_the_queue_stays_below_its_limit_and_a_look_at_it_changes_nothing(kind: str) -> None:
    results = []
    for interval in ("20 ms", "1 s"):
        senders = [flow(tcp(recovery="sack"), count=3, start=["0 s", "2 s"])]
        loss = {"kind": "iid_loss", "probability": "0.01 %"}
        tree = scenario(
            path(RATE, "40 ms", {"kind": kind}, loss), senders, "60 s", sample_interval=interval
        )
        results.append(simulate(tree))
    often, seldom = results
    waiting, limit = (
        column(often, "hops", name, hop="out") for name in ("backlog_packets", "limit_packets")
    )
    # What is there stays when the limit falls: by a packet in a second.
    assert (waiting <= limit + 2).all()
    for name in ("arrivals", "departures", "drops_queue", "busy_s", "limit_packets"):
        assert at_end(often, name) == at_end(seldom, name)
    assert at_end(often, "drops_queue") > 0


def test_a_queue_whose_limit_stays_shows_none() -> None:
    result = simulate(scenario(path(RATE, "5 ms", "10 packets"), [flow(tcp())], "2 s"))
    assert np.isnan(column(result, "hops", "limit_packets")).all()


@pytest.mark.parametrize(
    ("queue", "code", "field"),
    [
        ({"kind": "ebdp", "target_delay": "0 s"}, "out-of-range", "target_delay"),
        (
            {
                "kind": "alt",
                "minimum": "20 packets",
                "maximum": "10 packets",
                "initial": "10 packets",
            },
            "contradiction",
            "minimum",
        ),
        ({"kind": "a_star", "weight": 2}, "out-of-range", "weight"),
        ({"kind": "alt", "interval": "0 s"}, "out-of-range", "interval"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(queue: Tree, code: str, field: str) -> None:
    with refused(code, f"hops.out.queue.{field}"):
        simulate(scenario(path(RATE, "5 ms", queue), [flow(tcp())], "2 s"))
