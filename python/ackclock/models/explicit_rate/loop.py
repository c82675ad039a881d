"""The closed loop of sender, source, bottleneck and propagation, and what is assumed of TCP around a loss.

S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control and
stochastic available capacity", IEEE/ACM Transactions on Networking 9(4), 2001. The model is
reconstructed from the paper's prose: what the prose leaves open is a field here, and says how sure
its default is.

A sender's window is a + b + d packets: a wait in the host for the source's rate, b at the
bottleneck, d are in propagation, packets or their ACKs. Time goes in round trips; the time unit is
one packet at the link's high rate.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import floor, inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock.models.domain import AT_LEAST_ONE, LIMIT, NOT_NEGATIVE, Domain, check
from ackclock.models.refusal import refuse

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: How the window grows by the packets that are accepted before the first loss: by chance, by one,
#: or not at all.
GROWTHS = ("by_chance", "by_one", "none")

# Products like n (1 - 1/r) are compared with whole numbers: what they are off by rounding counts as
# equal.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Loop:
    """Everything but the source and how often the link changes.

    Attributes:
        round_trip: Delta, the propagation delay there and back in packets of the high rate.
        buffer: B_max, packets that the bottleneck holds.
        slowdown: r, the high rate over the low one.
        window: W_max, the largest window in packets. That growth stops there is 70 % sure;
            immaterial where it is well above what the loop holds.
        recovery: Intervals from the one with the loss to the beginning of slow start, the former
            included. 85 % sure; 2 raises the efficiency by 0.005 to 0.03.
        growth: How much the window grows by packets accepted in the interval of the loss, before
            it; one of `GROWTHS`. Moves the efficiency by less than 0.004.
        restart_in_flight: Whether all packets of the first window after recovery are in
            propagation, even more than a link can have sent in a round trip. Not likely; moves the
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
        """Whole packets in a round trip at the high rate: no packet straddles two intervals (A4)."""
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
        """1 - 1/r: what stays at the bottleneck of packets that come at the high rate and leave at the low one."""
        return 1 - 1 / self.slowdown

    @property
    def loss_free_buffer(self) -> float:
        """Delta (1 - 1/r): with so much buffer a source that follows the link a round trip later never loses."""
        return self.round_trip * self.burst_share


class State(NamedTuple):
    """States at the beginning of intervals, as arrays.

    Attributes:
        a: In the host.
        b: At the bottleneck.
        d: In propagation.
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
    """What happens in an interval, if nothing is lost and if something is.

    Attributes:
        a: In the host afterwards, without loss.
        b: At the bottleneck afterwards.
        d: In propagation afterwards: what the bottleneck sent.
        lost: Whether a packet is.
        accepted: q, packets that the bottleneck accepts before the first that is lost; of meaning
            only with a loss.
    """

    a: Indices
    b: Indices
    d: Indices
    lost: Flags
    accepted: Array


class Source(Hashable, Protocol):
    """What decides how fast packets reach the bottleneck."""

    def quotas(self, loop: Loop) -> tuple[tuple[float, float], ...]:
        """How many packets it may send in an interval, at most: pairs of a probability and a number.

        It is infinite where the state alone decides.
        """
        ...

    def interval(self, loop: Loop, state: State, growth: Indices, quota: float) -> Interval:
        """One interval from a state in which the window grows by so many packets."""
        ...

    def restart(self, loop: Loop, window: Indices, link: Indices, source: Indices) -> State:
        """Where packets are when slow start has reached a window."""
        ...


def slow_start(window: Indices) -> Indices:
    """L(m) = ceil(log2 m), the intervals of slow start up to a window of m packets (A7)."""
    # The binary digits of m - 1.
    return np.frexp(np.maximum(np.asarray(window) - 1, 0))[1].astype(np.int64)
