"""Quantities that are compared between two simulators: one record per run, filled from either."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Outcome:
    """One run of a scenario. Sequences have one value per flow."""

    #: Payload delivered in order between warm-up and end, over that time, in bit/s.
    goodput_bit_per_s: Sequence[float]
    #: Data packets retransmitted since the beginning.
    retransmitted_packets: Sequence[int]
    #: Retransmission timeouts since the beginning.
    timeouts: Sequence[int]
    #: cwnd at the very first fast retransmit, which ends slow start, in packets; `None` without
    #: one.
    slow_start_window: Sequence[float | None]
    #: The largest cwnd at a fast retransmit after the warm-up, in packets; `None` without one.
    overflow_window: Sequence[float | None]
    #: Share of the packets arriving at the bottleneck between warm-up and end that its queue drops.
    drop_rate: float

    def utilisation(self, rate_bit_per_s: float) -> float:
        """Goodput of all flows over the capacity."""
        return sum(self.goodput_bit_per_s) / rate_bit_per_s

    def jain_index(self) -> float:
        """Jain's index of the goodputs (Jain, Chiu, Hawe 1984).

        It is 1 for equal shares, 1/n if one flow has everything.
        """
        goodput = np.asarray(self.goodput_bit_per_s)
        return float(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum()))


@dataclass(frozen=True)
class Interval:
    """A mean and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Computes the interval of at least two independent replicates."""
        half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
        return cls(float(np.mean(values)), float(half))

    def agrees_with(self, other: Interval) -> bool:
        """Returns whether the difference of the means lies within its 95 % interval."""
        return abs(self.mean - other.mean) <= math.hypot(self.half_width, other.half_width)

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.half_width:.2g}"
