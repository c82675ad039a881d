"""What stations of one class have left to count when a busy period ends, given when the others send.

f(i) is the probability that the others are first in slot i of those in which the class may send, b
what a station has left. With freezing it goes on to b - i where the others were first in slot i <
b, and stays where they were first at the end of its AIFS (i = 0). Without, the busy slot counts
too, and it goes on to b - i - 1. Sums over what follows from where are convolutions with f, so both
what becomes of a draw and how often each b is visited are recursive filters.
"""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from ackclock.models.edca.access_class import AccessClass
from ackclock.models.model import Array

# Half of each new law is kept of the one before: the laws of classes answer each other in turn.
_KEPT = 0.5
# Slots to which it comes more rarely are not looked at.
_NEVER = 1e-18
_LEAST = 1e-300


@dataclass(frozen=True)
class Counters:
    """The law of one class.

    Attributes:
        of: The class.
        left: g(b).
        attempts: tau, of use from slot `common` on.
        common: The slot from which attempts are alike in each; None with freezing, where counters
            say it to the end.
        waiting: Probability that a station has not sent before slot m, for m from 0 on.
        collided: p_k by stage, the last for all later ones.
    """

    of: AccessClass
    left: Array
    attempts: float
    common: int | None
    waiting: Array
    collided: Array

    @staticmethod
    def begun(of: AccessClass, slots: int, common: int | None, patient: bool) -> "Counters":
        """To begin with, all stations in their first stage, or in their last.

        Args:
            of: The class.
            slots: Slots to look at after SIFS.
            common: As in the attributes.
            patient: Whether in their last.
        """
        draws, tau = of.draws, 2 / (of.cw_min + 2)
        left = draws[-1 if patient else 0]
        return Counters(
            of, left, tau, common, _waiting(of, left, tau, slots, common), np.zeros(len(draws))
        )

    @property
    def stages(self) -> Array:
        """How often a frame comes to each stage, up to a factor; the last stands for all later ones."""
        p, more = self.collided, self.of.retries - len(self.collided) + 1
        visits = np.cumprod(np.concatenate([[1.0], p[:-1]]))
        if p[-1] < 1:
            visits[-1] *= (1 - p[-1] ** (more + 1)) / (1 - p[-1])
        elif isfinite(more):
            visits[-1] *= more + 1
        else:
            visits = np.where(
                np.arange(len(p)) < len(p) - 1, 0.0, 1.0
            )  # it never gets through, and never gives up
        return visits

    @property
    def collision_probability(self) -> float:
        """Of an attempt."""
        return float(self.stages @ self.collided / self.stages.sum())

    @property
    def retry_drop_rate(self) -> float:
        """Probability that a frame is."""
        p, more = self.collided, self.of.retries - len(self.collided) + 1
        return float(np.prod(p[:-1]) * p[-1] ** (more + 1))

    def answering(self, others: Array) -> "Counters":
        """The law that follows from when the others send; `others` is as `waiting`, that none of them has."""
        freezing, draws = self.common is None, self.of.draws
        first = _first(others, self.of)
        after = replace(
            self, collided=np.minimum(draws @ _collided(first, self.of.cw_max + 1, freezing), 1.0)
        )
        left = _visits(after.stages @ draws, first, freezing)
        left = _KEPT * self.left + (1 - _KEPT) * left / left.sum()
        tau = (
            self.attempts if self.common is None else _attempt_rate(self, left, others, self.common)
        )
        return replace(
            after,
            left=left,
            attempts=tau,
            waiting=_waiting(self.of, left, tau, len(others) - 1, self.common),
        )


def _waiting(of: AccessClass, left: Array, tau: float, slots: int, common: int | None) -> Array:
    """That a station of that law has not sent before slot m."""
    waiting = np.zeros(slots + 1)
    waiting[: of.aifsn + 1] = 1
    waiting[of.aifsn + 1 : of.aifsn + len(left)] = np.clip(1 - np.cumsum(left[:-1]), 0, 1)
    if common is not None:
        waiting[common:] = waiting[common] * (1 - tau) ** np.arange(slots + 1 - common)
    return waiting


def _first(others: Array, of: AccessClass) -> Array:
    """f, given that none of the others was earlier than the class may be."""
    here = others[of.aifsn : of.aifsn + of.cw_max + 2]
    if here[0] <= 0:
        return np.zeros(1)  # it never may: what it would meet then is of no consequence
    seen = np.flatnonzero(here[:-1] > _NEVER * here[0])[-1] + 1
    return np.asarray((here[:seen] - here[1 : seen + 1]) / here[0])


def _collided(first: Array, size: int, freezing: bool) -> Array:
    """For each b that was drawn, the probability that the attempt it leads to collides."""
    at = np.zeros(size)
    at[: len(first)] = first
    if freezing:
        return np.concatenate([at[:1], _filtered(at[1:], first, freezing)])
    return _filtered(at, first, freezing)


def _visits(drawn: Array, first: Array, freezing: bool) -> Array:
    """How often each b is left at the end of a busy period, if the draws are these."""
    if freezing:  # to zero there is no way but to draw it
        return np.concatenate([drawn[:1], _filtered(drawn[:0:-1], first, freezing)[::-1]])
    return _filtered(drawn[::-1], first, freezing)[::-1]


def _filtered(given: Array, first: Array, freezing: bool) -> Array:
    """Y with y(b) = given(b) + what comes from the y before by the law f."""
    from scipy.signal import lfilter  # slow to import, and not every use of models needs it

    if not given.size:
        return given
    steps = np.concatenate(
        [[max(1 - first[0], _LEAST)], -first[1:]] if freezing else [[1.0], -first]
    )
    return np.asarray(lfilter([1.0], steps, given))


def _attempt_rate(law: Counters, left: Array, others: Array, common: int) -> float:
    """Attempts per slot of those from `common` on that a station sees; what it was, if it sees none."""
    slots = np.arange(law.of.aifsn, law.of.aifsn + len(left))
    still = np.concatenate([[1.0], 1 - np.cumsum(left[:-1])])
    seen = float((np.clip(still, 0, 1) * others[slots])[slots >= common].sum())
    attempts = float((left * others[slots])[slots >= common].sum())
    return (_KEPT * law.attempts + (1 - _KEPT) * attempts / seen) if seen > 0 else law.attempts
