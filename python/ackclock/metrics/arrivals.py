"""Metrics of flows whose instances arrive and end.

The mean number of active instances is the sum of their active times over the measured time. By
Little's law it is the arrival rate times the mean duration of an instance.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ackclock.elements import facts
from ackclock.metrics.metric import Value
from ackclock.metrics.rates import measured_time
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result.result import Result

_KEYS = ("point", "replicate", "flow")


def arriving(result: Result) -> frozenset[tuple[int, str]]:
    """Returns point and name of each flow whose instances arrive one after the other."""
    return frozenset(key for key, flow in _flows(result).items() if "arrivals" in flow)


def measured_s(result: Result, point: int) -> float:
    """Returns the duration of the measured time of a point, in s."""
    from_s, until_s = measured_time(result, point)
    return until_s - from_s


def active_flows(result: Result) -> list[Value]:
    """Returns the mean number of active instances of each flow."""
    return [
        Value(
            point, replicate, flow, float(np.nansum(rows["measured_s"])) / measured_s(result, point)
        )
        for (point, replicate, flow), rows in grouped(
            result.tables["flows"], _KEYS, ("measured_s",)
        )
    ]


def completion_time(result: Result) -> list[Value]:
    """Returns the mean completion time; of arrivals, only those after the warm-up count."""
    return [
        Value(point, replicate, flow, mean_of_known(rows["completion_time_s"]))
        for (point, replicate, flow), rows in _transfers(result)
    ]


def completion_time_quantile(share: float) -> Callable[[Result], list[Value]]:
    """Makes the completion time that a share of the completed transfers does not exceed."""

    def quantile(result: Result) -> list[Value]:
        values = []
        for (point, replicate, flow), rows in _transfers(result):
            times = rows["completion_time_s"][~np.isnan(rows["completion_time_s"])]
            time_s = float(np.quantile(times, share)) if times.size else math.nan
            values.append(Value(point, replicate, flow, time_s))
        return values

    return quantile


def incomplete_share(result: Result) -> list[Value]:
    """Returns the share of transfers that have not ended; NaN for a flow without an end.

    Arrivals count if they started after the warm-up.
    """
    flows = _flows(result)
    values = []
    for (point, replicate, flow), rows in _transfers(result):
        is_finite = facts.traffic(flows.get((point, flow), {}))["finite"]
        over = ~np.isnan(rows["completion_time_s"])
        share = 1 - float(over.mean()) if is_finite and over.size else math.nan
        values.append(Value(point, replicate, flow, share))
    return values


def _flows(result: Result) -> dict[tuple[int, str], dict[str, Any]]:
    """Returns the flows of the scenarios by point and name; empty for a capture from elsewhere."""
    scenarios = enumerate(point["scenario"] or {} for point in result.points)
    return {
        (point, flow["name"]): flow
        for point, scenario in scenarios
        for flow in scenario.get("flows", ())
    }


def _transfers(result: Result) -> list[tuple[tuple[int, int, str], dict[str, Any]]]:
    """Returns the start and completion times of each flow's instances that count."""
    arrive = arriving(result)
    transfers = []
    for (point, replicate, flow), rows in grouped(
        result.tables["flows"], _KEYS, ("start_s", "completion_time_s")
    ):
        if (point, flow) in arrive:
            warm = rows["start_s"] >= measured_time(result, point)[0]
            rows = {name: values[warm] for name, values in rows.items()}
        transfers.append(((point, replicate, flow), rows))
    return transfers
