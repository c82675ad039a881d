"""Metrics of sharing between unlike flows: friendliness, equivalence and convergence.

They cover flows under a congestion control, TCP's or a rate control's over UDP. Plain UDP (`udp`)
does not react to others.
"""

import math

import numpy as np

from ackclock.metrics.fairness import with_shares
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import Array, Series, measured_time, refuse_unknown, series
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
    found = []
    for (point, replicate), rows in with_shares(result, "goodput_bit_per_s"):
        goodput = np.where(rows["shares"], rows["goodput_bit_per_s"], math.nan)
        everybody = mean_of_known(goodput)
        for flow in dict.fromkeys(rows["flow"]):
            own = mean_of_known(goodput[rows["flow"] == flow])
            found.append(
                Value(point, replicate, flow, own / everybody if everybody > 0 else math.nan)
            )
    return found


def rate_ratio(flow: str, other: str, of: str = "goodput_bit_per_s") -> Metric:
    """Makes the metric F = T_C/T_T, the ratio of the mean rates of two flows' instances.

    Its subject is `flow`. Above 1, an instance of the flow gets more than one of the other. Padhye,
    Kurose, Towsley and Koodli, "A model based TCP-friendly rate control protocol", NOSSDAV 1999,
    section III-B.

    Args:
        flow: Flow in the numerator; in the paper the equation-based one.
        other: Flow in the denominator; in the paper TCP.
        of: A column of the table `flows`. Goodput excludes headers, whose lengths differ.

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
        lambda result: _rate_ratios(result, flow, other, of),
    )


def closeness(flow: str, other: str, of: str = "goodput_bit_per_s") -> Metric:
    """Makes the metric E = max(F, 1/F) of `rate_ratio`: 1 if both are equal, more otherwise.

    E is computed in each replicate, and its interval is Student's over the replicates' E. It is not
    the E of means: where F scatters around 1, E is above 1 in every replicate by about the scatter.
    So use E to compare runs of the same length, and F to see who gets more. The interval may extend
    below 1, although E does not.
    """
    return Metric(
        "closeness", f"E, {flow} and {other}", "", "", "", 1, FLOWS,
        lambda result: [
            one._replace(value=max(one.value, _over(1.0, one.value)))
            for one in _rate_ratios(result, flow, other, of)
        ],
    )  # fmt: skip


def max_min_ratio(result: Result) -> list[Value]:
    """Returns FC, the largest over the smallest goodput of a flow's instances.

    It is computed in each replicate, and its interval is Student's over the replicates. It grows
    with the number of instances, and falls towards 1 for longer runs.
    """
    found = []
    keys, names = ("point", "replicate", "flow"), ("goodput_bit_per_s",)
    for (point, replicate, flow), rows in grouped(result.tables["flows"], keys, names):
        known = rows["goodput_bit_per_s"][~np.isnan(rows["goodput_bit_per_s"])]
        ratio = _over(float(known.max()), float(known.min())) if known.size > 1 else math.nan
        found.append(Value(point, replicate, flow, ratio))
    return found


def _rate_ratios(result: Result, flow: str, other: str, of: str) -> list[Value]:
    refuse_unknown(result, flow, other)
    found = []
    for (point, replicate), rows in grouped(
        result.tables["flows"], ("point", "replicate"), ("flow", of)
    ):
        ours, others = (mean_of_known(rows[of][rows["flow"] == name]) for name in (flow, other))
        found.append(Value(point, replicate, flow, _over(ours, others)))
    return found


def _over(value: float, other: float) -> float:
    """Returns the ratio; infinite if only `other` is 0, NaN if both are 0 or one is unknown."""
    if other > 0:
        return value / other
    return math.inf if value > 0 and other == 0 else math.nan


def equivalence(result: Result) -> list[Value]:
    """Returns the smallest over the largest per-instance rate of flows; mean over the bins."""
    found = []
    for (point, replicate), instances in _sharing(result).items():
        edges = np.arange(*measured_time(result, point), USUAL_TIME_SCALE_S)
        flows = dict.fromkeys(one.flow for one in instances)
        rates = [_rate([one for one in instances if one.flow == flow], edges) for flow in flows]
        found.append(Value(point, replicate, TOGETHER, _equivalence(rates)))
    return found


def convergence_time(result: Result) -> list[Value]:
    """Returns the time from an instance's start until it has got most of an equal share.

    It is the mean over a flow's instances. An instance that never gets it counts with its whole
    active time, a lower bound.
    """
    found: dict[tuple[int, int, str], list[float]] = {}
    for (point, replicate), instances in _sharing(result).items():
        for one in instances:
            found.setdefault((point, replicate, one.flow), []).append(_joined_after(one, instances))
    return [Value(*key, mean_of_known(np.array(values))) for key, values in found.items()]


def _joined_after(newcomer: Series, instances: list[Series]) -> float:
    edges = np.arange(newcomer.start_s, newcomer.end_s, CONVERGENCE_INTERVAL_S)
    if edges.size < 2:
        return math.nan
    got = newcomer.rates(edges)
    everybody = np.sum([one.rates(edges) for one in instances], axis=0)
    there = np.sum(
        [(one.start_s <= edges[:-1]) & (edges[:-1] < one.end_s) for one in instances], axis=0
    )
    joined = np.flatnonzero((got > 0) & (got >= CONVERGED_SHARE * everybody / there))
    # The time at the end of the interval, when its rate is known.
    return float(edges[joined[0] + 1 if joined.size else -1] - newcomer.start_s)


def _rate(instances: list[Series], edges: Array) -> Array:
    """Returns the mean rate per instance in each interval between edges."""
    return np.asarray(np.mean([one.rates(edges) for one in instances], axis=0))


def _equivalence(rates: list[Array]) -> float:
    if len(rates) < 2:
        return math.nan
    return equivalence_ratio(np.min(rates, axis=0), np.max(rates, axis=0))


def _sharing(result: Result) -> dict[tuple[int, int], list[Series]]:
    """Returns the delivered data of the instances that share, by point and replicate."""
    flows = {run: frozenset(rows["flow"][rows["shares"]]) for run, rows in with_shares(result)}
    found: dict[tuple[int, int], list[Series]] = {run: [] for run in flows}
    for one in series(result, "delivered"):
        run = one.point, one.replicate
        if one.flow in flows[run]:
            found[run].append(one)
    return found
