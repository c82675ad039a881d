"""The engine's estimators agree with an independent reading of the equations, ACK by ACK."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import rate_estimates

from . import reference
from .reference import Ack

MSS = 1000
MS = 1_000_000
START = 2**32 - 40 * MSS  # the numbers wrap soon

Reference = Callable[[list[Ack], int], list[float]]

#: An estimator's arguments, and its implementation in Python.
ESTIMATORS: dict[str, tuple[dict, Reference]] = {
    "be": ({"kind": "be"}, reference.be),
    "be_of_one_second": (
        {"kind": "be", "low_pass": {"tau": "1 s", "virtual_samples": 3, "shortest_step": "5 ms"}},
        lambda trace, mss: reference.be(trace, mss, tau=1.0, m=3, shortest=0.005),
    ),
    **{
        name: (
            {"kind": "be", "low_pass": {"filter": name}},
            lambda trace, mss, kind=name: reference.be(trace, mss, kind=kind),
        )
        for name in ("ns2_type_0", "ns2_type_1", "ns2_type_2")
    },
    "be_by_sack": (
        {"kind": "be", "observation": {"delivered": "sack"}},
        lambda trace, mss: reference.be(trace, mss, sack=True),
    ),
    "re": ({"kind": "re"}, reference.re),
    "re_of_100_ms": (
        {"kind": "re", "interval": "100 ms"},
        lambda trace, mss: reference.re(trace, mss, interval=100 * MS),
    ),
    "crb": ({"kind": "crb"}, reference.crb),
    "crb_to_be": (
        {"kind": "crb", "compared": "be", "theta": 1.1},
        lambda trace, mss: reference.crb(trace, mss, theta=1.1, compared="be"),
    ),
    "abse": ({"kind": "abse"}, reference.Abse()),
    "abse_literal": ({"kind": "abse_literal"}, reference.Abse(compared="estimate", edge="literal")),
    "abse_a": ({"kind": "abse", "compared": "estimate"}, reference.Abse(compared="estimate")),
    "abse_b": ({"kind": "abse", "edge": "literal"}, reference.Abse(edge="literal")),
    "abse_c": ({"kind": "abse", "horizon": 50}, reference.Abse(horizon=50)),
    "abse_d": (
        {"kind": "abse", "step": "sampling_interval"},
        reference.Abse(step="sampling_interval"),
    ),
    "abse_e": ({"kind": "abse", "round_trip": "latest"}, reference.Abse(round_trip="latest")),
    "abse_of_pairs": (
        {"kind": "abse", "sampling": "ack_pair", "tau": "300 ms"},
        reference.Abse(sampling="pair", tau=0.3),
    ),
    "westwood_plus": ({"kind": "westwood_plus"}, reference.westwood_plus),
    "westwood_plus_floored": (
        {"kind": "westwood_plus", "kept": 0.5, "shortest": "50 ms"},
        lambda trace, mss: reference.westwood_plus(trace, mss, kept=0.5, shortest=50 * MS),
    ),
    **{
        f"linux_{hz}": (
            {"kind": "westwood_linux", "hz": hz},
            lambda trace, mss, hz=hz: reference.westwood_linux(trace, mss, hz=hz),
        )
        for hz in (100, 250, 300, 1000)
    },
}


def table(trace: list[Ack]) -> pa.Table:
    """Returns a trace in a user's format, with the numbers as on the wire."""

    def seconds(values: list[int | None]) -> pa.Array:
        return pa.array([None if value is None else value / 1e9 for value in values], pa.float64())

    return pa.table(
        {
            "time_s": seconds([ack.time for ack in trace]),
            "ack": pa.array([ack.number % 2**32 for ack in trace], pa.int64()),
            "rtt_s": seconds([ack.rtt for ack in trace]),
            "smoothed_rtt_s": seconds([ack.srtt for ack in trace]),
            "cwnd_bytes": pa.array([ack.cwnd for ack in trace], pa.int64()),
            "delivered_bytes": pa.array([ack.delivered for ack in trace], pa.int64()),
        }
    )


def check(trace: list[Ack]) -> None:
    estimates = rate_estimates(
        table(trace), {name: tree for name, (tree, _) in ESTIMATORS.items()}, mss=MSS
    )
    assert estimates.num_rows == len(trace)
    for name, (_, expected) in ESTIMATORS.items():
        ours = estimates[f"{name}_bit_per_s"].to_numpy()
        theirs = 8 * np.array(expected(trace, MSS))
        assert np.isfinite(ours).all(), name
        assert (ours >= 0).all(), name
        if name.startswith("linux"):
            np.testing.assert_array_equal(ours, theirs, name)
        else:
            decided = ~np.isnan(theirs)
            np.testing.assert_allclose(
                ours[decided], theirs[decided], rtol=1e-9, atol=1e-9, err_msg=name
            )


class Sender:
    """Builds a trace, ACK by ACK."""

    def __init__(self, rtt: int | None = 80 * MS, cwnd: int = 30) -> None:
        self.time, self.number, self.rtt, self.srtt, self.cwnd = 5 * MS, START, rtt, rtt, cwnd * MSS
        self.trace: list[Ack] = []

    def ack(self, gap: int = 3 * MS, segments: int = 1, delivered: int | None = None) -> "Sender":
        self.time += gap
        self.number += segments * MSS
        self.trace.append(Ack(self.time, self.number, self.rtt, self.srtt, self.cwnd, delivered))
        return self

    def acks(self, count: int, gap: int = 3 * MS, segments: int = 1) -> "Sender":
        for _ in range(count):
            self.ack(gap, segments)
        return self


def first_ack() -> Sender:
    return Sender().ack(0, 3)


def pairs_of_one_moment() -> Sender:
    sender = Sender().acks(3, 0)
    for _ in range(60):
        sender.ack(6 * MS).ack(0)
    return sender


def ten_seconds_of_silence() -> Sender:
    return Sender().acks(80).ack(10_000 * MS, 5).acks(40)


def five_hundred_duplicates() -> Sender:
    return Sender().acks(80).acks(500, 1 * MS, 0).ack(80 * MS, 400).acks(40)


def partial_acks() -> Sender:
    sender = Sender(cwnd=60).acks(60)
    for hole in (1, 5, 12, 1, 2, 30):
        sender.acks(3, segments=0).ack(80 * MS, hole)
    return sender.acks(60)


def acks_that_regress() -> Sender:
    sender = Sender().acks(50)
    for _ in range(20):
        number = sender.number
        sender.ack(2 * MS, -3)
        sender.number = number
        sender.ack(1 * MS, 2)
    return sender


def no_round_trip_times() -> Sender:
    sender = Sender(rtt=None).acks(60)
    sender.srtt = 80 * MS
    sender.acks(60)
    sender.rtt = 75 * MS
    sender.acks(60)
    sender.rtt = sender.srtt = None
    return sender.acks(20).ack(0).ack(0)


def no_window() -> Sender:
    sender = Sender(cwnd=0).acks(60)
    sender.cwnd = 30 * MSS
    return sender.acks(60)


def delayed_acks() -> Sender:
    sender = Sender()
    for turn in range(100):
        sender.ack(6 * MS, 2)
        if turn % 9 == 0:
            sender.ack(100 * MS, 1)
    return sender


def long_round_trips_of_a_slow_link() -> Sender:
    sender = Sender(cwnd=8)
    for turn in range(100):
        sender.rtt = (80 + turn % 50) * MS
        sender.srtt = (7 * sender.srtt + sender.rtt) // 8
        sender.ack(60 * MS + turn * 100_000)
    return sender


def sack_with_duplicates() -> Sender:
    sender = Sender().acks(60)
    for _ in range(10):
        for news in (1000, 1000, 2000, 0, 1000):  # the fourth reports a duplicate
            sender.ack(2 * MS, 0, news)
        sender.ack(80 * MS, 6, 1000).acks(10)
    return sender


def three_percent_out_of_order() -> Sender:
    random, sender = np.random.default_rng(1), Sender()
    owed = 0
    for _ in range(600):
        if owed:
            owed -= 1
            sender.ack(segments=0 if owed else 4)
        elif random.random() < 0.03:
            owed = 3
            sender.ack(segments=0)
        else:
            sender.ack()
    return sender


EDGES = [
    first_ack,
    pairs_of_one_moment,
    ten_seconds_of_silence,
    five_hundred_duplicates,
    partial_acks,
    acks_that_regress,
    no_round_trip_times,
    no_window,
    delayed_acks,
    long_round_trips_of_a_slow_link,
    sack_with_duplicates,
    three_percent_out_of_order,
]


@pytest.mark.slow
@pytest.mark.parametrize("make", EDGES, ids=lambda make: make.__name__)
def test_edge_traces(make: Callable[[], Sender]) -> None:
    check(make().trace)


def test_the_traces_wrap() -> None:
    assert Sender().acks(80).trace[-1].number > 2**32 > START


# Strategies are made once, as hypothesis takes longer to make one than to draw from it.
GAPS = st.one_of(
    st.just(0),
    st.integers(1, 20 * MS),
    st.integers(100_000, 5 * MS),
    st.integers(20 * MS, 3_000 * MS),
)
# Round-trip times are within a factor of four, as a smoothed time changes.
ACKS = st.tuples(
    GAPS,
    st.sampled_from([1, 1, 1, 1, 2, 0, 0, 3, 17, -2]),
    st.sampled_from([0, 0, 0, -300]),
    st.one_of(st.none(), st.integers(50 * MS, 200 * MS)),
    st.sampled_from([True] * 9 + [False]),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 5 * MSS)),
)
LISTS = st.integers(1, 60).flatmap(lambda n: st.lists(ACKS, min_size=n, max_size=n))
STARTS = st.integers(0, 10**12)


@st.composite
def traces(draw: st.DrawFn) -> list[Ack]:
    """Draws realistic and other traces: trains, silences, duplicates, jumps, old ACKs.

    Round-trip times are smoothed by RFC 6298.
    """
    time, number, top, srtt, trace = draw(STARTS), START, START, None, []
    for gap, segments, odd, rtt, smoothed, window, delivered in draw(LISTS):
        time += gap
        number = max(START, top + MSS * segments + odd)
        top = max(top, number)
        if rtt is not None:
            srtt = rtt if srtt is None else (7 * srtt + rtt) // 8
        trace.append(Ack(time, number, rtt, srtt if smoothed else None, MSS * window, delivered))
    return trace


def test_where_rounding_decides_the_reference_does_not_say() -> None:
    first = Ack(time=0, number=0, rtt=None, srtt=None, cwnd=0)
    # 23600/24000 of 95 376 090 ns are 93 786 488.5.
    trace = [first, Ack(time=1, number=1000, rtt=95_376_090, srtt=95_376_090, cwnd=24_000)]
    assert np.isnan(reference.Abse()(trace, MSS)).tolist() == [False, True]
    later = [first, trace[1]._replace(rtt=95_376_000, srtt=95_376_000)]
    assert not np.isnan(reference.Abse()(later, MSS)).any()
    check(trace)
    check(later)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(traces())
def test_any_trace(trace: list[Ack]) -> None:
    check(trace)
