"""Metrics of flows.

A flow's instances are combined within each replicate first, so that intervals describe the spread
between replicates.
"""

import math
from collections.abc import Callable

import numpy as np

from ackclock import units
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, after, grouped, mean_of_known
from ackclock.result.result import Result

_KEYS = ("point", "replicate", "flow")


def at_samples(name: str, combine: Callable[[Columns], float]) -> Callable[[Result], list[Value]]:
    """Makes a metric of a column of `samples` after the warm-up, all instances together."""

    def values(result: Result) -> list[Value]:
        warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
        return [
            Value(point, replicate, flow, combine(after(rows, warmups[point])))
            for (point, replicate, flow), rows in grouped(
                result.tables["samples"], _KEYS, ("time_s", name)
            )
        ]

    return values


def _p99(rows: Columns) -> float:
    present = rows["rtt_s"][~np.isnan(rows["rtt_s"])]
    return float(np.quantile(present, 0.99)) if present.size else math.nan


def _drift(rows: Columns) -> float:
    """Returns the mean of the second half of the time over that of the first, less one."""
    if not rows["time_s"].size:
        return math.nan
    second = rows["time_s"] > (rows["time_s"].min() + rows["time_s"].max()) / 2
    before, after = (mean_of_known(rows["cwnd_bytes"][half]) for half in (~second, second))
    return after / before - 1 if before > 0 else math.nan


def early(result: Result) -> list[Value]:
    """Returns the share of retransmissions in the first half of the run; unknown without any."""
    halves = [units.seconds(point["scenario"]["duration"]) / 2 for point in result.points]
    counts: dict[tuple[int, int, str], list[float]] = {}
    keys, names = ("point", "replicate", "flow", "instance"), ("time_s", "retransmitted_packets")
    for (point, replicate, flow, _), rows in grouped(result.tables["samples"], keys, names):
        before = rows["retransmitted_packets"][rows["time_s"] <= halves[point]]
        sums = counts.setdefault((point, replicate, flow), [0.0, 0.0])
        sums[0] += float(before[-1]) if before.size else 0.0
        sums[1] += float(rows["retransmitted_packets"][-1])
    return [
        Value(*key, part / whole if whole > 0 else math.nan)
        for key, (part, whole) in counts.items()
    ]


tail_rtt = at_samples("rtt_s", _p99)
cwnd_drift = at_samples("cwnd_bytes", _drift)
