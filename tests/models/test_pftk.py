"""PFTK: tabulated values, the laws it must keep, precision for small p."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import pftk, square_root

from ..refusals import refused

# R = 0.1 s, T0 = 0.4 s, Wm = 64 segments.
LOSS = np.array([1e-4, 1e-3, 0.01, 0.05, 0.2])
CHECKED = {
    "triple duplicates, b=1": (
        lambda p: pftk.triple_duplicate_only(p, 0.1, b=1),
        [1222.3269, 385.0434, 120.6286, 53.3727, 26.2348],
    ),
    "triple duplicates, b=2": (
        lambda p: pftk.triple_duplicate_only(p, 0.1, b=2),
        [863.5606, 271.4665, 84.3826, 36.6910, 17.3703],
    ),
    "full, b=1": (
        lambda p: pftk.full(p, 0.1, 0.4, 64, b=1),
        [604.6646, 381.6352, 110.9600, 37.8981, 10.4509],
    ),
    "full, b=2": (
        lambda p: pftk.full(p, 0.1, 0.4, 64, b=2),
        [576.9314, 269.0912, 77.8465, 26.7141, 7.7843],
    ),
    "goodput, b=2": (
        lambda p: pftk.goodput(p, 0.1, 0.4, 64, b=2),
        [575.0968, 264.2652, 73.5927, 23.6590, 6.1140],
    ),
    "approximate, b=1": (
        lambda p: pftk.approximate(p, 0.1, 0.4, 64, b=1),
        [640, 383.8436, 112.3322, 36.8589, 5.3656],
    ),
    "approximate, b=2": (
        lambda p: pftk.approximate(p, 0.1, 0.4, 64, b=2),
        [640, 271.4184, 79.4309, 26.0631, 4.2728],
    ),
}

loss_rates = st.floats(1e-7, 0.9)
round_trips = st.floats(1e-4, 10)


@pytest.mark.parametrize("name", CHECKED)
def test_every_digit_of_the_tabulated_values(name: str) -> None:
    formula, expected = CHECKED[name]
    np.testing.assert_allclose(formula(LOSS), expected, rtol=0, atol=0.5001e-4)


def test_the_record_says_what_the_functions_say() -> None:
    p, R, T0, Wm, b = LOSS[:, None], 0.1, 0.4, np.array([4, 64, math.inf]), 2
    says = pftk.MODEL.answer(loss=p, rtt=R, timeout=T0, window=Wm, segments_per_ack=b)
    np.testing.assert_array_equal(says["throughput"], pftk.full(p, R, T0, Wm, b))
    np.testing.assert_array_equal(says["goodput"], pftk.goodput(p, R, T0, Wm, b))
    np.testing.assert_array_equal(says["approximate"], pftk.approximate(p, R, T0, Wm, b))
    without = np.broadcast_to(pftk.triple_duplicate_only(p, R, b), (5, 3))
    np.testing.assert_allclose(says["triple_duplicate_only"], without, rtol=1e-15)
    np.testing.assert_array_equal(
        says["timeout_share"], pftk.timeout_probability(p, says["peak_window"])
    )


@given(loss_rates, round_trips, st.floats(0.1, 60), st.integers(1, 2))
def test_the_order_of_its_forms(p: float, R: float, T0: float, b: int) -> None:
    without, sent, received = (
        pftk.triple_duplicate_only(p, R, b),
        pftk.full(p, R, T0, b=b),
        pftk.goodput(p, R, T0, b=b),
    )
    assert 0 < received < sent
    if T0 > 2 * R:  # a timeout no longer than a round trip costs nothing
        assert sent < without * 1.05


@pytest.mark.slow
@given(st.floats(1e-7, 0.8), round_trips, st.floats(1.01, 1.12))
def test_more_loss_or_a_longer_way_is_slower(p: float, R: float, factor: float) -> None:
    T0, Wm = 1.0, 200
    assert pftk.goodput(p * factor, R, T0, Wm) < pftk.goodput(p, R, T0, Wm)
    assert pftk.full(p, R * factor, T0, Wm) < pftk.full(p, R, T0, Wm)


@given(st.floats(1e-6, 0.5), st.floats(1, 1000))
def test_a_window_limit_is_never_exceeded(p: float, Wm: float) -> None:
    assert pftk.full(p, 0.1, 0.4, Wm) <= Wm / 0.1 * (1 + 1e-12)


@pytest.mark.slow
@given(st.floats(1e-9, 0.999), st.floats(1, 1e5))
def test_a_timeout_probability_is_one(p: float, w: float) -> None:
    assert 0 < pftk.timeout_probability(p, w) <= 1


@pytest.mark.slow
@given(st.floats(1e-3, 0.95), st.floats(3.5, 500))
def test_the_timeout_probability_is_the_papers(p: float, w: float) -> None:
    q = 1 - p
    paper = (1 - q**3) * (1 + q**3 * (1 - q ** (w - 3))) / (1 - q**w)
    assert pftk.timeout_probability(p, w) == pytest.approx(min(1, paper), rel=1e-11)


def test_few_losses_are_rarely_timeouts() -> None:
    # Q -> 3/w as p -> 0, to the last digits: there is no cancellation.
    assert pftk.timeout_probability(1e-15, 100) == pytest.approx(3 / 100, rel=1e-12)


def test_square_root_is_its_limit() -> None:
    p = np.geomspace(1e-12, 1e-8, 5)
    np.testing.assert_allclose(
        pftk.triple_duplicate_only(p, 0.1, b=1),
        square_root.rate(p, 0.1),
        rtol=1e-3 * np.sqrt(p[-1] / 1e-8),
    )


def test_arguments_are_broadcast() -> None:
    assert pftk.full(LOSS[:, None], [0.01, 0.1], 0.4, 64).shape == (5, 2)


@pytest.mark.parametrize(
    ("formula", "letter"),
    [
        (lambda: pftk.full(0, 0.1, 0.4), "p"),
        (lambda: pftk.full(1, 0.1, 0.4), "p"),
        (lambda: pftk.full([0.1, math.nan], 0.1, 0.4), "p"),
        (lambda: pftk.full(0.1, 0, 0.4), "R"),
        (lambda: pftk.full(0.1, 0.1, -1), "T0"),
        (lambda: pftk.full(0.1, 0.1, 0.4, 0.5), "Wm"),
        (lambda: pftk.full(0.1, 0.1, 0.4, b=0), "b"),
    ],
)
def test_what_the_formula_is_not_meant_for_is_refused(formula, letter: str) -> None:
    with refused("out-of-range", letter):
        formula()
