"""TCP whose host follows the rate fed back by a bottleneck that alternates between two rates.

The numbers are those of an independent packet-level simulation of the same loop, with a standard
error of at most 0.006. As there, the time unit is a packet at the high rate (500 bytes, 5 ms), and
the round trip is 40 of them. The letter psi is the mean time in a state over the round trip. The
buffer counts packets that may wait besides the one in service. Efficiency is what is delivered,
headers included, over the capacity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ackclock import Result, simulate

from .paths import Tree, flow, hop, scenario, tcp, udp
from .rows import column

INSTCAP: Tree = {"kind": "instcap"}
#: M is a round trip of measurements, N is seven more: a memory of eight round trips.
EFFCAP: Tree = {"kind": "effcap", "m": 7, "n": 49}
#: The link changes at multiples of the round trip, and the source has its rate one round trip ago.
EXACT: Tree = {"period": "200 ms", "delay": "0 s"}
#: It is measured every 30 ms, and fed back a round trip later.
MEASURED: Tree = {"period": "30 ms", "delay": "200 ms"}
#: The timeout is always 1.5 round trips.
FIXED: Tree = {
    "rto_initial": "300 ms",
    "rto_adaptive": False,
    "rto_minimum": "1 ms",
    "clock_granularity": "0 s",
}

REPLICATES, DURATION_S, WARMUP_S, ROUND_TRIP_S = 4, 4000, 200, 0.2


def run(
    psi: float,
    buffer: int,
    algorithm: Tree | None,
    loop: Tree,
    timer: Tree,
    duration_s: int = DURATION_S,
) -> Result:
    """Returns a run of one sender with the host stage, or without one if there is no algorithm."""
    step = loop["period"]
    moving = {
        "kind": "markov",
        "rates": ["100 kB/s", "50 kB/s"],
        "mean_sojourn": f"{psi * 200:g} ms",
        "step": step,
    }
    hops = [hop("out", moving, "200 ms", f"{buffer} packets"), hop("back", "400 Gbit/s", "0 s")]
    route = ["out"]
    if algorithm:
        hops.append(
            hop("host", {"kind": "feedback", "from": "out", "algorithm": algorithm} | loop, "0 s")
        )
        route = ["host", "out"]
    transport = tcp(preset="jacobson1988", mss="460 bytes", receive_window="65 packets", **timer)
    more: dict[str, Any] = {
        "replicates": REPLICATES, "warmup": f"{WARMUP_S} s", "sample_interval": f"{WARMUP_S} s",
    }  # fmt: skip
    return simulate(scenario(hops, [flow(transport, route=route)], f"{duration_s} s", **more))


def efficiency(result: Result) -> float:
    """Returns the goodput over the capacity, both after the warm-up."""
    time_s, could_send = (
        column(result, "hops", name, hop="out") for name in ("time_s", "capacity_bytes")
    )
    end = time_s.max()
    before, after = (could_send[time_s == moment].mean() for moment in (WARMUP_S, end))
    capacity = 8 * (after - before) / (end - WARMUP_S)
    return float(column(result, "flows", "goodput_bit_per_s").mean() * 500 / 460 / capacity)


def timeouts(result: Result) -> float:
    """Returns the timeouts per round trip."""
    return float(column(result, "flows", "timeouts").mean()) * ROUND_TRIP_S / DURATION_S


@pytest.mark.long
@pytest.mark.parametrize(
    ("psi", "algorithm", "expected", "timeouts_expected"),
    [
        (2, INSTCAP, 0.578, 0.0343),
        (20, INSTCAP, 0.824, 0.0207),
        (2, None, 0.556, 0.0391),
        (20, None, 0.669, 0.0348),
    ],
)
def test_the_loop_of_the_renewal_model(
    psi: float, algorithm: Tree | None, expected: float, timeouts_expected: float
) -> None:
    result = run(psi, 10, algorithm, EXACT, FIXED)
    assert efficiency(result) == pytest.approx(expected, abs=0.012)  # two standard errors of theirs
    # Two standard errors of a count of independent events; these keep a distance, so it is less.
    count = column(result, "flows", "timeouts").sum()
    assert timeouts(result) == pytest.approx(timeouts_expected, rel=2 / np.sqrt(count))
    assert column(result, "flows", "fast_retransmits").sum() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("psi", "duration_s", "expected"),
    [
        (0.3, 1000, (0.567, 0.563, 0.697)),
        (2, 4000, (0.508, 0.489, 0.551)),
        (20, 4000, (0.604, 0.690, 0.679)),
        (100, 2000, (0.682, 0.868, 0.850)),
    ],
)
def test_the_loop_with_measurements_and_a_coarse_timer(
    psi: float, duration_s: int, expected: tuple[float, float, float]
) -> None:
    cells = 48 / 53  # of what ATM carries; not of TCP alone, which has no cells
    efficiencies = [
        efficiency(run(psi, 10, algorithm, MEASURED, {}, duration_s)) * part
        for algorithm, part in ((None, 1), (INSTCAP, cells), (EFFCAP, cells))
    ]
    assert efficiencies == pytest.approx(
        expected, abs=0.014
    )  # two standard errors of the difference, ours being 0.004
    # While the capacity changes within a few round trips, the smallest mean is the better rate.
    assert (efficiencies[2] > efficiencies[1]) == (psi < 10)


@pytest.mark.long
def test_a_buffer_that_holds_what_a_fall_of_the_rate_leaves_loses_nothing() -> None:
    # Delta (1 - 1/r): 20 packets.
    duration_s = 2000
    result = run(5, 20, INSTCAP, EXACT, FIXED, duration_s)
    assert column(result, "flows", "dropped_packets").sum() == 0
    # Always busy, except for a packet at either end of the measurement.
    assert efficiency(result) == pytest.approx(1, abs=2 * 500 / (75_000 * (duration_s - WARMUP_S)))
    smaller = run(5, 18, INSTCAP, EXACT, FIXED, duration_s)
    assert column(smaller, "flows", "dropped_packets").sum() > 0


def test_sessions_share_what_is_fed_back() -> None:
    """Two sessions, each with its own host, get half each, and lose nothing."""
    loop = {"algorithm": INSTCAP, "sessions": 2} | MEASURED
    hops = [
        hop("out", "100 kB/s", "200 ms", "18 packets"),
        hop("back", "400 Gbit/s", "0 s"),
        hop("host", {"kind": "feedback", "from": "out"} | loop, "0 s", scope="per_flow"),
    ]
    transport = tcp(preset="jacobson1988", mss="460 bytes", receive_window="65 packets")
    result = simulate(
        scenario(hops, [flow(transport, route=["host", "out"], count=2)], "400 s", warmup="40 s")
    )
    goodput = column(result, "flows", "goodput_bit_per_s") * 500 / 460
    packet = 500 * 8 / (400 - 40)  # at either end of what is measured
    assert goodput == pytest.approx(np.array([400_000, 400_000]), abs=2 * packet)
    assert column(result, "flows", "dropped_packets").sum() == 0


CELL_BYTES, CELLS_PER_MESSAGE = 53, 32
PEAK, INITIAL, LEAST = 100_000.0, 30_000.0, 8_000.0
#: The link's rate in bytes per second, from these times on.
STEPS = ((0.0, 20_000.0), (2.0, 90_000.0), (6.0, 40_000.0), (7.0, 90_000.0))
#: The source has nothing to send from the first to the second.
PAUSE_S, RESUME_S, END_S = 8.0, 10.0, 12.0


def fed_back(time_s: float, period_s: float, delay_s: float) -> float:
    """Returns the mean rate in the last period that ended at least a delay ago."""
    number = int((time_s - delay_s) / period_s + 1e-9)
    if number < 1:
        return INITIAL
    begin, end = (number - 1) * period_s, number * period_s
    times = [*(from_s for from_s, _ in STEPS), float("inf")]
    sent = sum(
        rate * max(0.0, min(end, until) - max(begin, from_s))
        for (from_s, rate), until in zip(STEPS, times[1:], strict=True)
    )
    return sent / period_s


def cells_of_a_source(decrease: float | None, period_s: float, delay_s: float) -> list[float]:
    """Returns when each cell of a busy source has been sent, by the rules of TM 4.0, one by one."""
    allowed, now, last_message, since = INITIAL, 0.0, float("-inf"), CELLS_PER_MESSAGE
    returning: list[tuple[float, float]] = []
    sent = []
    while now < END_S:
        if PAUSE_S <= now < RESUME_S:
            now = RESUME_S
        while returning and returning[0][0] <= now:
            back, carried = returning.pop(0)
            rate = fed_back(back, period_s, delay_s)
            if decrease is not None and carried > rate:
                allowed *= 1 - decrease
            else:
                allowed = min(allowed + PEAK / 16, PEAK)
            if decrease is None:
                allowed = min(allowed, rate)
            allowed = max(allowed, LEAST)
        is_message = since >= CELLS_PER_MESSAGE or (since >= 2 and now - last_message >= 0.1)
        if is_message:
            if now - last_message > 0.5:
                allowed = min(allowed, INITIAL)
            returning.append((now + delay_s, allowed))
            last_message, since = now, 0
        since += 1
        now += CELL_BYTES / allowed
        sent.append(now)
    return sent


@pytest.mark.parametrize("decrease", [None, 0.125])
def test_an_abr_source_keeps_the_rules_cell_by_cell(decrease: float | None) -> None:
    source = {"peak_rate": "100 kB/s"} | ({"decrease_factor": decrease} if decrease else {})
    follower = {
        "kind": "feedback", "from": "out", "algorithm": INSTCAP, "source": source,
        "initial_rate": "30 kB/s", "minimum_rate": "8 kB/s",
    } | MEASURED  # fmt: skip
    link = {
        "kind": "scheduled",
        "steps": [
            {"from": f"{from_s} s", "rate": f"{rate / 1000:g} kB/s"} for from_s, rate in STEPS
        ],
    }
    busy = {"kind": "cbr", "rate": "100 kB/s"}
    cells = [
        flow(udp(f"{CELL_BYTES} bytes"), name, route=["host", "out"], traffic=busy, **times)
        for name, times in (
            ("before", {"stop": f"{PAUSE_S:g} s"}),
            ("after", {"start": f"{RESUME_S:g} s"}),
        )
    ]
    hops = [
        hop("host", follower, "0 s", "2 packets"),
        hop("out", link, "0 s"),
        hop("back", "1 Gbit/s", "0 s"),
    ]
    result = simulate(scenario(hops, cells, f"{END_S:g} s", sample_interval="50 ms"))
    time_s, served = (
        column(result, "hops", name, hop="host") for name in ("time_s", "served_bytes")
    )
    sent = np.array(cells_of_a_source(decrease, 0.03, 0.2))
    expected = np.searchsorted(sent, time_s, side="right") * CELL_BYTES
    # Three cells still wait when the source pauses.
    assert np.abs(served - expected).max() <= 4 * CELL_BYTES
    assert np.isnan(column(result, "hops", "rate_bit_per_s", hop="host")).all()
