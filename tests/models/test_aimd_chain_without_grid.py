"""The chain's record against simulations without a grid: real windows, and random losses.

The required tolerance is 0.5 %; the simulated means are known to half of that (four standard
errors).
"""

import itertools

import numpy as np
import pytest

from ackclock import models
from ackclock.models.aimd_chain import Bernoulli, GeneralAimd, gilbert_elliott, solve

MODEL = models.model("aimd_chain")
LIVES, EPOCHS = 20_000, 60


def mean_by_rounds(p: float, kept: float, increase: float = 1.0) -> tuple[float, float]:
    """Returns the mean window by rounds and its standard error, loss by loss.

    One draw gives the round with the next loss. Of the start a twentieth or less is kept.
    """
    draw = np.random.default_rng(11)
    per_segment = -np.log1p(-p)
    v = np.full(LIVES, 2 + np.sqrt(increase / (2 * (1 - kept) * p)) * kept)
    rounds, windows = np.zeros(LIVES), np.zeros(LIVES)
    for epoch in range(-int(3 / (1 - kept)), EPOCHS):
        # The first j for which v + (v + a) + ... + (v + j a) exceeds what may be sent before the
        # loss.
        room = draw.standard_exponential(LIVES) / per_segment
        b = v + increase / 2
        j = np.maximum(np.ceil((-b + np.sqrt(b * b + 2 * increase * (room - v))) / increase), 0)
        j = np.where(room < v, 0, j)
        if epoch >= 0:
            rounds += j + 1
            windows += (j + 1) * v + increase * j * (j + 1) / 2
        v = np.maximum(2.0, kept * (v + increase * j))
    each = windows - windows.sum() / rounds.sum() * rounds
    return windows.sum() / rounds.sum(), float(each.std() * np.sqrt(LIVES) / rounds.sum())


@pytest.mark.long
@pytest.mark.parametrize("p", [1e-6, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("kept", [0.3, 0.5, 0.6, 0.7, 0.8, 0.875, 0.9, 0.95])
def test_every_decrease_at_every_loss_rate(p: float, kept: float) -> None:
    expected, error = mean_by_rounds(p, kept)
    assert 4 * error < 2.5e-3 * expected
    answer = MODEL.answer(loss=p, rtt=0.1, decrease_factor=kept, rounded_down=0)
    assert answer["round_window"] == pytest.approx(expected, rel=0.005)
    assert answer["throughput"] == pytest.approx(answer["round_window"] / 0.1, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "increase", "kept"), [(0.01, 0.5, 0.9), (0.03, 3, 0.7), (1e-3, 0.1, 0.8), (0.1, 8, 0.95)]
)
def test_any_increase(p: float, increase: float, kept: float) -> None:
    expected, _ = mean_by_rounds(p, kept, increase)
    answer = MODEL.answer(
        loss=p, rtt=0.1, decrease_factor=kept, additive_increase=increase, rounded_down=0
    )
    assert answer["round_window"] == pytest.approx(expected, rel=0.005)


@pytest.mark.long
@pytest.mark.parametrize(
    ("window", "increase", "kept"), [(8.5, 1, 0.9), (11, 4, 0.7), (20, 3, 0.5), (300.7, 1, 0.9)]
)
def test_a_largest_window_is_reached_whatever_the_steps(
    window: float, increase: float, kept: float
) -> None:
    p, draw, w, total, rounds = (
        0.3 / window**2,
        np.random.default_rng(3),
        np.full(LIVES, window),
        0.0,
        450,
    )
    for number in range(rounds):
        lost = draw.random(LIVES) < -np.expm1(w * np.log1p(-p))
        w = np.where(lost, np.maximum(2, kept * w), np.minimum(w + increase, window))
        total += w.mean() if number >= rounds // 3 else 0.0
    round_window = MODEL.answer(
        loss=p,
        rtt=0.1,
        decrease_factor=kept,
        additive_increase=increase,
        rounded_down=0,
        window=window,
    )["round_window"]
    assert round_window == pytest.approx(total / (rounds - rounds // 3), rel=0.005)


@pytest.mark.long
def test_no_answer_jumps_on_the_way_from_fine_paths_to_coarse_ones() -> None:
    # Where the path's windows change together, where one path replaces the other, and where several
    # rounds are one step.
    for start, end in ((0.3, 0.05), (0.04, 0.001), (2e-5, 2e-6)):
        p = np.geomspace(start, end, 400)
        rates = np.log(MODEL.goodputs(loss=p, rtt=0.1, decrease_factor=0.8))
        slope = np.diff(rates) / np.diff(np.log(p))
        assert np.abs(np.diff(slope)).max() < 0.01


@pytest.mark.long
def test_goodput_rises_with_what_is_kept() -> None:
    for p in (1e-5, 1e-3, 0.05, 0.2):
        rates = MODEL.goodputs(
            loss=p, rtt=0.1, decrease_factor=np.linspace(0.3, 0.95, 400), rounded_down=0
        )
        assert (np.diff(rates) > 0).all()


def test_shared_falls_beside_a_channel_are_those_without_one() -> None:
    # A channel with equal states is independent loss.
    channel = gilbert_elliott.GilbertElliott(0.3, 0.4, 0.01, 0.01)
    for response in (
        GeneralAimd(1, 0.9),
        GeneralAimd(0.7, 0.3),
        GeneralAimd(1, 0.9, whole_steps=True),
    ):
        # With a channel a round sends whole segments; windows are whole where the increase is.
        if response.alpha == 1:
            alone = solve(Bernoulli(0.01), 120, response).round
            np.testing.assert_allclose(
                gilbert_elliott.solve(channel, 120, response).round, alone, rtol=1e-9, atol=1e-290
            )
        assert gilbert_elliott.solve(channel, 120, response).round.sum() == pytest.approx(1)


def test_a_fall_ends_at_what_is_kept_on_the_mean() -> None:
    for alpha, kept in itertools.product((1, 0.3), (0, 0.5, 0.999)):
        windows, falls = GeneralAimd(alpha, kept).path(50.3)
        ends = (
            windows[falls.down] * (1 - falls.above)
            + windows[np.minimum(falls.down + 1, windows.size - 1)] * falls.above
        )
        np.testing.assert_allclose(ends, np.maximum(kept * windows, 2), rtol=1e-9)
        assert windows[-1] == pytest.approx(50.3)
