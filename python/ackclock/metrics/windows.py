"""Metrics of flows over windows of time: starvation, fairness, stalls; and what is sent."""

import math

import numpy as np

from ackclock.metrics.fairness import jain
from ackclock.metrics.metric import Value
from ackclock.metrics.rates import ROUNDING, Array, Series, even_edges, measured_time, series
from ackclock.metrics.sharing import sharing
from ackclock.metrics.subjects import TOGETHER
from ackclock.metrics.tables import grouped, grown
from ackclock.result.result import Result

#: Length of a window in s, and the share of an equal share below which a flow starves in it. Chosen
#: here: several cycles of a control fit in it at usual round-trip times.
WINDOW_S, STARVED_SHARE = 10.0, 0.1


def starved_share(result: Result) -> list[Value]:
    """Returns the share of windows in which a flow's instances get less than a tenth of theirs."""
    values = []
    for (point, replicate), instances in sharing(result).items():
        rates = _rates(instances, *measured_time(result, point))
        equal = np.mean(rates, axis=0)
        for flow in dict.fromkeys(instance.flow for instance in instances):
            own = [rate for rate, each in zip(rates, instances, strict=True) if each.flow == flow]
            starved = np.array(own) < STARVED_SHARE * equal
            share = float(starved.mean()) if starved.size else math.nan
            values.append(Value(point, replicate, flow, share))
    return values


def windowed_fairness(result: Result) -> list[Value]:
    """Returns the mean over windows of Jain's index of all instances that share."""
    values = []
    for (point, replicate), instances in sharing(result).items():
        rates = _rates(instances, *measured_time(result, point))
        every = [jain(window) for window in rates.T] if len(instances) else []
        indices = [index for index in every if not math.isnan(index)]
        mean = float(np.mean(indices)) if indices else math.nan
        values.append(Value(point, replicate, TOGETHER, mean))
    return values


def longest_stall(result: Result) -> list[Value]:
    """Returns the longest time after the warm-up in which an instance of a flow gets no data."""
    longest: dict[tuple[int, int, str], float] = {}
    for instance in series(result, "delivered"):
        key = (instance.point, instance.replicate, instance.flow)
        stall = _stall(instance, measured_time(result, instance.point)[0])
        longest[key] = max(longest.get(key, 0.0), stall)
    return [Value(*key, stall) for key, stall in longest.items()]


def sent_after_warmup(result: Result) -> list[Value]:
    """Returns the number of data packets that a flow sends after the warm-up."""
    sent: dict[tuple[int, int, str], float] = {}
    keys = ("point", "replicate", "flow", "instance")
    names = ("time_s", "sent_packets")
    for (point, replicate, flow, _), rows in grouped(result.tables["samples"], keys, names):
        more = grown(rows, "sent_packets", measured_time(result, point)[0])
        sent[point, replicate, flow] = sent.get((point, replicate, flow), 0.0) + more
    return [Value(*key, count) for key, count in sent.items()]


def _rates(instances: list[Series], from_s: float, until_s: float) -> Array:
    """Returns the rate of each instance in each whole window: instances by windows."""
    # Rounding takes no whole window away.
    samples = max((instance.time_s.size for instance in instances), default=0)
    edges = even_edges(WINDOW_S, from_s, until_s + ROUNDING, samples)
    return np.array([instance.rates(edges) for instance in instances])


def _stall(instance: Series, from_s: float) -> float:
    times, values = instance.time_s, instance.values
    measured = times >= max(from_s, instance.start_s)
    times, values = times[measured], values[measured]
    if times.size < 2:
        return math.nan
    grows = np.flatnonzero(np.diff(values) > 0)
    moments = np.concatenate([[times[0]], times[grows + 1], [times[-1]]])
    return float(np.diff(moments).max())
