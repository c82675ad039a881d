"""Queues with a control law, against their models of the steady state."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, Scenario, models, simulate
from ackclock.metrics import METRICS, summarise

from . import laws
from .paths import Tree, flow, hop, path, scenario, tcp
from .rows import column, goodput

#: Packets of 1500 bytes.
MSS = "1460 bytes"


def predicted(scenario: Scenario, model: str) -> dict[str, float]:
    """Returns the outputs of a model for the only flow of a scenario."""
    answers = models.predictions([scenario.resolve().tree], [models.model(model)])
    (outputs,) = answers["outputs"]
    return dict(outputs)


def drop_share(result: Result, warmup_s: float) -> float:
    """Returns the drops per arrival at the hop after the warm-up."""
    times = column(result, "hops", "time_s", hop="out")
    grown = [
        np.ptp(column(result, "hops", name, hop="out")[times >= warmup_s])
        for name in ("drops_aqm", "arrivals")
    ]
    return float(grown[0] / grown[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "queue",
    [
        {"kind": "pie"},
        {"kind": "pie", "arithmetic": "linux"},
        {"kind": "pi2"},
        {"kind": "pi2", "arithmetic": "linux"},
    ],
)
def test_five_renos_are_where_the_square_root_law_says(queue: Tree) -> None:
    """10 Mbit/s and 100 ms: windows of 19 segments, and a drop in 245.

    The law knows evenly spaced or independent losses and no timeouts. A quarter is allowed.
    """
    senders = [flow(tcp(recovery="sack", mss=MSS), count=5, start=["0 s", "5 s"])]
    hops = path("10 Mbit/s", "50 ms", queue)
    resolved = scenario(hops, senders, "300 s", warmup="60 s")
    result = simulate(resolved)
    laws.check(result)
    expected = predicted(resolved, "steered_queue")["loss_rate"]
    assert drop_share(result, 60) == pytest.approx(expected, rel=0.25)
    (delay,) = [
        one.interval.mean
        for one in summarise(result, METRICS["queueing_delay"])
        if one.subject == "out"
    ]
    assert delay == pytest.approx(0.015, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["exact", "linux"])
def test_codel_has_one_signal_in_a_cycle(arithmetic: str) -> None:
    """One Reno at 10 Mbit/s and 100 ms: a drop every five seconds or so.

    The round-trip time must be below the interval: 90 ms. A tenth is allowed for what a drop's
    repair takes.
    """
    hops = path("10 Mbit/s", "45 ms", {"kind": "codel", "arithmetic": arithmetic})
    resolved = scenario(hops, [flow(tcp(recovery="sack", mss=MSS))], "400 s", warmup="100 s")
    result = simulate(resolved)
    says = predicted(resolved, "codel_cycle")
    cuts = column(result, "events", "time_s", kind="fast_retransmit")
    cuts = cuts[cuts > 100]
    assert np.diff(cuts).mean() == pytest.approx(says["period"], rel=0.1)
    (busy,) = [
        one.interval.mean
        for one in summarise(result, METRICS["utilisation"])
        if one.subject == "out"
    ]
    assert busy == pytest.approx(says["utilisation"], rel=0.05)


@cache
def _coexisting(arithmetic: str) -> Result:
    low = {"kind": "tcp", "preset": "l4s", "control": {"kind": "prague"}, "mss": MSS}
    senders = [
        flow(low, name="prague"),
        flow(tcp(recovery="sack", mss=MSS), name="reno"),
    ]
    queue = {"kind": "dualpi2", "arithmetic": arithmetic}
    hops = [
        hop("out", "40 Mbit/s", "5 ms", queue, packet_delays=True),
        hop("back", "400 Gbit/s", "5 ms"),
    ]
    return simulate(scenario(hops, senders, "120 s", warmup="30 s"))


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["exact", "linux"])
def test_dualpi2_lets_scalable_and_classic_flows_coexist(arithmetic: str) -> None:
    """One Prague and one Reno at 40 Mbit/s, 10 ms each: neither starves.

    The model has 2201 and 1132 packets per second. A factor of 1.5 is allowed: Prague reduces its
    dependence on short round-trip times, which the model does not know.
    """
    result = _coexisting(arithmetic)
    prague, reno = (goodput(result, flow=name).mean() / (1460 * 8) for name in ("prague", "reno"))
    assert prague + reno == pytest.approx(4e7 / 12_000, rel=0.05)
    assert reno > 1132 / 1.5


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["exact", "linux"])
def test_the_low_latency_queue_of_dualpi2_is_short(arithmetic: str) -> None:
    """Half of the packets of the scalable flow wait for less than the thresholds of 0.8 or 1 ms."""
    found = summarise(_coexisting(arithmetic), METRICS["packet_delay_p50"])
    delays = {one.subject: one.interval.mean for one in found}
    assert delays["out[low_latency]"] < 0.001
    assert delays["out[classic]"] == pytest.approx(0.015, rel=0.5)
