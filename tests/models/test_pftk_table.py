"""PFTK and its relatives: a table of values, a fifty-digit evaluation, and properties.

The formulas are written again here as the publications print them, in decimal arithmetic.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ackclock.models import pftk, square_root, tfrc

R, T0, WM = Decimal("0.1"), Decimal("0.4"), Decimal(64)
LOSS = ("1e-4", "1e-3", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5")

# Segments per second at R = 0.1 s, T0 = 0.4 s, Wm = 64; RFC 5348's equation with t_RTO = 4 R.
TABLE: dict[str, tuple[float, ...]] = {
    "full, b=2": (576.931, 269.091, 115.238, 77.846, 50.855, 26.714, 15.148, 7.784, 4.729, 1.429),
    "goodput, b=2": (
        575.097,
        264.265,
        110.714,
        73.593,
        47.012,
        23.659,
        12.798,
        6.114,
        3.452,
        0.857,
    ),
    "approximate, b=2": (
        640.000,
        271.418,
        117.196,
        79.431,
        51.795,
        26.063,
        12.517,
        4.273,
        1.891,
        0.531,
    ),
    "full, b=1": (604.665, 381.635, 163.973, 110.960, 72.542, 37.898, 21.130, 10.451, 6.015, 1.717),
    "square root, b=1": (
        1224.745,
        387.298,
        173.205,
        122.474,
        86.603,
        54.772,
        38.730,
        27.386,
        22.361,
        17.321,
    ),
    "tfrc": (1223.644, 383.844, 165.741, 112.332, 73.249, 36.859, 17.701, 5.366, 1.948, 0.417),
}

OURS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "full, b=2": lambda p: pftk.full(p, 0.1, 0.4, 64, b=2),
    "goodput, b=2": lambda p: pftk.goodput(p, 0.1, 0.4, 64, b=2),
    "approximate, b=2": lambda p: pftk.approximate(p, 0.1, 0.4, 64, b=2),
    "full, b=1": lambda p: pftk.full(p, 0.1, 0.4, 64, b=1),
    "square root, b=1": lambda p: square_root.rate(p, 0.1),
    "tfrc": lambda p: tfrc.rate(p, 0.1),
}


def _full(p: Decimal, b: Decimal, *, received: bool = False) -> Decimal:
    """Returns the sending rate by the journal version's equations 31 and 32, or the receiver's."""
    k = (2 + b) / (3 * b)
    unlimited = k + (8 * (1 - p) / (3 * b * p) + k * k).sqrt()
    limited = unlimited >= WM
    w = WM if limited else unlimited
    q = 1 - p
    timeouts = (
        min(Decimal(1), (1 - q**3) * (1 + q**3 * (1 - q ** (w - 3))) / (1 - q**w))
        if w > 3
        else Decimal(1)
    )
    g = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    rounds = b / 8 * WM + q / (p * WM) + 2 if limited else b / 2 * w + 1
    amount = q / p + w / 2 + timeouts if received else q / p + w + timeouts / q
    return amount / (R * rounds + timeouts * g * T0 / q)


def _approximate(p: Decimal, b: Decimal) -> Decimal:
    timeouts = T0 * min(Decimal(1), 3 * (3 * b * p / 8).sqrt()) * p * (1 + 32 * p**2)
    return min(WM / R, 1 / (R * (2 * b * p / 3).sqrt() + timeouts))


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "full, b=2": lambda p: _full(p, Decimal(2)),
    "goodput, b=2": lambda p: _full(p, Decimal(2), received=True),
    "approximate, b=2": lambda p: _approximate(p, Decimal(2)),
    "full, b=1": lambda p: _full(p, Decimal(1)),
    "square root, b=1": lambda p: (3 / (2 * p)).sqrt() / R,
    "tfrc": lambda p: (
        1 / (R * (2 * p / 3).sqrt() + 4 * R * 3 * (3 * p / 8).sqrt() * p * (1 + 32 * p**2))
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_every_digit_of_the_table(name: str) -> None:
    ours = OURS[name](np.array([float(p) for p in LOSS]))
    np.testing.assert_allclose(ours, TABLE[name], rtol=0, atol=0.5001e-3)


@pytest.mark.parametrize("name", EXACT)
def test_the_formulas_to_fifty_digits(name: str) -> None:
    ours = OURS[name](np.array([float(p) for p in LOSS]))
    with localcontext() as context:
        context.prec = 50
        exact = [float(EXACT[name](Decimal(p))) for p in LOSS]
    np.testing.assert_allclose(ours, exact, rtol=1e-9)


def test_fifty_digits_hold_where_losses_are_very_rare_or_nearly_certain() -> None:
    with localcontext() as context:
        context.prec = 80
        for p in ("1e-12", "1e-8", "0.9", "0.999"):
            for b in (1, 2):
                exact = float(_full(Decimal(p), Decimal(b)))
                assert pftk.full(float(p), 0.1, 0.4, 64, b=b) == pytest.approx(exact, rel=1e-9)


loss_rates, round_trips, timeouts = st.floats(1e-6, 0.9), st.floats(1e-3, 10), st.floats(0.01, 60)
windows, acks = st.floats(1, 1e4), st.sampled_from([1, 2])


def _is_limited(p: float, Wm: float, b: float) -> bool:
    return bool(pftk.unlimited_window(p, b) >= Wm)


@pytest.mark.slow
@given(loss_rates, st.floats(1.001, 3), round_trips, timeouts, windows, acks)
def test_it_falls_with_loss_within_a_branch(
    p: float, factor: float, R: float, T0: float, Wm: float, b: int
) -> None:
    assume(p * factor < 0.95 and _is_limited(p, Wm, b) == _is_limited(p * factor, Wm, b))
    T0 = max(T0, R)
    assert pftk.full(p * factor, R, T0, Wm, b) < pftk.full(p, R, T0, Wm, b)


def test_it_may_rise_with_loss_where_a_timeout_is_shorter_than_a_round_trip() -> None:
    # No TCP has such a timeout; with a window of one segment more losses then save waiting.
    assert pftk.full(0.3, 1, 0.1, 1, b=1) > pftk.full(0.2, 1, 0.1, 1, b=1)


@pytest.mark.slow
@given(loss_rates, st.floats(1.001, 3), round_trips, timeouts, windows, acks)
def test_it_falls_with_round_trip_and_timeout(
    p: float, factor: float, R: float, T0: float, Wm: float, b: int
) -> None:
    rate = pftk.full(p, R, T0, Wm, b)
    assert pftk.full(p, R * factor, T0, Wm, b) < rate
    # With a window far too large for a timeout, its cost is below the last digit.
    share = float(pftk.timeout_probability(p, min(Wm, float(pftk.unlimited_window(p, b)))))
    longer = pftk.full(p, R, T0 * factor, Wm, b)
    assert longer < rate or (longer == rate and share < 1e-12)


GRID_P, GRID_WM = np.geomspace(1e-5, 0.9, 100)[:, None], np.arange(1.0, 401.0)


@pytest.mark.parametrize("b", [1, 2])
def test_a_larger_window_never_slows_it_and_bounds_it(b: int) -> None:
    rates = pftk.full(GRID_P, 0.1, 0.4, GRID_WM, b)
    assert (np.diff(rates, axis=1) >= -1e-12 * rates[:, 1:]).all()
    assert (rates <= (GRID_WM + 1) / 0.1).all()


@pytest.mark.parametrize(("b", "p"), [(1, 6.7e-4), (2, 3.3e-4)])
def test_where_the_branches_meet(b: int, p: float) -> None:
    """Where W(p) = Wm, the limited branch has 1 - (2 + b)/4 of a round trip more than the other.

    As (1-p)/(p W) = (3 b/8) (W - 2 k) with k = (2 + b)/(3 b), its rounds are b/2 W + 2 - (2 + b)/4
    there. So with b = 2 the branches meet. With b = 1 the rate jumps up by a quarter of a round
    trip, and an inversion looks at each branch.
    """
    low, high = p * 0.9, p * 1.1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _is_limited(middle, 64, b) else (low, middle)
    assert low == pytest.approx(p, rel=0.02)
    loss, Q = low, float(pftk.timeout_probability(low, 64))
    period = 0.1 * (b / 2 * 64 + 1) + Q * float(pftk.backoff(loss)) * 0.4 / (1 - loss)
    jump = 0.1 * (1 - (2 + b) / 4) / period
    rise = float(pftk.full(high, 0.1, 0.4, 64, b) / pftk.full(low, 0.1, 0.4, 64, b)) - 1
    assert rise == pytest.approx(jump, abs=1e-12)
    assert jump == pytest.approx({1: 0.0075, 2: 0}[b], abs=0.0001)


@pytest.mark.parametrize("b", [1, 2])
def test_the_square_root_is_its_limit_and_its_short_form_is_below_it_at_high_loss(b: int) -> None:
    ratios = [
        float(pftk.full(p, 0.1, 0.4, b=b) / square_root.rate(p, 0.1, square_root.constant(b)))
        for p in (1e-6, 1e-8, 1e-10)
    ]
    assert abs(ratios[2] - 1) < abs(ratios[1] - 1) < abs(ratios[0] - 1)
    assert ratios[2] == pytest.approx(1, abs=1e-3)
    assert pftk.full(1e-12, 0.1, 0.4, 64, b) == pytest.approx(640, rel=1e-6)  # Wm/R without loss
    high = np.linspace(0.1, 0.8, 71)  # from 0.83 on it is above again
    assert (pftk.approximate(high, 0.1, 0.4, 64, b) < pftk.full(high, 0.1, 0.4, 64, b)).all()
