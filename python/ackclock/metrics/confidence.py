"""Means and differences of means with confidence intervals."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.table import Interval

_USUAL_CONFIDENCE = 0.95
#: Student's t for a confidence of 95 % and 1 to 30 degrees of freedom, as SciPy computes it. To
#: import SciPy for it takes more than a quarter of the time of a short command.
USUAL_T = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934,
    2.5705818356363146, 2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205,
    2.228138851986274, 2.200985160091639, 2.1788128296672284, 2.1603686564627913, 2.144786687917804,
    2.131449545559776, 2.1199052992212546, 2.1098155778333156, 2.1009220402410382,
    2.0930240544083087, 2.085963447265864, 2.0796138447276795, 2.0738730679040254,
    2.0686576104190486, 2.0638985616280245, 2.0595385527532972, 2.0555294386428735,
    2.0518305164802846, 2.0484071417952454, 2.045229642132703, 2.0422724563012378,
)  # fmt: skip
_USUAL_FREEDOM = range(1, len(USUAL_T) + 1)


def interval(values: ArrayLike, confidence: float = _USUAL_CONFIDENCE) -> Interval:
    """Returns Student's t interval for the mean of independent values; NaN values are left out.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    sample = _without_nan(values)
    count = sample.size
    if count < 2 or not np.isfinite(sample).all():  # an infinite ratio has no spread
        return Interval(float(sample.mean()) if count else math.nan, math.nan, count)
    half_width = _quantile(count - 1, confidence) * float(sample.std(ddof=1)) / math.sqrt(count)
    return Interval(float(sample.mean()), half_width, count)


def difference(
    values: ArrayLike, others: ArrayLike, confidence: float = _USUAL_CONFIDENCE
) -> Interval:
    """Returns Welch's interval for the mean of `values` less that of `others`.

    Source: Biometrika 34, 1947. The samples are independent and may have different variances. NaN
    values are left out.
    `replicates` counts the smaller sample; with fewer than two values there is no half width.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    samples = [_without_nan(values), _without_nan(others)]
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
        variance**2 / (sample.size - 1) for variance, sample in zip(v, samples, strict=True)
    )
    return Interval(mean, _quantile(float(freedom), confidence) * math.sqrt(v.sum()), fewest)


def _without_nan(values: ArrayLike) -> NDArray[np.float64]:
    array: NDArray[np.float64] = np.asarray(values, float)
    return np.compress(~np.isnan(array), array)


def _quantile(freedom: float, confidence: float) -> float:
    """Returns the t such that the share `confidence` of Student's distribution is within ±t."""
    if confidence == _USUAL_CONFIDENCE and freedom in _USUAL_FREEDOM:
        return USUAL_T[int(freedom) - 1]
    if not 0 < confidence < 1:
        raise InputError("out-of-range", "confidence", f"{confidence} is not between 0 and 1")
    from scipy.special import stdtrit  # scipy.stats has it too, but takes a second to import

    return float(stdtrit(freedom, (1 + confidence) / 2))
