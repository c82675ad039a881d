"""Metrics of the path rate that a control estimates (the Westwood family and similar ones)."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ackclock import units
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped, mean_of_known
from ackclock.result.result import Result

COLUMN = "rate_estimate_bit_per_s"

#: An estimate has settled if it stays this close to a target, as a share of the target, for this
#: long. Chosen here: the estimate of a saw-tooth that falls by a half varies by a quarter for ever.
SETTLED_WITHIN = 0.25
SETTLED_FOR_S = 1.0


def settling_time(
    time_s: ArrayLike,
    values: ArrayLike,
    target: float,
    within: float = SETTLED_WITHIN,
    for_s: float = SETTLED_FOR_S,
) -> float:
    """Returns the time until values get near a target and stay there; NaN if they never do.

    Args:
        time_s: Ascending times in s.
        values: Values at these times; NaN is not near.
        target: Value at which they should settle.
        within: Largest distance that is near, as a share of the target.
        for_s: Time for which they must stay near.
    """
    time, value = np.asarray(time_s, float), np.asarray(values, float)
    near = np.abs(value - target) <= within * abs(target)
    # A run of near values begins where the previous value is not near, and ends where the next is
    # not.
    steps = np.diff(near.astype(int), prepend=0, append=0)
    for first, last in zip(
        np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1, strict=True
    ):
        if time[last] - time[first] >= for_s:
            return float(time[first] - time[0])
    return math.nan


def rate_estimate(result: Result) -> list[Value]:
    """Returns the mean estimate at the sampling times after the warm-up, over all instances."""
    return _per_flow(result, lambda rows: mean_of_known(rows[COLUMN][rows["late"]]))


def estimate_bias(result: Result) -> list[Value]:
    """Returns the mean estimate over the mean goodput of an instance, less one."""
    goodput = {}
    keys, names = ("point", "replicate", "flow"), ("goodput_bit_per_s",)
    for key, rows in grouped(result.tables["flows"], keys, names):
        goodput[key] = mean_of_known(rows["goodput_bit_per_s"])
    return [
        estimate._replace(
            value=estimate.value / got - 1
            if (got := goodput[estimate.point, estimate.replicate, estimate.subject]) > 0
            else math.nan
        )
        for estimate in rate_estimate(result)
    ]


def estimate_settling_time(result: Result) -> list[Value]:
    """Returns the settling time from an instance's first sample; mean over those that settle."""
    return _per_flow(
        result,
        lambda rows: settling_time(
            rows["time_s"], rows[COLUMN], mean_of_known(rows[COLUMN][rows["late"]])
        ),
    )


def _per_flow(result: Result, of_instance: Callable[[Columns], float]) -> list[Value]:
    warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
    by_flow: dict[tuple[int, int, str], list[float]] = {}
    keys = ("point", "replicate", "flow", "instance")
    for (point, replicate, flow, _), rows in grouped(
        result.tables["samples"], keys, ("time_s", COLUMN)
    ):
        of_instances = by_flow.setdefault((point, replicate, flow), [])
        of_instances.append(of_instance(rows | {"late": rows["time_s"] > warmups[point]}))
    return [Value(*key, mean_of_known(np.array(values))) for key, values in by_flow.items()]
