"""TCP over a link of two rates: the published recursion's values, its limits, a random walk."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ackclock.models.explicit_rate import (
    REWARDS,
    ConstantRate,
    InstantaneousCapacity,
    Loop,
    Renewal,
    States,
    TooManyStatesError,
    TwoRateLink,
    Unregulated,
    best_constant_rate,
    enumerate_states,
    solve,
    transitions,
)

from ..refusals import refused
from .recursion import walked

INSTCAP, ALONE = InstantaneousCapacity(), Unregulated()


def loop(buffer: int = 10, **changes) -> Loop:
    return Loop(40, buffer, **({"window": 65} | changes))


def solved(psi: float, chosen: Loop | None = None, source=INSTCAP) -> Renewal:
    return solve(enumerate_states(chosen or loop(), source), TwoRateLink.of_sojourns(psi))


def index(states: States, a: int, b: int, d: int, link: int, source: int) -> int:
    [place] = np.flatnonzero(
        np.all(np.column_stack(states.state) == (a, b, d, link, source), axis=1)
    )
    return int(place)


LOW_AFTER_HIGH = {"link": 1, "source": 0}


@pytest.mark.parametrize(
    ("d", "probability"),
    [
        (20, 1 - 0.95**20),
        (18, 1 - sum((1, 18 / 17, 153 / 17**2)) * (17 / 18) ** 18),
        (16, 0.00232425),
    ],
)
def test_the_window_must_have_grown_for_a_loss(d: int, probability: float) -> None:
    # With d packets and no others, n = d + N exceeds twice the buffer of 10 from N = 21 - d on.
    states = enumerate_states(loop(), INSTCAP)
    p = states.loss[index(states, 0, 0, d, **LOW_AFTER_HIGH)]
    assert p == pytest.approx(probability, abs=1e-8 if d == 16 else 1e-9)
    if d == 18:
        assert p == pytest.approx(0.074920, abs=5e-7)


def test_a_full_pipe_loses_for_sure() -> None:
    states = enumerate_states(loop(), INSTCAP)
    x = index(states, 24, 0, 40, **LOW_AFTER_HIGH)
    assert states.loss[x] == pytest.approx(1, abs=1e-12)
    reached = states.losses[states.losses[:, 0] == x]
    assert reached[:, 1].tolist() == [32]
    assert states.intervals[x] == pytest.approx(8)  # 3 + ceil(log2 32)
    # d + q + W + 2^5 - 1, and d alone.
    assert states.rewards["optimistic"][x] == pytest.approx(40 + 20 + 64 + 31)
    assert states.rewards["sequence"][x] == pytest.approx(40 + 20)
    assert states.rewards["conservative"][x] == pytest.approx(40)
    assert states.rewards["zero"][x] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("buffer", "count"), [(10, 350), (12, 1038)])
def test_as_many_states_as_an_independent_enumeration_has(buffer: int, count: int) -> None:
    assert enumerate_states(loop(buffer), INSTCAP).loss.size == count


# psi: conservative and optimistic efficiency and losses per round trip, by an independent
# implementation.
TABLE = {
    (INSTCAP, 10): {
        2: (0.3666, 0.4749, 0.0568), 5: (0.4660, 0.5714, 0.0492), 10: (0.6264, 0.7250, 0.0383),
        20: (0.8192, 0.8941, 0.0235), 50: (0.9406, 0.9772, 0.0099), 80: (0.9646, 0.9882, 0.0062),
        100: (0.9720, 0.9911, 0.0050),
    },
    (INSTCAP, 12): {
        2: (0.4419, 0.5516, 0.0502), 5: (0.5274, 0.6361, 0.0440), 10: (0.6603, 0.7618, 0.0355),
        20: (0.8250, 0.9025, 0.0230), 50: (0.9407, 0.9786, 0.0099), 100: (0.9721, 0.9917, 0.0050),
    },
    (ALONE, 10): {
        2: (0.5366, 0.6424, 0.0424), 10: (0.6325, 0.7292, 0.0386), 20: (0.6772, 0.7700, 0.0370),
        50: (0.7064, 0.7965, 0.0359), 80: (0.7135, 0.8029, 0.0356), 100: (0.7158, 0.8050, 0.0355),
    },
    (ALONE, 12): {
        2: (0.5606, 0.6738, 0.0392), 10: (0.6588, 0.7589, 0.0360), 50: (0.7300, 0.8220, 0.0332),
        100: (0.7386, 0.8296, 0.0329),
    },
    (Unregulated(peak=True), 10): {2: (0.369, 0.477, None)},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("source", "buffer"), TABLE)
def test_the_table_of_an_independent_implementation(source, buffer: int) -> None:
    for psi, (conservative, optimistic, losses) in TABLE[source, buffer].items():
        renewal = solved(psi, loop(buffer), source)
        assert renewal.efficiency("conservative") == pytest.approx(conservative, abs=0.0005)
        assert renewal.efficiency("optimistic") == pytest.approx(optimistic, abs=0.0005)
        assert losses is None or renewal.losses == pytest.approx(losses, abs=0.00006)


@pytest.mark.parametrize(
    ("psi", "after_fall", "window"),
    [
        (2, 0.317, 22.2), (5, 0.605, 26.5), (10, 0.854, 34.1), (20, 0.980, 47.1),
        (50, 0.9995, 59.9),
        (100, 0.99998, 63.4),
    ],
)  # fmt: skip
def test_where_losses_happen(psi: float, after_fall: float, window: float) -> None:
    renewal = solved(psi)
    assert renewal.loss_after_fall == pytest.approx(after_fall, abs=0.0005 if psi < 50 else 0.00005)
    at_begin = np.average(renewal.states.state.window, weights=renewal.law * renewal.states.loss)
    assert at_begin == pytest.approx(window, abs=0.05)
    assert at_begin <= renewal.window_at_loss <= 65


# Numbers of three digits, possibly rounded from four.
HALF_A_DIGIT = 0.0005 + 0.00005
# Conservative and optimistic at psi = 5, 20, 100.
VARIANTS = [
    ({"recovery": 2}, (0.490, 0.838, 0.976), (0.601, 0.915, 0.995)),
    ({"growth": "none"}, (0.465, 0.818, 0.972), (0.568, 0.893, 0.991)),
    ({"restart_in_flight": True}, (0.466, 0.823, 0.974), (0.572, 0.898, 0.993)),
    ({"window": 50}, (0.466, 0.809, 0.970), (0.571, 0.879, 0.987)),
    ({"window": 200}, (0.466, 0.819, 0.968), (0.571, 0.901, 1.005)),
    ({"buffer": 8}, (0.400, 0.816, 0.972), None),
    ({"buffer": 14}, (0.583, 0.833, 0.972), None),
    ({"slowdown": 4.0}, (0.363, 0.803, 0.978), (0.470, 0.882, 0.999)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "conservative", "optimistic"), VARIANTS)
def test_what_is_not_sure_is_a_parameter(
    changes: dict, conservative: tuple, optimistic: tuple | None
) -> None:
    renewals = [solved(psi, loop(**changes)) for psi in (5, 20, 100)]
    np.testing.assert_allclose(
        [renewal.efficiency() for renewal in renewals], conservative, rtol=0, atol=HALF_A_DIGIT
    )
    if optimistic is not None:
        np.testing.assert_allclose(
            [renewal.efficiency("optimistic") for renewal in renewals],
            optimistic,
            rtol=0,
            atol=HALF_A_DIGIT,
        )


def test_growth_by_one_is_close_to_growth_by_chance() -> None:
    for psi in (5, 20, 100):
        efficiency = solved(psi, loop(growth="by_one")).efficiency()
        assert efficiency != solved(psi).efficiency()
        assert efficiency == pytest.approx(solved(psi).efficiency(), abs=0.004)


def test_rules_bracket_the_conservative_one() -> None:
    for psi, zero, sequence in ((5, 0.424, 0.499), (20, 0.790, 0.835), (100, 0.965, 0.975)):
        assert solved(psi).efficiency("zero") == pytest.approx(zero, abs=0.0005)
        assert solved(psi).efficiency("sequence") == pytest.approx(sequence, abs=0.0005)


@pytest.mark.slow
def test_a_walk_through_the_recursion() -> None:
    renewal, met = solved(10), walked(200_000, 10, 40, 10, 65, seed=7)
    assert met["conservative"] / met["intervals"] == pytest.approx(
        renewal.throughput("conservative"), rel=0.01
    )
    assert met["optimistic"] / met["intervals"] == pytest.approx(
        renewal.throughput("optimistic"), rel=0.01
    )
    assert met["losses"] / met["intervals"] == pytest.approx(renewal.losses, rel=0.03)
    assert met["window"] / met["losses"] == pytest.approx(renewal.window_at_loss, rel=0.03)


@pytest.mark.long
def test_a_buffer_of_the_whole_mismatch_never_loses() -> None:
    assert loop().loss_free_buffer == 20
    for psi in (1, 2, 20, 200):
        renewal = solved(psi, loop(20))
        assert renewal.losses == 0
        assert [renewal.efficiency(reward) for reward in REWARDS] == pytest.approx(
            [1] * 4, abs=1e-12
        )
        assert renewal.window_at_loss == 0
    assert solved(2, loop(19)).losses > 0


def test_a_window_of_twice_the_buffer_never_loses() -> None:
    assert solved(10, loop(10, window=20)).losses == 0
    assert solved(10, loop(10, window=21)).losses > 0


def test_a_rare_fall_costs_one_loss() -> None:
    assert solved(50).losses * 2 * 50 == pytest.approx(0.992, abs=0.0005)
    assert solved(100).losses * 2 * 100 == pytest.approx(0.998, abs=0.0005)
    assert solved(10_000).losses * 2 * 10_000 == pytest.approx(1, abs=1e-4)
    assert solved(10_000).efficiency() == pytest.approx(1, abs=1e-3)


def test_feedback_pays_where_the_link_moves_slowly_and_buffers_matter_to_tcp_alone() -> None:
    assert solved(100).efficiency() > 1.15 * solved(100, source=ALONE).efficiency()
    assert solved(2).efficiency() < solved(2, source=ALONE).efficiency()
    for psi in (50, 100):
        with_feedback = [solved(psi, loop(buffer)).efficiency() for buffer in (10, 12)]
        alone = [solved(psi, loop(buffer), ALONE).efficiency() for buffer in (10, 12)]
        assert abs(np.diff(with_feedback)[0]) < 0.005
        assert np.diff(alone)[0] > 0.015


@settings(max_examples=25)
@given(
    st.integers(4, 30), st.integers(0, 12), st.sampled_from([1.5, 2.0, 3.0, 4.0]),
    st.integers(8, 40),
    st.sampled_from([INSTCAP, ALONE, Unregulated(peak=True), ConstantRate(6.4), ConstantRate(9.0)]),
    st.floats(1, 100), st.floats(1, 100),
)  # fmt: skip
# A state is reached by one move in 10^15 or fewer.
@pytest.mark.slow
@example(4, 2, 1.5, 8, INSTCAP, 1.0, 1.0000000000000002)
@example(4, 2, 1.5, 8, INSTCAP, 1.0000000000000004, 1.0000000000000004)
def test_laws_of_any_loop(
    delta: int, buffer: int, slowdown: float, window: int, source, psi: float, low_psi: float
) -> None:
    link_and_buffer = Loop(delta, buffer, slowdown, window)
    states = enumerate_states(link_and_buffer, source)
    a, b, d, *_ = states.state
    assert min(a.min(), b.min(), d.min()) >= 0
    assert b.max() <= buffer
    assert states.state.window.max() <= window
    begin, *ends = states.moves.T
    # The window grows by at most what was acknowledged.
    for end in ends:
        gained = states.state.window[end] - states.state.window[begin]
        assert ((gained >= 0) & (gained <= d[begin])).all()
        assert (states.state.source[end] == states.state.link[begin]).all()
    by_threshold = np.bincount(states.losses[:, 0], states.loss_chance, states.loss.size)
    np.testing.assert_allclose(by_threshold, states.loss, atol=1e-12)
    link = TwoRateLink.of_sojourns(psi, low_psi)
    np.testing.assert_allclose(transitions(states, link).sum(axis=1), 1, atol=1e-9)
    renewal = solve(states, link)
    assert renewal.law.min() > -1e-12
    assert renewal.law.sum() == pytest.approx(1)
    np.testing.assert_allclose(renewal.law @ transitions(states, link), renewal.law, atol=1e-12)
    by_rule = [renewal.efficiency(reward) for reward in REWARDS]
    assert by_rule == sorted(by_rule)
    # Packets that wait at a loss count as sent before slow start; an excess over the link's rate is
    # due to the model.
    if buffer <= (link_and_buffer.recovery - 1) * link_and_buffer.low_capacity:
        assert by_rule[1] <= 1 + 1e-9


def test_a_restart_is_where_packets_can_be() -> None:
    m, link, before = np.array([32] * 4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    a, b, d, *_ = INSTCAP.restart(loop(), m, link, before)
    assert (a.tolist(), b.tolist(), d.tolist()) == ([0, 12, 12, 12], [0] * 4, [32, 20, 20, 20])
    a, b, d, *_ = ALONE.restart(loop(), m, link, before)
    assert (a.tolist(), b.tolist(), d.tolist()) == ([0] * 4, [0, 0, 10, 10], [32, 32, 20, 20])


# psi: the best tested rate, its efficiency, and delta, by an independent implementation.
BEST = {
    1.5: (22, 0.726, 0.55), 2: (21.5, 0.701, 0.46), 3: (20.75, 0.687, 0.54),
    5: (20.35, 0.677, 0.64), 10: (20.2, 0.671, 0.53), 20: (20.1, 0.669, 0.51), 50: (40, 0.698, 0),
    100: (40, 0.755, 0),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("psi", BEST)
def test_the_best_constant_rate(psi: float) -> None:
    rate, efficiency, decay = BEST[psi]
    best = best_constant_rate(loop(), TwoRateLink.of_sojourns(psi))
    assert best.rate == pytest.approx(rate)
    assert best.efficiency == pytest.approx(efficiency, abs=0.0005)
    assert best.decay == pytest.approx(decay, abs=0.006)


def test_a_low_constant_rate_never_loses_and_gets_all_of_it() -> None:
    for psi in (1.5, 20):
        renewal = solved(psi, source=ConstantRate(20))
        assert renewal.losses == 0
        assert renewal.efficiency() == pytest.approx(2 / 3)
    # Between integers the mean is kept, until the buffer overflows.
    assert solved(1.5, source=ConstantRate(20.2)).throughput() == pytest.approx(20.2, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "code", "field", "value"),
    [
        (lambda: TwoRateLink.of_sojourns(0.5), "out-of-range", "psi", "0.5"),
        (lambda: loop(9.5), "out-of-range", "buffer", "9.5"),
        (lambda: loop(slowdown=1), "out-of-range", "slowdown", "1"),
        (lambda: loop(slowdown=50), "out-of-range", "slowdown", "50"),
        (lambda: loop(growth="some"), "unknown-name", "growth", "some"),
        (lambda: loop(recovery=0), "out-of-range", "recovery", "0"),
        (lambda: ConstantRate(0), "out-of-range", "rate", "0"),
        (lambda: solved(2).efficiency("most"), "unknown-name", "reward", "most"),
        (
            lambda: best_constant_rate(loop(), TwoRateLink.of_sojourns(2), []),
            "out-of-range",
            "rates",
            "none",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, code: str, field: str, value: str) -> None:
    with refused(code, field, value):
        call()


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(TooManyStatesError, match="20000"):
        enumerate_states(Loop(1000, 450, window=1500), INSTCAP)
    with pytest.raises(TooManyStatesError):
        enumerate_states(Loop(1e7, 10, window=65), INSTCAP)
