"""Metrics of flows.

A flow's instances are combined within each replicate first, so that intervals describe the spread
between replicates.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.metrics.arrivals import arriving, measured_s
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped, mean_of_known
from ackclock.result.result import Result

_KEYS = ("point", "replicate", "flow")


def per_flow(
    names: tuple[str, ...], combine: Callable[[Columns], float]
) -> Callable[[Result], list[Value]]:
    """Makes a metric of columns of the table `flows`; `combine` merges the instances' rows."""

    def values(result: Result) -> list[Value]:
        return [
            Value(point, replicate, flow, combine(rows))
            for (point, replicate, flow), rows in grouped(result.tables["flows"], _KEYS, names)
        ]

    return values


def total(name: str) -> Callable[[Result], list[Value]]:
    """Makes the metric that sums a column over instances; unknown if all are."""
    return per_flow((name,), lambda rows: _sum_of_known(rows[name]))


def total_rate(name: str) -> Callable[[Result], list[Value]]:
    """Makes the metric that sums a rate over instances; unknown if all are.

    An instance of a flow with arrivals is weighted by its share of the measured time.
    """

    def values(result: Result) -> list[Value]:
        arrive = arriving(result)
        names = (name, "measured_s") if arrive else (name,)
        values = []
        for (point, replicate, flow), rows in grouped(result.tables["flows"], _KEYS, names):
            if (point, flow) in arrive:
                rate = float(np.nansum(rows[name] * rows["measured_s"])) / measured_s(result, point)
            else:
                rate = _sum_of_known(rows[name])
            values.append(Value(point, replicate, flow, rate))
        return values

    return values


def _sum_of_known(values: NDArray[np.float64]) -> float:
    return math.nan if np.isnan(values).all() else float(np.nansum(values))


def mean(name: str) -> Callable[[Result], list[Value]]:
    """Makes the metric that averages a column over the instances for which it is known."""
    return per_flow((name,), lambda rows: mean_of_known(rows[name]))


def at_samples(name: str, combine: Callable[[Columns], float]) -> Callable[[Result], list[Value]]:
    """Makes a metric of a column of `samples` after the warm-up, all instances together."""

    def values(result: Result) -> list[Value]:
        if name not in result.tables["samples"].column_names:  # written by an older version
            flows = grouped(result.tables["flows"], _KEYS, ())
            return [
                Value(point, replicate, flow, math.nan) for (point, replicate, flow), _ in flows
            ]
        warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
        return [
            Value(point, replicate, flow, combine(_after(rows, warmups[point])))
            for (point, replicate, flow), rows in grouped(
                result.tables["samples"], _KEYS, ("time_s", name)
            )
        ]

    return values


def _after(rows: Columns, time_s: float) -> Columns:
    after = rows["time_s"] > time_s
    return {name: values[after] for name, values in rows.items()}


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


def share(part: str, whole: str) -> Callable[[Result], list[Value]]:
    """Makes the ratio of two sums over instances.

    It is unknown if `whole` sums to zero or `part` is unknown for all instances.
    """
    return per_flow((part, whole), lambda rows: _over(rows[part], rows[whole]))


def _over(part: NDArray[np.float64], whole: NDArray[np.float64]) -> float:
    denominator = float(np.nansum(whole))
    return (
        float(np.nansum(part)) / denominator
        if denominator > 0 and not np.isnan(part).all()
        else math.nan
    )


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


dropped = per_flow(
    ("dropped_packets", "dropped_acks", "sent_packets"),
    lambda rows: _over(rows["dropped_packets"] - rows["dropped_acks"], rows["sent_packets"]),
)
tail_rtt = at_samples("rtt_s", _p99)
smoothed_rtt = at_samples("smoothed_rtt_s", lambda rows: mean_of_known(rows["smoothed_rtt_s"]))
allowed_rate = at_samples(
    "allowed_rate_bit_per_s", lambda rows: mean_of_known(rows["allowed_rate_bit_per_s"])
)
loss_event_rate = at_samples("loss_event_rate", lambda rows: mean_of_known(rows["loss_event_rate"]))
cwnd_drift = at_samples("cwnd_bytes", _drift)
