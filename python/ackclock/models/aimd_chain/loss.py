"""Loss laws: how likely a round of w segments is delivered whole.

Memoryless in the sense of the paper: the chance that the next n segments are all delivered may
depend on the window, not on how many have been delivered since the last loss.

Letters: w window (segments), s_w = P(all w delivered), f_w = 1 - s_w, M_w = E(segments sent until
the window changes) = sum over n < w of P(first n delivered). Arrays have the shape of `windows`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock.models.refusal import refuse

Array = NDArray[np.float64]


class Loss(Protocol):
    """What the chain asks of a loss law."""

    def survive(self, windows: Array) -> Array:
        """s_w."""
        ...

    def lose(self, windows: Array) -> Array:
        """f_w, to full relative accuracy however small."""
        ...

    def segments(self, windows: Array) -> Array:
        """M_w."""
        ...


def check_probability(letter: str, value: float) -> None:
    """Refuses what is no probability."""
    if not 0 <= value <= 1:
        refuse(letter, value, "must be a probability; for example 0.01")


class _Independent(ABC):
    """Every segment is lost independently of all others, at a rate p(w): s_w = (1-p(w))^w, M_w = f_w/p(w)."""

    @abstractmethod
    def rate(self, windows: Array) -> Array:
        """p(w); a single number if it is the same for all windows."""

    def survive(self, windows: Array) -> Array:
        """s_w."""
        return np.asarray(np.exp(self._log_survive(windows)))

    def lose(self, windows: Array) -> Array:
        """f_w."""
        return -np.expm1(self._log_survive(windows))

    def segments(self, windows: Array) -> Array:
        """M_w; w itself without loss."""
        rate = self.rate(windows)
        return np.where(rate > 0, self.lose(windows) / np.where(rate > 0, rate, 1), windows)

    def _log_survive(self, windows: Array) -> Array:
        with np.errstate(divide="ignore"):  # p(w) = 1
            return np.asarray(np.asarray(windows, float) * np.log1p(-self.rate(windows)))


@dataclass(frozen=True)
class Bernoulli(_Independent):
    """Every segment is lost with the same probability p; a column of them is as many laws, whose chains are one."""

    p: float | Array

    def __post_init__(self) -> None:
        for p in np.ravel(self.p):
            check_probability("p", float(p))

    def rate(self, windows: Array) -> Array:  # noqa: ARG002 (the same for all)
        """p(w)."""
        return np.asarray(self.p, float)


@dataclass(frozen=True)
class WindowDependent(_Independent):
    """A segment's loss rate grows or falls with the window it is sent under: p(w) = alpha^w q, at most one."""

    q: float
    alpha: float

    def __post_init__(self) -> None:
        check_probability("q", self.q)
        if not 0 < self.alpha < np.inf:
            refuse("alpha", self.alpha, "must be positive; for example 1.05")

    def rate(self, windows: Array) -> Array:
        """p(w)."""
        with np.errstate(divide="ignore"):  # q = 0
            log_rate = np.asarray(windows, float) * np.log(self.alpha) + np.log(self.q)
        return np.asarray(np.exp(np.minimum(0, log_rate)))


@dataclass(frozen=True)
class Memoryless:
    """Any law: G(w, n) is the probability that the first n segments under window w are all delivered.

    Attributes:
        G: Takes a window and an array of counts 0 … w, gives as many probabilities, from one
        downwards.
        lost: 1 - G(w, w) for those who can say it without cancellation; f_w is otherwise accurate
            to 1e-16 absolutely.
    """

    G: Callable[[float, Array], Array]
    lost: Callable[[float], float] | None = None

    def survive(self, windows: Array) -> Array:
        """s_w."""
        return np.array([self._delivered(w)[-1] for w in windows])

    def lose(self, windows: Array) -> Array:
        """f_w."""
        if self.lost is None:
            return 1 - self.survive(windows)
        return np.array([self.lost(w) for w in windows], float)

    def segments(self, windows: Array) -> Array:
        """M_w."""
        return np.array([self._delivered(w)[:-1].sum() for w in windows])

    def _delivered(self, window: float) -> Array:
        counts = np.arange(np.floor(window) + 1)
        shares = np.broadcast_to(np.asarray(self.G(window, counts), float), counts.shape)
        inside = (shares >= 0) & (shares <= 1)
        if not inside.all():
            refuse(f"G({window:g}, n)", shares[~inside][0], "must be a probability")
        if shares[0] != 1 or (np.diff(shares) > 0).any():
            refuse(f"G({window:g}, n)", shares[0], "must fall from 1 at n = 0")
        return shares
