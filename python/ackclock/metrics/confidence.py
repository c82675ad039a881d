"""Means with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Interval(NamedTuple):
    """A mean and where the true mean lies with some confidence.

    Attributes:
        mean: Not a number if nothing is known.
        half_width: Not a number for fewer than two values: one run has no spread.
        replicates: How many values there are.
    """

    mean: float
    half_width: float
    replicates: int

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width


def interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Student's t interval for the mean of independent values; those that are not a number are unknown and left out.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    from scipy.special import stdtrit  # scipy.stats has the same and takes a second to import

    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence} is not between 0 and 1")
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    count = known.size
    if count < 2:
        return Interval(float(known[0]) if count else math.nan, math.nan, count)
    quantile = float(stdtrit(count - 1, (1 + confidence) / 2))
    return Interval(float(known.mean()), quantile * float(known.std(ddof=1)) / math.sqrt(count), count)
