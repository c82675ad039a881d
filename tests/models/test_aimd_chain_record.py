"""The chain's record agrees with the functions, for any input and any size."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models import aimd_chain
from ackclock.models.aimd_chain import (
    Bernoulli,
    GeneralAimd,
    Throughput,
    between,
    rtt,
    solve,
    timeouts,
)

MODEL = models.model("aimd_chain")


def solved(p: float, w_max: float, alpha: float, beta: float) -> aimd_chain.WindowChain:
    """Returns the record's chain."""
    limit = min(w_max, 2 + math.sqrt(80 * alpha / ((1 - beta**2) * p)))
    return between.solve(Bernoulli(p), limit, alpha, beta)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.floats(1e-4, 0.9), st.floats(0.01, 1), st.integers(2, 200), st.floats(5, 5000),
    st.floats(0.2, 5), st.sampled_from([1.0, 2.0]), st.sampled_from([(1.0, 0.5), (0.5, 0.7)]),
    st.floats(0.05, 0.95),
)  # fmt: skip
def test_the_record_says_what_the_functions_say(
    p: float, R: float, w_max: int, rate: float, T0: float, b: float,
    control: tuple[float, float], at_share: float,
) -> None:  # fmt: skip
    # A window that just fills the link does or does not, by the last digit of the rate.
    assume(abs(rate * R - round(rate * R)) > 1e-9 * rate * R)
    level = at_share * min(rate, w_max / R)
    assume(abs(level * R - round(level * R)) > 1e-6)
    answer = MODEL.answer(
        level=level,
        share=0.8,
        loss=p,
        rtt=R,
        window=w_max,
        link_rate=rate,
        timeout=T0,
        segments_per_ack=b,
        additive_increase=control[0],
        decrease_factor=control[1],
    )
    chain, constant = solved(p, w_max, control[0] / b, control[1]), rtt.constant(R)
    over_time = Throughput(chain, constant, rate, "time_weighted")
    low, high = over_time.interval(0.8)
    expected = {
        "throughput": aimd_chain.renewal_rate(chain, constant, rate),
        "with_timeouts": timeouts.renewal_rate(chain, p, constant, T0, rate),
        "low": low,
        "high": high,
        "throughput_sd": over_time.sd(),
        "above_level": float(over_time.exceeds(level)),
        "mean_window": chain.mean("time", constant, rate),
        "window_sd": chain.sd("time", constant, rate),
        "round_window": chain.mean("round"),
        "segment_rate": Throughput(chain, constant, rate).mean(),
        "segment_rate_sd": Throughput(chain, constant, rate).sd(),
        "busy": over_time.atom,
    }
    assert list(answer) == list(expected)
    for name, value in expected.items():
        # The law's own spread is a difference of moments, good to the root of their last digit.
        least = 1e-6 * rate if name in ("throughput_sd", "segment_rate_sd") else 1e-9
        assert answer[name] == pytest.approx(value, rel=1e-9, abs=least), name


@pytest.mark.parametrize("p", [1e-5, 1e-3, 0.1, 0.9])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 0.5), (0.2, 0.875), (3, 0)])
def test_no_limit_is_a_limit_that_is_never_reached(p: float, alpha: float, beta: float) -> None:
    answer = MODEL.answer(loss=p, rtt=0.1, additive_increase=alpha, decrease_factor=beta)
    limit = 2 + math.sqrt(80 * alpha / ((1 - beta**2) * p))
    at_limit = solved(p, limit, alpha, beta)
    assert answer["throughput"] == pytest.approx(
        aimd_chain.renewal_rate(at_limit, rtt.constant(0.1)), rel=1e-12
    )
    assert at_limit.round[-1] < 1e-16
    for window in (1.01 * limit, 100 * limit):
        limited = MODEL.answer(
            loss=p, rtt=0.1, additive_increase=alpha, decrease_factor=beta, window=window
        )
        assert limited["throughput"] == answer["throughput"]


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.002, 0.02])
def test_answers_on_quality_are_those_of_a_walk(p: float) -> None:
    """Walks from round to round with dice of its own: nothing of the chain is used."""
    rtt, limit, link_rate, level, rounds = 0.1, 30, 200.0, 120.0, 400_000
    dice = np.random.default_rng(7).random(rounds)
    delivered = (1 - p) ** np.arange(limit + 1)
    window, throughputs, lasts = 2, np.empty(rounds), np.empty(rounds)
    for number, die in enumerate(dice):
        lasts[number] = max(rtt, window / link_rate)
        throughputs[number] = window / lasts[number]
        window = min(window + 1, limit) if die < delivered[window] else max(2, window // 2)
    answer = MODEL.answer(
        loss=p, rtt=rtt, window=limit, link_rate=link_rate, level=level, rounded_down=1
    )
    mean = np.average(throughputs, weights=lasts)
    sd = np.sqrt(np.average((throughputs - mean) ** 2, weights=lasts))
    above = lasts[throughputs > level].sum() / lasts.sum()
    # Rounds within an epoch are alike: some 20,000 epochs are independent.
    assert answer["throughput"] == pytest.approx(mean, rel=0.01)
    assert answer["throughput_sd"] == pytest.approx(sd, rel=0.02)
    assert answer["above_level"] == pytest.approx(above, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "alpha", "beta"),
    [(p, 1, 0.5) for p in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)]
    + [(1e-8, 3, 0), (1e-8, 0.2, 0.875), (1e-9, 1, 0.875), (1e-9, 1, 0.95)],
)
def test_a_coarser_path_hardly_moves_means(p: float, alpha: float, beta: float) -> None:
    answer = MODEL.answer(loss=p, rtt=0.1, additive_increase=alpha, decrease_factor=beta)
    limit = 2 + math.sqrt(80 * alpha / ((1 - beta**2) * p))
    exact = solve(Bernoulli(p), limit, GeneralAimd(alpha, beta, whole_steps=beta == 0.5))
    assert answer["round_window"] == pytest.approx(exact.mean("round"), rel=1e-3)
    assert answer["segment_rate"] == pytest.approx(exact.mean("segment") / 0.1, rel=1e-3)
    assert answer["window_sd"] == pytest.approx(exact.sd("round"), rel=1e-3)


def test_from_next_to_no_loss_on_the_square_root_law_holds() -> None:
    p = np.array([1e-14, 1e-12, 1e-10, 1e-8, 1e-6])
    np.testing.assert_allclose(
        MODEL.answer(loss=p, rtt=0.1)["throughput"] * 0.1 * np.sqrt(p), 1.310, rtol=1e-3
    )


@pytest.mark.slow
def test_inverse_questions() -> None:
    solution = models.solve(MODEL, "loss", 100.0, rtt=0.1)
    assert MODEL.answer(loss=solution.values[0], rtt=0.1)["throughput"] == pytest.approx(100)
    solution = models.solve(MODEL, "rtt", 100.0, loss=0.01)
    # 12.6949 segments a round, on windows a sixteenth of a step apart.
    assert solution.values == pytest.approx((0.126949,), rel=5e-4)
    # The paper's rule: 12.4396 segments a round.
    solution = models.solve(MODEL, "rtt", 100.0, loss=0.01, rounded_down=1)
    assert solution.values == pytest.approx((0.124396,), rel=1e-5)
