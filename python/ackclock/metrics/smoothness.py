"""Smoothness of a rate, and equivalence of two rates, over a time scale.

Source: Floyd, Handley, Padhye and Widmer, "Equation-based congestion control for unicast
applications", SIGCOMM 2000, section 4.1. R_i are the rates of a flow over successive intervals of
length delta, the time scale. Smoothness is the coefficient of variation of the R_i. The equivalence
of two flows is the mean of min(Ra_i/Rb_i, Rb_i/Ra_i).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import (
    Array,
    Series,
    is_shown,
    measured_time,
    refuse_finer,
    refuse_unknown,
    sample_interval,
    series,
)
from ackclock.metrics.subjects import FLOWS, INSTANCES, PAIRS
from ackclock.metrics.tables import mean_of_known
from ackclock.result.result import Result

#: The time scales of the paper's figures, in seconds.
TIME_SCALES_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

#: Time scale, in s, of the metrics that have no time scale of their own. Chosen here.
USUAL_TIME_SCALE_S = 1.0

#: With fewer intervals a standard deviation is too uncertain. Chosen here.
FEWEST_INTERVALS = 5


def coefficient_of_variation(rates: ArrayLike) -> float:
    """Returns the standard deviation of rates over their mean: 0 if constant.

    It is the sample deviation (n - 1 in the denominator), so that long time scales, with few
    intervals in a run, are comparable with short ones. NaN if there are fewer than
    `FEWEST_INTERVALS`, or if all are zero.
    """
    array = np.asarray(rates, float)
    if array.size < FEWEST_INTERVALS or not array.mean() > 0:
        return math.nan
    return float(array.std(ddof=1) / array.mean())


def equivalence_ratio(rates: ArrayLike, others: ArrayLike) -> float:
    """Returns the mean ratio of the smaller to the larger of two rates.

    Intervals in which both are zero do not count. It is 1 if they are equal in every interval, 0 if
    only one at a time sends, and symmetric. NaN if neither ever sends.
    """
    a, b = np.asarray(rates, float), np.asarray(others, float)
    least, most = np.minimum(a, b), np.maximum(a, b)
    return mean_of_known(least[most > 0] / most[most > 0])


def shown_time_scales(result: Result, point: int = 0) -> list[float]:
    """Returns the `TIME_SCALES_S` that a point's samples resolve, with enough intervals each."""
    from_s, until_s = measured_time(result, point)
    apart = sample_interval(result, point)
    longest = (until_s - from_s) / FEWEST_INTERVALS
    return [
        scale for scale in TIME_SCALES_S if is_shown(apart, scale) and scale <= longest * (1 + 1e-9)
    ]


def rate_cov(time_scale_s: float, source: str = "sent", *, each: bool = False) -> Metric:
    """Makes a metric of flows: the coefficient of variation of the rate at a time scale.

    It is the mean over the instances of a replicate.

    Args:
        time_scale_s: Length of the intervals, at least the sampling interval.
        source: Kind of rate, as in `ackclock.metrics.rates.series`.
        each: True to keep instances apart; subjects are then `flow/0`, `flow/1`, and so on.

    Returns:
        A metric for `summarise` and `by_replicate`, with intervals over replicates. Computing its
        values raises ValueError, in one line, if the samples are too coarse for the time scale.
    """
    return Metric(
        "rate_cov", f"CoV of the rate over {time_scale_s:g} s", "", "", "", 1,
        INSTANCES if each else FLOWS,
        _refusing_finer(
            time_scale_s, lambda result: _variation(result, time_scale_s, source, each)
        ),
    )  # fmt: skip


def equivalence_of(flow: str, other: str, time_scale_s: float, source: str = "sent") -> Metric:
    """Makes a metric of two flows: the equivalence of their rates at a time scale.

    It is the mean over all pairs of their instances. In contrast, the metric `equivalence` compares
    all flows at once, by the mean delivered rate of each one's instances.

    Args:
        flow: Name of a flow.
        other: Name of another flow, or the same for pairs of different instances within it.
        time_scale_s: Length of the intervals, at least the sampling interval.
        source: Kind of rate, as in `ackclock.metrics.rates.series`.

    Returns:
        A metric like that of `rate_cov`; its subject is `flow and other`.
    """
    return Metric(
        "equivalence", f"equivalence over {time_scale_s:g} s", "", "", "", 1, PAIRS,
        _refusing_finer(
            time_scale_s, lambda result: _equivalence(result, flow, other, time_scale_s, source)
        ),
    )  # fmt: skip


def usual_variation(result: Result) -> list[Value]:
    """Returns `rate_cov` over `USUAL_TIME_SCALE_S`; NaN at points with coarser samples."""
    shown = [
        is_shown(sample_interval(result, point), USUAL_TIME_SCALE_S)
        for point in range(len(result.points))
    ]
    values = _variation(result, USUAL_TIME_SCALE_S, "sent", False)
    return [value if shown[value.point] else value._replace(value=math.nan) for value in values]


def _refusing_finer(
    time_scale_s: float, values: Callable[[Result], list[Value]]
) -> Callable[[Result], list[Value]]:
    def checked(result: Result) -> list[Value]:
        refuse_finer(result, time_scale_s)
        return values(result)

    return checked


def _variation(result: Result, time_scale_s: float, source: str, each: bool) -> list[Value]:
    by_flow: dict[tuple[int, int, str], list[float]] = {}
    for instance in series(result, source):
        edges = instance.edges(time_scale_s, *measured_time(result, instance.point))
        subject = f"{instance.flow}/{instance.instance}" if each else instance.flow
        of_instances = by_flow.setdefault((instance.point, instance.replicate, subject), [])
        of_instances.append(coefficient_of_variation(instance.rates(edges)))
    return [Value(*key, mean_of_known(np.array(values))) for key, values in by_flow.items()]


def _equivalence(
    result: Result, flow: str, other: str, time_scale_s: float, source: str
) -> list[Value]:
    refuse_unknown(result, flow, other)
    runs: dict[tuple[int, int], list[Series]] = {}
    for instance in series(result, source):
        if instance.flow in (flow, other):
            runs.setdefault((instance.point, instance.replicate), []).append(instance)
    values = []
    for (point, replicate), members in runs.items():
        ratios = [
            _of_pair(a, b, time_scale_s, *measured_time(result, point))
            for a, b in _pairs(members, flow, other)
        ]
        values.append(
            Value(point, replicate, f"{flow} and {other}", mean_of_known(np.array(ratios)))
        )
    return values


def _pairs(members: list[Series], flow: str, other: str) -> list[tuple[Series, Series]]:
    ours = [instance for instance in members if instance.flow == flow]
    if flow == other:
        return [(a, b) for index, a in enumerate(ours) for b in ours[index + 1 :]]
    return [(a, b) for a in ours for b in members if b.flow == other]


def _of_pair(a: Series, b: Series, time_scale_s: float, from_s: float, until_s: float) -> float:
    """Returns the equivalence of two instances while both are active."""
    edges: Array = a.edges(time_scale_s, max(from_s, b.start_s), min(until_s, b.end_s))
    return equivalence_ratio(a.rates(edges), b.rates(edges))
