"""A window that fills its own buffer: it determines round-trip time and overflow.

Behind a link of rate L (segments/s) with a buffer of B segments and a base round-trip time r (s), a
window above the pipe L r queues: RTT(w) = max(r, w/L). Above L r + B a segment is certainly lost,
s_w = 0. Saw-tooth and random loss are then one chain. Lakshman and Madhow, "The performance of
TCP/IP for networks with high bandwidth-delay products and random loss", IEEE/ACM Transactions on
Networking 5(3), 1997.
"""

from dataclasses import dataclass
from math import floor, inf

import numpy as np

from ackclock.models.aimd_chain import chain as window_chain
from ackclock.models.aimd_chain import rtt
from ackclock.models.aimd_chain.chain import WindowChain, check_largest_window, check_rate
from ackclock.models.aimd_chain.general_aimd import HALVING
from ackclock.models.aimd_chain.growth import Response
from ackclock.models.aimd_chain.loss import Loss
from ackclock.models.model import Array
from ackclock.models.refusal import refuse


@dataclass(frozen=True)
class Overflow:
    """A loss law plus the loss of everything beyond `room` segments in a round."""

    random: Loss
    room: float

    def survive(self, windows: Array) -> Array:
        """Returns s_w."""
        return np.where(windows > self.room, 0, self.random.survive(windows))

    def lose(self, windows: Array) -> Array:
        """Returns f_w."""
        return np.where(windows > self.room, 1, self.random.lose(windows))

    def segments(self, windows: Array) -> Array:
        """Returns M_w; the first segment beyond the room is the last before news of a loss."""
        return self.random.segments(np.minimum(windows, floor(self.room) + 1))


@dataclass(frozen=True)
class Bottleneck:
    """The link.

    Attributes:
        rate: L in segments/s.
        base_rtt: r in s, with nothing queued.
        buffer: B in segments.
    """

    rate: float
    base_rtt: float
    buffer: float

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.rate == inf:
            refuse("rate", self.rate, "must be finite: without a limit nothing queues")
        if not 0 < self.base_rtt < inf:
            refuse("base_rtt", self.base_rtt, "must be positive, in s; for example 0.1")
        if not 0 <= self.buffer < inf:
            refuse("buffer", self.buffer, "must not be negative, in segments; for example 20")

    @property
    def room(self) -> float:
        """Segments that fit into pipe and buffer."""
        return self.rate * self.base_rtt * (1 + 1e-12) + self.buffer

    @property
    def rtt(self) -> rtt.PerWindow:
        """The law of RTT(w)."""
        return rtt.per_window(lambda w: rtt.constant(max(self.base_rtt, w / self.rate)))

    def queue(self, windows: Array) -> Array:
        """Returns the queue length in segments for each window."""
        return np.clip(windows - self.rate * self.base_rtt, 0, self.buffer)


def solve(
    loss: Loss, bottleneck: Bottleneck, response: Response = HALVING, w_max: float = inf
) -> WindowChain:
    """Solves the chain whose windows end at the overflow, or at `w_max` if that is less."""
    check_largest_window(min(w_max, 2.0))
    reach = max(bottleneck.room, 2.0)
    while (windows := response.path(reach)[0])[-1] <= bottleneck.room:
        reach *= 2
    top = float(windows[windows > bottleneck.room][0])
    return window_chain.solve(Overflow(loss, bottleneck.room), min(w_max, top), response)
