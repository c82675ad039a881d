"""Finite transfers: every byte arrives once, and not before it can."""

from __future__ import annotations

import math

import pytest

from ackclock import simulate

from . import laws
from .paths import RECOVERIES, flow, loss, path, scenario, tcp
from .rows import column, value_of

#: A round trip without serialisation, and one way.
ROUND_TRIP, ONE_WAY = 0.04, 0.02
RATE = 10e6


def transfer(size: int) -> dict[str, str]:
    return {"kind": "transfer", "size": f"{size} bytes"}


def bound(size: int, *, handshake: bool, rate: float = RATE) -> float:
    """Returns the earliest arrival of the last byte.

    That is a handshake, then everything back to back, then the one-way delay.
    """
    on_the_wire = 8 * (size + 40 * math.ceil(size / 1000))
    opening = (ROUND_TRIP + 8 * 40 / rate) if handshake else 0
    return opening + on_the_wire / rate + ONE_WAY


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["rfc", "linux", "ns2-2002"])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_every_byte_arrives_whatever_is_lost(recovery: str, preset: str) -> None:
    lossy = path("10 Mbit/s", "20 ms", "30 packets", loss("10 %", applies="all"))
    lossy[1]["impairments"] = lossy[0]["impairments"]
    transport = tcp("reno", preset, recovery=recovery, byte_counting="per_ack")
    sizes = [1, 999, 1000, 1001, 50_000, 300_001]
    sweep = {"flows.main.traffic.size": [f"{size} bytes" for size in sizes]}
    flows = [flow(transport, traffic=transfer(1))]
    result = simulate(
        scenario(lossy, flows, "20000 s", replicates=5, sweep=sweep, sample_interval="5000 s")
    )
    laws.check(result)
    for point, size in enumerate(sizes):
        rows = {
            name: column(result, "flows", name, point=point)
            for name in (
                "delivered_bytes",
                "completion_time_s",
                "sent_packets",
                "retransmitted_packets",
            )
        }
        assert (rows["delivered_bytes"] == size).all()
        assert (
            rows["sent_packets"] - rows["retransmitted_packets"] == math.ceil(size / 1000)
        ).all()
        assert (rows["completion_time_s"] >= bound(size, handshake=preset != "ns2-2002")).all()


@pytest.mark.parametrize("handshake", [True, False])
@pytest.mark.parametrize("size", [1, 1000, 1001, 20_000, 99_999])
def test_a_window_for_all_of_it_takes_exactly_the_bound(size: int, handshake: bool) -> None:
    transport = tcp(initial_window="1000 packets", handshake=handshake)
    flows = [flow(transport, traffic=transfer(size))]
    result = simulate(scenario(path("10 Mbit/s", "20 ms"), flows, "10 s"))
    expected = bound(size, handshake=handshake)
    assert value_of(result, "flows", "completion_time_s") == pytest.approx(expected, abs=3e-9)
    assert value_of(result, "flows", "retransmitted_packets") == 0


@pytest.mark.parametrize("segments", [1, 10, 11, 30, 31, 70, 71, 150, 151])
def test_slow_start_takes_as_many_round_trips_as_it_must(segments: int) -> None:
    # Windows of 10, 20, 40, ... segments: r of them carry 10 (2^r - 1).
    transport = tcp(delayed_ack={"every": "1 packet"}, handshake=False)
    flows = [flow(transport, traffic=transfer(1000 * segments))]
    result = simulate(scenario(path("400 Gbit/s", "20 ms"), flows, "10 s"))
    rounds = math.ceil(math.log2(segments / 10 + 1))
    assert value_of(result, "flows", "completion_time_s") == pytest.approx(
        (rounds - 1) * ROUND_TRIP + ONE_WAY, abs=1e-5
    )


def test_a_larger_transfer_takes_longer() -> None:
    sizes = [1, 10, 100, 1000, 10_000]
    sweep = {"flows.main.traffic.size": [f"{size} kB" for size in sizes]}
    flows = [flow(tcp("cubic", "linux"), traffic=transfer(1))]
    result = simulate(
        scenario(
            path("10 Mbit/s", "20 ms", "50 packets", loss("0.5 %")), flows, "2000 s", sweep=sweep
        )
    )
    times = [
        value_of(result, "flows", "completion_time_s", point=point) for point in range(len(sizes))
    ]
    assert times == sorted(times)
    assert all(
        time >= bound(1000 * size, handshake=True) for time, size in zip(times, sizes, strict=True)
    )
