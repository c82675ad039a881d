"""Time series of runs, and their means over intervals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock_papers.replicates import quotient

Array = NDArray[np.float64]

ESTIMATE = "rate_estimate_bit_per_s"


class Series(NamedTuple):
    """Samples of an instance in one replicate."""

    time_s: Array
    values: Array

    def mean(self, since_s: float, until_s: float) -> float:
        """Returns the mean of the known samples in (since_s, until_s]; NaN if there are none."""
        inside = (self.time_s > since_s) & (self.time_s <= until_s) & ~np.isnan(self.values)
        return float(self.values[inside].mean()) if inside.any() else float("nan")


def replicates(result: Result) -> list[int]:
    """Returns the numbers of the replicates."""
    return sorted(set(result.tables["flows"]["replicate"].to_pylist()))


def series(result: Result, column: str, flow: str, replicate: int = 0, instance: int = 0) -> Series:
    """Returns a column of the table `samples`, with NaN for null."""
    rows = result.rows("samples", point=0, replicate=replicate, flow=flow, instance=instance)
    return Series(rows["time_s"].to_numpy(), np.asarray(rows[column].to_numpy(), float))


def estimate(result: Result, flow: str, replicate: int = 0, instance: int = 0) -> Series:
    """Returns a sender's estimate of the path's rate, in Mbit/s."""
    sampled = series(result, ESTIMATE, flow, replicate, instance)
    return Series(sampled.time_s, sampled.values / 1e6)


def goodput(result: Result, flow: str, replicate: int = 0, instance: int = 0) -> Series:
    """Returns the rate of payload delivered since the previous sample, in Mbit/s.

    Its mean is the goodput of an interval.
    """
    delivered = series(result, "delivered_bytes", flow, replicate, instance)
    spent = np.diff(delivered.time_s, prepend=0.0)
    return Series(
        delivered.time_s,
        np.diff(delivered.values, prepend=0.0) * 8e-6 / np.where(spent > 0, spent, np.nan),
    )


def mean_estimates(
    result: Result, flow: str, since_s: float, until_s: float, count: int = 1
) -> list[float]:
    """Returns the mean estimate of a flow's instances over an interval by replicate, in Mbit/s."""
    return [
        float(
            np.mean(
                [
                    estimate(result, flow, replicate, instance).mean(since_s, until_s)
                    for instance in range(count)
                ]
            )
        )
        for replicate in replicates(result)
    ]


def mean_goodputs(
    result: Result, flow: str, since_s: float, until_s: float, count: int = 1
) -> list[float]:
    """Returns the mean goodput of a flow's instances over an interval by replicate, in Mbit/s."""
    return [
        float(
            np.mean(
                [
                    goodput(result, flow, replicate, instance).mean(since_s, until_s)
                    for instance in range(count)
                ]
            )
        )
        for replicate in replicates(result)
    ]


def told_and_got(
    result: Result, flow: str, since_s: float, until_s: float, count: int = 1, when: str = ""
) -> dict[str, Interval]:
    """Returns estimate, goodput and their ratio for a flow's instances over an interval.

    The keys are names of columns.
    """
    estimates, got = (
        mean(result, flow, since_s, until_s, count) for mean in (mean_estimates, mean_goodputs)
    )
    means = {
        "estimate": interval(estimates),
        "goodput": interval(got),
        "estimate over goodput": quotient(estimates, got),
    }
    named = {
        f"{name}, Mbit/s{when}" if name in ("estimate", "goodput") else f"{name}{when}": value
        for name, value in means.items()
    }
    return {name: value for name, value in named.items() if value.replicates}
