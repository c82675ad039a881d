"""Overflow of slow start: the table, bounds and special cases, and a packet-by-packet count."""

from collections import deque
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models.slow_start_overflow import detected_window, lost, overflow, reductions, sent

from ..refusals import refused

#: The pipe of the tables, in segments: 1 Mbit/s, 1000 bytes, 0.5 s.
BDP = 62.5

#: By buffer and d: n_B, W_B, W_D, W_D/8, reductions, segments lost; and the losses in a
#: packet-by-packet count.
TABLE = {
    (20, 1): (6, 52.00, 104.0, 13.00, 3, 32.0, 33),
    (20, 2): (11, 77.67, 116.5, 14.56, 3, 38.8, 42),
    (20, 3): (16, 82.50, 110.0, 13.75, 3, 27.5, 28),
    (70, 1): (8, 132.5, 265.0, 33.12, 2, 132.5, 133),
    (70, 2): (14, 132.5, 198.8, 24.84, 3, 66.2, 67),
    (70, 3): (20, 132.5, 176.7, 22.08, 3, 44.2, 45),
}

#: W_B by buffer for d = 1, 2, 3; from 40 on they are equal.
FIGURE_2 = {
    5: (13, 16.4, 22.8), 10: (26, 35.6, 41.6), 15: (31, 53.4, 71.1), 20: (52, 77.7, 82.5),
    25: (57, 82.7, 87.5), 30: (62, 92.5, 92.5), 40: (102.5,) * 3, 50: (112.5,) * 3,
    63: (125.5,) * 3, 70: (132.5,) * 3, 100: (162.5,) * 3,
}  # fmt: skip

buffers = st.floats(1, 1e5)
pipes = st.floats(1, 1e5)
acknowledged = st.floats(0.25, 8)


@pytest.mark.parametrize(("buffer", "d"), TABLE)
def test_the_tabulated_overflows(buffer: int, d: int) -> None:
    n, W_B, W_D, eighth, times, L, counted = TABLE[buffer, d]
    cycle = overflow(buffer, BDP, d)
    assert cycle.n == n
    assert cycle.window == pytest.approx(W_B, abs=0.005)
    detected = detected_window(cycle.window, d)
    assert detected == pytest.approx(W_D, abs=0.051)
    assert detected / 8 == pytest.approx(eighth, abs=0.0051)
    loses = lost(buffer, BDP, d)
    assert loses == pytest.approx(L, abs=0.051)
    assert reductions(loses, detected) == times
    assert loses == pytest.approx(counted, rel=0.08)


@pytest.mark.parametrize("buffer", FIGURE_2)
def test_the_windows_of_figure_2(buffer: int) -> None:
    assert overflow(buffer, BDP, [1, 2, 3]).window == pytest.approx(FIGURE_2[buffer], abs=0.051)


@pytest.mark.slow
@given(st.lists(buffers, min_size=2, max_size=8), pipes, acknowledged)
def test_a_larger_buffer_overflows_no_earlier(drawn: list[float], bdp: float, d: float) -> None:
    cycle = overflow(np.sort(drawn), bdp, d)
    assert (np.diff(cycle.window) >= 0).all()
    assert (np.diff(cycle.n) >= 0).all()


@pytest.mark.slow
@given(buffers, pipes, acknowledged)
def test_what_fills_the_buffer_is_within_a_mini_cycle_of_it(
    buffer: float, bdp: float, d: float
) -> None:
    cycle = overflow(buffer, bdp, d)
    before = cycle.burst / ((d + 1) / d)
    if cycle.n > 0:
        assert buffer * d * (1 - 1e-9) <= before < buffer * (d + 1) * (1 + 1e-12)
    assert cycle.burst == pytest.approx(((d + 1) / d) ** float(cycle.n), rel=1e-9)


@pytest.mark.slow
@given(pipes, acknowledged, st.floats(1, 100), st.floats(1.01, 100))
def test_large_and_small_buffers(bdp: float, d: float, more: float, less: float) -> None:
    large = max(bdp / d * more, 1)
    assert overflow(large, bdp, d).window == pytest.approx(large + bdp, rel=1e-12)
    small = bdp / (d + 1) / less
    assert overflow(small, bdp, d).window == overflow(small, 1e9, d).window


@given(st.integers(1, 4), st.integers(1, 12))
def test_a_power_is_met_and_not_passed(d: int, n: int) -> None:
    alpha = (d + 1) / d
    for buffer in (alpha**n / (d + 1), float(np.exp(n * np.log(alpha))) / (d + 1)):
        assert overflow(buffer, BDP, d).n == n
        assert overflow(buffer * (1 + 1e-9), BDP, d).n == n + 1


@pytest.mark.slow
@given(st.integers(1, 5), st.integers(1, 20), st.integers(0, 12))
def test_what_is_sent_is_the_sum_of_windows(d: int, w1: int, n: int) -> None:
    windows = w1 * ((d + 1) / d) ** np.arange(n + 1)
    assert sent(windows[-1], d, w1) == pytest.approx(windows.sum(), rel=1e-12)


@given(st.integers(1, 4), st.integers(1, 4))
def test_a_window_opens_by_one_for_d_acknowledged(d: int, w1: int) -> None:
    # Packet by packet: each d acknowledged packets increase the window by one, which releases d +
    # 1.
    window, out, acknowledged = w1, w1, 0
    for _ in range(200):
        acknowledged += d
        window += 1
        out = acknowledged + window
        assert sent(window, d, w1) == out


def test_no_buffer_overflows_at_the_first_two() -> None:
    assert overflow(0, BDP, [1, 2, 3]).window == pytest.approx([2, 2, 2])


@pytest.mark.slow
@given(buffers, pipes, acknowledged, st.floats(0.1, 3))
def test_a_threshold_below_the_overflow_loses_nothing(
    buffer: float, bdp: float, d: float, factor: float
) -> None:
    W_B = float(overflow(buffer, bdp, d).window)
    threshold = max(factor * W_B, 1.0)
    loses = lost(buffer, bdp, d, W_th=threshold)
    assert (loses == 0) == (threshold <= W_B or lost(buffer, bdp, d) == 0)
    assert 0 <= loses <= max(detected_window(W_B, d, threshold) - W_B, 0) + 1e-9


def test_how_often_the_window_is_reduced() -> None:
    assert list(reductions([0, 1, 2, 2, 3, 52], [104, 104, 104, 4, 104, 104])) == [0, 1, 2, 2, 3, 2]
    # CUBIC keeps more, and a larger window releases more.
    assert reductions(52, 104, kept=0.7) == 3


def counted(
    mu: float, delay: float, places: int, d: int, change: int = 10**9, later: int = 1
) -> tuple[int, int]:
    """Counts the window at the first loss and the segments lost before its detection, by packets.

    A segment is served in 1/mu. Its ACK is back `delay` later and opens the window by 1/d, until a
    segment is missing; by 1/later from the window `change` on.
    """
    acks: deque[float] = deque()  # return times of ACKs
    queued: deque[float] = deque()  # departure times from the link
    now, last, out, acknowledged, at_loss, losses = 0.0, 0.0, 0, 0, 0, 0
    while True:
        until = (change - 1) * d
        window = 1 + min(acknowledged, until) // d + max(acknowledged - until, 0) // later
        while out < acknowledged + window:
            out += 1
            if len(queued) > places:
                at_loss, losses = at_loss or window, losses + 1
                continue
            last = max(last, now) + 1 / mu
            queued.append(last)
            if not losses:
                acks.append(last + delay)
        if not acks:
            return at_loss, losses
        now, acknowledged = acks.popleft(), acknowledged + 1
        while queued and queued[0] <= now + 1e-9:
            queued.popleft()


@pytest.mark.parametrize("places", [5, 10, 15, 20, 30, 50, 70, 100])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_count_of_packets(places: int, d: int) -> None:
    # mu T is 62.5, the packet's own service included. Whole packets are lost from the first that
    # does not fit.
    window, losses = counted(125, 61.5 / 125, places, d)
    if d == 1 or places >= BDP / d:
        assert window == floor(overflow(places, BDP, d).window) + 1
        assert losses == floor(lost(places, BDP, d)) + 1
    # Mini-cycles of whole packets are not powers of alpha. The one that overflows a small buffer is
    # known within one of them. The packet that does not fit is the last of a burst of d + 1.
    assert places + min(BDP, places * d) < window <= places + min(BDP, (places + 1) * (d + 1)) + 1


@pytest.mark.parametrize(
    ("places", "change", "later"),
    [(20, 32, 3), (20, 32, 4), (20, 16, 3), (20, 40, 3), (20, 8, 3), (30, 32, 3), (10, 16, 6)],
)
def test_a_count_of_packets_with_a_change_of_d(places: int, change: int, later: int) -> None:
    window, losses = counted(125, 61.5 / 125, places, 1, change, later)
    law = overflow(places, BDP, 1, Wc=change, d_later=later)
    # Windows of whole packets are up to two packets off those of the law from the change on. A
    # burst that only just overflows (20 places, a change to 2 at 8: by a quarter) is not among
    # these.
    assert window == pytest.approx(float(law.window) + 1, abs=2)
    assert losses == pytest.approx(float(lost(places, BDP, 1, Wc=change, d_later=later)), abs=2)


def test_a_change_before_the_overflow_lets_slow_start_fill_the_path() -> None:
    # With d = 1 a buffer of 20 overflows at 52. From 32 on a third: 43, 57 and 76 open the window
    # by less than 20, so it overflows at B + mu T.
    assert overflow(20, BDP, 1).window == 52
    changed = overflow(20, BDP, 1, Wc=32, d_later=3)
    assert changed.window == pytest.approx(82.5)
    assert detected_window(changed.window, 1, Wc=32, d_later=3) == pytest.approx(110)
    # 31 packets by the first five rounds, then three acknowledged for each of the 50.5 more.
    assert sent(82.5, 1, Wc=32, d_later=3) == pytest.approx(63 + 4 * 50.5)


@pytest.mark.slow
@given(buffers, pipes, acknowledged, acknowledged, st.floats(1, 1e5))
def test_a_change_to_the_same_d_changes_nothing(
    buffer: float, bdp: float, d: float, later: float, change: float
) -> None:
    plain = overflow(buffer, bdp, d)
    for changed in (
        overflow(buffer, bdp, d, Wc=change, d_later=d),
        overflow(buffer, bdp, later, Wc=1, d_later=d),
        overflow(buffer, bdp, d, Wc=1e3 * plain.burst, d_later=later),
    ):
        # A power that is met is met by one way of computing and maybe not by the other.
        if changed.n == plain.n:
            assert changed.window == pytest.approx(plain.window, rel=1e-9)
    assert lost(buffer, bdp, d, Wc=1e3 * plain.burst, d_later=later) == pytest.approx(
        lost(buffer, bdp, d), rel=1e-9
    )


def test_what_it_is_not_meant_for_is_refused() -> None:
    with refused("out-of-range", "d", 0):
        overflow(20, BDP, 0)
    with refused("out-of-range", "B", -1):
        overflow(-1, BDP, 1)
    with refused("contradiction", "w1", 30):
        overflow(20, BDP, 1, 30)
    with refused("out-of-range", "W_th", 0.5):
        detected_window(52, 1, 0.5)
