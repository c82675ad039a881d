"""Metrics of sharing between unlike flows: friendliness, equivalence and convergence.

They cover flows under a congestion control, TCP's or a rate control's over UDP. Plain UDP (`udp`)
does not react to others.
"""

import math

import numpy as np

from ackclock.metrics.fairness import with_shares
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import (
    Array,
    Series,
    even_edges,
    measured_time,
    refuse_unknown,
    series,
)
from ackclock.metrics.smoothness import USUAL_TIME_SCALE_S, equivalence_ratio
from ackclock.metrics.subjects import FLOWS, TOGETHER
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result.result import Result

#: Share of an equal share that a newcomer must receive, and the interval over which it is taken.
#: Chosen here: a saw-tooth moves the share by a third, and a few seconds average several.
CONVERGED_SHARE = 0.8
CONVERGENCE_INTERVAL_S = 2.0


def friendliness(result: Result) -> list[Value]:
    """Returns the mean goodput of a flow's instances over that of all controlled instances.

    Flows whose instances arrive are left out.
    """
    values = []
    for (point, replicate), rows in with_shares(result, "goodput_bit_per_s"):
        goodput = np.where(rows["shares"], rows["goodput_bit_per_s"], math.nan)
        everybody = mean_of_known(np.sort(goodput))  # in any order of the flows the same
        for flow in dict.fromkeys(rows["flow"]):
            own = mean_of_known(goodput[rows["flow"] == flow])
            values.append(
                Value(point, replicate, flow, own / everybody if everybody > 0 else math.nan)
            )
    return values


def rate_ratio(flow: str, other: str, column: str = "goodput_bit_per_s") -> Metric:
    """Makes the metric F = T_C/T_T, the ratio of the mean rates of two flows' instances.

    Its subject is `flow`. Above 1, an instance of the flow gets more than one of the other. Padhye,
    Kurose, Towsley and Koodli, "A model based TCP-friendly rate control protocol", NOSSDAV 1999,
    section III-B.

    Args:
        flow: Flow in the numerator; in the paper the equation-based one.
        other: Flow in the denominator; in the paper TCP.
        column: A column of the table `flows`. Goodput excludes headers, whose lengths differ.

    Returns:
        A metric for `summarise` and `by_replicate`. F is computed in each replicate, because both
        means come from the same run. Its interval is Student's over the replicates' F, as that of
        `metrics.interval`.
    """
    return Metric(
        "rate_ratio",
        f"F, {flow} over {other}",
        "",
        "",
        "",
        1,
        FLOWS,
        lambda result: _rate_ratios(result, flow, other, column),
    )


def closeness(flow: str, other: str, column: str = "goodput_bit_per_s") -> Metric:
    """Makes the metric E = max(F, 1/F) of `rate_ratio`: 1 if both are equal, more otherwise.

    E is computed in each replicate, and its interval is Student's over the replicates' E. It is not
    the E of means: where F scatters around 1, E is above 1 in every replicate by about the scatter.
    So use E to compare runs of the same length, and F to see who gets more. The interval may extend
    below 1, although E does not.
    """
    return Metric(
        "closeness", f"E, {flow} and {other}", "", "", "", 1, FLOWS,
        lambda result: [
            ratio._replace(value=max(ratio.value, _over(1.0, ratio.value)))
            for ratio in _rate_ratios(result, flow, other, column)
        ],
    )  # fmt: skip


def max_min_ratio(result: Result) -> list[Value]:
    """Returns FC, the largest over the smallest goodput of a flow's instances.

    It is computed in each replicate, and its interval is Student's over the replicates. It grows
    with the number of instances, and falls towards 1 for longer runs.
    """
    values = []
    keys, names = ("point", "replicate", "flow"), ("goodput_bit_per_s",)
    for (point, replicate, flow), rows in grouped(result.tables["flows"], keys, names):
        rates = rows["goodput_bit_per_s"][~np.isnan(rows["goodput_bit_per_s"])]
        ratio = _over(float(rates.max()), float(rates.min())) if rates.size > 1 else math.nan
        values.append(Value(point, replicate, flow, ratio))
    return values


def _rate_ratios(result: Result, flow: str, other: str, column: str) -> list[Value]:
    refuse_unknown(result, flow, other)
    values = []
    for (point, replicate), rows in grouped(
        result.tables["flows"], ("point", "replicate"), ("flow", column)
    ):
        ours, others = (mean_of_known(rows[column][rows["flow"] == name]) for name in (flow, other))
        values.append(Value(point, replicate, flow, _over(ours, others)))
    return values


def _over(value: float, other: float) -> float:
    """Returns the ratio; infinite if only `other` is 0, NaN if both are 0 or one is unknown."""
    if other > 0:
        return value / other
    return math.inf if value > 0 and other == 0 else math.nan


def equivalence(result: Result) -> list[Value]:
    """Returns the smallest over the largest per-instance rate of flows; mean over the bins."""
    values = []
    for (point, replicate), instances in sharing(result).items():
        samples = max((instance.time_s.size for instance in instances), default=0)
        edges = even_edges(USUAL_TIME_SCALE_S, *measured_time(result, point), samples)
        flows = dict.fromkeys(instance.flow for instance in instances)
        rates = [
            _rate([instance for instance in instances if instance.flow == flow], edges)
            for flow in flows
        ]
        values.append(Value(point, replicate, TOGETHER, _equivalence(rates)))
    return values


def convergence_time(result: Result) -> list[Value]:
    """Returns the time from an instance's start until it has got most of an equal share.

    It is the mean over a flow's instances. An instance that never gets it counts with its whole
    active time, a lower bound.
    """
    by_flow: dict[tuple[int, int, str], list[float]] = {}
    for (point, replicate), instances in sharing(result).items():
        for instance in instances:
            by_flow.setdefault((point, replicate, instance.flow), []).append(
                _joined_after(instance, instances)
            )
    return [Value(*key, mean_of_known(np.array(values))) for key, values in by_flow.items()]


def _joined_after(newcomer: Series, instances: list[Series]) -> float:
    edges = even_edges(
        CONVERGENCE_INTERVAL_S, newcomer.start_s, newcomer.end_s, newcomer.time_s.size
    )
    if edges.size < 2:
        return math.nan
    got = newcomer.rates(edges)
    everybody = np.sum([instance.rates(edges) for instance in instances], axis=0)
    there = np.sum(
        [
            (instance.start_s <= edges[:-1]) & (edges[:-1] < instance.end_s)
            for instance in instances
        ],
        axis=0,
    )
    joined = np.flatnonzero((got > 0) & (got >= CONVERGED_SHARE * everybody / there))
    # The time at the end of the interval, when its rate is known.
    return float(edges[joined[0] + 1 if joined.size else -1] - newcomer.start_s)


def _rate(instances: list[Series], edges: Array) -> Array:
    """Returns the mean rate per instance in each interval between edges."""
    return np.asarray(np.mean([instance.rates(edges) for instance in instances], axis=0))


def _equivalence(rates: list[Array]) -> float:
    if len(rates) < 2:
        return math.nan
    return equivalence_ratio(np.min(rates, axis=0), np.max(rates, axis=0))


def sharing(result: Result) -> dict[tuple[int, int], list[Series]]:
    """Returns the delivered data of the instances that share, by point and replicate."""
    flows = {run: frozenset(rows["flow"][rows["shares"]]) for run, rows in with_shares(result)}
    by_run: dict[tuple[int, int], list[Series]] = {run: [] for run in flows}
    for instance in series(result, "delivered"):
        run = instance.point, instance.replicate
        if instance.flow in flows[run]:
            by_run[run].append(instance)
    return by_run
