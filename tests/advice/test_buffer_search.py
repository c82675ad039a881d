"""Search for the edges of targets, on judgements with known edges; and the texts about runs."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import Scenario, simulate
from ackclock.advice.buffer.measures import (
    MEASURES,
    Target,
    finite_flows,
    mean_rate,
    quantile_of_censored,
    values,
)
from ackclock.advice.buffer.search import RESOLUTION, between, stretch
from ackclock.metrics import Interval

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


@given(st.integers(1, 512), st.integers(1, 512), st.integers(0, 30), st.integers(0, 30))
def test_both_edges_are_found_with_what_is_undecided_around_them(
    low: int, high: int, below: int, above: int
) -> None:
    low, high = min(low, high), max(low, high)
    asked: list[int] = []

    def judge(size: int) -> str:
        asked.append(size)
        if low <= size <= high:
            return "met"
        return "undecided" if low - below <= size <= high + above else "missed"

    edges = stretch(SIZES, judge)
    if not any(low <= size <= high for size in SIZES):
        assert edges is None
        return
    assert edges is not None
    near = RESOLUTION * 1.0001
    assert low <= edges.low.met <= max(low + 1, near * low)
    if edges.low.missed is None:
        assert low - below <= 1
    else:
        assert (low - below) / near - 1 <= edges.low.missed < low - below
    if edges.high is None:
        assert high >= SIZES[-1]
    else:
        assert min(high - 1, high / near) <= edges.high.met <= high
        if edges.high.missed is not None:
            assert (
                high + above < edges.high.missed <= max(high + above + 1, near * (high + above + 1))
            )
    # Two trials per doubling between a few brackets, and the grid: never a linear search.
    assert len(set(asked)) <= len(SIZES) + 4 * 6


def test_an_edge_is_sought_from_the_nearest_size_that_misses() -> None:
    """Looking for 43 by halves tells all that there is to know; nothing further is tried."""
    asked: list[int] = []

    def judge(size: int) -> str:
        asked.append(size)
        return "met" if size >= 43 else "missed"

    edges = stretch(SIZES, judge)
    assert edges is not None
    assert (edges.low.met, edges.low.missed) == (43, 42)
    assert set(asked) - set(SIZES) == {45, 38, 41, 43, 42}


def test_neighbours_differ_by_one_or_by_a_sixteenth_of_a_doubling() -> None:
    assert between(1, 32, lambda size: size >= 21) == (20, 21)
    no, yes = between(1024, 1, lambda size: size <= 700)
    assert yes <= 700 < no <= RESOLUTION * yes * 1.0001


def test_a_target_is_judged_by_the_whole_interval() -> None:
    at_least, at_most = Target(MEASURES["utilisation"], 0.98), Target(MEASURES["loss"], 0.01)
    assert at_least.judge(Interval(0.985, 0.004, 5)) == "met"
    assert at_least.judge(Interval(0.985, 0.006, 5)) == "undecided"
    assert at_least.judge(Interval(0.97, 0.004, 5)) == "missed"
    assert at_most.judge(Interval(0.005, 0.004, 5)) == "met"
    assert at_most.judge(Interval(0.02, 0.004, 5)) == "missed"
    assert at_most.judge(Interval(0.02, nan, 1)) == "missed"  # one value decides alone
    assert at_most.judge(Interval(0.002, nan, 1)) == "met"
    assert at_most.judge(Interval(inf, nan, 5)) == at_most.judge(Interval(nan, nan, 0)) == "missed"
    # Rounding alone may keep a link that is always busy below 1.
    assert Target(MEASURES["utilisation"], 1.0).judge(Interval(1 - 1e-16, 2e-16, 5)) == "met"


def test_what_was_cut_off_counts_for_as_long_as_it_was_there() -> None:
    times = np.arange(1.0, 101.0)
    assert quantile_of_censored(times, np.full(100, True), 0.95) == 95
    # Values that are cut off before anything has ended do not change the quantile.
    early = np.concatenate([np.full(50, 0.5), times])
    assert quantile_of_censored(early, early >= 1, 0.95) == 95
    # Six of a hundred never end, so there is no 95th percentile.
    assert quantile_of_censored(times, times <= 94, 0.95) == inf
    # Fifty ended, then half of the rest were cut off at 50: a half is left, which the last 25
    # share. When k of them have ended, 0.5 (25 - k)/25 is left, which is at most 0.05 from the 23rd
    # on.
    cut = np.concatenate([np.arange(1.0, 51.0), np.full(25, 50.0), np.arange(51.0, 76.0)])
    ended = np.concatenate([np.full(50, True), np.full(25, False), np.full(25, True)])
    assert quantile_of_censored(cut, ended, 0.95) == 73
    assert np.isnan(quantile_of_censored(np.empty(0), np.empty(0, bool), 0.95))


OVERLOAD = """\
schema = 1
name = "overload"
duration = "20 s"
warmup = "5 s"
replicates = 2

[[hops]]
name = "link"
link = {link}
queue = {{ kind = "droptail", limit = "50 packets" }}

[[flows]]
name = "source"
route = ["link"]
transport = {{ kind = "udp", mss = "960 bytes", header = "40 bytes" }}
traffic = {{ kind = "cbr", rate = "12 Mbit/s" }}
"""


def test_an_overloaded_link_is_always_busy_its_queue_full_and_the_rest_lost() -> None:
    result = simulate(
        Scenario.from_toml(OVERLOAD.format(link='{ kind = "constant", rate = "10 Mbit/s" }'))
    )
    measures = values(result, "link")
    assert mean_rate(result, "link") == pytest.approx(10e6)
    for replicate in (0, 1):
        assert measures["utilisation"][replicate] == pytest.approx(1)
        assert measures["delay_p99_s"][replicate] == pytest.approx(50 * 8000 / 10e6, rel=0.02)
        offered = 12e6 * 1000 / 960  # payload of 12 Mbit/s
        assert measures["loss"][replicate] == pytest.approx(1 - 10e6 / offered, rel=0.01)
    assert set(measures) == {"utilisation", "delay_p99_s", "loss"}


def test_on_a_link_that_moves_the_delay_is_what_comes_and_not_the_rate_of_the_moment() -> None:
    # 4 s at 8 Mbit/s, then 4 s at 2 Mbit/s, always overloaded: 50 packets wait 50 ms or 200 ms.
    steps = ", ".join(
        f'{{ from = "{start_s} s", rate = "{8 if start_s % 8 == 0 else 2} Mbit/s" }}'
        for start_s in range(0, 20, 4)
    )
    result = simulate(
        Scenario.from_toml(OVERLOAD.format(link=f'{{ kind = "scheduled", steps = [{steps}] }}'))
    )
    measures = values(result, "link")
    assert measures["delay_p99_s"][0] == pytest.approx(0.2, rel=0.02)
    assert measures["utilisation"][0] == pytest.approx(1, abs=0.001)
    # From 5 s to 20 s: 3 s of the low rate, then 4 s of each in turn.
    assert mean_rate(result, "link") == pytest.approx(
        (3 * 2 + 4 * 8 + 4 * 2 + 4 * 8) / 15 * 1e6, rel=0.01
    )


def test_the_delay_is_that_of_packets_where_these_come_evenly() -> None:
    """Delays over time and over packets differ, except for a source of constant rate."""
    text = OVERLOAD.format(
        link='{ kind = "markov", rates = ["20 Mbit/s", "4 Mbit/s"], mean_sojourn = "500 ms" }'
    )
    result = simulate(Scenario.from_toml(text.replace("12 Mbit/s", "8 Mbit/s")), packets=True)
    rows = result.rows("packets", point=0, replicate=0)
    came, left = (
        rows.filter(pc.equal(rows["event"].cast("string"), event))
        for event in ("arrive", "receive")
    )
    departures = dict(zip(left["sequence"].to_pylist(), left["time_s"].to_pylist(), strict=True))
    pairs = zip(came["sequence"].to_pylist(), came["time_s"].to_pylist(), strict=True)
    waits = [
        departures[number] - time for number, time in pairs if time > 5 and number in departures
    ]
    assert len(waits) > 10_000
    # A packet's own transmission is part of its delay but not of the queue's: at most 2 ms of 100.
    assert values(result, "link")["delay_p99_s"][0] == pytest.approx(
        np.quantile(waits, 0.99), rel=0.05
    )


def test_transfers_through_the_hop_are_those_that_count(resolved: object) -> None:
    assert finite_flows(resolved(), "wired") == []  # type: ignore[operator]
    size = {"flows.main.traffic": {"kind": "transfer", "size": "1 MB"}}
    tree = resolved(**size)  # type: ignore[operator]
    assert finite_flows(tree, "wired") == ["main"]
    assert finite_flows(tree, "return") == []
