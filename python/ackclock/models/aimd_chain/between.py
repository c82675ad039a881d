"""Windows between those of a path: a chain without a grid, to a few thousandths of a percent.

A window that is multiplied by 0.9 may take any value. On the path, with windows a step per round
apart, a fall is shared between two windows. That keeps its mean right but adds a little variance,
which changes means by up to 0.6 % if windows are a few steps. So short paths are solved on windows
a quarter of a step apart. From `_LONG` steps on the path itself is accurate enough. Between
`_SHORT` and `_LONG` falls move gradually from one to the other, so that no result jumps. Even
longer paths combine several rounds in one step. The window kept after a loss and the segments
carried are then those of the middle round.
"""

from dataclasses import dataclass, replace

import numpy as np

from ackclock.models.aimd_chain import chain as window_chain
from ackclock.models.aimd_chain import compiled
from ackclock.models.aimd_chain.chain import WindowChain
from ackclock.models.aimd_chain.general_aimd import GeneralAimd
from ackclock.models.aimd_chain.growth import SMALLEST, Falls
from ackclock.models.aimd_chain.loss import Independent
from ackclock.models.model import Array

#: Windows of the finer path per step of the path.
_FINER = 4
#: Up to the first number of steps windows are a quarter of a step apart, from the second a step.
_SHORT, _LONG = 100, 200
#: Longer paths combine several rounds.
_MOST_STEPS = 4_000


def solve(loss: Independent, limit: float, alpha: float, beta: float) -> WindowChain:
    """Returns the chain of AIMD(alpha, beta) with independent losses.

    Args:
        loss: Law of the losses.
        limit: Largest window in segments.
        alpha: Growth in segments per round.
        beta: Share kept after a loss.
    """
    steps = (limit - SMALLEST) / alpha
    if steps < _LONG:
        return _finer(
            loss,
            limit,
            GeneralAimd(alpha, beta),
            min((_LONG - steps) / (_LONG - _SHORT), 1.0),
        )
    if steps <= _MOST_STEPS:
        return window_chain.solve(loss, limit, GeneralAimd(alpha, beta))
    return _several_rounds(loss, limit, _Several(alpha, beta, steps / _MOST_STEPS))


def rounded_down(loss: Independent, limit: float, alpha: float, beta: float) -> WindowChain:
    """Returns the same with falls rounded down to the path; arguments as for `solve`.

    Combining several rounds moves the end of a fall by about (1 + beta)/2 steps of the path. The
    error is relative to the fall of (1 - beta) w. So the path's length is proportional to the ratio
    of the two, up to beta = 0.95.
    """
    k = max(1.0, (limit - SMALLEST) / alpha / _most_rounded(beta))
    if k == 1:
        return window_chain.solve(loss, limit, GeneralAimd(alpha, beta, whole_steps=True))
    chain = window_chain.solve(
        _Rounds(loss, k), limit, GeneralAimd(k * alpha, beta, whole_steps=True)
    )
    w = chain.windows
    return replace(chain, segments=loss.segments(w), survive=loss.survive(w), lose=loss.lose(w))


def on_path(shortest: float, longest: float, alpha: float, beta: float, *, rounded: bool) -> bool:
    """Returns True if chains of these limits are solved on windows a step apart."""
    least, most = (0.0, _most_rounded(beta)) if rounded else (float(_LONG), float(_MOST_STEPS))
    return (shortest - SMALLEST) / alpha >= least and (longest - SMALLEST) / alpha <= most


def _most_rounded(beta: float) -> float:
    return min(5_000 * (1 + beta) / (1 - beta), 200_000)


@dataclass(frozen=True)
class _Rounds(Independent):
    """The law of losses in several rounds of one window."""

    loss: Independent
    rounds: float

    def rate(self, windows: Array) -> Array:
        with np.errstate(divide="ignore"):  # a rate of 1
            return np.asarray(-np.expm1(self.rounds * np.log1p(-self.loss.rate(windows))))


def _finer(loss: Independent, limit: float, aimd: GeneralAimd, share: float) -> WindowChain:
    """Solves on the finer path; `share` is that of the falls that end there, not on the path."""
    coarse, _ = aimd.path(limit)
    fine, near = replace(aimd, alpha=aimd.alpha / _FINER).path(limit)
    of_path = np.minimum(np.arange(coarse.size) * _FINER, fine.size - 1)
    kept = np.maximum(aimd.beta * fine, SMALLEST)
    far = Falls.between(coarse, kept)
    states = np.arange(fine.size)
    far_down, far_up = of_path[far.down], of_path[np.minimum(far.down + 1, coarse.size - 1)]
    # A fall from between two windows of the path may not end above its start.
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
            survive,
            lose * share * (1 - near.above),
            lose * share * near.above,
            lose * (1 - share) * (1 - far_above),
            lose * (1 - share) * far_above,
        ],
        axis=1,
    )  # fmt: skip
    offsets = np.arange(fine.size + 1) * targets.shape[1]
    law = compiled.stationary_of_jumps(offsets, targets.ravel(), chances.ravel())
    return WindowChain(fine, law, loss.segments(fine), survive, lose)


@dataclass(frozen=True)
class _Several:
    """AIMD(alpha, beta) with several rounds combined in one."""

    alpha: float
    beta: float
    rounds: float

    def path(self, w_max: float) -> tuple[Array, Falls]:
        windows, _ = GeneralAimd(self.alpha * self.rounds, self.beta).path(w_max)
        # A loss occurs in one of the rounds, on average in the middle one; a share of that round's
        # window is kept.
        return windows, Falls.between(
            windows, np.minimum(self.beta * self.middle(windows), windows)
        )

    def middle(self, windows: Array) -> Array:
        """Returns the mean window of the rounds that begin with each window."""
        return np.asarray(np.minimum(windows + self.alpha * (self.rounds - 1) / 2, windows[-1]))


def _several_rounds(loss: Independent, limit: float, several: _Several) -> WindowChain:
    windows, falls = several.path(limit)
    carried = several.middle(windows)
    logarithm = several.rounds * loss.log_survive(carried)
    law = compiled.stationary(np.exp(logarithm), -np.expm1(logarithm), falls.down, falls.above)
    return WindowChain(
        carried, law, loss.segments(carried), loss.survive(carried), loss.lose(carried)
    )
