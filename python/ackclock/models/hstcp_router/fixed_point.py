"""The fixed point of windows, round-trip times and loss at a router.

Flows under HighSpeed TCP with round-trip times r_i without queueing share a router of C packets/s.
Their offered load,

    F(rho) = (1/C) sum_i w(p(rho))/R_i(rho),   R_i = r_i + N(rho)/C,

must equal rho. Here w(p) is RFC 3649's response function, and p and N are the router's
(`occupancy`). If packets come in bursts, N counts customers of g packets.

There is one solution, whatever K and the r_i. As p and N rise with rho and w falls with p, F falls
from infinity at rho = 0 (p falls to zero) to a bound at large rho (p rises to one). The buffer
determines the slope F'(rho) there. Plain substitution rho <- F(rho) converges only where the slope
is above -1. It is -46 with 62 places and -8000 with 12,500 (1 Gbit/s, ten flows of 120 ms). The
solution is therefore found by bisection of ln rho - ln F(rho), which is increasing.
"""

from dataclasses import dataclass
from math import log
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import AT_LEAST_ONE, POSITIVE, check
from ackclock.models.hstcp_response import log_slope, log_window
from ackclock.models.hstcp_router.occupancy import Occupancy
from ackclock.models.model import Array

# First search interval. If many flows have few packets in the pipe, or few flows many, the solution
# is outside; the ends are then moved.
SEARCHED = (1e-6, 50.0)

# Precision of ln rho: a few roundings of numbers of order one. A step of Newton's method has the
# square of the error before, so that after one of `_LAST_STEP` only roundings are left.
_CLOSE, _LAST_STEP = 4 * np.finfo(float).eps, 1e-12


class Router(Protocol):
    """The law of the router's queue."""

    def occupancy(self, log_rho: Array) -> Occupancy:
        """Returns the occupancy at an offered load."""
        ...


@dataclass(frozen=True)
class FixedPoint:
    """The solution. All arrays have one shape, but `rates` has an additional axis for the flows.

    Attributes:
        load: rho, offered load over the link's rate.
        loss: p.
        utilisation: rho (1 - p).
        queue: Mean packets at the router, with the one being sent.
        window: w(p) in packets, of every flow.
        rates: Goodput of each flow, w/R_i (1 - p) packets/s.
        slope: F'(rho), negative.
    """

    load: Array
    loss: Array
    utilisation: Array
    queue: Array
    window: Array
    rates: Array
    slope: Array


def solve(
    router: Router, rate: ArrayLike, round_trips: ArrayLike, burst: ArrayLike = 1
) -> FixedPoint:
    """Returns the solution for one router and its flows, or for arrays of them.

    Args:
        router: Its law, for the shape of `rate`; it holds customers.
        rate: C in packets/s.
        round_trips: r_i in s, without queueing; the last axis is that of the flows.
        burst: g, packets per customer.

    Raises:
        ValueError: An argument is out of its domain.
    """
    offered = Offered(
        router, np.asarray(rate, float), np.asarray(round_trips, float), np.asarray(burst, float)
    )
    low, high = (np.full(offered.shape, log(end)) for end in SEARCHED)
    while (moved := offered.excess(low) > 0).any():
        low = np.where(moved, 2 * low, low)
    while (moved := offered.excess(high) < 0).any():
        high = np.where(moved, 2 * high, high)
    return offered.solution(_zero(offered, low, high))


def _zero(offered: "Offered", low: Array, high: Array) -> Array:
    """Returns ln rho at the solution, which is in an interval.

    A step of Newton's method that leaves the interval goes to its middle instead, as does every
    third step, so that the interval shrinks in any case.
    """
    x, steps = (low + high) / 2, 0
    while True:
        excess, slope = offered.excess_and_slope(x)
        low, high = np.where(excess > 0, low, x), np.where(excess > 0, x, high)
        step = np.clip(x - excess / slope, low, high)
        scale = np.maximum(1, np.abs(x))
        if ((np.abs(step - x) <= _LAST_STEP * scale) | (high - low <= _CLOSE * scale)).all():
            return step
        steps += 1
        inside = (low < step) & (step < high) & (steps % 3 != 0)
        x = np.where(inside, step, (low + high) / 2)


@dataclass(frozen=True)
class Offered:
    """F, in logarithms.

    Attributes:
        router: The router's law.
        rate: C.
        round_trips: r_i.
        burst: g.
    """

    router: Router
    rate: Array
    round_trips: Array
    burst: Array

    def __post_init__(self) -> None:
        check(
            rate=(self.rate, POSITIVE),
            round_trips=(self.round_trips, POSITIVE),
            burst=(self.burst, AT_LEAST_ONE),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the solution."""
        law = self.router.occupancy(
            np.zeros(np.broadcast_shapes(self.rate.shape, self.burst.shape))
        )
        return np.broadcast_shapes(law.mean.shape, self.rate.shape, self.round_trips.shape[:-1])

    def excess(self, log_rho: Array) -> Array:
        """Returns ln rho - ln F(rho), which rises with rho and is zero at the solution."""
        return self._excess(log_rho, self.router.occupancy(log_rho))

    def excess_and_slope(self, log_rho: Array) -> tuple[Array, Array]:
        """Returns the excess and its slope, which is at least one."""
        law = self.router.occupancy(log_rho)
        return self._excess(log_rho, law), 1 - self._slope(law)

    def _excess(self, log_rho: Array, law: Occupancy) -> Array:
        per_second = (1 / self._with_queue(law)).sum(-1)
        return np.asarray(log_rho - (log_window(law.log_loss) + np.log(per_second / self.rate)))

    def _slope(self, law: Occupancy) -> Array:
        """Returns d ln F/d ln rho."""
        R = self._with_queue(law)
        by_window = log_slope(law.log_loss) * law.log_loss_slope
        by_queue = self.burst * law.variance / self.rate * (R**-2).sum(-1) / (1 / R).sum(-1)
        return np.asarray(by_window - by_queue)

    def _with_queue(self, law: Occupancy) -> Array:
        """Returns R_i."""
        return np.asarray(self.round_trips + (self.burst * law.mean / self.rate)[..., np.newaxis])

    def solution(self, log_rho: Array) -> FixedPoint:
        """Returns the solution at its load; the slope is rho d ln F/d rho, as F is rho there."""
        law = self.router.occupancy(log_rho)
        R = self._with_queue(law)
        kept, window = -np.expm1(law.log_loss), np.exp(log_window(law.log_loss))
        return FixedPoint(
            load=np.exp(log_rho),
            loss=np.exp(law.log_loss),
            utilisation=np.exp(log_rho) * kept,
            queue=self.burst * law.mean,
            window=window,
            rates=(window * kept)[..., np.newaxis] / R,
            slope=self._slope(law),
        )
