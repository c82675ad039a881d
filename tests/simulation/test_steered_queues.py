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
        summary.interval.mean
        for summary in summarise(result, METRICS["queueing_delay"])
        if summary.subject == "out"
    ]
    assert delay == pytest.approx(0.015, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["exact", "linux"])
def test_codel_has_one_signal_in_a_cycle(arithmetic: str) -> None:
    """One Reno at 10 Mbit/s and 90 ms, which is below the interval: a drop every four seconds.

    As the model assumes, every segment is acknowledged. A tenth is allowed for what a drop's repair
    takes.
    """
    hops = path("10 Mbit/s", "45 ms", {"kind": "codel", "arithmetic": arithmetic})
    transport = tcp(recovery="sack", mss=MSS, delayed_ack={"every": "1 packet"})
    resolved = scenario(hops, [flow(transport)], "400 s", warmup="100 s")
    result = simulate(resolved)
    says = predicted(resolved, "codel_cycle")
    cuts = column(result, "events", "time_s", kind="fast_retransmit")
    cuts = cuts[cuts > 100]
    assert np.diff(cuts).mean() == pytest.approx(says["period"], rel=0.1)
    (busy,) = [
        summary.interval.mean
        for summary in summarise(result, METRICS["utilisation"])
        if summary.subject == "out"
    ]
    assert busy == pytest.approx(says["utilisation"], rel=0.05)


LOW_LATENCY = {
    "dctcp": {"preset": "linux", "ecn": True, "ecn_codepoint": "ect1"},
    "prague": {"preset": "l4s"},
}


@cache
def _coexisting(arithmetic: str, control: str) -> Result:
    """Returns a scalable and a Reno flow at 40 Mbit/s, with 10 ms each."""
    low = {"kind": "tcp", "control": {"kind": control}, "mss": MSS} | LOW_LATENCY[control]
    reno = tcp(recovery="sack", mss=MSS, delayed_ack={"every": "1 packet"})
    queue = {"kind": "dualpi2", "arithmetic": arithmetic}
    hops = [
        hop("out", "40 Mbit/s", "5 ms", queue, packet_delays=True),
        hop("back", "400 Gbit/s", "5 ms"),
    ]
    senders = [flow(low, name="low"), flow(reno, name="reno")]
    return simulate(scenario(hops, senders, "150 s", warmup="50 s"))


both = pytest.mark.parametrize("control", LOW_LATENCY)
arithmetics = pytest.mark.parametrize("arithmetic", ["exact", "linux"])


@pytest.mark.slow
def test_dualpi2_shares_the_link_as_its_coupling_says() -> None:
    """DCTCP has two marks per round trip: 2201 and 1132 packets per second.

    A fifth is allowed, as windows are discrete and the low-latency queue also marks by itself. With
    Linux's step it does so more often, as DCTCP is not paced, and Reno gets more than that.
    """
    result = _coexisting("exact", "dctcp")
    says = models.model("dualpi2_shares").answer(
        rate=4e7 / 12_000, rtt=0.01, low_latency_delay=0.0005
    )
    for name, output in (("low", "low_latency_rate"), ("reno", "classic_rate")):
        rate = goodput(result, flow=name).mean() / (1460 * 8)
        assert rate == pytest.approx(float(says[output]), rel=0.2), name


@pytest.mark.slow
@arithmetics
@both
def test_neither_queue_of_dualpi2_starves(arithmetic: str, control: str) -> None:
    """Prague depends less on a short round-trip time, which the model does not know."""
    result = _coexisting(arithmetic, control)
    low, reno = (goodput(result, flow=name).mean() / (1460 * 8) for name in ("low", "reno"))
    assert low + reno == pytest.approx(4e7 / 12_000, rel=0.05)
    assert 0.5 < low / reno < 4


@pytest.mark.slow
@arithmetics
@both
def test_the_low_latency_queue_of_dualpi2_is_short(arithmetic: str, control: str) -> None:
    """Half of the packets of the scalable flow wait for less than the thresholds of 0.8 or 1 ms."""
    summaries = summarise(_coexisting(arithmetic, control), METRICS["packet_delay_p50"])
    delays = {summary.subject: summary.interval.mean for summary in summaries}
    assert delays["out[low_latency]"] < 0.001
    assert delays["out[classic]"] == pytest.approx(0.015, rel=0.5)
