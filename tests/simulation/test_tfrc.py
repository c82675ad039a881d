"""TFRC on whole paths: the laws of RFC 5348 and its paper.

The paper is by Floyd, Handley, Padhye and Widmer, 2000.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ackclock import Result, simulate
from ackclock.metrics import by_replicate, outage_of, rate_cov
from ackclock.models import tfrc as equation

from .paths import Tree, flow, loss, path, scenario, tcp
from .rows import column, goodput

PAYLOAD_BITS = 8000.0

both_sides = pytest.mark.parametrize("side", ["receiver", "sender"])


def tfrc(side: str = "receiver", **parameters: object) -> Tree:
    """Returns TFRC over UDP, with packets as large as TCP's here."""
    control = {"kind": "tfrc", "loss_measured_by": side} | parameters
    return {"kind": "udp", "control": control, "mss": "1000 bytes", "header": "40 bytes"}


def variation(result: Result, flow: str = "main") -> NDArray:
    """Returns the coefficient of variation of the rate at one second, by replicate.

    It is a mean over instances.
    """
    metric = rate_cov(1.0, "delivered")
    return np.array(list(by_replicate(result, metric)[0, flow].values()))


@pytest.mark.slow
@both_sides
def test_throughput_falls_with_loss_and_with_the_round_trip_time(side: str) -> None:
    lossy = scenario(
        path("100 Mbit/s", "25 ms", "1000 packets", loss("0 %")),
        [flow(tfrc(side))],
        "120 s",
        warmup="20 s",
    )
    by_loss = simulate(
        lossy.replace(
            sweep={
                "hops.out.impairments.0.probability": [
                    "0.2 %",
                    "0.5 %",
                    "1 %",
                    "2 %",
                    "5 %",
                    "10 %",
                ]
            }
        )
    )
    assert (np.diff(goodput(by_loss)) < 0).all()
    delays = ["5 ms", "10 ms", "25 ms", "50 ms", "100 ms"]
    by_delay = simulate(
        lossy.replace({"hops.out.impairments.0.probability": "1 %"}).replace(
            sweep={"hops.out.delay,hops.back.delay": [[delay, delay] for delay in delays]}
        )
    )
    assert (np.diff(goodput(by_delay)) < 0).all()


@pytest.mark.long
@both_sides
@pytest.mark.parametrize(("percent", "duration"), [(0.2, "250 s"), (1.0, "500 s")])
def test_the_rate_is_that_of_the_equation(side: str, percent: float, duration: str) -> None:
    # Few random losses share a round trip here, so nearly each is a loss event. The sending rate is
    # some percent higher: the mean of the rates is above the rate at the mean loss.
    hops = path("100 Mbit/s", "25 ms", "1000 packets", loss(f"{percent} %"))
    result = simulate(scenario(hops, [flow(tfrc(side))], duration, warmup="50 s", replicates=5))
    expected = float(equation.rate(percent / 100, 0.05)) * PAYLOAD_BITS
    assert goodput(result).mean() == pytest.approx(expected, rel=0.1)


def test_the_rate_is_smoother_than_reno_s_with_random_loss() -> None:
    hops = path("100 Mbit/s", "50 ms", "1000 packets", loss("1 %"))
    smooth, rough = (
        simulate(
            scenario(
                hops, [flow(transport)], "200 s", warmup="20 s", sample_interval="1 s", replicates=5
            )
        )
        for transport in (tfrc(), tcp("reno"))
    )
    assert (variation(smooth) < 0.8 * variation(rough)).all()


@pytest.mark.slow
def test_the_rate_is_smoother_than_reno_s_beside_it() -> None:
    of_four = {"count": 4, "start": ["0 s", "1 s"]}
    flows = [flow(tfrc(), name="tfrc", **of_four), flow(tcp("reno"), name="reno", **of_four)]
    times = {"warmup": "20 s", "sample_interval": "1 s"}
    result = simulate(
        scenario(path("8 Mbit/s", "35 ms", "80 packets"), flows, "200 s", **times, replicates=3)
    )
    assert (variation(result, "tfrc") < 0.8 * variation(result, "reno")).all()
    # "Reasonably fair": within a factor of two of TCP (RFC 5348 section 1).
    share = goodput(result, flow="tfrc").sum() / goodput(result, flow="reno").sum()
    assert 0.5 < share < 2


@pytest.mark.slow
@both_sides
def test_a_blackout_of_30_s_slows_down_and_is_recovered_from(side: str) -> None:
    blackout = {
        "kind": "scheduled_loss",
        "steps": [
            {"from": "0 s", "probability": "0.5 %"},
            {"from": "60 s", "probability": "100 %"},
            {"from": "90 s", "probability": "0.5 %"},
        ],
        "applies": "all",
    }
    hops = path("100 Mbit/s", "25 ms", "1000 packets", blackout)
    times = {"warmup": "20 s", "sample_interval": "1 s"}
    result = simulate(scenario(hops, [flow(tfrc(side))], "240 s", **times, replicates=3))
    last, recovered_s = (
        np.array(list(by_replicate(result, outage_of(quantity, 60, 90, 1.0))[0, "main"].values()))
        for quantity in ("last", "recovered_s")
    )
    # Halved each 4 R = 0.2 s at first, later each time that two packets would have taken.
    assert (last < 0.02).all()
    assert (recovered_s < 30).all()


@pytest.mark.slow
def test_persistent_loss_halves_the_rate_in_about_five_round_trips() -> None:
    # Appendix C.4 of the RFC: "something like five successive round-trip times with loss".
    step = {
        "kind": "scheduled_loss",
        "steps": [
            {"from": "0 s", "probability": "0.2 %"},
            {"from": "100 s", "probability": "30 %"},
        ],
    }
    hops = path("100 Mbit/s", "50 ms", "1000 packets", step)
    times = {"sample_interval": "100 ms"}
    result = simulate(scenario(hops, [flow(tfrc(damping=False))], "110 s", **times, replicates=20))
    halved = []
    for replicate in range(20):
        key = {"flow": "main", "replicate": replicate}
        times_s, allowed = (
            column(result, "samples", name, **key) for name in ("time_s", "allowed_rate_bit_per_s")
        )
        before = allowed[times_s < 100 + 1e-6][-1]
        after = times_s[(times_s > 100) & (allowed <= before / 2)]
        halved.append((after[0] - 100) / 0.1)
    # A loss is known a round trip after the packet was sent.
    assert 4 <= np.mean(halved) <= 10
