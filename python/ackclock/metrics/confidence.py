"""Means and differences of means with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError


class Interval(NamedTuple):
    """A mean and its confidence interval.

    Attributes:
        mean: NaN if nothing is known.
        half_width: NaN for fewer than two values, as one run has no spread.
        replicates: Number of values.
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
    """Returns Student's t interval for the mean of independent values; NaN values are left out.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    known = _known(values)
    count = known.size
    if count < 2 or not np.isfinite(known).all():  # an infinite ratio has no spread
        return Interval(float(known.mean()) if count else math.nan, math.nan, count)
    half_width = _quantile(count - 1, confidence) * float(known.std(ddof=1)) / math.sqrt(count)
    return Interval(float(known.mean()), half_width, count)


def difference(values: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Interval:
    """Returns Welch's interval for the mean of `values` less that of `others`.

    Source: Biometrika 34, 1947. The samples are independent and may have different variances. NaN
    values are left out.
    `replicates` counts the smaller sample; with fewer than two values there is no half width.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    samples = [_known(values), _known(others)]
    fewest = min(sample.size for sample in samples)
    if fewest == 0:
        return Interval(math.nan, math.nan, 0)
    mean = float(samples[0].mean()) - float(samples[1].mean())
    if fewest < 2 or not all(np.isfinite(sample).all() for sample in samples):
        return Interval(mean, math.nan, fewest)  # an infinite ratio has no spread
    # v = s^2/n of each sample. The Welch-Satterthwaite degrees of freedom are (v1 + v2)^2 / sum of
    # v^2/(n - 1).
    v = np.array([sample.var(ddof=1) / sample.size for sample in samples])
    if v.sum() == 0:
        return Interval(mean, 0.0, fewest)
    freedom = v.sum() ** 2 / sum(
        one**2 / (sample.size - 1) for one, sample in zip(v, samples, strict=True)
    )
    return Interval(mean, _quantile(float(freedom), confidence) * math.sqrt(v.sum()), fewest)


def _known(values: ArrayLike) -> NDArray[np.float64]:
    known: NDArray[np.float64] = np.asarray(values, float)
    return np.compress(~np.isnan(known), known)


def _quantile(freedom: float, confidence: float) -> float:
    """Returns the t such that the share `confidence` of Student's distribution is within ±t."""
    from scipy.special import stdtrit  # scipy.stats has it too, but takes a second to import

    if not 0 < confidence < 1:
        raise InputError("out-of-range", "confidence", f"{confidence} is not between 0 and 1")
    return float(stdtrit(freedom, (1 + confidence) / 2))
