"""Response functions against the tables of the RFCs that define them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import cubic_response, hstcp_response, reno_response

from ..refusals import refused

P = 10.0 ** -np.arange(2, 9)

# RFC 9438 (as RFC 8312) section 5.1, tables 1 and 2, for loss rates of 10^-2 to 10^-8: segments.
RENO = [12, 38, 120, 379, 1200, 3795, 12000]
HSTCP = [12, 38, 263, 1795, 12279, 83981, 574356]
CUBIC = {
    # RTT, C
    (0.1, 0.04): [12, 38, 120, 593, 3332, 18740, 105383],
    (0.1, 0.4): [12, 38, 187, 1054, 5926, 33325, 187400],
    (0.1, 4): [12, 59, 333, 1874, 10538, 59261, 333250],
    (0.01, 0.04): [12, 38, 120, 379, 1200, 3795, 18740],
    (0.01, 0.4): [12, 38, 120, 379, 1200, 5926, 33325],
    (0.01, 4): [12, 38, 120, 379, 1874, 10538, 59261],
}
# Table 3: throughput in Mbit/s, then the loss rates that Reno, HSTCP and CUBIC need; 1500 bytes,
# RTT 0.1 s.
NEEDED = [
    (1, 2.0e-2, 2.0e-2, 2.0e-2),
    (10, 2.0e-4, 3.9e-4, 2.9e-4),
    (100, 2.0e-6, 2.5e-5, 1.4e-5),
    (1000, 2.0e-8, 1.5e-6, 6.3e-7),
    (10000, 2.0e-10, 1.0e-7, 2.9e-8),
]


def test_the_tables_column_of_reno() -> None:
    # 1.2 x 10^2.5 is 379.47, 1.2 x 10^3.5 is 3794.7: all are rounded.
    assert np.round(reno_response.window(P)).tolist() == RENO


def test_the_tables_column_of_hstcp() -> None:
    # The RFCs' value at 10^-6 is truncated (12279.6); the others are rounded.
    np.testing.assert_allclose(hstcp_response.rounded_window(P), HSTCP, rtol=0, atol=0.75)


@pytest.mark.parametrize(("rtt", "C"), CUBIC)
def test_the_tables_columns_of_cubic(rtt: float, C: float) -> None:
    # The tables' Reno-friendly region is their column of Reno, with 1.2; the model has the exact
    # sqrt(3/2).
    ours = np.maximum(cubic_response.cubic_window(P, rtt, C), reno_response.window(P))
    np.testing.assert_allclose(ours, CUBIC[rtt, C], rtol=1e-5, atol=0.5)
    exact = cubic_response.window(P, rtt, C)
    assert (exact >= ours).all()
    assert (exact <= ours * math.sqrt(1.5) / 1.2 * (1 + 1e-12)).all()


@pytest.mark.parametrize(("throughput", "reno", "hstcp", "cubic"), NEEDED)
def test_the_loss_rates_that_a_throughput_needs(
    throughput: float, reno: float, hstcp: float, cubic: float
) -> None:
    w = throughput * 1e6 * 0.1 / (8 * 1500)
    windows = {
        reno: reno_response.window,
        hstcp: hstcp_response.rounded_window,
        cubic: lambda p: np.maximum(cubic_response.cubic_window(p, 0.1), reno_response.window(p)),
    }
    for printed, window in windows.items():
        # The RFC prints two digits, some truncated: the answer is within a unit of the last digit.
        unit = 10.0 ** (math.floor(math.log10(printed)) - 1)
        assert window(printed + unit) < w < window(printed - 0.5 * unit)


def test_cubics_constant_is_printed() -> None:
    assert cubic_response.cubic_window(1, 1) == pytest.approx(1.054, abs=0.0005)
    assert cubic_response.cubic_window(3e-4, 0.1) == pytest.approx(82.2, abs=0.05)


@pytest.mark.slow
@given(st.floats(1e-8, 1e-2), st.floats(1e-3, 1), st.floats(0.05, 4), st.floats(0.3, 0.9))
def test_cubics_window_is_its_branchs_mean(p: float, RTT: float, C: float, beta: float) -> None:
    # One congestion epoch: C (t - K)^3 + Wmax from 0 to K, sent in K/RTT round trips; that is 1/p
    # segments.
    mean = cubic_response.cubic_window(p, RTT, C, beta)
    K = RTT / (p * mean)
    Wmax = C * K**3 / (1 - beta)
    t = np.linspace(0, K, 20001)
    assert np.trapezoid(C * (t - K) ** 3 + Wmax, t) / K == pytest.approx(mean, rel=1e-6)


@pytest.mark.slow
@given(st.floats(1e-8, 1))
def test_no_beta_makes_the_friendly_region_unfriendly(p: float) -> None:
    for beta in (0.5, 0.7, 0.85):
        assert cubic_response.friendly_window(p, beta) == pytest.approx(
            math.sqrt(1.5 / p), rel=1e-12
        )


# RFC 3649 appendix B: the windows at which a(w) reaches each integer, and b(w).
HSTCP_TABLE = {
    1: (38, 0.50), 2: (118, 0.44), 3: (221, 0.41), 4: (347, 0.38), 5: (495, 0.37), 6: (663, 0.35),
    7: (851, 0.34), 8: (1058, 0.33), 9: (1284, 0.32), 10: (1529, 0.31), 11: (1793, 0.30),
    12: (2076, 0.29), 13: (2378, 0.28), 14: (2699, 0.28), 15: (3039, 0.27), 16: (3399, 0.27),
    17: (3778, 0.26), 18: (4177, 0.26), 19: (4596, 0.25), 20: (5036, 0.25), 21: (5497, 0.24),
    22: (5979, 0.24), 23: (6483, 0.23), 24: (7009, 0.23), 25: (7558, 0.22), 26: (8130, 0.22),
    27: (8726, 0.22), 28: (9346, 0.21), 29: (9991, 0.21), 30: (10661, 0.21), 31: (11358, 0.20),
}  # fmt: skip


@pytest.mark.parametrize("a", HSTCP_TABLE)
def test_hstcps_increase_and_decrease(a: int) -> None:
    w, b = HSTCP_TABLE[a]
    # The appendix uses p(w) = 0.078/w^1.2, which is up to 3 % below the exact one.
    assert hstcp_response.increase(w) == pytest.approx(a, rel=0.03)
    assert hstcp_response.decrease(w) == pytest.approx(b, abs=0.0051)


@pytest.mark.parametrize(
    ("w", "a", "b", "p"),
    [
        (38, 1.00, 0.500, 1e-3), (118, 2.03, 0.441, 2.57e-4), (221, 3.04, 0.408, 1.21e-4),
        (495, 5.08, 0.367, 4.62e-5), (1058, 8.14, 0.327, 1.86e-5), (1500, 10.06, 0.309, 1.22e-5),
        (2812, 14.61, 0.276, 5.77e-6), (5036, 20.39, 0.246, 2.87e-6),
        (10661, 30.63, 0.207, 1.17e-6), (83000, 72.5, 0.100, 1e-7),
    ],
)  # fmt: skip
def test_hstcps_functions_to_a_unit_of_the_third_digit(
    w: float, a: float, b: float, p: float
) -> None:
    assert hstcp_response.increase(w) == pytest.approx(a, rel=0.002)
    assert hstcp_response.decrease(w) == pytest.approx(b, abs=0.001)
    assert hstcp_response.loss_rate(w) == pytest.approx(p, rel=0.004)


@given(st.floats(1e-9, 0.5))
def test_hstcps_loss_rate_inverts_its_window(p: float) -> None:
    assert hstcp_response.loss_rate(hstcp_response.window(p)) == pytest.approx(p, rel=1e-12)


@given(st.floats(38, 83000, exclude_min=True))
def test_hstcps_increase_and_decrease_give_its_response(w: float) -> None:
    # A saw-tooth of mean w, with increase a(w) and decrease b(w), carries 1/p(w) segments between
    # losses.
    a, b, p = hstcp_response.increase(w), hstcp_response.decrease(w), hstcp_response.loss_rate(w)
    peak = 2 * w / (2 - b)
    rounds = b * peak / a
    assert rounds * w == pytest.approx(1 / p, rel=1e-12)


@given(st.floats(83000, 1e15))
def test_beyond_the_rfcs_largest_window_hstcp_still_decreases(w: float) -> None:
    assert hstcp_response.decrease(w) == pytest.approx(0.1)
    assert hstcp_response.increase(w) >= hstcp_response.increase(83000) * (1 - 1e-12)


def test_rounded_and_exact_hstcp_are_close() -> None:
    np.testing.assert_allclose(
        hstcp_response.window(P[1:6]), hstcp_response.rounded_window(P[1:6]), rtol=0.013
    )
    assert hstcp_response.window(1e-3) == 38
    assert hstcp_response.window(1e-7) == pytest.approx(83000)


@given(st.floats(1e-8, 0.5), st.floats(1.01, 2))
def test_more_loss_is_a_smaller_window(p: float, factor: float) -> None:
    for window in (
        reno_response.window,
        hstcp_response.window,
        lambda p: cubic_response.window(p, 0.1),
    ):
        assert window(p * factor) < window(p)


@pytest.mark.parametrize(
    ("formula", "letter"),
    [
        (lambda: hstcp_response.window(0), "p"),
        (lambda: hstcp_response.loss_rate(0.5), "w"),
        (lambda: cubic_response.window(0.1, 0), "RTT"),
        (lambda: cubic_response.window(0.1, 0.1, beta=1), "beta"),
        (lambda: cubic_response.window(0.1, 0.1, C=math.nan), "C"),
    ],
)
def test_what_a_formula_is_not_meant_for_is_refused(formula, letter: str) -> None:
    with refused("out-of-range", letter):
        formula()
