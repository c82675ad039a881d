"""Remaining backoff of stations of one class at the end of a busy period.

The law f(i) is the probability that the others are first in slot i of those in which the class may
send, and b a station's remaining backoff. With freezing it becomes b - i if the others were first
in slot i < b, and stays if they were first at the end of its AIFS (i = 0). Without freezing the
busy slot counts too, and it becomes b - i - 1. Sums over the next values are convolutions with f.
Both the fate of a draw and the number of visits to each b are therefore recursive filters.
"""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from ackclock.models.edca.access_class import AccessClass
from ackclock.models.model import Array

# Share of the previous law kept in each step, because the laws of classes depend on each other.
_KEPT = 0.5
# Slots that are reached more rarely are ignored.
_NEVER = 1e-18
_LEAST = 1e-300


@dataclass(frozen=True)
class Counters:
    """The law of one class.

    Attributes:
        access: The class.
        left: g(b).
        attempts: tau, used from slot `common` on.
        common: Slot from which attempts are equally likely in each slot; None with freezing, where
            counters determine all of them.
        waiting: Probability that a station has not sent before slot m, for m from 0 on.
        collided: p_k by stage, the last for all later ones.
    """

    access: AccessClass
    left: Array
    attempts: float
    common: int | None
    waiting: Array
    collided: Array

    @staticmethod
    def begun(access: AccessClass, slots: int, common: int | None, patient: bool) -> "Counters":
        """Returns the initial law: all stations are in their first stage, or in their last.

        Args:
            access: The class.
            slots: Number of slots after SIFS to consider.
            common: As in the attributes.
            patient: True for the last stage.
        """
        draws, tau = access.draws, 2 / (access.cw_min + 2)
        left = draws[-1 if patient else 0]
        return Counters(
            access,
            left,
            tau,
            common,
            _waiting(access, left, tau, slots, common),
            np.zeros(len(draws)),
        )

    @property
    def stages(self) -> Array:
        """Mean visits of a frame to each stage, up to a factor; the last is for all later ones."""
        p, more = self.collided, self.access.retries - len(self.collided) + 1
        visits = np.cumprod(np.concatenate([[1.0], p[:-1]]))
        if p[-1] < 1:
            visits[-1] *= (1 - p[-1] ** (more + 1)) / (1 - p[-1])
        elif isfinite(more):
            visits[-1] *= more + 1
        else:
            visits = np.where(
                np.arange(len(p)) < len(p) - 1, 0.0, 1.0
            )  # it never succeeds, and never gives up
        return visits

    @property
    def collision_probability(self) -> float:
        """Collision probability of an attempt."""
        return float(self.stages @ self.collided / self.stages.sum())

    @property
    def retry_drop_rate(self) -> float:
        """Probability that a frame is given up."""
        p, more = self.collided, self.access.retries - len(self.collided) + 1
        return float(np.prod(p[:-1]) * p[-1] ** (more + 1))

    def answering(self, others: Array) -> "Counters":
        """Returns the law that follows from `others`: for each slot, P(none of them has sent)."""
        freezing, draws = self.common is None, self.access.draws
        first = _first(others, self.access)
        after = replace(
            self,
            collided=np.minimum(draws @ _collided(first, self.access.cw_max + 1, freezing), 1.0),
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
            waiting=_waiting(self.access, left, tau, len(others) - 1, self.common),
        )


def _waiting(access: AccessClass, left: Array, tau: float, slots: int, common: int | None) -> Array:
    """Returns the probability that a station with that law has not sent before slot m."""
    waiting = np.zeros(slots + 1)
    waiting[: access.aifsn + 1] = 1
    waiting[access.aifsn + 1 : access.aifsn + len(left)] = np.clip(1 - np.cumsum(left[:-1]), 0, 1)
    if common is not None:
        waiting[common:] = waiting[common] * (1 - tau) ** np.arange(slots + 1 - common)
    return waiting


def _first(others: Array, access: AccessClass) -> Array:
    """Returns f, given that none of the others sent before the class may."""
    here = others[access.aifsn : access.aifsn + access.cw_max + 2]
    if here[0] <= 0:
        return np.zeros(1)  # it never may send, so the value does not matter
    seen = np.flatnonzero(here[:-1] > _NEVER * here[0])[-1] + 1
    return np.asarray((here[:seen] - here[1 : seen + 1]) / here[0])


def _collided(first: Array, size: int, freezing: bool) -> Array:
    """Returns, for each draw b, the probability that its attempt collides."""
    chances = np.zeros(size)
    chances[: len(first)] = first
    if freezing:
        return np.concatenate([chances[:1], _filtered(chances[1:], first, freezing)])
    return _filtered(chances, first, freezing)


def _visits(drawn: Array, first: Array, freezing: bool) -> Array:
    """Returns the number of visits to each b at the end of a busy period, for these draws."""
    if freezing:  # zero is reached only by drawing it
        return np.concatenate([drawn[:1], _filtered(drawn[:0:-1], first, freezing)[::-1]])
    return _filtered(drawn[::-1], first, freezing)[::-1]


def _filtered(given: Array, first: Array, freezing: bool) -> Array:
    """Returns y with y(b) = given(b) + the contribution of earlier y by the law f."""
    from scipy.signal import lfilter  # slow to import, and not all models need it

    if not given.size:
        return given
    steps = np.concatenate(
        [[max(1 - first[0], _LEAST)], -first[1:]] if freezing else [[1.0], -first]
    )
    return np.asarray(lfilter([1.0], steps, given))


def _attempt_rate(law: Counters, left: Array, others: Array, common: int) -> float:
    """Returns attempts per slot from `common` on; the previous value if it sees no such slot."""
    slots = np.arange(law.access.aifsn, law.access.aifsn + len(left))
    still = np.concatenate([[1.0], 1 - np.cumsum(left[:-1])])
    seen = float((np.clip(still, 0, 1) * others[slots])[slots >= common].sum())
    attempts = float((left * others[slots])[slots >= common].sum())
    return (_KEPT * law.attempts + (1 - _KEPT) * attempts / seen) if seen > 0 else law.attempts
