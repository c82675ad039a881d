"""The window chain: exactness, published values, its laws, and refused inputs."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ackclock.models import aimd_chain
from ackclock.models.aimd_chain import (
    Bernoulli,
    Memoryless,
    WindowDependent,
    rtt,
    solve,
    solve_many,
)

from ..refusals import refused

loss_rates = st.floats(-8, math.log10(0.9)).map(lambda exponent: 10**exponent)
tops = st.integers(2, 300)


def eliminated(transitions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The stationary law by elimination without subtraction (Grassmann, Taksar and Heyman 1985)."""
    p, law = transitions.copy(), np.ones(len(transitions))
    for k in range(len(p) - 1, 0, -1):
        p[:k, k] /= p[k, :k].sum()
        p[:k, :k] += np.outer(p[:k, k], p[k, :k])
    for k in range(1, len(p)):
        law[k] = law[:k] @ p[:k, k]
    return law / law.sum()


def transitions(chain: aimd_chain.WindowChain) -> NDArray[np.float64]:
    """Returns the transition matrix of the chain of halving windows."""
    windows = chain.windows.astype(int)
    p = np.zeros((windows.size, windows.size))
    for index, w in enumerate(windows):
        p[index, min(index + 1, windows.size - 1)] += chain.survive[index]
        p[index, max(w // 2, 2) - 2] += chain.lose[index]
    return p


@pytest.mark.slow
@pytest.mark.parametrize("w_max", [2, 3, 5, 17, 64, 119, 120])
@pytest.mark.parametrize("p", [1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9])
def test_every_component_agrees_with_elimination(p: float, w_max: int) -> None:
    chain = solve(Bernoulli(p), w_max)
    reference = eliminated(transitions(chain))
    seen = reference > 1e-290  # below, elimination itself has no digits left
    np.testing.assert_allclose(chain.round[seen], reference[seen], rtol=1e-12, atol=0)
    assert chain.round[~seen].sum() < 1e-280


@pytest.mark.slow
@given(st.floats(1e-6, 1), st.floats(0.8, 1.3), st.integers(2, 60))
def test_so_does_a_loss_rate_that_depends_on_the_window(q: float, alpha: float, w_max: int) -> None:
    chain = solve(WindowDependent(q, alpha), w_max)
    reached = (
        int(np.argmax(chain.survive == 0)) if (chain.survive == 0).any() else chain.windows.size - 1
    ) + 1
    below = solve(WindowDependent(q, alpha), reached + 1)
    reference = eliminated(transitions(below))
    seen = reference > 1e-290
    np.testing.assert_allclose(chain.round[:reached][seen], reference[seen], rtol=1e-12, atol=0)
    assert (chain.round[reached:] == 0).all()


def test_five_windows_by_hand() -> None:
    expected = [0.2988153158, 0.2420404058, 0.1764474558, 0.2826968225]
    np.testing.assert_allclose(solve(Bernoulli(0.1), 5).round, expected, atol=5e-11)


@pytest.mark.parametrize(
    ("w_max", "p", "lowest", "highest", "by_round", "by_segment"),
    [
        (10, 0.01, 5.495449247607e-03, 5.948534834275e-01, 8.576376238, 9.050458002),
        (40, 0.001, 5.606702328327e-07, 4.308937294853e-01, 32.363267144, 34.589345397),
        (80, 1e-4, 2.022222054287e-12, 7.204698649909e-01, 73.631954450, 75.665873425),
        (120, 4.5e-4, 6.831707957728e-09, 2.835121754898e-02, 60.551995105, 70.071401848),
    ],
)
def test_tabulated_values(
    w_max: int, p: float, lowest: float, highest: float, by_round: float, by_segment: float
) -> None:
    chain = solve(Bernoulli(p), w_max)
    assert chain.round[[0, -1]] == pytest.approx([lowest, highest], rel=1e-12)
    assert [chain.mean("round"), chain.mean("segment")] == pytest.approx(
        [by_round, by_segment], abs=5.1e-10
    )


@pytest.mark.parametrize(
    ("p", "by_round", "by_segment"),
    [
        (1e-8, 8812.57, 9174.22),
        (1e-6, 1309.16, 1526.36),
        (1e-4, 130.315, 152.137),
        (1e-3, 40.754, 47.7324),
        (1e-2, 12.4396, 14.7207),
        (0.1, 3.84961, 4.41875),
        (0.5, 2.24833, 2.28332),
        (0.9, 2.00992, 2.01001),
    ],
)
def test_ten_thousand_windows(p: float, by_round: float, by_segment: float) -> None:
    chain = solve(Bernoulli(p), 10_000)
    assert chain.mean("round") == pytest.approx(by_round, rel=5e-6)
    assert chain.mean("segment") == pytest.approx(by_segment, rel=5e-6)


def test_limits_of_ott_kemperman_and_mathis() -> None:
    chain = solve(Bernoulli(1e-6), 10_000)
    assert chain.mean("round") * 1e-3 == pytest.approx(1.310, abs=2e-3)
    assert chain.mean("segment") * 1e-3 == pytest.approx(1.527, abs=2e-3)


@pytest.mark.parametrize("w_max", [2, 3, 100])
def test_no_loss_and_nothing_but_loss(w_max: int) -> None:
    free, lost = solve(Bernoulli(0), w_max), solve(Bernoulli(1), w_max)
    assert free.round[-1] == 1
    assert lost.round[0] == 1
    np.testing.assert_array_equal(free.segments, free.windows)
    np.testing.assert_array_equal(lost.segments, 1)
    assert solve(Bernoulli(1e-14), w_max).mean("round") == pytest.approx(w_max, rel=1e-9)
    assert solve(Bernoulli(1 - 1e-9), w_max).mean("round") == pytest.approx(2, rel=1e-9)


@pytest.mark.slow
@given(loss_rates, st.floats(1.01, 3), tops)
def test_more_loss_means_smaller_windows(p: float, more: float, w_max: int) -> None:
    less, worse = solve(Bernoulli(p), w_max), solve(Bernoulli(min(1, p * more)), w_max)
    for mode in ("round", "segment", "segment_full"):
        # Stochastically smaller, not only on the mean.
        assert (np.cumsum(worse.law(mode)) >= np.cumsum(less.law(mode)) - 1e-13).all()


@given(loss_rates, tops, st.integers(1, 50))
def test_a_higher_limit_means_larger_windows(p: float, w_max: int, more: int) -> None:
    low, high = solve(Bernoulli(p), w_max), solve(Bernoulli(p), w_max + more)
    assert high.mean("round") >= low.mean("round") * (1 - 1e-13)
    assert high.mean("segment") >= low.mean("segment") * (1 - 1e-13)


@pytest.mark.slow
@given(loss_rates, tops)
def test_who_counts_segments_sees_larger_windows(p: float, w_max: int) -> None:
    chain = solve(Bernoulli(p), w_max)
    by_round, by_segment, full = (chain.mean(mode) for mode in ("round", "segment", "segment_full"))
    assert by_round * (1 - 1e-13) <= by_segment <= full * (1 + 1e-13)
    # Without a link every round takes the same time; with a busy link every segment does. Below
    # 1e-300 numbers lose digits.
    equal = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-300)
    constant, slow = rtt.constant(0.1), 1e-3
    equal(chain.law("time", constant), chain.round)
    equal(chain.law("time", constant, slow), chain.law("segment_full"))
    equal(chain.law("time1", constant, slow), chain.law("segment"))


@pytest.mark.slow
@given(loss_rates, tops)
def test_every_law_is_one(p: float, w_max: int) -> None:
    chain = solve(Bernoulli(p), w_max)
    for mode in aimd_chain.MODES:
        law = chain.law(mode, rtt.constant(0.1), 100)
        assert law.sum() == pytest.approx(1, abs=1e-13)
        assert (law >= 0).all()


@pytest.mark.slow
@given(loss_rates, st.integers(2, 40))
def test_a_general_law_that_is_bernoulli_is_bernoulli(p: float, w_max: int) -> None:
    general = Memoryless(lambda _w, n: (1 - p) ** n, lambda w: -math.expm1(w * math.log1p(-p)))
    ours, theirs = solve(general, w_max), solve(Bernoulli(p), w_max)
    np.testing.assert_allclose(ours.round, theirs.round, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(ours.segments, theirs.segments, rtol=1e-8)
    assert Memoryless(lambda _w, n: (1 - p) ** n).lose(np.array([3.0])) == pytest.approx(
        1 - (1 - p) ** 3
    )


def test_a_window_dependent_law_without_dependence_is_bernoulli() -> None:
    by_window, other = solve(WindowDependent(0.01, 1), 80), solve(Bernoulli(0.01), 80)
    np.testing.assert_allclose(by_window.round, other.round, rtol=1e-12)
    np.testing.assert_allclose(by_window.segments, other.segments, rtol=1e-12)


def test_a_loss_rate_that_grows_with_the_window_keeps_it_from_the_top() -> None:
    # Means, standard deviations and peaks by segment, q = 0.0005.
    expected = {
        1.02: (41.25, 13.45, 37),
        1.05: (28.85, 8.73, 26),
        1.1: (20.57, 5.92, 19),
        1.2: (14.09, 3.91, 13),
    }
    for alpha, (mean, sd, peak) in expected.items():
        chain = solve(WindowDependent(0.0005, alpha), 120)
        assert (chain.mean("segment"), chain.sd("segment")) == pytest.approx((mean, sd), abs=5.1e-3)
        assert chain.windows[np.argmax(chain.law("segment"))] == peak
        assert chain.law("segment")[-20:].sum() < 1e-4


def test_many_at_once_are_each_alone() -> None:
    losses = [Bernoulli(1e-7), Bernoulli(0.3), WindowDependent(0.001, 1.1)]
    for chain, loss in zip(solve_many(losses, 50), losses, strict=True):
        np.testing.assert_array_equal(chain.round, solve(loss, 50).round)
    assert solve_many([], 50) == []


@pytest.mark.parametrize(
    ("make", "code", "field", "value"),
    [
        (lambda: Bernoulli(-0.1), "out-of-range", "p", "-0.1"),
        (lambda: Bernoulli(1.5), "out-of-range", "p", "1.5"),
        (lambda: Bernoulli(math.nan), "out-of-range", "p", "nan"),
        (lambda: WindowDependent(2, 1.1), "out-of-range", "q", "2"),
        (lambda: WindowDependent(0.1, 0), "out-of-range", "alpha", "0"),
        (lambda: WindowDependent(0.1, math.nan), "out-of-range", "alpha", "nan"),
        (lambda: solve(Bernoulli(0.1), 1), "out-of-range", "w_max", "1"),
        (lambda: solve(Bernoulli(0.1), math.nan), "out-of-range", "w_max", "nan"),
        (lambda: solve(Bernoulli(0.1), math.inf), "out-of-range", "w_max", "inf"),
        (lambda: solve(Memoryless(lambda _w, n: n / 1.0), 5), "out-of-range", "G(2, n)", "2"),
        (lambda: solve(Memoryless(lambda _w, n: 1 + n), 5), "out-of-range", "G(2, n)", "2"),
        (lambda: solve(Bernoulli(0.1), 5).law("rounds"), "unknown-name", "mode", "rounds"),
        (lambda: solve(Bernoulli(0.1), 5).law("time"), "out-of-range", "rtt", "None"),
        (
            lambda: solve(Bernoulli(0.1), 5).law("time", rtt.constant(1), -1),
            "out-of-range",
            "rate",
            "-1",
        ),
        (
            lambda: solve(Bernoulli(0.1), 5).law("time", rtt.constant(1), math.nan),
            "out-of-range",
            "rate",
            "nan",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(make: object, code: str, field: str, value: str) -> None:
    with refused(code, field, value):
        make()  # type: ignore[operator]
