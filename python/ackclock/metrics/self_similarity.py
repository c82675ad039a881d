"""Self-similarity of traffic: estimates of the Hurst parameter H of counts per interval.

Counts without memory have H = 1/2. Long-range dependent counts have H between 1/2 and 1: their
bursts do not average out over longer intervals. Many ON/OFF sources whose periods have a tail of
shape a in (1, 2) have H = (3 - a)/2, with the heavier of the two tails (Taqqu, Willinger, Sherman
1997, Computer Communication Review 27(2)).

Both methods fit the growth of fluctuations with the scale, the number of intervals added together.
H describes large scales, at which the law of a single source no longer matters. Choose those
scales, and plot `fluctuations` over `scales` on logarithmic axes to see if they lie on a line.

- `hurst_variance_time`: The variance of means of m counts falls as m^(2H - 2). It underestimates H,
  by more for larger H and fewer means. The reason is that deviations are from the sample mean,
  which varies too.
- `hurst_wavelet`: The mean square of the differences of neighbouring sums of m counts (details of
  the Haar wavelet), once normalised, grows as m^(2H - 1) (Abry, Veitch 1998, IEEE Transactions on
  Information Theory 44(1)). Its details are nearly independent, a constant cancels, and it has a
  standard error.

Both errors are those of one series. Several replicates tell more: apply
`ackclock.metrics.interval` to their estimates.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.result.result import Result

Array = NDArray[np.float64]

# With fewer means than this at the largest scale, their variance is too uncertain. Chosen here.
_FEWEST = 8


class Hurst(NamedTuple):
    """An estimate of the Hurst parameter.

    Attributes:
        value: H.
        standard_error: Standard error of the wavelet method for Gaussian counts; NaN for the other
            method, whose points depend on one another.
        scales: Numbers of intervals to which the line was fitted.
        fluctuations: Fitted values at these scales: variances, or mean squares of details.
    """

    value: float
    standard_error: float
    scales: Array
    fluctuations: Array


def arrivals_per_interval(result: Result, hop: str, point: int = 0, replicate: int = 0) -> Array:
    """Returns the packets that arrived at a shared hop in successive sampling intervals.

    The warm-up does not count. The interval is the scenario's `sample_interval`.

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
    # The run and the warm-up may end within an interval.
    whole = np.isclose(np.diff(times[warm]), units.seconds(scenario["sample_interval"]), rtol=1e-6)
    return np.asarray(np.diff(arrivals[warm])[whole], float)


def hurst_variance_time(counts: ArrayLike, smallest: int = 1, largest: int | None = None) -> Hurst:
    """Estimates the Hurst parameter by the slope of the variance-time plot.

    Leland, Taqqu, Willinger, Wilson (1994), IEEE/ACM Transactions on Networking 2(1).

    Args:
        counts: Counts in successive intervals of equal length.
        smallest: Smallest scale, in intervals.
        largest: Largest scale; by default an eighth of the series. Scales are `smallest` times
            powers of two.

    Raises:
        ValueError: The series is too short for two scales, or is constant.
    """
    counts = np.asarray(counts, float)
    scales = _scales(counts.size, smallest, largest)
    spread = [float(_sums(counts, int(scale)).var(ddof=1)) / scale**2 for scale in scales]
    return Hurst(1 + _slope(scales, np.array(spread)) / 2, math.nan, scales, np.array(spread))


def hurst_wavelet(counts: ArrayLike, smallest: int = 1, largest: int | None = None) -> Hurst:
    """Estimates the Hurst parameter by the logscale diagram of Haar details.

    Args:
        counts: Counts in successive intervals of equal length.
        smallest: Smallest scale: the number of intervals in each of two neighbouring sums.
        largest: Largest scale; by default a sixteenth of the series. Scales are `smallest` times
            powers of two.

    Raises:
        ValueError: The series is too short for two scales, or is constant.
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
    # The logarithm of a mean of n squares is biased by ψ(n/2)/ln 2 − log2(n/2), and has the
    # variance ζ(2, n/2)/ln² 2.
    corrected = energy / 2 ** (digamma(numbers / 2) / math.log(2) - np.log2(numbers / 2))
    variances = polygamma(1, numbers / 2) / math.log(2) ** 2
    slope = _slope(scales, corrected, 1 / variances)
    return Hurst((slope + 1) / 2, _slope_error(scales, variances) / 2, scales, energy)


def _scales(most: int, smallest: int, largest: int | None) -> Array:
    """Returns `smallest` times powers of two, up to `largest` and to `_FEWEST` sums of each."""
    if smallest < 1:
        raise InputError("out-of-range", "smallest", f"{smallest} is less than 1")
    end = most // _FEWEST if largest is None else min(largest, most // _FEWEST)
    if end < 2 * smallest:
        raise InputError(
            "no-data",
            "counts",
            f"{most} are too few for two scales from {smallest} on; give a longer series or a "
            "smaller scale",
        )
    return np.asarray(smallest * np.exp2(np.arange(int(math.log2(end / smallest)) + 1.0)))


def _sums(counts: Array, scale: int) -> Array:
    return np.asarray(counts[: counts.size // scale * scale].reshape(-1, scale).sum(axis=1))


def _slope(scales: Array, values: Array, weights: Array | None = None) -> float:
    """Returns the slope of the line through the logarithms."""
    if not (values > 0).all():
        raise InputError(
            "no-data", "counts", "do not vary at every scale; a constant has no Hurst parameter"
        )
    weights = np.ones(scales.size) if weights is None else weights
    x, y = np.log2(scales), np.log2(values)
    x = x - np.average(x, weights=weights)
    return float((weights * x * y).sum() / (weights * x * x).sum())


def _slope_error(scales: Array, variances: Array) -> float:
    """Returns the standard deviation of that slope."""
    x = np.log2(scales)
    x = x - np.average(x, weights=1 / variances)
    return float(1 / math.sqrt((x * x / variances).sum()))
