"""Hops that a flow crosses, and its round-trip time without queueing."""

from math import inf
from typing import Any, NamedTuple

from ackclock import units
from ackclock.elements import facts

Hop = dict[str, Any]


class Route(NamedTuple):
    """The hops of a flow.

    Attributes:
        data: Hops towards the receiver.
        acks: Hops on the way back.
        mss_bytes: Payload of a full segment.
        header_bytes: Headers of a segment.
    """

    data: list[Hop]
    acks: list[Hop]
    mss_bytes: float
    header_bytes: float

    @property
    def packet_bytes(self) -> float:
        """Size of a full segment with headers."""
        return self.mss_bytes + self.header_bytes


def route_of(scenario: dict[str, Any], flow: dict[str, Any]) -> Route:
    """Returns the hops of a flow."""
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    return Route(
        data=[hops[name] for name in flow["route"]],
        acks=[hops[name] for name in flow.get("return", [])],
        mss_bytes=facts.mss_bytes(flow),
        header_bytes=facts.packet_bytes(flow) - facts.mss_bytes(flow),
    )


def codepoint_of(flow: dict[str, Any]) -> str:
    """Returns the ECN codepoint of a flow's packets; empty without ECN."""
    sent = facts.transport(flow)[1]["sent_ecn"]
    return str(sent["codepoint"]) if sent else ""


def counts_marks(flow: dict[str, Any]) -> bool:
    """Returns True if the feedback of a flow's transport tells how many packets were marked."""
    sent = facts.transport(flow)[1]["sent_ecn"]
    return bool(sent and sent["feedback"]) and sent["feedback"] != "classic"


def base_round_trip(flow: dict[str, Any], route: Route) -> float:
    """Returns a flow's round-trip time without queueing, in seconds."""
    answer = facts.transport(flow)[1]["answer_bytes"] or route.header_bytes
    serialisation = sum(
        size * 8 / link_bit_per_s(hop)
        for method, size in ((route.data, route.packet_bytes), (route.acks, answer))
        for hop in method
        if link_bit_per_s(hop)
    )
    return propagation(flow, route) + serialisation


def propagation(flow: dict[str, Any], route: Route) -> float:
    """Returns the delays of all hops and the flow's own, in seconds."""
    delays = sum(units.seconds(hop.get("delay", "0 s")) for hop in route.data + route.acks)
    return delays + _middle(flow.get("access_delay", "0 s"))


def back(flow: dict[str, Any], route: Route) -> float:
    """Returns the time that an ACK takes from the receiver to the sender, without queueing.

    The flow's own delay counts half: it stands for the links of its host, in both directions.
    """
    answer = facts.transport(flow)[1]["answer_bytes"] or route.header_bytes
    serialisation = sum(
        answer * 8 / link_bit_per_s(hop) for hop in route.acks if link_bit_per_s(hop)
    )
    delays = sum(units.seconds(hop.get("delay", "0 s")) for hop in route.acks)
    return delays + serialisation + _middle(flow.get("access_delay", "0 s")) / 2


def link_bit_per_s(hop: Hop) -> float:
    """Returns the highest rate of a hop's link; infinite if it states none."""
    highest = facts.link(hop)[1]["highest_bit_per_s"]
    return inf if highest is None else float(highest)


def service_bit_per_s(hop: Hop) -> float:
    """Returns the highest rate of a hop in the long run: of its link, or of a queue that shapes."""
    highest = facts.queue(hop)[1]["highest_bit_per_s"]
    shapes = highest is not None and highest is not facts.NONE
    return min(link_bit_per_s(hop), float(highest) if shapes else inf)


def unknown_serialisation(route: Route) -> str:
    """Returns the reason why a round-trip time leaves a serialisation out; empty if it has all.

    A link that contends waits as well, and one that follows another's rate is not slower.
    """
    for hop in route.data + route.acks:
        name, link = facts.link(hop)
        if link["highest_bit_per_s"] is None and not (link["contends"] or link["measures"]):
            return f"{name} does not state its highest rate"
    return ""


def measured_time(scenario: dict[str, Any]) -> tuple[float, float]:
    """Returns the latest end of the warm-up and of the run, in seconds."""
    return latest(scenario["warmup"]), latest(scenario["duration"])


def is_always_active(flow: dict[str, Any], warmup_s: float) -> bool:
    """Returns true if a flow is active from the end of the warm-up to the end of the run."""
    late = "arrivals" in flow or latest(flow["start"]) > warmup_s
    return not late and flow["stop"] == "end"


def latest(written: Any) -> float:
    """Returns the end of a range in seconds, or the time itself."""
    return units.seconds(written[-1] if isinstance(written, list) else written)


def _middle(written: Any) -> float:
    """Returns the middle of a range in seconds, or the time itself."""
    if isinstance(written, list):
        return (units.seconds(written[0]) + units.seconds(written[-1])) / 2
    return units.seconds(written)
