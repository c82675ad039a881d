"""CUBIC: a chain from loss to loss, since the window depends on the time since the last loss.

RFC 9438. Letters: W window at a loss and W_max the target window (segments), C in segments/s^3,
beta share kept, R round-trip time (s), p loss rate. K = cbrt((W_max - beta W)/C) is the time (s)
until W_max is reached again.

Between losses the window of round j, at t = jR after the loss, is C (t - K)^3 + W_max. Where the
Reno-friendly line beta W + alpha t/R is larger, it is that. It is rounded to whole segments. Each
round survives as in the window chain; a loss starts the next epoch. Segments and durations of
rounds are summed over epochs, which gives all laws of the window. Bao, Wong and Leung, "A model for
steady state throughput of TCP CUBIC", GLOBECOM 2010; Poojary and Sharma, arXiv 1510.08496.
"""

from dataclasses import dataclass

import numpy as np

from ackclock.models.aimd_chain import compiled
from ackclock.models.aimd_chain.chain import WindowChain, check_largest_window
from ackclock.models.aimd_chain.growth import SMALLEST, Indices
from ackclock.models.aimd_chain.loss import Loss
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

#: Less likely rounds of an epoch are ignored.
_UNLIKELY = 1e-17
#: Limit on the rounds of an epoch, which is computed round by round for all windows at once.
_MOST_ROUNDS = 100_000
_LARGEST_WINDOW = 5_000


@dataclass(frozen=True)
class Cubic:
    """Parameters; the defaults are RFC 9438's.

    Attributes:
        C: Segments/s^3.
        beta: Share kept after a loss.
        reno_friendly: True if the window follows the Reno-friendly line where that is higher.
        alpha_reaches_one: True if that line rises by a whole segment per round once it is at the
            window before the loss (RFC 9438, section 4.3). Otherwise it always rises by 3
            (1-beta)/(1+beta).
        fast_convergence: True if a loss below the last W_max lowers the target to W (1+beta)/2.
    """

    C: float = 0.4
    beta: float = 0.7
    reno_friendly: bool = True
    alpha_reaches_one: bool = True
    fast_convergence: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.C < np.inf:
            refuse("C", self.C, "must be positive, in segments/s^3; for example 0.4")
        if not 0 < self.beta < 1:
            refuse("beta", self.beta, "must be between 0 and 1; for example 0.7")

    def window(self, t: float, R: float, W: Array, aim: Array) -> Array:
        """Returns the window in segments, not rounded, at t after a loss at W with target W_max."""
        kept = self.beta * W
        grown = self.C * (t - np.cbrt((aim - kept) / self.C)) ** 3 + aim
        if not self.reno_friendly:
            return np.asarray(grown)
        alpha = 3 * (1 - self.beta) / (1 + self.beta)
        line = kept + alpha * t / R
        if self.alpha_reaches_one:
            line = np.where(line > W, W + (t / R - (W - kept) / alpha), line)
        return np.maximum(grown, line)

    def longest_climb(self, R: float, w_max: float) -> float:
        """Returns an upper bound of the rounds until every window has reached `w_max`."""
        along_cubic = (np.cbrt(w_max * (1 - self.beta) / self.C) + np.cbrt(w_max / self.C)) / R
        along_line = w_max * (1 + self.beta) / (3 * (1 - self.beta))
        return float(min(along_cubic, along_line) if self.reno_friendly else along_cubic)


def solve(loss: Loss, w_max: int, R: float, cubic: Cubic | None = None) -> WindowChain:
    """Solves the chain of losses.

    Time and memory are quadratic in w_max, so it is meant for up to a few thousand segments.

    Args:
        loss: Loss law.
        w_max: Largest window in segments, at least 2.
        R: Round-trip time in s that sets the growth, the same in all rounds.
        cubic: Parameters.

    Returns:
        The law of the window by rounds and all derived laws, for windows 2 … w_max.
    """
    check_largest_window(w_max)
    if not 0 < R < np.inf:
        refuse("R", R, "must be positive, in s; for example 0.1")
    if w_max > _LARGEST_WINDOW:
        refuse(
            "w_max", w_max, f"is too large for a chain of losses; take at most {_LARGEST_WINDOW}"
        )
    cubic = cubic or Cubic()
    if cubic.longest_climb(R, w_max) > _MOST_ROUNDS:
        refuse(
            "R",
            R,
            f"is so short that a window climbs for more than {_MOST_ROUNDS} rounds; "
            "take a longer one",
        )
    windows = np.arange(SMALLEST, np.floor(w_max) + 1)
    survive, lose, segments = loss.survive(windows), loss.lose(windows), loss.segments(windows)
    if lose[-1] == 0:
        return WindowChain(windows, (windows == windows[-1]).astype(float), segments, survive, lose)
    # States: W with W_max = W; with fast convergence, also W with the lower target.
    W, aim = windows, windows
    if cubic.fast_convergence:
        W, aim = np.tile(windows, 2), np.concatenate([windows, windows * (1 + cubic.beta) / 2])
    visits = _visits(cubic, R, W, aim, windows, survive, lose)
    law = _epochs(visits * lose, aim, windows, fast_convergence=cubic.fast_convergence)
    rounds = law @ visits
    return WindowChain(windows, np.asarray(rounds / rounds.sum()), segments, survive, lose)


def _visits(
    cubic: Cubic, R: float, W: Array, aim: Array, windows: Array, survive: Array, lose: Array
) -> Array:
    """Returns mean rounds under each window (column) until the next loss, from each state (row)."""
    visits = np.zeros((W.size, windows.size))
    states, alive = np.arange(W.size), np.ones(W.size)
    top = windows.size - 1
    j = 0
    while alive.max() >= _UNLIKELY:
        reached = (
            np.rint(np.clip(cubic.window(j * R, R, W, aim), windows[0], windows[-1])) - windows[0]
        )
        column = reached.astype(np.int64)
        if (column == top).all():
            visits[:, top] += alive / lose[top]  # alive (1 + s + s^2 + ...)
            break
        visits[states, column] += alive
        alive = alive * survive[column]
        j += 1
    return visits


def _epochs(reached: Array, aim: Array, windows: Array, *, fast_convergence: bool) -> Array:
    """Returns the law of the states at losses; `reached` are probabilities of the next window."""
    row, column = np.nonzero(reached)
    offsets: Indices = np.searchsorted(row, np.arange(aim.size + 1)).astype(np.int64)
    target = column
    if fast_convergence:
        target = column + np.where(windows[column] < aim[row], windows.size, 0)
    return compiled.stationary_of_epochs(offsets, target.astype(np.int64), reached[row, column])
