"""What is to be known of a point to draw or list its flows: from its scenario, or from what a capture showed."""

from typing import Any, NamedTuple

from ackclock import quantity
from ackclock.control import control_of
from ackclock.measured import largest
from ackclock.result import Result

__all__ = ["Described", "Flow", "described"]


class Flow(NamedTuple):
    """A flow group.

    Attributes:
        instances: How many there are of it; None if they arrive, as many as are drawn.
        control: Name of the congestion or rate control, `udp` for UDP without one; empty if not known.
        mss_bytes: Payload of a full segment.
    """

    instances: int | None
    control: str
    mss_bytes: float


class Described(NamedTuple):
    """A point of a result.

    Attributes:
        name: Of the scenario or the capture.
        duration_s: How long a run of it lasts.
        flows: By name, in the order in which they are shown: the scenario's, of captures the most payload first.
    """

    name: str
    duration_s: float
    flows: dict[str, Flow]


def described(result: Result, point: int) -> Described:
    """What a point of a result is."""
    scenario = result.points[point]["scenario"]
    of_scenario = {} if scenario is None else {flow["name"]: _flow(flow) for flow in scenario["flows"]}
    if result.run["way"] != "measure":
        return Described(scenario["name"], quantity.seconds(scenario["duration"]), of_scenario)
    names = ("flow", "instance", "mss_bytes", "largest_payload_bytes", "end_s")
    flows: dict[str, Flow] = {}
    ends = [0.0]
    for row in largest(result, columns=names, point=point):
        known = flows.get(row["flow"])
        instances = max(row["instance"] + 1, (known.instances or 0) if known else 0)
        own = Flow(instances, "", float(row["mss_bytes"] or row["largest_payload_bytes"]))
        flows[row["flow"]] = of_scenario.get(row["flow"], own)
        ends.append(row["end_s"])
    return Described(result.run["name"], quantity.seconds(scenario["duration"]) if scenario else max(ends), flows)


def _flow(flow: dict[str, Any]) -> Flow:
    return Flow(flow.get("count"), control_of(flow), quantity.data_bytes(flow["transport"]["mss"]))
