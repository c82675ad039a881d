"""The intervals that learners have just observed, as arrays by environment and learner."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ackclock import engine

Array = NDArray[np.float64]

_COLUMNS = {name: number for number, name in enumerate(engine.observed_columns())}
WIDTH = len(_COLUMNS)


@dataclass(frozen=True)
class Intervals:
    """The last interval of learners: what they heard in it, and where they stand.

    Each attribute is an array by environment and learner. What was not measured is NaN. A sender
    knows all of it.

    Attributes:
        rows: What the engine returns: environments by learners by columns.
        most_rate: The highest delivery rate of an interval of the episode so far, in bit/s.
    """

    rows: Array
    most_rate: Array

    def column(self, name: str) -> Array:
        """Returns a column of the engine by its name with unit."""
        column: Array = self.rows[..., _COLUMNS[name]]
        return column

    @property
    def decides(self) -> NDArray[np.bool_]:
        """True for learners whose interval has ended now."""
        decides: NDArray[np.bool_] = self.column("decides") != 0
        return decides

    @property
    def state(self) -> Array:
        """0: the run goes on. 1: it has ended. 2: the flow is complete. 3: a control failed."""
        return self.column("state")

    @cached_property
    def seconds(self) -> Array:
        """Length of the interval in s."""
        return self.column("interval_s")

    def per_second(self, name: str) -> Array:
        """Returns an amount of data of the interval as a rate in bit/s; 0 without an interval."""
        return _ratio(8 * self.column(name), self.seconds)

    @cached_property
    def throughput(self) -> Array:
        """Data newly known to be delivered, in bit/s."""
        return self.per_second("delivered_bytes")

    @cached_property
    def rtt(self) -> Array:
        """Mean round-trip time in s; the smoothed one if none was measured."""
        return or_else(self.column("rtt_mean_s"), self.column("smoothed_rtt_s"))

    @cached_property
    def rtt_ratio(self) -> Array:
        """Mean round-trip time over the smallest of the connection; 1 while none is known."""
        return or_else(self.rtt / self.column("least_rtt_s"), 1.0)

    @cached_property
    def loss(self) -> Array:
        """Data found lost, as a share of what was found lost or delivered."""
        lost = self.column("lost_bytes")
        return _ratio(lost, lost + self.column("delivered_bytes"))


def or_else(values: Array, otherwise: Array | float) -> Array:
    """Returns values, and others where they are not known."""
    filled: Array = np.where(np.isnan(values), otherwise, values)
    return filled


def _ratio(over: Array, under: Array) -> Array:
    """Returns quotients; 0 where nothing is above 0."""
    quotient: Array = np.divide(over, under, out=np.zeros_like(under), where=under > 0)
    return quotient
