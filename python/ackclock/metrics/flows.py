"""Metrics of flows.

A flow's instances are taken together in each replicate first: an interval is about the spread between replicates.
"""

import math
import warnings
from collections.abc import Callable

import numpy as np

from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped
from ackclock.result import Result


def per_flow(names: tuple[str, ...], combine: Callable[[Columns], float]) -> Callable[[Result], list[Value]]:
    """A metric from the columns `names` of the table `flows`, instances combined by `combine`."""

    def values(result: Result) -> list[Value]:
        return [
            Value(point, replicate, flow, combine(rows))
            for (point, replicate, flow), rows in grouped(result.tables["flows"], ("point", "replicate", "flow"), names)
        ]

    return values


def total(name: str) -> Callable[[Result], list[Value]]:
    """The sum over instances; unknown if all are."""
    return per_flow((name,), lambda rows: math.nan if np.isnan(rows[name]).all() else float(np.nansum(rows[name])))


def mean(name: str) -> Callable[[Result], list[Value]]:
    """The mean over the instances that know it."""

    def combine(rows: Columns) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is not a number, as it should be
            return float(np.nanmean(rows[name]))

    return per_flow((name,), combine)


def share(part: str, whole: str) -> Callable[[Result], list[Value]]:
    """One sum over another; unknown if the other is zero, or if no instance knows its part."""

    def combine(rows: Columns) -> float:
        denominator = float(np.nansum(rows[whole]))
        known = denominator > 0 and not np.isnan(rows[part]).all()
        return float(np.nansum(rows[part])) / denominator if known else math.nan

    return per_flow((part, whole), combine)
