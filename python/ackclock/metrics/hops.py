"""Metrics of hops, after the warm-up."""

import math
from collections.abc import Callable

import numpy as np

from ackclock import units
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.result import Result

Combine = Callable[[Columns, float], float]


def per_hop(names: tuple[str, ...], combine: Combine) -> Callable[[Result], list[Value]]:
    """Makes a metric of columns of the table `hops`; `combine` also gets the warm-up in s."""

    def values(result: Result) -> list[Value]:
        if "hops" not in result.tables:
            return []  # a capture does not observe hops
        warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
        return [
            Value(point, replicate, hop, combine(rows, warmups[point]))
            for (point, replicate, hop), rows in grouped(
                result.tables["hops"], ("point", "replicate", "hop"), ("time_s", *names)
            )
        ]

    return values


def grown(rows: Columns, name: str, warmup_s: float) -> float:
    """Returns the increase of a cumulative column after the warm-up."""
    before = rows[name][rows["time_s"] <= warmup_s]
    return float(rows[name][-1] - (before[-1] if before.size else 0))


def _utilisation(rows: Columns, warmup_s: float) -> float:
    measured = grown(rows, "time_s", warmup_s)
    return grown(rows, "busy_s", warmup_s) / measured if measured > 0 else math.nan


def _capacity(rows: Columns, warmup_s: float) -> float:
    measured = grown(rows, "time_s", warmup_s)
    return 8 * grown(rows, "capacity_bytes", warmup_s) / measured if measured > 0 else math.nan


def share_of_arrivals(names: tuple[str, ...]) -> Combine:
    """Makes the ratio of the sum of these columns to the packets that arrived at the hop."""

    def combine(rows: Columns, warmup_s: float) -> float:
        arrivals = grown(rows, "arrivals", warmup_s)
        counted = sum(grown(rows, name, warmup_s) for name in names)
        return counted / arrivals if arrivals > 0 else math.nan

    return combine


def _mean_after(name: str) -> Combine:
    def combine(rows: Columns, warmup_s: float) -> float:
        after = rows[name][rows["time_s"] > warmup_s]
        return float(np.mean(after)) if after.size else math.nan

    return combine


def _queueing_delay(rows: Columns, warmup_s: float) -> float:
    after = (rows["time_s"] > warmup_s) & (rows["rate_bit_per_s"] > 0)
    return (
        float(np.mean(rows["backlog_bytes"][after] * 8 / rows["rate_bit_per_s"][after]))
        if after.any()
        else math.nan
    )


DROPS = ("drops_queue", "drops_aqm", "drops_impairment", "drops_retries")

utilisation = per_hop(("busy_s",), _utilisation)
capacity = per_hop(("capacity_bytes",), _capacity)
drop_rate = per_hop(("arrivals", *DROPS), share_of_arrivals(DROPS))
overflow_rate = per_hop(("arrivals", "drops_queue"), share_of_arrivals(("drops_queue",)))
mark_rate = per_hop(("arrivals", "marks"), share_of_arrivals(("marks",)))
backlog_packets = per_hop(("backlog_packets",), _mean_after("backlog_packets"))
queueing_delay = per_hop(("backlog_bytes", "rate_bit_per_s"), _queueing_delay)
