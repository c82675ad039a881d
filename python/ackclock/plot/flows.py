"""Properties of a point's flows for figures and lists, for a scenario, a capture or a session."""

from typing import Any, NamedTuple

from ackclock import units
from ackclock.capture.connections import largest
from ackclock.elements import facts
from ackclock.metrics.rates import measured_time, payload_bytes
from ackclock.result.flows import control_of
from ackclock.result.result import Result


class Flow(NamedTuple):
    """A flow.

    Attributes:
        instances: Number of its instances; None if they arrive at random.
        control: Name of the congestion or rate control, `udp` for UDP without one; empty if
            unknown.
        mss_bytes: Payload of a full segment.
    """

    instances: int | None
    control: str
    mss_bytes: float


class Described(NamedTuple):
    """A point of a result.

    Attributes:
        name: Name of the scenario or the capture; for a session, with the peer.
        start_s: Start of the time axis: 0, or when a session begins.
        end_s: End of the time axis.
        flows: Flows by name in display order: the scenario's order, or by payload for captures.
    """

    name: str
    start_s: float
    end_s: float
    flows: dict[str, Flow]


def described(result: Result, point: int) -> Described:
    """Describes a point of a result."""
    if result.is_session:
        return _session(result)
    scenario = result.points[point]["scenario"]
    of_scenario = (
        {} if scenario is None else {flow["name"]: _flow(flow) for flow in scenario["flows"]}
    )
    if result.run["method"] != "measure":
        return Described(scenario["name"], 0.0, units.seconds(scenario["duration"]), of_scenario)
    names = ("flow", "instance", "mss_bytes", "largest_payload_bytes", "end_s")
    flows: dict[str, Flow] = {}
    ends = [0.0]
    for row in largest(result, columns=names, point=point):
        before = flows.get(row["flow"])
        instances = max(row["instance"] + 1, (before.instances or 0) if before else 0)
        own = Flow(instances, "", float(row["mss_bytes"] or row["largest_payload_bytes"]))
        flows[row["flow"]] = of_scenario.get(row["flow"], own)
        ends.append(row["end_s"])
    end_s = units.seconds(scenario["duration"]) if scenario else max(ends)
    return Described(result.run["name"], 0.0, end_s, flows)


def _session(result: Result) -> Described:
    """Describes a session with its flow; if it never began, without flows and with its wait."""
    session = result.run["session"]
    names = result.tables["flows"]["flow"].to_pylist()
    flows = {name: Flow(1, session["control"], payload_bytes(result)) for name in names}
    start_s, end_s = measured_time(result, 0) if flows else (0.0, session["lasted_s"])
    towards = "to" if result.run["method"] == "send" else "from"
    name = result.run["name"]
    return Described(
        f"{name}, {towards} {session['peer']}" if "peer" in session else name, start_s, end_s, flows
    )


def _flow(flow: dict[str, Any]) -> Flow:
    return Flow(flow.get("count"), control_of(flow), facts.mss_bytes(flow))
