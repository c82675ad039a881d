"""Controls that steer the queueing delay, against the closed forms of their equilibria."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock import Result, simulate

from . import laws
from .paths import Tree, flow, path, scenario, tcp
from .rows import column, goodput

#: A packet of 1500 bytes every 1.2 ms.
RATE, PACKET_S = "10 Mbit/s", 0.0012
SEGMENT = {"mss": "1460 bytes", "header": "40 bytes"}


def run(*controls: str | Tree, delay: str = "20 ms", **more: object) -> Result:
    """Returns flows of Linux's TCP on one link with a buffer of 300 packets, 3 s apart."""
    flows = [
        flow(tcp(control, "linux", **SEGMENT, **more), f"f{number}", start=f"{3 * number} s")
        for number, control in enumerate(controls)
    ]
    hops = path(RATE, delay, "300 packets")
    result = simulate(scenario(hops, flows, "60 s", warmup="15 s", sample_interval="10 ms"))
    laws.check(result)
    return result


def waiting(result: Result) -> float:
    """Returns the mean number of waiting packets after the warm-up."""
    time, packets = (
        column(result, "hops", name, hop="out") for name in ("time_s", "backlog_packets")
    )
    return float(np.mean(packets[time > 15]))


@pytest.mark.parametrize("delay", ["5 ms", "20 ms", "50 ms"])
def test_copa_keeps_one_over_delta_packets_whatever_the_round_trip(delay: str) -> None:
    """The equilibrium is at 1/(delta d) = cwnd/RTT: 2 packets. It moves by 2.5 around it.

    Packets leave in bursts of two, so that half of the equilibrium is allowed on either side.
    """
    result = run("copa", delay=delay)
    assert waiting(result) == pytest.approx(2, abs=1)
    assert goodput(result)[0] > 0.98 * 10e6 * 1460 / 1500


def test_two_copas_keep_twice_as_many_and_share() -> None:
    result = run("copa", "copa")
    assert waiting(result) == pytest.approx(4, abs=2)
    first, second = (goodput(result, flow=name)[0] for name in ("f0", "f1"))
    assert first / second == pytest.approx(1, abs=0.1)


def test_copa_does_not_mind_random_loss() -> None:
    """5 % of independent loss: all but the lost packets."""
    hops = path(RATE, "20 ms", "300 packets", {"kind": "iid_loss", "probability": "5 %"})
    result = simulate(scenario(hops, [flow(tcp("copa", "linux", **SEGMENT))], "30 s", warmup="5 s"))
    assert goodput(result)[0] > 0.9 * 0.95 * 10e6 * 1460 / 1500


def test_ledbat_alone_keeps_its_target() -> None:
    """100 ms are 83 packets. The smallest of four samples is a packet or two below the mean."""
    assert waiting(run("ledbat")) * PACKET_S == pytest.approx(0.1, abs=0.005)


def test_ledbat_gives_way_to_a_flow_that_fills_the_queue() -> None:
    result = run("ledbat", "cubic")
    background, other = (goodput(result, flow=name)[0] for name in ("f0", "f1"))
    assert background < 0.1 * other


@pytest.mark.slow
def test_the_late_comer_pushes_ledbat_aside_but_not_ledbat_plus_plus() -> None:
    """The late-comer takes the queue of the other for an empty path."""

    def late_share(control: str) -> float:
        first, late = (goodput(run(control, control), flow=name)[0] for name in ("f0", "f1"))
        return float(late / (first + late))

    assert late_share("ledbat") > 0.55
    assert late_share("ledbat_plus_plus") < late_share("ledbat")


def test_ledbat_plus_plus_alone_stays_at_its_target_and_uses_the_link() -> None:
    """60 ms are 50 packets, without the slow-downs, a tenth of the time at most."""
    result = run("ledbat_plus_plus")
    time, packets = (
        column(result, "hops", name, hop="out") for name in ("time_s", "backlog_packets")
    )
    assert np.median(packets[time > 15]) * PACKET_S == pytest.approx(0.06, abs=0.005)
    assert goodput(result)[0] > 0.9 * 10e6 * 1460 / 1500
