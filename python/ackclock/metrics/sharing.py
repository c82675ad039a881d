"""Metrics of how unlike flows share a path: friendliness, equivalence, and how soon newcomers have their share.

They are about flows under a congestion control: TCP's, or a rate control's over UDP. Plain UDP
(`udp`) shares nothing.
"""

import math

import numpy as np

from ackclock.metrics.fairness import with_shares
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import Array, Series, measured_time, refuse_unknown, series
from ackclock.metrics.smoothness import USUAL_TIME_SCALE_S, equivalence_ratio
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result import Result

#: Which part of an equal share a newcomer must have got, and over how long a time. Chosen here: a
#: share moves by a third with each saw-tooth, and over a few seconds some are averaged.
CONVERGED_SHARE = 0.8
CONVERGENCE_INTERVAL_S = 2.0


def friendliness(result: Result) -> list[Value]:
    """The goodput of a flow's instances over that of all instances under a control, both means; arrivals aside."""
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
    """F = T_C/T_T: the mean rate of one flow's instances over that of another's, as a metric; its subject is `flow`.

    Above one, the flow gets more per instance than the other. Padhye, Kurose, Towsley and Koodli,
    "A model based TCP-friendly rate control protocol", NOSSDAV 1999, section III-B.

    Args:
        flow: Whose rate is looked at; in the paper the equation-based one's.
        other: Whose is the measure; in the paper TCP's.
        of: A column of the table `flows`. Goodput leaves headers out, which are not equally long.

    Returns:
        A metric for `summarise` and `by_replicate`. F is formed in each replicate, and its interval
        is Student's over the replicates' F, as that of `metrics.interval`: each replicate's two
        means come from the same run.
    """
    return Metric(
        "rate_ratio",
        f"F, {flow} over {other}",
        "",
        "",
        "",
        1,
        lambda result: _rate_ratios(result, flow, other, of),
    )


def closeness(flow: str, other: str, of: str = "goodput_bit_per_s") -> Metric:
    """E = max(F, 1/F) of `rate_ratio`, 1 or more: how far apart two flows are, whichever has more.

    E is formed in each replicate, and its interval is Student's over the replicates' E. It is no E
    of means: where F scatters around 1, E is above 1 in every replicate, by about the scatter. So E
    compares runs of the same length, and F says who gets more. The interval may reach below 1,
    which no E does.
    """
    return Metric(
        "closeness", f"E, {flow} and {other}", "", "", "", 1,
        lambda result: [
            one._replace(value=max(one.value, _over(1.0, one.value)))
            for one in _rate_ratios(result, flow, other, of)
        ],
    )  # fmt: skip


def max_min_ratio(result: Result) -> list[Value]:
    """FC: the goodput of a flow's instance that has most over that of the one that has least.

    Formed in each replicate, its interval is Student's over the replicates. As a largest over a
    smallest it grows with the number of instances, and falls towards 1 as runs become longer.
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
    """Infinite over nothing, not a number if both are nothing or one is unknown."""
    if other > 0:
        return value / other
    return math.inf if value > 0 and other == 0 else math.nan


def equivalence(result: Result) -> list[Value]:
    """The least rate of an instance over the largest, by flows, in successive intervals; mean after the warm-up."""
    found = []
    for (point, replicate), instances in _sharing(result).items():
        edges = np.arange(*measured_time(result, point), USUAL_TIME_SCALE_S)
        flows = dict.fromkeys(one.flow for one in instances)
        rates = [_rate([one for one in instances if one.flow == flow], edges) for flow in flows]
        found.append(Value(point, replicate, "all flows", _equivalence(rates)))
    return found


def convergence_time(result: Result) -> list[Value]:
    """From an instance's start until it has got most of an equal share; mean over a flow's instances.

    One that never has counts with the time that it was there: the true mean is longer then.
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
    # At the end of the interval it is known.
    return float(edges[joined[0] + 1 if joined.size else -1] - newcomer.start_s)


def _rate(instances: list[Series], edges: Array) -> Array:
    """Of one instance, on average, in each interval between edges."""
    return np.asarray(np.mean([one.rates(edges) for one in instances], axis=0))


def _equivalence(rates: list[Array]) -> float:
    if len(rates) < 2:
        return math.nan
    return equivalence_ratio(np.min(rates, axis=0), np.max(rates, axis=0))


def _sharing(result: Result) -> dict[tuple[int, int], list[Series]]:
    """What was delivered to the instances that share, of each point and replicate."""
    flows = {run: frozenset(rows["flow"][rows["shares"]]) for run, rows in with_shares(result)}
    found: dict[tuple[int, int], list[Series]] = {run: [] for run in flows}
    for one in series(result, "delivered"):
        run = one.point, one.replicate
        if one.flow in flows[run]:
            found[run].append(one)
    return found
