"""Metrics of flows whose data a client asks for: calls, videos and pages.

A request counts if it was made after the warm-up and has been answered.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped, mean_of_known
from ackclock.result.result import Result

_KEYS = ("point", "replicate", "flow")
_COLUMNS = ("instance", "asked_s", "answered_s", "stall_s", "page_time_s")


def request_time(result: Result) -> list[Value]:
    """Returns the mean time from a request to the arrival of its response, in s."""
    return _values(result, lambda rows: mean_of_known(_times(rows)))


def request_time_quantile(share: float) -> Callable[[Result], list[Value]]:
    """Makes the time that a share of the requests does not exceed, in s."""

    def quantile(rows: Columns) -> float:
        times = _times(rows)
        return float(np.quantile(times, share)) if times.size else math.nan

    return lambda result: _values(result, quantile)


def rebuffer_share(result: Result) -> list[Value]:
    """Returns the share of time in which the playback of a video stands still, over instances."""
    return _values(result, _stalled)


def page_time(result: Result) -> list[Value]:
    """Returns the mean time from the first request of a page to its last object, in s."""
    return _values(result, lambda rows: mean_of_known(rows["page_time_s"]))


def _values(result: Result, combine: Callable[[Columns], float]) -> list[Value]:
    """Returns a value for each flow; NaN for those without a client."""
    table = result.tables.get("requests")
    by_flow: dict[tuple[int, int, str], float] = {}
    for (point, replicate, flow), rows in () if table is None else grouped(table, _KEYS, _COLUMNS):
        warmup_s = units.seconds(result.points[point]["scenario"]["warmup"])
        counts = (rows["asked_s"] >= warmup_s) & ~np.isnan(rows["answered_s"])
        by_flow[point, replicate, flow] = combine(
            {name: values[counts] for name, values in rows.items()}
        )
    flows = grouped(result.tables["flows"], _KEYS, ())
    return [
        Value(point, replicate, flow, by_flow.get((point, replicate, flow), math.nan))
        for (point, replicate, flow), _ in flows
    ]


def _times(rows: Columns) -> NDArray[np.float64]:
    times: NDArray[np.float64] = rows["answered_s"] - rows["asked_s"]
    return times


def _stalled(rows: Columns) -> float:
    """Returns the share of standing still between the arrivals of the first and the last chunk."""
    stalled = watched = 0.0
    for instance in np.unique(rows["instance"]):
        of_instance = rows["instance"] == instance
        arrivals, stalls = rows["answered_s"][of_instance], rows["stall_s"][of_instance]
        if arrivals.size > 1 and not np.isnan(stalls).any():
            watched += float(arrivals[-1] - arrivals[0])
            stalled += float(stalls[1:].sum())
    return stalled / watched if watched > 0 else math.nan
