"""Flows against one another, and against themselves under other rules."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ackclock import Result, simulate
from ackclock.metrics import METRICS, interval, summarise

from .paths import Tree, flow, path, scenario, tcp
from .rows import column, goodput, value_of


def pair(jitter: str, duration: str) -> Result:
    """Returns two equal flows, one 60 s late, over a link that takes 832 us for a packet."""
    flows = [
        flow(tcp(send_jitter=jitter), name, start=start)
        for name, start in (("early", "0 s"), ("late", "60 s"))
    ]
    hops = path("10 Mbit/s", "20 ms", "50 packets")
    return simulate(scenario(hops, flows, duration, warmup="160 s", replicates=6))


@pytest.mark.slow
def test_two_identical_flows_share_fairly() -> None:
    result = pair("1 ms", "760 s")
    fairness = METRICS["fairness"]
    (summary,) = summarise(result, fairness)
    assert summary.interval.low > 0.999
    early, late = (goodput(result, flow=name) for name in ("early", "late"))
    difference = interval(early - late)
    assert difference.low < 0 < difference.high
    assert difference.half_width < 0.02 * 10e6
    assert (early + late).mean() == pytest.approx(10e6 * 1000 / 1040, rel=0.02)


@pytest.mark.slow
def test_jitter_of_less_than_a_service_time_leaves_the_phase_effect() -> None:
    # Floyd and Jacobson 1991: a random delay of one service time at the bottleneck breaks the
    # phases. With less, the packets of one flow find the full queue more often, and equally so in
    # each replicate.
    result = pair("500 us", "260 s")
    early, late = (goodput(result, flow=name) for name in ("early", "late"))
    assert np.ptp(early) < 1e-3 * early.mean()
    assert abs(early - late).min() > 0.05 * 10e6


@pytest.mark.slow
def test_the_shorter_round_trip_gets_more() -> None:
    flows = [
        flow(tcp(send_jitter="1 ms"), count=2, start=["0 s", "1 s"], access_delay=["0 ms", "60 ms"])
    ]
    hops = path("10 Mbit/s", "10 ms", "25 packets")
    result = simulate(scenario(hops, flows, "100 s", warmup="20 s", replicates=5))
    near, far = (goodput(result, instance=number).mean() for number in (0, 1))
    assert near > 1.5 * far


def alone(control: str, rate: str, delay: str, limit: str, duration: str) -> Result:
    hops = path(rate, delay, limit)
    flows = [flow(tcp(control), start=["0 s", "1 s"])]
    return simulate(scenario(hops, flows, duration, warmup="60 s"))


@pytest.mark.slow
def test_cubic_beats_reno_on_a_long_fat_path() -> None:
    reno, cubic = (
        goodput(alone(control, "50 Mbit/s", "100 ms", "125 packets", "160 s"))
        for control in ("reno", "cubic")
    )
    assert cubic.mean() > 1.1 * reno.mean()


def test_cubic_is_no_worse_than_reno_on_a_short_path() -> None:
    # Below about ten segments of window and a few ms, CUBIC is in its Reno-friendly region (RFC
    # 9438 section 4.3).
    reno, cubic = (
        goodput(alone(control, "10 Mbit/s", "5 ms", "8 packets", "160 s"))
        for control in ("reno", "cubic")
    )
    assert cubic.mean() > 0.99 * reno.mean()


@pytest.mark.slow
def test_cubic_is_no_bully_on_a_short_path() -> None:
    flows = [
        flow(tcp(control, send_jitter="1 ms"), control, start=["0 s", "1 s"])
        for control in ("reno", "cubic")
    ]
    result = simulate(
        scenario(
            path("10 Mbit/s", "5 ms", "20 packets"), flows, "150 s", warmup="20 s", replicates=5
        )
    )
    shares = [goodput(result, flow=control).mean() for control in ("reno", "cubic")]
    assert 0.6 < shares[1] / shares[0] < 1.7


def growth(counting: str, every: int, ssthresh: str, rounds: int) -> NDArray:
    """Returns cwnd in segments in the middle of each of the first round trips, without loss.

    They take 100 ms each.
    """
    transport = tcp(
        byte_counting=counting,
        delayed_ack={"every": f"{every} packets", "timeout": "1 ms"},
        initial_window="10 packets",
        initial_ssthresh=ssthresh,
        handshake=False,
    )
    duration = f"{rounds / 10} s"
    result = simulate(
        scenario(path("100 Gbit/s", "50 ms"), [flow(transport)], duration, sample_interval="10 ms")
    )
    time, cwnd = (column(result, "samples", name) for name in ("time_s", "cwnd_bytes"))
    return np.interp(np.arange(rounds) * 0.1 + 0.05, time, cwnd) / 1000


def test_slow_start_doubles_unless_acks_are_delayed_and_counted() -> None:
    each, delayed, restored = (
        growth(*how, "unlimited", 8) for how in (("per_ack", 1), ("per_ack", 2), ("all", 2))
    )
    assert each == pytest.approx(10 * 2.0 ** np.arange(8))
    assert delayed[1:] / delayed[:-1] == pytest.approx(np.full(7, 1.5), rel=0.05)
    assert restored == pytest.approx(each)


def test_congestion_avoidance_gains_a_segment_unless_acks_are_delayed_and_counted() -> None:
    each, delayed, restored = (
        np.ptp(growth(*how, "10 packets", 21)) / 20
        for how in (("per_ack", 1), ("per_ack", 2), ("all", 2))
    )
    assert each == pytest.approx(1, abs=0.05)
    assert delayed == pytest.approx(1 / 2, abs=0.05)
    assert restored == pytest.approx(1, abs=0.05)


def test_a_receivers_window_holds_the_rate() -> None:
    transport = tcp(receive_window="20 packets", delayed_ack={"every": "1 packet"})
    result = simulate(
        scenario(path("1 Gbit/s", "50 ms"), [flow(transport)], "100 s", warmup="10 s")
    )
    round_trip = value_of(result, "flows", "rtt_min_s")
    assert goodput(result)[0] == pytest.approx(20 * 8000 / round_trip, rel=0.002)
    assert max(column(result, "samples", "in_flight_bytes")) == 20_000


def control(kind: str, **parameters: float) -> Tree:
    return {"kind": kind, **parameters}


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.8), (2.0, 0.5)])
def test_a_more_aggressive_aimd_takes_more(alpha: float, beta: float) -> None:
    kinds = {"plain": control("reno"), "greedy": control("reno", alpha=alpha, beta=beta)}
    flows = [
        flow(tcp(kind, send_jitter="1 ms"), name, start=["0 s", "1 s"])
        for name, kind in kinds.items()
    ]
    result = simulate(
        scenario(
            path("10 Mbit/s", "20 ms", "50 packets"), flows, "150 s", warmup="30 s", replicates=3
        )
    )
    plain, greedy = (goodput(result, flow=name).mean() for name in kinds)
    assert greedy > 1.2 * plain
