"""Three sources: one follows the link a round trip later, one is unlimited, one is constant."""

from dataclasses import dataclass
from math import floor, inf
from typing import Self

import numpy as np

from ackclock.models.domain import POSITIVE, check
from ackclock.models.explicit_rate.link import HIGH, LOW
from ackclock.models.explicit_rate.loop import ROUNDING, Flags, Indices, Interval, Loop, State
from ackclock.models.model import Array


class _WithoutQuota:
    """A source that only its state limits."""

    def quotas(self, loop: Loop) -> tuple[tuple[float, float], ...]:  # noqa: ARG002
        """Returns no quota."""
        return ((1.0, inf),)

    def at_even_odds(self) -> Self:
        """Returns itself: there is one quota."""
        return self


@dataclass(frozen=True)
class InstantaneousCapacity(_WithoutQuota):
    """INSTCAP: the source sends at the link's rate of a round trip ago, S(t) = R(t - Delta).

    Packets reach the bottleneck back to back at the source's rate (A4). It can therefore overflow
    only in an interval in which the link has just fallen.
    """

    def interval(
        self,
        loop: Loop,
        state: State,
        growth: Indices,
        quota: float,  # noqa: ARG002
    ) -> Interval:
        """Returns the outcome of one interval, as described in `Source`."""
        sent = np.minimum(state.a + state.d + growth, loop.capacities[state.source])
        fallen = (state.source == HIGH) & (state.link == LOW)
        lost = fallen & _exceeds(state.b + sent * loop.burst_share, loop.buffer)
        return _served(loop, state, growth, sent, lost, (loop.buffer - state.b) / loop.burst_share)

    def restart(self, loop: Loop, window: Indices, link: Indices, source: Indices) -> State:
        """Puts in propagation what the slower of link and source can have sent; the rest waits."""
        return _in_host(loop, window, loop.capacities[np.maximum(link, source)], link, source)


@dataclass(frozen=True)
class Unregulated(_WithoutQuota):
    """TCP alone, with nothing between the sender and the bottleneck.

    Each ACK releases its packets at once, so arrivals in an interval are spread like the ACKs of
    the round trip before. This is 70 % sure. It makes the model optimistic, as the publication says
    of its own.

    Attributes:
        peak: True if packets come back to back after a fall of the link, as with feedback.
    """

    peak: bool = False

    def interval(
        self,
        loop: Loop,
        state: State,
        growth: Indices,
        quota: float,  # noqa: ARG002
    ) -> Interval:
        """Returns the outcome of one interval, as described in `Source`."""
        sent = state.a + state.d + growth
        excess = sent - loop.capacities[state.link]
        lost = state.b + excess > loop.buffer
        # Excess packets are evenly spread, and the (B_max - b + 1)-th of them is lost.
        accepted = sent * (loop.buffer - state.b + 1) / np.maximum(excess + 1, 1)
        if self.peak:
            fallen = (state.source == HIGH) & (state.link == LOW)
            lost = lost | (fallen & _exceeds(state.b + sent * loop.burst_share, loop.buffer))
            accepted = np.where(fallen, (loop.buffer - state.b) / loop.burst_share, accepted)
        return _served(loop, state, growth, sent, lost, accepted)

    def restart(self, loop: Loop, window: Indices, link: Indices, source: Indices) -> State:
        """Puts in propagation what the link can have sent, then at the bottleneck what fits."""
        flying = window if loop.restart_in_flight else np.minimum(window, loop.capacities[link])
        queued = np.minimum(window - flying, loop.buffer)
        return State(np.zeros_like(window), queued, flying, link, source)


@dataclass(frozen=True)
class ConstantRate:
    """A source that sends at one rate, whatever the link does.

    Attributes:
        rate: g, packets per round trip. If it is not a whole number, each interval has the whole
            number below or above, at random.
    """

    rate: float

    def __post_init__(self) -> None:
        check(rate=(self.rate, POSITIVE))

    def quotas(self, loop: Loop) -> tuple[tuple[float, float], ...]:  # noqa: ARG002
        """Returns the whole numbers below and above the rate."""
        below = floor(self.rate + ROUNDING)
        above = self.rate - below
        return ((1.0, below),) if above < ROUNDING else ((1 - above, below), (above, below + 1))

    def at_even_odds(self) -> "ConstantRate":
        """Returns the rate in the middle between the whole numbers, or itself if it is one."""
        below = floor(self.rate + ROUNDING)
        return self if self.rate - below < ROUNDING else ConstantRate(below + 0.5)

    def interval(self, loop: Loop, state: State, growth: Indices, quota: float) -> Interval:
        """Returns the outcome of one interval, as described in `Source`."""
        sent = np.minimum(state.a + state.d + growth, int(quota))
        stays = np.maximum(1 - loop.capacities[state.link] / max(quota, 1), 0.0)
        lost = (stays > 0) & _exceeds(state.b + sent * stays, loop.buffer)
        accepted = (loop.buffer - state.b) / np.where(stays > 0, stays, 1.0)
        return _served(loop, state, growth, sent, lost, accepted)

    def restart(self, loop: Loop, window: Indices, link: Indices, source: Indices) -> State:
        """Puts in propagation what the slower of link and source can have sent; the rest waits."""
        most = np.minimum(loop.capacities[link], max(floor(self.rate + ROUNDING), 1))
        return _in_host(loop, window, most, link, source)


def _served(
    loop: Loop, state: State, growth: Indices, sent: Indices, lost: np.ndarray, accepted: np.ndarray
) -> Interval:
    """Returns the outcome of an interval at the bottleneck."""
    served = np.minimum(state.b + sent, loop.capacities[state.link])
    waiting = state.a + state.d + growth - sent
    return Interval(waiting, state.b + sent - served, served, lost, accepted)


def _in_host(loop: Loop, window: Indices, most: Indices, link: Indices, source: Indices) -> State:
    flying = window if loop.restart_in_flight else np.minimum(window, most)
    return State(window - flying, np.zeros_like(window), flying, link, source)


def _exceeds(amount: Array, limit: float) -> Flags:
    return np.asarray(amount > limit + ROUNDING)
