"""Metrics of how unlike TCP flows share a path: friendliness, equivalence, and how soon newcomers have their share."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock import quantity
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result import Result

Array = NDArray[np.float64]

#: Over how long a time rates are taken for `equivalence`. The ratio depends on it (Floyd, Handley, Padhye, Widmer,
#: "Equation-based congestion control for unicast applications", SIGCOMM 2000, has 0.2 s to 10 s); chosen here.
EQUIVALENCE_INTERVAL_S = 1.0

#: Which part of an equal share a newcomer must have got, and over how long a time. Chosen here: a share moves by a
#: third with each saw-tooth, and over a few seconds some are averaged.
CONVERGED_SHARE = 0.8
CONVERGENCE_INTERVAL_S = 2.0


class Instance(NamedTuple):
    """One TCP connection of one replicate."""

    flow: str
    start_s: float
    end_s: float
    time_s: Array
    delivered_bytes: Array

    def delivered_by(self, times: Array) -> Array:
        """Payload delivered by then."""
        return np.interp(times, self.time_s, self.delivered_bytes, left=0.0)


def friendliness(result: Result) -> list[Value]:
    """The goodput of a flow's instances over that of all TCP instances, both means."""
    found = []
    keys, names = ("point", "replicate"), ("flow", "control", "goodput_bit_per_s")
    for (point, replicate), rows in grouped(result.tables["flows"], keys, names):
        tcp = rows["control"] != "udp"
        goodput = np.where(tcp, rows["goodput_bit_per_s"], math.nan)
        everybody = mean_of_known(goodput)
        for flow in dict.fromkeys(rows["flow"]):
            own = mean_of_known(goodput[rows["flow"] == flow])
            found.append(Value(point, replicate, flow, own / everybody if everybody > 0 else math.nan))
    return found


def equivalence(result: Result) -> list[Value]:
    """The least rate of an instance over the largest, by flows, in successive intervals; mean after the warm-up."""
    found = []
    for (point, replicate), instances in _instances(result).items():
        scenario = result.points[point]["scenario"]
        warmup_s, duration_s = (quantity.seconds(scenario[name]) for name in ("warmup", "duration"))
        edges = np.arange(warmup_s, duration_s, EQUIVALENCE_INTERVAL_S)
        flows = dict.fromkeys(one.flow for one in instances)
        rates = [_rate([one for one in instances if one.flow == flow], edges) for flow in flows]
        found.append(Value(point, replicate, "all flows", _equivalence(rates)))
    return found


def convergence_time(result: Result) -> list[Value]:
    """From an instance's start until it has got most of an equal share; mean over a flow's instances.

    One that never has counts with the time that it was there: the true mean is longer then.
    """
    found: dict[tuple[int, int, str], list[float]] = {}
    for (point, replicate), instances in _instances(result).items():
        for one in instances:
            found.setdefault((point, replicate, one.flow), []).append(_joined_after(one, instances))
    return [Value(*key, mean_of_known(np.array(values))) for key, values in found.items()]


def _joined_after(newcomer: Instance, instances: list[Instance]) -> float:
    edges = np.arange(newcomer.start_s, newcomer.end_s, CONVERGENCE_INTERVAL_S)
    if edges.size < 2:
        return math.nan
    got = np.diff(newcomer.delivered_by(edges))
    everybody = np.sum([np.diff(one.delivered_by(edges)) for one in instances], axis=0)
    there = np.sum([(one.start_s <= edges[:-1]) & (edges[:-1] < one.end_s) for one in instances], axis=0)
    joined = np.flatnonzero((got > 0) & (got >= CONVERGED_SHARE * everybody / there))
    # At the end of the interval it is known.
    return float(edges[joined[0] + 1 if joined.size else -1] - newcomer.start_s)


def _rate(instances: list[Instance], edges: Array) -> Array:
    """Of one instance, on average, in each interval between edges."""
    return np.asarray(np.mean([np.diff(one.delivered_by(edges)) for one in instances], axis=0))


def _equivalence(rates: list[Array]) -> float:
    if len(rates) < 2:
        return math.nan
    least, most = np.min(rates, axis=0), np.max(rates, axis=0)
    return mean_of_known(least[most > 0] / most[most > 0])


def _instances(result: Result) -> dict[tuple[int, int], list[Instance]]:
    """The TCP connections of each point and replicate that have samples."""
    keys = ("point", "replicate", "flow", "instance")
    series = dict(grouped(result.tables["samples"], keys, ("time_s", "delivered_bytes")))
    found: dict[tuple[int, int], list[Instance]] = {}
    names = ("control", "start_s", "end_s")
    for key, rows in grouped(result.tables["flows"], keys, names):
        told = found.setdefault(key[:2], [])
        if rows["control"][0] != "udp" and key in series and not math.isnan(rows["start_s"][0]):
            of = series[key]
            end_s = rows["end_s"][0]
            last = of["time_s"][-1] if math.isnan(end_s) else end_s
            told.append(Instance(key[2], rows["start_s"][0], last, of["time_s"], of["delivered_bytes"]))
    return found
