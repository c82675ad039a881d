"""Windows between those of a path: a chain without a grid, to within a few thousandths of a percent.

A window that keeps 0.9 of itself visits any number of segments. On the path, a step per round
apart, a fall is shared between two windows; that keeps its mean right and makes it a little more
random, which moves means by up to 0.6 % where windows are a few steps. So short paths are solved on
windows a quarter of a step apart. From `_LONG` steps on the path itself will do; over a stretch
before it falls go over from the one to the other little by little, so that no answer jumps. Still
longer paths make several rounds at once; what a loss leaves and what rounds carry is taken from the
middle of them.
"""

from dataclasses import dataclass, replace
from math import expm1, log1p

import numpy as np

from ackclock.models.aimd_chain import chain as window_chain
from ackclock.models.aimd_chain import compiled
from ackclock.models.aimd_chain.chain import WindowChain
from ackclock.models.aimd_chain.general_aimd import GeneralAimd
from ackclock.models.aimd_chain.growth import SMALLEST, Array, Falls
from ackclock.models.aimd_chain.loss import Bernoulli

#: Windows of the finer path to a step of the other.
_FINER = 4
#: Up to so many steps windows are a quarter of a step apart, and from so many on a step.
_SHORT, _LONG = 100, 200
#: From so many on several rounds are made at once.
_MOST_STEPS = 4_000


def solve(p: float, limit: float, alpha: float, beta: float) -> WindowChain:
    """The chain of AIMD(alpha, beta) with Bernoulli losses.

    Args:
        p: Loss rate of a segment.
        limit: Largest window in segments.
        alpha: Growth in segments per round.
        beta: Share kept after a loss.
    """
    steps = (limit - SMALLEST) / alpha
    if steps < _LONG:
        return _finer(
            Bernoulli(p),
            limit,
            GeneralAimd(alpha, beta),
            min((_LONG - steps) / (_LONG - _SHORT), 1.0),
        )
    if steps <= _MOST_STEPS:
        return window_chain.solve(Bernoulli(p), limit, GeneralAimd(alpha, beta))
    return _several_rounds(Bernoulli(p), limit, _Several(alpha, beta, steps / _MOST_STEPS))


def rounded_down(p: float, limit: float, alpha: float, beta: float) -> WindowChain:
    """The same where a fall ends on the window of the path below; the arguments are as for `solve`.

    What several rounds at once move is where a fall ends, by about (1 + beta)/2 steps of the path,
    and that weighs against the fall of (1 - beta) w: so the path's length goes with the ratio of
    the two, up to beta = 0.95.
    """
    loss, k = Bernoulli(p), max(1.0, (limit - SMALLEST) / alpha / _most_rounded(beta))
    if k == 1:
        return window_chain.solve(loss, limit, GeneralAimd(alpha, beta, whole_steps=True))
    rounds = Bernoulli(-expm1(k * log1p(-p)))
    chain = window_chain.solve(rounds, limit, GeneralAimd(k * alpha, beta, whole_steps=True))
    w = chain.windows
    return replace(chain, segments=loss.segments(w), survive=loss.survive(w), lose=loss.lose(w))


def on_path(shortest: float, longest: float, alpha: float, beta: float, *, rounded: bool) -> bool:
    """Whether windows a step apart are what chains of these limits are solved on."""
    least, most = (0.0, _most_rounded(beta)) if rounded else (float(_LONG), float(_MOST_STEPS))
    return (shortest - SMALLEST) / alpha >= least and (longest - SMALLEST) / alpha <= most


def _most_rounded(beta: float) -> float:
    return min(5_000 * (1 + beta) / (1 - beta), 200_000)


def _finer(loss: Bernoulli, limit: float, aimd: GeneralAimd, share: float) -> WindowChain:
    """On the finer path; the share of falls that end there, the others end on the path itself."""
    coarse, _ = aimd.path(limit)
    fine, near = replace(aimd, alpha=aimd.alpha / _FINER).path(limit)
    of_path = np.minimum(np.arange(coarse.size) * _FINER, fine.size - 1)
    kept = np.maximum(aimd.beta * fine, SMALLEST)
    far = Falls.between(coarse, kept)
    states = np.arange(fine.size)
    far_down, far_up = of_path[far.down], of_path[np.minimum(far.down + 1, coarse.size - 1)]
    # From between two windows of the path a fall may not end above where it began.
    fits = far_up <= states
    far_down, far_up = (
        np.where(fits, far_down, near.down),
        np.where(fits, far_up, np.minimum(near.down + 1, states)),
    )
    far_above = np.where(fits, far.above, near.above)
    climbed = np.minimum(states + _FINER, fine.size - 1)
    survive, lose = loss.survive(fine), loss.lose(fine)
    targets = np.stack(
        [climbed, near.down, np.minimum(near.down + 1, states), far_down, far_up], axis=1
    )
    chances = np.stack(
        [
            survive, lose * share * (1 - near.above), lose * share * near.above, lose * (1 - share) * (1 - far_above),
            lose * (1 - share) * far_above,
        ],
        axis=1,
    )  # fmt: skip
    offsets = np.arange(fine.size + 1) * targets.shape[1]
    law = compiled.stationary_of_jumps(offsets, targets.ravel(), chances.ravel())
    return WindowChain(fine, law, loss.segments(fine), survive, lose)


@dataclass(frozen=True)
class _Several:
    """AIMD(alpha, beta) of which several rounds are one."""

    alpha: float
    beta: float
    rounds: float

    def path(self, w_max: float) -> tuple[Array, Falls]:
        windows, _ = GeneralAimd(self.alpha * self.rounds, self.beta).path(w_max)
        # A loss meets the window of one of the rounds, the middle one on the mean; it keeps a share
        # of that.
        return windows, Falls.between(
            windows, np.minimum(self.beta * self.middle(windows), windows)
        )

    def middle(self, windows: Array) -> Array:
        """The mean window of the rounds that begin with each."""
        return np.asarray(np.minimum(windows + self.alpha * (self.rounds - 1) / 2, windows[-1]))


def _several_rounds(loss: Bernoulli, limit: float, several: _Several) -> WindowChain:
    windows, falls = several.path(limit)
    carried = several.middle(windows)
    logarithm = several.rounds * carried * log1p(-float(loss.p))
    law = compiled.stationary(np.exp(logarithm), -np.expm1(logarithm), falls.down, falls.above)
    return WindowChain(
        carried, law, loss.segments(carried), loss.survive(carried), loss.lose(carried)
    )
