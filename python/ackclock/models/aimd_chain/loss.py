"""Loss laws: the probability that a round of w segments is delivered completely.

They are memoryless in the sense of the paper: the probability that the next n segments are all
delivered may depend on the window, but not on the number delivered since the last loss.

Letters: w window (segments), s_w = P(all w delivered), f_w = 1 - s_w, M_w = E(segments sent until
the window changes) = sum over n < w of P(first n delivered). Arrays have the shape of `windows`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ackclock.models.model import Array
from ackclock.models.refusal import refuse


class Loss(Protocol):
    """The loss law of a chain."""

    def survive(self, windows: Array) -> Array:
        """Returns s_w."""
        ...

    def lose(self, windows: Array) -> Array:
        """Returns f_w with full relative accuracy, however small."""
        ...

    def segments(self, windows: Array) -> Array:
        """Returns M_w."""
        ...


def check_probability(letter: str, value: float) -> None:
    """Refuses a value that is not a probability."""
    if not 0 <= value <= 1:
        refuse(letter, value, "must be a probability; for example 0.01")


class Independent(ABC):
    """Independent losses of segments at a rate p(w): s_w = (1-p(w))^w, M_w = f_w/p(w)."""

    @abstractmethod
    def rate(self, windows: Array) -> Array:
        """Returns p(w); a single number if it is the same for all windows."""

    def survive(self, windows: Array) -> Array:
        """Returns s_w."""
        return np.asarray(np.exp(self.log_survive(windows)))

    def lose(self, windows: Array) -> Array:
        """Returns f_w."""
        return -np.expm1(self.log_survive(windows))

    def segments(self, windows: Array) -> Array:
        """Returns M_w, which is w without loss."""
        rate = self.rate(windows)
        return np.where(rate > 0, self.lose(windows) / np.where(rate > 0, rate, 1), windows)

    def log_survive(self, windows: Array) -> Array:
        """Returns the logarithm of s_w; minus infinity where every segment is lost."""
        with np.errstate(divide="ignore"):  # p(w) = 1
            return np.asarray(np.asarray(windows, float) * np.log1p(-self.rate(windows)))


@dataclass(frozen=True)
class Bernoulli(Independent):
    """Loss of every segment with the same probability p; a column of p makes as many laws."""

    p: float | Array

    def __post_init__(self) -> None:
        for p in np.ravel(self.p):
            check_probability("p", float(p))

    def rate(self, windows: Array) -> Array:  # noqa: ARG002 (the same for all)
        """Returns p(w)."""
        return np.asarray(self.p, float)


@dataclass(frozen=True)
class WindowDependent(Independent):
    """Loss of a segment at a rate that depends on the window: p(w) = alpha^w q, at most one."""

    q: float
    alpha: float

    def __post_init__(self) -> None:
        check_probability("q", self.q)
        if not 0 < self.alpha < np.inf:
            refuse("alpha", self.alpha, "must be positive; for example 1.05")

    def rate(self, windows: Array) -> Array:
        """Returns p(w)."""
        with np.errstate(divide="ignore"):  # q = 0
            log_rate = np.asarray(windows, float) * np.log(self.alpha) + np.log(self.q)
        return np.asarray(np.exp(np.minimum(0, log_rate)))


@dataclass(frozen=True)
class Memoryless:
    """Any law: G(w, n) is the probability that the first n segments under window w are delivered.

    Attributes:
        G: Maps a window and an array of counts 0 … w to as many probabilities, falling from one.
        lost: Returns 1 - G(w, w) without cancellation, if possible; otherwise f_w has an absolute
            accuracy of 1e-16.
    """

    G: Callable[[float, Array], Array]
    lost: Callable[[float], float] | None = None

    def survive(self, windows: Array) -> Array:
        """Returns s_w."""
        return np.array([self._delivered(w)[-1] for w in windows])

    def lose(self, windows: Array) -> Array:
        """Returns f_w."""
        if self.lost is None:
            return 1 - self.survive(windows)
        return np.array([self.lost(w) for w in windows], float)

    def segments(self, windows: Array) -> Array:
        """Returns M_w."""
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
