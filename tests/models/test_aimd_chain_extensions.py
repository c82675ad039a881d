"""Other controls, loss bursts, timeouts and own queues: published values, limits, other methods."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock.models import aimd_chain
from ackclock.models.aimd_chain import (
    Bernoulli,
    GeneralAimd,
    HighSpeed,
    cubic,
    delayed_acks,
    drop_tail,
    gilbert_elliott,
    highspeed,
    renewal_rate,
    rtt,
    solve,
    timeouts,
)
from ackclock.models.aimd_chain.general_aimd import HALVING

from ..refusals import refused
from .test_aimd_chain import eliminated

loss_rates = st.floats(-6, -0.05).map(lambda exponent: 10**exponent)


# General AIMD and delayed ACKs


@pytest.mark.parametrize(
    ("alpha", "beta", "expected"), [(1, 0.5, 1.303), (0.5, 0.5, 0.923), (0.529, 0.7, 1.265)]
)
def test_general_aimd(alpha: float, beta: float, expected: float) -> None:
    # Published for reductions that are rounded down to the path.
    chain = solve(Bernoulli(1e-4), 1000, GeneralAimd(alpha, beta, whole_steps=True))
    assert chain.mean("round") * 1e-2 == pytest.approx(expected, abs=5.1e-4)
    # Mean windows are proportional to sqrt(alpha (1+beta)/(2 (1-beta))).
    scale = math.sqrt(alpha * (1 + beta) / (2 * (1 - beta))) / math.sqrt(1.5)
    reno = solve(Bernoulli(1e-4), 1000).mean("round")
    assert chain.mean("round") / reno == pytest.approx(scale, rel=0.04)


def test_delayed_acks_halve_the_square_of_the_window() -> None:
    with_, without = (solve(Bernoulli(1e-4), 1000, delayed_acks(b)).mean("round") for b in (2, 1))
    assert (with_ / without) ** 2 == pytest.approx(0.5015, abs=5.1e-5)


@given(st.floats(0.1, 5), st.floats(0, 0.95), st.integers(2, 100))
def test_a_growth_path_climbs_and_falls_as_it_should(alpha: float, beta: float, w_max: int) -> None:
    windows, falls = GeneralAimd(alpha, beta, whole_steps=True).path(w_max)
    assert windows[0] == 2
    assert w_max - alpha * (1 + 1e-9) <= windows[-1] <= w_max * (1 + 1e-9)
    fallen = windows[falls.down]
    assert ((fallen <= beta * windows * (1 + 1e-9)) | (falls.down == 0)).all()
    assert (fallen > beta * windows - alpha * (1 + 1e-9)).all()
    assert falls.above.size == 0


@given(loss_rates, st.integers(2, 200))
def test_the_papers_chain_halves_whole_windows(p: float, w_max: int) -> None:
    windows, falls = HALVING.path(w_max)
    np.testing.assert_array_equal(windows, np.arange(2, w_max + 1))
    np.testing.assert_array_equal(falls.down, np.maximum(np.arange(2, w_max + 1) // 2, 2) - 2)
    np.testing.assert_array_equal(
        solve(Bernoulli(p), w_max, delayed_acks(1)).round, solve(Bernoulli(p), w_max).round
    )


# HighSpeed TCP


@pytest.mark.parametrize(
    ("p", "mean", "rfc"), [(1e-3, 43.4, 38.4), (1e-4, 260.8, 262.5), (1e-5, 1787.3, 1795.5)]
)
def test_highspeed(p: float, mean: float, rfc: float) -> None:
    # Published for reductions that are rounded down to the path.
    ours = solve(Bernoulli(p), 20_000, HighSpeed(whole_steps=True)).mean("round")
    assert ours == pytest.approx(mean, abs=0.051)
    assert ours == pytest.approx(rfc, rel=0.14 if p == 1e-3 else 0.01)


@pytest.mark.long
@pytest.mark.parametrize(("p", "lives"), [(1e-2, 4_000), (1e-3, 10_000), (1e-4, 20_000)])
def test_highspeed_against_lives_round_by_round(p: float, lives: int) -> None:
    draw, w, total, rounds = (
        np.random.default_rng(5),
        np.full(lives, 1.2 / math.sqrt(p)),
        0.0,
        1200,
    )
    for number in range(rounds):
        lost = draw.random(w.size) < -np.expm1(w * np.log1p(-p))
        w = np.where(
            lost, np.maximum((1 - highspeed.decrease(w)) * w, 2), w + highspeed.increase(w)
        )
        total += w.mean() if number >= rounds // 3 else 0.0
    expected = total / (rounds - rounds // 3)
    assert solve(Bernoulli(p), 20_000, HighSpeed()).mean("round") == pytest.approx(
        expected, rel=0.005
    )


def test_increase_and_decrease_of_rfc_3649() -> None:
    # From its appendix B: window, increase, decrease.
    rows = np.array([(38, 1, 0.5), (118, 2, 0.44), (221, 3, 0.41), (347, 4, 0.38), (1058, 8, 0.33)])
    np.testing.assert_allclose(highspeed.increase(rows[:, 0]), rows[:, 1], rtol=0.01)
    np.testing.assert_allclose(highspeed.decrease(rows[:, 0]), rows[:, 2], atol=0.0051)
    assert highspeed.decrease(np.array(83_000.0)) == pytest.approx(0.1)


def test_below_38_segments_highspeed_is_reno() -> None:
    np.testing.assert_allclose(
        solve(Bernoulli(0.01), 38, HighSpeed(whole_steps=True)).round,
        solve(Bernoulli(0.01), 38).round,
    )


# CUBIC


@pytest.mark.parametrize(
    ("p", "w_max", "expected"), [(0.01, 100, 12.4), (0.001, 300, 44.5), (3e-4, 500, 100.9)]
)
def test_cubic(p: float, w_max: int, expected: float) -> None:
    steady = cubic.Cubic(alpha_reaches_one=False)
    assert cubic.solve(Bernoulli(p), w_max, 0.1, steady).mean("round") == pytest.approx(
        expected, abs=0.051
    )


def simulated(control: cubic.Cubic, p: float, w_max: int, R: float) -> float:
    """Returns the mean window of CUBIC in 1200 lives, simulated round by round."""
    draw, rounds, total = np.random.default_rng(7), 600, 0.0
    W = aim = np.full(1200, w_max / 2)
    j = np.zeros(W.size)
    for number in range(rounds):
        w = np.rint(np.clip(control.window(j * R, R, W, aim), 2, w_max))
        total += w.mean() if number >= rounds // 3 else 0.0
        lost = draw.random(w.size) >= (1 - p) ** w
        reduced = control.fast_convergence & (w < aim)
        aim = np.where(lost, np.where(reduced, w * (1 + control.beta) / 2, w), aim)
        W, j = np.where(lost, w, W), np.where(lost, 0, j + 1)
    return total / (rounds - rounds // 3)


@pytest.mark.long
@pytest.mark.parametrize(
    "control", [cubic.Cubic(), cubic.Cubic(fast_convergence=True), cubic.Cubic(reno_friendly=False)]
)
def test_cubic_against_lives_round_by_round(control: cubic.Cubic) -> None:
    ours = cubic.solve(Bernoulli(2e-3), 120, 0.1, control).mean("round")
    assert simulated(control, 2e-3, 120, 0.1) == pytest.approx(ours, rel=0.02)


def test_where_the_reno_friendly_line_is_higher_cubic_is_aimd() -> None:
    control = cubic.Cubic(C=1e-9, alpha_reaches_one=False)
    line = solve(Bernoulli(1e-3), 300, GeneralAimd(3 * 0.3 / 1.7, 0.7)).mean("round")
    assert cubic.solve(Bernoulli(1e-3), 300, 0.1, control).mean("round") == pytest.approx(
        line, rel=0.02
    )


@settings(max_examples=20)
@given(st.floats(1e-4, 0.5), st.integers(2, 80), st.floats(0.01, 0.5), st.booleans())
def test_laws_that_cubic_keeps(p: float, w_max: int, R: float, fast: bool) -> None:
    control = cubic.Cubic(fast_convergence=fast)
    chain = cubic.solve(Bernoulli(p), w_max, R, control)
    assert chain.round.sum() == pytest.approx(1, abs=1e-12)
    assert (chain.round >= 0).all()
    worse = cubic.solve(Bernoulli(min(1, p * 1.5)), w_max, R, control)
    assert worse.mean("round") <= chain.mean("round") + 1e-9
    assert cubic.solve(Bernoulli(0), w_max, R, control).mean("round") == w_max
    assert cubic.solve(Bernoulli(1e-12), w_max, R, control).mean("round") == pytest.approx(
        w_max, rel=1e-6
    )
    assert cubic.solve(Bernoulli(1), w_max, R, control).mean("round") == 2


# Gilbert and Elliott


def test_losses_in_bursts() -> None:
    # Mean loss 0.005, one half in the bad state, which lasts this many segments on the mean.
    expected = {1: 17.82, 2: 21.71, 5: 29.98, 10: 38.06, 20: 45.13}
    for sojourn, mean in expected.items():
        channel = gilbert_elliott.GilbertElliott.of_bursts(0.005, 0.5, sojourn)
        assert channel.mean_loss == pytest.approx(0.005)
        assert gilbert_elliott.solve(channel, 64).mean("round") == pytest.approx(mean, abs=6e-3)
    assert solve(Bernoulli(0.005), 64).mean("round") == pytest.approx(17.86, abs=5.1e-3)


chances = st.floats(0.001, 0.999)


@settings(max_examples=40)
@given(
    chances, chances, st.floats(0, 0.5), st.floats(0.001, 1), st.integers(2, 30), st.integers(0, 20)
)
def test_bursts_against_elimination(
    leave: float, back: float, good: float, bad: float, w_max: int, idle: int
) -> None:
    channel = gilbert_elliott.GilbertElliott(leave, back, good, bad)
    chain = gilbert_elliott.solve(channel, w_max, idle=idle)
    P, levels = channel.step, w_max - 1
    D, G = np.diag([1 - good, 1 - bad]) @ P, np.linalg.matrix_power(P, idle)
    dense = np.zeros((2 * levels, 2 * levels))
    for w in range(2, w_max + 1):
        here, up, down = (
            slice(2 * k, 2 * k + 2) for k in (w - 2, min(w - 1, levels - 1), max(w // 2, 2) - 2)
        )
        survive = np.linalg.matrix_power(D, w)
        dense[here, up] += survive @ G
        dense[here, down] += np.maximum(np.linalg.matrix_power(P, w) - survive, 0) @ G
    reference = eliminated(dense).reshape(-1, 2).sum(axis=1)
    np.testing.assert_allclose(chain.round, reference, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(
        chain.survive + chain.lose, np.where(chain.round > 0, 1, 0), rtol=1e-12
    )


@pytest.mark.slow
@given(chances, chances, loss_rates, st.integers(2, 60))
def test_a_channel_whose_states_are_alike_is_bernoulli(
    leave: float, back: float, p: float, w_max: int
) -> None:
    ours = gilbert_elliott.solve(gilbert_elliott.GilbertElliott(leave, back, p, p), w_max)
    theirs = solve(Bernoulli(p), w_max)
    np.testing.assert_allclose(ours.round, theirs.round, rtol=1e-9, atol=1e-250)
    seen = theirs.round > 1e-250
    np.testing.assert_allclose(ours.segments[seen], theirs.segments[seen], rtol=1e-9)


CERTAIN = (0, 0.3, 1)
#: Chains that never or always change state are refused, see below.
MIXING = [(leave, back) for leave in CERTAIN for back in CERTAIN if leave != back or leave == 0.3]


@pytest.mark.parametrize(("leave", "back"), MIXING)
@pytest.mark.parametrize("good", CERTAIN)
@pytest.mark.parametrize("bad", CERTAIN)
def test_states_never_left_or_without_loss_or_with_nothing_else(
    leave: float, back: float, good: float, bad: float
) -> None:
    chain = gilbert_elliott.solve(gilbert_elliott.GilbertElliott(leave, back, good, bad), 9)
    P = np.array([[1 - leave, leave], [back, 1 - back]])
    D, dense = np.diag([1 - good, 1 - bad]) @ P, np.zeros((16, 16))
    for w in range(2, 10):
        here, up, down = (
            slice(2 * k, 2 * k + 2) for k in (w - 2, min(w - 1, 7), max(w // 2, 2) - 2)
        )
        survive = np.linalg.matrix_power(D, w)
        dense[here, up] += survive
        dense[here, down] += np.linalg.matrix_power(P, w) - survive
    half = np.linalg.matrix_power((np.eye(16) + dense) / 2, 4000)  # no memory of its start
    np.testing.assert_allclose(chain.round, half[0].reshape(-1, 2).sum(axis=1), atol=1e-9)


def test_a_channel_without_loss_goes_to_the_top() -> None:
    chain = gilbert_elliott.solve(gilbert_elliott.GilbertElliott(0.1, 0.2, 0, 0), 30)
    assert chain.round[-1] == pytest.approx(1)
    assert gilbert_elliott.solve(gilbert_elliott.GilbertElliott(0.1, 0.2, 1, 1), 30).round[
        0
    ] == pytest.approx(1)


# Timeouts

#: Loss rates and mean round-trip times (s), recovered from three sets of measurements of the paper.
#: By T0: the mean rate of the set by an independent evaluation, and our difference from it.
SETS = {
    7: (
        [(0.00298, 0.568), (0.00303, 0.567), (0.00391, 0.570)],
        {0.7: (35.4, 0.13), 1.5: (34.9, 0.16)},
    ),
    8: (
        [(0.00574, 0.534), (0.00523, 0.539), (0.00512, 0.540)],
        {0.7: (28.4, -0.17), 1.5: (27.8, -0.19)},
    ),
    9: (
        [(0.02019, 0.474), (0.02364, 0.448), (0.02170, 0.455)],
        {0.7: (13.9, -0.13), 1.0: (13.4, -0.10), 1.5: (12.7, -0.13)},
    ),
}


@pytest.mark.parametrize("number", SETS)
def test_timeouts_bring_the_rate_towards_the_measured_one(number: int) -> None:
    """Our rates differ from those of that evaluation by 0.4 to 1 %, in either direction.

    It does not say what recovery and slow start carry, nor how connections are averaged. No
    plausible count reproduces all seven numbers to the digit. With one more segment per slow start
    ours would be within 0.02 of those of set 9. The tests below check our definition.
    """
    connections, expected = SETS[number]
    for T0, (theirs, difference) in expected.items():
        each = [
            timeouts.renewal_rate(solve(Bernoulli(p), 64), p, rtt.constant(R), T0)
            for p, R in connections
        ]
        assert np.mean(each) - theirs == pytest.approx(difference, abs=0.006)


def timeout_by_definition(p: float, w: int) -> float:
    """Returns PFTK's Q before it is simplified (its equations 22 to 24).

    k segments arrive before the first loss, and release k more in a last round. Of those fewer than
    three arrive before a loss, which gives too few duplicate ACKs.
    """
    q = 1 - p
    before = q ** np.arange(w) * p / (1 - q**w)
    too_few = np.array(
        [sum(q**m * p if m < k else q**k for m in range(min(k, 2) + 1)) for k in range(w)]
    )
    return float(before @ too_few) if w > 3 else 1.0


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.floats(1e-3, 0.9),
    st.integers(2, 60),
    st.floats(0.01, 1),
    st.floats(0.1, 10),
    st.floats(0, 3),
)
def test_timeouts_against_a_chain_with_states_for_them(
    p: float, w_max: int, R: float, T0: float, recovery_rounds: float
) -> None:
    """Solves the semi-Markov process: a loss leads to a state of recovery or timeout, then to half.

    The module's docstring says what these states carry and how long they last. Q and the silence
    are PFTK's by their definitions.
    """
    size = w_max - 1
    silence = sum(
        p**k * 2 ** min(k, 6) for k in range(500)
    )  # each timeout of a series twice as long, up to 64 T0
    P, carried, lasts = np.zeros((3 * size, 3 * size)), np.zeros(3 * size), np.zeros(3 * size)
    for w in range(2, w_max + 1):
        here = w - 2
        survive, timeout = (1 - p) ** w, timeout_by_definition(p, w)
        P[here, min(here + 1, size - 1)] = survive
        P[here, [size + here, 2 * size + here]] = (1 - survive) * np.array([1 - timeout, timeout])
        P[[size + here, 2 * size + here], max(w // 2, 2) - 2] = 1
        carried[[here, 2 * size + here]] = w, w / 2 - 1
        lasts[[here, size + here, 2 * size + here]] = (
            R,
            recovery_rounds * R,
            silence * T0 + math.log2(w / 2) * R,
        )
    law = eliminated(P)
    ours = timeouts.renewal_rate(
        solve(Bernoulli(p), w_max), p, rtt.constant(R), T0, recovery_rounds=recovery_rounds
    )
    assert ours == pytest.approx(law @ carried / (law @ lasts), rel=1e-9)


@pytest.mark.slow
@given(loss_rates, st.integers(2, 80), st.floats(0.01, 1), st.floats(0.1, 10), st.floats(1.01, 4))
def test_timeouts_cost(p: float, w_max: int, R: float, T0: float, more: float) -> None:
    chain, law = solve(Bernoulli(p), w_max), rtt.constant(R)
    X = timeouts.renewal_rate(chain, p, law, T0)
    assert renewal_rate(chain, law) >= X
    assert timeouts.renewal_rate(chain, p, law, T0 * more) <= X
    assert timeouts.renewal_rate(chain, p, law, T0, recovery_rounds=2) <= X
    # Times and rates scale together.
    scaled = timeouts.renewal_rate(chain, p, rtt.constant(R * more), T0 * more)
    assert scaled * more == pytest.approx(X, rel=1e-12)


def test_without_loss_there_is_no_timeout() -> None:
    chain, law = solve(Bernoulli(1e-13), 64), rtt.constant(0.1)
    assert timeouts.renewal_rate(chain, 1e-13, law, 1) == pytest.approx(
        renewal_rate(chain, law), rel=1e-9
    )


# A buffer that the window fills


@pytest.mark.parametrize(("pipe", "buffer"), [(20, 10), (20, 20), (20, 50), (7.5, 0)])
def test_the_saw_tooth_of_a_full_buffer(pipe: float, buffer: float) -> None:
    link = drop_tail.Bottleneck(100, pipe / 100, buffer)
    chain = drop_tail.solve(Bernoulli(0), link)
    highest = math.floor(pipe + buffer) + 1  # one more than fits
    teeth = np.arange(highest // 2, highest + 1)
    np.testing.assert_allclose(chain.round[chain.round > 0], 1 / teeth.size)
    assert chain.windows[-1] == highest
    assert chain.segments[-1] == highest
    rate = teeth.sum() / np.maximum(pipe / 100, teeth / 100).sum()
    assert renewal_rate(chain, link.rtt) == pytest.approx(rate, rel=1e-12)
    # The round-trip time with queueing and the link's own limit give the same.
    assert renewal_rate(chain, rtt.constant(pipe / 100), 100) == pytest.approx(rate, rel=1e-12)
    if buffer >= pipe + 1:
        assert rate == pytest.approx(100)


@pytest.mark.slow
@given(loss_rates, st.floats(3, 60), st.floats(0, 40), st.floats(0.1, 40))
def test_a_larger_buffer_means_a_higher_rate(
    p: float, pipe: float, buffer: float, more: float
) -> None:
    small, large = (drop_tail.Bottleneck(100, pipe / 100, size) for size in (buffer, buffer + more))
    rates = [renewal_rate(drop_tail.solve(Bernoulli(p), link), link.rtt) for link in (small, large)]
    assert rates[0] <= rates[1] * (1 + 1e-12) <= 100 * (1 + 1e-9)


def test_a_buffer_that_never_fills_changes_nothing() -> None:
    link = drop_tail.Bottleneck(100, 0.2, 500)
    chain, plain = drop_tail.solve(Bernoulli(0.05), link), solve(Bernoulli(0.05), 521)
    np.testing.assert_allclose(chain.round, plain.round, rtol=1e-12, atol=1e-250)
    np.testing.assert_allclose(link.queue(np.array([5.0, 30.0, 600.0])), [0, 10, 500])
    assert drop_tail.solve(Bernoulli(0.05), link, w_max=15).windows[-1] == 15


@pytest.mark.parametrize(
    ("make", "code", "field", "value"),
    [
        (lambda: GeneralAimd(0, 0.5), "out-of-range", "alpha", "0"),
        (lambda: GeneralAimd(1, 1), "out-of-range", "beta", "1"),
        (lambda: GeneralAimd(1, math.nan), "out-of-range", "beta", "nan"),
        (lambda: delayed_acks(0.5), "out-of-range", "b", "0.5"),
        (lambda: cubic.Cubic(C=-1), "out-of-range", "C", "-1"),
        (lambda: cubic.Cubic(beta=1), "out-of-range", "beta", "1"),
        (lambda: cubic.solve(Bernoulli(0.1), 10, 0), "out-of-range", "R", "0"),
        (lambda: cubic.solve(Bernoulli(0.1), 20_000, 0.1), "out-of-range", "w_max", "20000"),
        (lambda: cubic.solve(Bernoulli(0.1), 1, 0.1), "out-of-range", "w_max", "1"),
        (
            lambda: cubic.solve(Bernoulli(1e-9), 100, 1e-7, cubic.Cubic(reno_friendly=False)),
            "out-of-range",
            "R",
            "1e-07",
        ),
        (lambda: gilbert_elliott.GilbertElliott(-1, 0.5), "out-of-range", "good_to_bad", "-1"),
        (lambda: gilbert_elliott.GilbertElliott(0, 0), "out-of-range", "good_to_bad", "0"),
        (lambda: gilbert_elliott.GilbertElliott(1, 1), "out-of-range", "good_to_bad", "1"),
        (
            lambda: gilbert_elliott.GilbertElliott.of_bursts(0.5, 0.1, 2),
            "out-of-range",
            "mean_loss",
            "0.5",
        ),
        (
            lambda: gilbert_elliott.GilbertElliott.of_bursts(0.1, 0.5, 0),
            "out-of-range",
            "bad_sojourn",
            "0",
        ),
        (
            lambda: gilbert_elliott.GilbertElliott.of_bursts(0.4, 0.5, 1),
            "out-of-range",
            "bad_sojourn",
            "1",
        ),
        (
            lambda: gilbert_elliott.solve(gilbert_elliott.GilbertElliott(0.1, 0.5), 9, idle=-1),
            "out-of-range",
            "idle",
            "-1",
        ),
        (lambda: drop_tail.Bottleneck(0, 0.1, 1), "out-of-range", "rate", "0"),
        (lambda: drop_tail.Bottleneck(math.inf, 0.1, 1), "out-of-range", "rate", "inf"),
        (lambda: drop_tail.Bottleneck(9, -0.1, 1), "out-of-range", "base_rtt", "-0.1"),
        (lambda: drop_tail.Bottleneck(9, 0.1, -1), "out-of-range", "buffer", "-1"),
        (
            lambda: drop_tail.solve(Bernoulli(0), drop_tail.Bottleneck(9, 1, 1), w_max=1),
            "out-of-range",
            "w_max",
            "1",
        ),
        (
            lambda: timeouts.renewal_rate(solve(Bernoulli(0.1), 9), 0.1, rtt.constant(1), 0),
            "out-of-range",
            "T0",
            "0",
        ),
        (
            lambda: timeouts.renewal_rate(
                solve(Bernoulli(0.1), 9), 0.1, rtt.constant(1), 1, recovery_rounds=-1
            ),
            "out-of-range",
            "recovery_rounds",
            "-1",
        ),
        (
            lambda: aimd_chain.solve(Bernoulli(0.1), 1.9, HighSpeed()),
            "out-of-range",
            "w_max",
            "1.9",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(make: Any, code: str, field: str, value: str) -> None:
    with refused(code, field, value):
        make()
