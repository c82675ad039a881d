"""Metrics of flows whose instances arrive and end, and what such flows mean for the others.

How many instances are active at a time is the time for which each is, summed up, over the time that is measured: by
Little's law the rate at which they arrive times the mean time that one takes.
"""

import math
from typing import Any

import numpy as np

from ackclock import quantity
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result import Result

_KEYS = ("point", "replicate", "flow")


def arriving(result: Result, point: int) -> frozenset[str]:
    """The flows of a point whose instances arrive one after the other."""
    return frozenset(name for name, flow in _flows(result, point).items() if "arrivals" in flow)


def measured_s(result: Result, point: int) -> float:
    """How long a run of a point is measured, in s."""
    scenario = result.points[point]["scenario"]
    return quantity.seconds(scenario["duration"]) - quantity.seconds(scenario["warmup"])


def active(result: Result) -> list[Value]:
    """How many of a flow's instances are active at a time, on average."""
    return [
        Value(point, replicate, flow, float(np.nansum(rows["measured_s"])) / measured_s(result, point))
        for (point, replicate, flow), rows in grouped(result.tables["flows"], _KEYS, ("measured_s",))
    ]


def completion_time(result: Result) -> list[Value]:
    """Mean over the instances that have ended; of arrivals, those that came after the warm-up."""
    return [
        Value(point, replicate, flow, mean_of_known(rows["completion_time_s"]))
        for (point, replicate, flow), rows in _transfers(result)
    ]


def unfinished(result: Result) -> list[Value]:
    """The share of instances that have not ended, of transfers; of arrivals, of those that came after the warm-up."""
    found = []
    for (point, replicate, flow), rows in _transfers(result):
        traffic = _flows(result, point).get(flow, {}).get("traffic", {})
        over = ~np.isnan(rows["completion_time_s"])
        share = 1 - float(over.mean()) if traffic.get("kind") == "transfer" and over.size else math.nan
        found.append(Value(point, replicate, flow, share))
    return found


def _flows(result: Result, point: int) -> dict[str, Any]:
    """What the scenario says of its flows, by name; of a capture from elsewhere nothing."""
    scenario = result.points[point]["scenario"] or {}
    return {flow["name"]: flow for flow in scenario.get("flows", ())}


def _transfers(result: Result) -> list[tuple[tuple[int, int, str], dict[str, Any]]]:
    """The completion times of each flow's instances that count."""
    found = []
    for key, rows in grouped(result.tables["flows"], _KEYS, ("start_s", "completion_time_s")):
        if key[2] in arriving(result, key[0]):
            warm = rows["start_s"] >= quantity.seconds(result.points[key[0]]["scenario"]["warmup"])
            rows = {name: values[warm] for name, values in rows.items()}
        found.append((key, rows))
    return found
