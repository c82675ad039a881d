"""Differences of two samples of replicates: their intervals, and how they stand to chance."""

import math
from collections.abc import Mapping

from ackclock.comparison.causes.cause import NOTICEABLE
from ackclock.metrics import Interval, difference, interval

# Kinds of differences. A slight one (`NOTICEABLE`) exceeds its interval only because numbers hardly
# spread, and no cause is sought.
WITHIN, EXCEEDS, UNSURE = "within its interval", "exceeds its interval", "no interval"
SLIGHT = "exceeds its interval, less than 1 %"

# Numbers with a smaller relative difference are equal: they were summed in another order.
_EQUAL = 1e-9


def gap(values: Mapping[int, float], others: Mapping[int, float], *, paired: bool) -> Interval:
    """Returns the mean of some replicates less that of others, with its 95 % interval.

    Args:
        values: By replicate.
        others: By replicate.
        paired: True if equal replicates have the same draws, so that they are compared one by one
            (Student's t). Otherwise, and with fewer than two in common, the interval is Welch's.
    """
    both = [replicate for replicate in values if replicate in others] if paired else []
    if len(both) > 1:
        return interval([values[replicate] - others[replicate] for replicate in both])
    return difference(list(values.values()), list(others.values()))


def standing(less: Interval, mean: float) -> str:
    """Returns how a difference from a mean stands to its interval."""
    if abs(less.mean) <= _EQUAL * abs(mean):
        return WITHIN
    if math.isnan(less.half_width):
        return UNSURE
    if abs(less.mean) <= less.half_width:
        return WITHIN
    return SLIGHT if abs(less.mean) < NOTICEABLE * abs(mean) else EXCEEDS
