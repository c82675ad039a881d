"""Square-root laws: general AIMD, Floyd and Fall, Mathis; and TFRC's equation near them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import floyd_fall, mathis, pftk, reno_response, square_root, tfrc

from ..refusals import refused

LOSS = np.array([1e-4, 1e-3, 0.01, 0.05, 0.2])
loss_rates = st.floats(1e-7, 1)
round_trips = st.floats(1e-4, 10)


def test_floyd_fall_to_every_digit() -> None:
    expected = [1224.7449, 387.2983, 122.4745, 54.7723, 27.3861]
    np.testing.assert_allclose(floyd_fall.bound(LOSS, 0.1), expected, rtol=0, atol=0.5001e-4)


def test_the_four_constants_of_mathis() -> None:
    printed = {(1, False): 1.22, (2, False): 0.87, (1, True): 1.31, (2, True): 0.93}
    for (b, random), expected in printed.items():
        assert mathis.constant(b, random=random) == pytest.approx(expected, abs=0.005)
    assert mathis.constant(1) == math.sqrt(3 / 2)
    assert mathis.constant(2) == math.sqrt(3 / 4)


@pytest.mark.slow
@given(loss_rates, round_trips)
def test_three_papers_agree_on_reno(p: float, R: float) -> None:
    expected = square_root.rate(p, R)
    assert floyd_fall.bound(p, R) == pytest.approx(expected, rel=1e-14)
    assert mathis.rate(p, R) == pytest.approx(expected, rel=1e-14)
    # The RFCs round sqrt(3/2) to 1.2.
    assert reno_response.window(p) / R == pytest.approx(expected * 1.2 / math.sqrt(1.5), rel=1e-14)


def test_general_aimd_of_floyd_handley_and_padhye() -> None:
    # That report chose them to be as aggressive as (1, 1/2).
    assert square_root.constant(alpha=0.2, beta=0.875) == pytest.approx(
        square_root.constant(), rel=0.01
    )
    assert square_root.constant(alpha=9 * (1 - 0.7) / (3 * (1 + 0.7)), beta=0.7) == pytest.approx(
        square_root.constant()
    )


@pytest.mark.slow
@given(st.floats(0.05, 4), st.floats(0.05, 0.95), st.floats(1, 4), st.floats(1e-6, 1e-2))
def test_the_constant_is_a_saw_tooths_area(alpha: float, beta: float, b: float, p: float) -> None:
    mean = square_root.constant(b, alpha, beta) / math.sqrt(p)
    peak = 2 * mean / (1 + beta)
    rounds = (1 - beta) * peak * b / alpha
    assert mean * rounds == pytest.approx(1 / p, rel=1e-12)


@pytest.mark.slow
@given(st.floats(1e-7, 0.9), round_trips, st.floats(1.01, 1.1))
def test_more_loss_or_a_longer_way_is_slower(p: float, R: float, factor: float) -> None:
    for rate in (square_root.rate, floyd_fall.bound, mathis.rate, tfrc.rate):
        assert rate(p * factor, R) < rate(p, R)
        assert rate(p, R * factor) < rate(p, R)


@given(loss_rates, round_trips, st.floats(1, 4))
def test_tfrc_is_pftks_short_form_without_a_window(p: float, R: float, b: float) -> None:
    # RFC 5348 omits the inner minimum: 3 sqrt(3bp/8) may exceed one.
    expected = pftk.approximate(min(p, 0.999), R, 4 * R, b=b)
    if 3 * math.sqrt(3 * b * p / 8) < 1:
        assert tfrc.rate(p, R, b=b) == pytest.approx(expected, rel=1e-13)
    elif p < 0.999:
        assert tfrc.rate(p, R, b=b) < expected


def test_tfrc_at_its_ends() -> None:
    # p -> 0: the square-root law. p = 1: 1/(R (sqrt(2/3) + 4 x 3 sqrt(3/8) x 33)).
    assert tfrc.rate(1e-12, 0.1) == pytest.approx(square_root.rate(1e-12, 0.1), rel=1e-9)
    assert tfrc.rate(1, 1) == pytest.approx(
        1 / (math.sqrt(2 / 3) + 12 * math.sqrt(3 / 8) * 33), rel=1e-14
    )


def test_arguments_are_broadcast() -> None:
    for rate in (square_root.rate, floyd_fall.bound, mathis.rate, tfrc.rate):
        assert rate(LOSS[:, None], [0.01, 0.1]).shape == (5, 2)


@pytest.mark.parametrize(
    ("formula", "letter"),
    [
        (lambda: square_root.rate(0, 0.1), "p"),
        (lambda: square_root.rate(0.5, -0.1), "R"),
        (lambda: square_root.constant(beta=1), "beta"),
        (lambda: square_root.constant(alpha=0), "alpha"),
        (lambda: floyd_fall.bound(1.1, 0.1), "p"),
        (lambda: floyd_fall.bound(math.nan, 0.1), "p"),
        (lambda: mathis.constant(3), "b"),
        (lambda: mathis.rate(0.1, math.nan), "R"),
        (lambda: tfrc.rate(0.1, 0.1, 0), "t_RTO"),
        (lambda: reno_response.window(0), "p"),
    ],
)
def test_what_a_formula_is_not_meant_for_is_refused(formula, letter: str) -> None:
    with refused("out-of-range", letter):
        formula()
