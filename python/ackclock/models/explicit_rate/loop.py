"""The closed loop of sender, source, bottleneck and propagation, with assumptions about a loss.

S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control and
stochastic available capacity", IEEE/ACM Transactions on Networking 9(4), 2001. The model is
reconstructed from the paper's prose. Where the prose leaves a choice, there is a field here, with
the confidence in its default.

A sender's window is a + b + d packets: a wait in the host for the source's rate, b are at the
bottleneck, d are in propagation as packets or ACKs. Time advances in round trips. The unit of time
is that of one packet at the link's high rate.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import floor, inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock.models.domain import AT_LEAST_ONE, LIMIT, NOT_NEGATIVE, Domain, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Window growth by the packets that are accepted before the first loss: random, by one, or none.
GROWTHS = ("by_chance", "by_one", "none")

# Products like n (1 - 1/r) are compared with whole numbers; differences up to this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Loop:
    """Everything but the source and the link's transitions.

    Attributes:
        round_trip: Delta, the round-trip propagation delay in packets of the high rate.
        buffer: B_max, packets that the bottleneck holds.
        slowdown: r, the high rate over the low one.
        window: W_max, the largest window in packets. It is 70 % sure that growth stops there; it
            does not matter if it is well above the capacity of the loop.
        recovery: Intervals from the one with the loss, included, to the beginning of slow start. 85
            % sure; 2 raises the efficiency by 0.005 to 0.03.
        growth: Growth of the window by packets accepted in the interval of the loss, before it; one
            of `GROWTHS`. Changes the efficiency by less than 0.004.
        restart_in_flight: True if all packets of the first window after recovery are in
            propagation, even more than a link can have sent in a round trip. Unlikely; changes the
            efficiency by less than 0.005.
    """

    round_trip: float
    buffer: int
    slowdown: float = 2.0
    window: float = inf
    recovery: int = 3
    growth: str = "by_chance"
    restart_in_flight: bool = False

    def __post_init__(self) -> None:
        check(
            round_trip=(self.round_trip, AT_LEAST_ONE),
            buffer=(self.buffer, NOT_NEGATIVE),
            slowdown=(self.slowdown, Domain(1)),
            window=(self.window, LIMIT),
            recovery=(self.recovery, AT_LEAST_ONE),
        )
        if self.buffer != int(self.buffer):
            refuse("buffer", self.buffer, "must be a whole number of packets")
        if self.growth not in GROWTHS:
            refuse(
                "growth",
                self.growth,
                f"is unknown; choose from {', '.join(GROWTHS)}",
                "unknown-name",
            )
        if self.low_capacity < 1:
            refuse(
                "slowdown",
                self.slowdown,
                f"leaves no packet per round trip; take up to {self.round_trip:g}",
            )

    @property
    def high_capacity(self) -> int:
        """Whole packets per round trip at the high rate: no packet straddles two intervals (A4)."""
        return floor(self.round_trip + ROUNDING)

    @property
    def low_capacity(self) -> int:
        """The same at the low rate."""
        return floor(self.round_trip / self.slowdown + ROUNDING)

    @property
    def capacities(self) -> Indices:
        """Both, by the index of the rate."""
        return np.array([self.high_capacity, self.low_capacity])

    @property
    def burst_share(self) -> float:
        """1 - 1/r: share of packets arriving at the high rate that queue at the low rate."""
        return 1 - 1 / self.slowdown

    @property
    def loss_free_buffer(self) -> float:
        """Delta (1 - 1/r): buffer with which a source that follows the link never loses."""
        return self.round_trip * self.burst_share


class State(NamedTuple):
    """States at the beginning of intervals, as arrays.

    Attributes:
        a: Packets in the host.
        b: Packets at the bottleneck.
        d: Packets in propagation.
        link: Index of the link's rate in the interval.
        source: Index of the link's rate in the interval before.
    """

    a: Indices
    b: Indices
    d: Indices
    link: Indices
    source: Indices

    @property
    def window(self) -> Indices:
        """W."""
        return self.a + self.b + self.d


class Interval(NamedTuple):
    """The outcome of an interval, with or without loss.

    Attributes:
        a: Packets in the host afterwards, without loss.
        b: Packets at the bottleneck afterwards.
        d: Packets in propagation afterwards, as sent by the bottleneck.
        lost: True if a packet is lost.
        accepted: q, packets that the bottleneck accepts before the first loss; meaningful only with
            a loss.
    """

    a: Indices
    b: Indices
    d: Indices
    lost: Flags
    accepted: Array


class Source(Hashable, Protocol):
    """A source, which decides how fast packets reach the bottleneck."""

    def quotas(self, loop: Loop) -> tuple[tuple[float, float], ...]:
        """Returns the largest numbers of packets sent in an interval, with their probabilities.

        Each pair is a probability and a number, infinite if only the state limits it.
        """
        ...

    def at_even_odds(self) -> "Source":
        """Returns the source with these quotas, all equally probable, and else the same."""
        ...

    def interval(self, loop: Loop, state: State, growth: Indices, quota: float) -> Interval:
        """Returns the outcome of one interval from a state whose window grows by `growth`."""
        ...

    def restart(self, loop: Loop, window: Indices, link: Indices, source: Indices) -> State:
        """Returns the location of packets when slow start has reached a window."""
        ...


def slow_start(window: Indices) -> Indices:
    """Returns L(m) = ceil(log2 m), the intervals of slow start up to a window of m packets (A7)."""
    # That is the number of binary digits of m - 1.
    return np.frexp(np.maximum(np.asarray(window) - 1, 0))[1].astype(np.int64)
