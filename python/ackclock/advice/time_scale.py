"""The time scale of a capacity trace, approximated as a link of two rates.

A threshold cuts the rates into high and low. It is the one that leaves the least variance within
the two classes (N. Otsu, "A threshold selection method from gray-level histograms", IEEE
Transactions on Systems, Man, and Cybernetics 9(1), 1979). Each measuring interval is then high or
low. p01 and p10 are the shares of high and low intervals that are followed by one of the other
kind. A link may change at any time with rates a and b. Sampled every h it has

    `p01 = a (1 - e^(-(a + b) h))/(a + b),    p10 = b (1 - e^(-(a + b) h))/(a + b)`

so that 1/a and 1/b are the mean times at the high and at the low rate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ackclock.metrics.bootstrap import middle, resampled_sums

Array = NDArray[np.float64]

#: Mean number of Mahimahi's opportunities in an interval. With fewer, chance decides their number
#: more than the rate does. Chosen here.
OPPORTUNITIES = 10
#: If rates are known at every moment, a round trip is cut into this many intervals. A link that
#: changes ten times in a round trip then still stays for 50 of them. Chosen here.
INTERVALS_PER_ROUND_TRIP = 500
#: More intervals of a trace than this add nothing. Chosen here.
MOST_INTERVALS = 2_000_000

_OPPORTUNITY_BITS = 1500 * 8
_MILLISECOND = 1e-3

# Limit of p01 + p10, which is one if successive intervals are independent: times below half an
# interval cannot be resolved. 1 - e^-4 means (a + b) h = 4, two changes in an interval.
_MOST_CHANGES = 0.98

# Sojourns in a block of the bootstrap, so that a block contains the correlation of successive ones.
# Chosen here.
_SOJOURNS_PER_BLOCK = 10
_MOST_BLOCKS = 1000
_RESAMPLES = 1000
_ROUNDING = 1e-9
# 95 % of a normal variable lies within this many standard deviations.
_NORMAL = 1.96


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def over(self, unit: float) -> "Estimate":
        """Returns the estimate divided by a unit."""
        return Estimate(self.value / unit, self.low / unit, self.high / unit)


@dataclass(frozen=True)
class TimeScale:
    """A trace approximated as a link of two rates.

    Attributes:
        interval_s: Measuring interval.
        threshold_bit_per_s: Intervals above it are high.
        high_bit_per_s: Mean rate of high intervals.
        low_bit_per_s: Mean rate of low intervals.
        explained: Share of the variance of the rates that the two levels explain.
        changes: Number of times that the trace crosses the threshold.
        fall: p01, the probability that a low interval follows a high one.
        rise: p10, the probability that a high interval follows a low one.
        high_s: Mean time at the high rate.
        low_s: Mean time at the low rate.
        sojourn_s: tau, the mean of both.
    """

    interval_s: float
    threshold_bit_per_s: float
    high_bit_per_s: float
    low_bit_per_s: float
    explained: float
    changes: int
    fall: float
    rise: float
    high_s: Estimate
    low_s: Estimate
    sojourn_s: Estimate

    @property
    def mean_bit_per_s(self) -> float:
        """Mean rate of the link of two rates, which is that of the trace."""
        share = self.rise / (self.rise + self.fall)
        return share * self.high_bit_per_s + (1 - share) * self.low_bit_per_s


def measuring_interval(form: str, mean_bit_per_s: float, length_s: float, rtt_s: float) -> float:
    """Returns the default measuring interval of a trace.

    Args:
        form: Format of the trace, as in `ackclock.advice.traces.FORMATS`.
        mean_bit_per_s: Its mean rate.
        length_s: Its duration.
        rtt_s: The round-trip time in question.
    """
    finest = max(rtt_s / INTERVALS_PER_ROUND_TRIP, length_s / MOST_INTERVALS)
    return enough(form, mean_bit_per_s, finest)


def enough(form: str, mean_bit_per_s: float, interval_s: float) -> float:
    """Returns that interval, or a longer one in which the rate outweighs counting noise."""
    if form != "mahimahi":
        return interval_s
    longer = max(interval_s, OPPORTUNITIES * _OPPORTUNITY_BITS / mean_bit_per_s)
    return float(np.ceil(longer / _MILLISECOND - _ROUNDING)) * _MILLISECOND


def grain_bit_per_s(form: str, interval_s: float) -> float:
    """Returns the resolution of measured rates: one opportunity more or less, or rounding."""
    return _OPPORTUNITY_BITS / interval_s if form == "mahimahi" else 1.0


def estimate(rates: Array, interval_s: float, grain: float = 0.0) -> TimeScale | None:
    """Returns the link of two rates that is most like a trace; None if its rate never changes.

    Args:
        rates: Mean rates of successive intervals, in bit/s; at least two.
        interval_s: Duration of an interval.
        grain: Resolution of the rates, in bit/s.
    """
    if np.ptp(rates) <= grain * (1 + _ROUNDING):
        return None
    threshold, explained = two_levels(rates)
    high = rates > threshold
    # Between successive intervals: how many were high and low, and how many of each changed.
    parts = np.array([high[:-1], high[:-1] & ~high[1:], ~high[:-1], ~high[:-1] & high[1:]], float)
    sums = parts.sum(axis=1)
    changes = int(sums[1] + sums[3])
    fall, rise = _shares(sums)
    sojourns = _sojourns(sums) * interval_s
    ends = _interval_ends(parts, sojourns[2] / interval_s, changes) * interval_s
    estimates = [
        Estimate(float(value), *map(float, pair))
        for value, pair in zip(sojourns, ends, strict=True)
    ]
    means = [float(rates[state].mean()) for state in (high, ~high)]
    return TimeScale(
        interval_s, threshold, means[0], means[1], explained, changes, float(fall), float(rise),
        *estimates
    )  # fmt: skip


def two_levels(rates: Array) -> tuple[float, float]:
    """Returns Otsu's threshold and the share of the variance that is between the classes.

    The threshold is the middle between the means of both classes.
    """
    ordered = np.sort(rates)
    below = np.arange(1, ordered.size)
    reached = np.cumsum(ordered)
    lower, upper = reached[:-1] / below, (reached[-1] - reached[:-1]) / (ordered.size - below)
    between = below * (ordered.size - below) / ordered.size**2 * (upper - lower) ** 2
    best = int(np.argmax(between))
    variance = float(ordered.var())
    return float((lower[best] + upper[best]) / 2), float(
        between[best] / variance
    ) if variance > 0 else 1.0


def _shares(sums: Array) -> tuple[Array, Array]:
    """Returns p01 and p10.

    At least half a change of each kind is counted, as a trace may end before it shows one.
    """
    highs, falls, lows, rises = sums
    return np.maximum(falls, 0.5) / np.maximum(highs, 1), np.maximum(rises, 0.5) / np.maximum(
        lows, 1
    )


def _sojourns(sums: Array) -> Array:
    """Returns the mean times at the high rate, at the low rate, and of both, in intervals."""
    fall, rise = _shares(sums)
    either = fall + rise
    seen = np.minimum(either, _MOST_CHANGES)
    total = -np.log1p(-seen)  # (a + b) h
    high, low = either / (fall * total), either / (rise * total)
    return np.array([high, low, (high + low) / 2])


def _interval_ends(parts: Array, sojourn: float, changes: int) -> Array:
    """Returns the lower and upper ends of the three mean times, in intervals.

    They come from the block bootstrap. With too few changes to compare blocks, sojourns are taken
    as exponential: the mean of n has a standard deviation of tau/sqrt(n).
    """
    intervals = parts.shape[-1]
    block = int(np.ceil(max(_SOJOURNS_PER_BLOCK * sojourn, intervals / _MOST_BLOCKS)))
    sums = resampled_sums(parts, block, _RESAMPLES)
    if sums is not None:
        return np.array([middle(resampled) for resampled in _sojourns(sums)])
    means = _sojourns(parts.sum(axis=1))
    counts = np.array([changes / 2, changes / 2, changes])
    # In logarithms, in which a mean of few values is less skewed.
    factor = np.exp(_NORMAL / np.sqrt(np.maximum(counts, 1)))
    return np.column_stack([means / factor, means * factor])
