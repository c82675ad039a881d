"""How self-similar traffic is: the Hurst parameter of counts in successive intervals, by two methods.

Of counts without memory H is 1/2; of long-range dependent ones it lies between 1/2 and 1: their
bursts do not average out over longer intervals. Many ON/OFF sources together, with periods whose
tail has the shape a in (1, 2), have H = (3 - a)/2, the heavier tail of the two deciding (Taqqu,
Willinger, Sherman 1997, Computer Communication Review 27(2)).

Both methods look at how the fluctuation of counts grows with the scale, the number of intervals
taken together. H is about large scales, where the law of a single source is no more seen: give
those scales, and draw `fluctuations` over `scales` on logarithmic axes to see whether they lie on a
line there.

- `hurst_variance_time`: the variance of means of m counts falls as m^(2H - 2). It is biased
  downwards, the more so the larger H is and the fewer means there are: they are taken about their
  own mean, which wanders with them.
- `hurst_wavelet`: the mean square of the differences of neighbouring sums of m counts (details of
  the Haar wavelet) grows as m^(2H - 1) once normalised (Abry, Veitch 1998, IEEE Transactions on
  Information Theory 44(1)). Its details hardly depend on one another, a constant cancels, and it
  has a standard error.

Both errors are of one series. Several replicates say more: `ackclock.metrics.interval` of their
estimates.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.result import Result

__all__ = ["Hurst", "arrivals_per_interval", "hurst_variance_time", "hurst_wavelet"]

Array = NDArray[np.float64]

# At the largest scale a variance of fewer means than this says little; chosen here.
_FEWEST = 8


class Hurst(NamedTuple):
    """An estimate of the Hurst parameter.

    Attributes:
        value: H.
        standard_error: Of the wavelet method, as if counts were Gaussian; not a number of the
            other, whose points depend on one another.
        scales: Numbers of intervals that the line was fitted to.
        fluctuations: What it was fitted to at these scales: variances, or mean squares of details.
    """

    value: float
    standard_error: float
    scales: Array
    fluctuations: Array


def arrivals_per_interval(result: Result, hop: str, point: int = 0, replicate: int = 0) -> Array:
    """Packets that came to a shared hop in successive intervals between sampling times, after the warm-up.

    The scenario's `sample_interval` is the interval.

    Raises:
        ValueError: There is no such hop in that run.
    """
    from ackclock import units

    rows = result.rows("hops", point=point, replicate=replicate, hop=hop)
    if rows.num_rows == 0:
        raise InputError(
            "no-data",
            "hop",
            f"{hop!r} has no samples at point {point}, replicate {replicate}; choose a shared hop",
        )
    scenario = result.points[point]["scenario"]
    times = rows["time_s"].to_numpy()
    arrivals = rows["arrivals"].to_numpy()
    warm = times >= units.seconds(scenario["warmup"])
    # The run may end within an interval, and the warm-up too.
    whole = np.isclose(np.diff(times[warm]), units.seconds(scenario["sample_interval"]), rtol=1e-6)
    return np.asarray(np.diff(arrivals[warm])[whole], float)


def hurst_variance_time(counts: ArrayLike, smallest: int = 1, largest: int | None = None) -> Hurst:
    """The Hurst parameter by the slope of variance over time.

    Leland, Taqqu, Willinger, Wilson (1994), IEEE/ACM Transactions on Networking 2(1).

    Args:
        counts: In successive intervals of the same length.
        smallest: The smallest scale that is looked at, in intervals.
        largest: The largest; by default an eighth of the series at most. Scales are `smallest`
            times powers of two.

    Raises:
        ValueError: The series is too short for two scales, or does not vary.
    """
    counts = np.asarray(counts, float)
    scales = _scales(counts.size, smallest, largest)
    spread = [float(_sums(counts, int(scale)).var(ddof=1)) / scale**2 for scale in scales]
    return Hurst(1 + _slope(scales, np.array(spread)) / 2, math.nan, scales, np.array(spread))


def hurst_wavelet(counts: ArrayLike, smallest: int = 1, largest: int | None = None) -> Hurst:
    """The Hurst parameter by the logscale diagram of Haar details.

    Args:
        counts: In successive intervals of the same length.
        smallest: The smallest scale that is looked at, in intervals: neighbouring sums of so many
            are compared.
        largest: The largest; by default a sixteenth of the series at most. Scales are `smallest`
            times powers of two.

    Raises:
        ValueError: The series is too short for two scales, or does not vary.
    """
    from scipy.special import digamma, polygamma

    counts = np.asarray(counts, float)
    scales = _scales(counts.size // 2, smallest, largest)
    energy, numbers = np.empty(scales.size), np.empty(scales.size)
    for index, scale in enumerate(scales):
        sums = _sums(counts, int(scale))
        sums = sums[: sums.size // 2 * 2].reshape(-1, 2)
        details = (sums[:, 0] - sums[:, 1]) / math.sqrt(2 * scale)
        energy[index], numbers[index] = float(np.mean(details**2)), details.size
    # The logarithm of a mean of n squares is too small by ψ(n/2)/ln 2 − log2(n/2), and varies by
    # ζ(2, n/2)/ln² 2.
    corrected = energy / 2 ** (digamma(numbers / 2) / math.log(2) - np.log2(numbers / 2))
    variances = polygamma(1, numbers / 2) / math.log(2) ** 2
    slope = _slope(scales, corrected, 1 / variances)
    return Hurst((slope + 1) / 2, _slope_error(scales, variances) / 2, scales, energy)


def _scales(most: int, smallest: int, largest: int | None) -> Array:
    """`smallest` times powers of two, up to `largest` and to what `most` intervals have enough of."""
    if smallest < 1:
        raise InputError("out-of-range", "smallest", f"{smallest} is less than 1")
    end = most // _FEWEST if largest is None else min(largest, most // _FEWEST)
    if end < 2 * smallest:
        raise InputError(
            "no-data",
            "counts",
            f"{most} are too few for two scales from {smallest} on; give a longer series or a smaller scale",
        )
    return np.asarray(smallest * np.exp2(np.arange(int(math.log2(end / smallest)) + 1.0)))


def _sums(counts: Array, scale: int) -> Array:
    return np.asarray(counts[: counts.size // scale * scale].reshape(-1, scale).sum(axis=1))


def _slope(scales: Array, values: Array, weights: Array | None = None) -> float:
    """Of the line through the logarithms."""
    if not (values > 0).all():
        raise InputError(
            "no-data", "counts", "do not vary at every scale; a constant has no Hurst parameter"
        )
    weights = np.ones(scales.size) if weights is None else weights
    x, y = np.log2(scales), np.log2(values)
    x = x - np.average(x, weights=weights)
    return float((weights * x * y).sum() / (weights * x * x).sum())


def _slope_error(scales: Array, variances: Array) -> float:
    """The standard deviation of that slope."""
    x = np.log2(scales)
    x = x - np.average(x, weights=1 / variances)
    return float(1 / math.sqrt((x * x / variances).sum()))
