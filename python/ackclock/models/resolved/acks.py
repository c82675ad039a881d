"""The way back of a flow's ACKs: how busy its links are, and with what."""

from math import inf, isnan
from typing import Any

from ackclock.elements import facts
from ackclock.models.path import AckPath
from ackclock.models.resolved.crowds import Crowds
from ackclock.models.resolved.shares import left_bit_per_s
from ackclock.models.resolved.topology import Hop, Route, service_bit_per_s

Tree = dict[str, Any]


def ack_path(crossing: Crowds, flow: Tree, route: Route) -> AckPath:
    """Returns the way back of a flow's ACKs, by its busiest hop."""
    if not facts.transport(flow)[1]["delayed_acks"]:
        return AckPath()
    every = [_at_hop(crossing, flow, hop) for hop in route.acks]
    return max(every, key=lambda path: (bool(path.unknown), path.load), default=AckPath())


def _at_hop(crossing: Crowds, flow: Tree, hop: Hop) -> AckPath:
    name, link = facts.link(hop)
    is_shared = hop.get("scope", "shared") == "shared"
    data = crossing.data.get(hop["name"], ()) if is_shared else ()
    asked = crossing.acks[hop["name"]] if is_shared else crossing.acks_of[flow["name"]]
    rate = service_bit_per_s(hop)
    unclear = next((other.name for other in data if isnan(other.most_bit_per_s)), "")
    unknown = {
        f"the rate of {hop['name']} ({name}) varies": link["contends"] or link["varies"],
        f"{name} does not state its rate": None in (link["varies"], link["highest_bit_per_s"]),
        f"it is not known how much of {hop['name']} {unclear} takes": unclear,
        "it is not known how fast data arrives": asked == inf,
    }
    if why := next((why for why, holds in unknown.items() if holds), ""):
        return AckPath(hop=hop["name"], unknown=why)
    if data and asked + sum(other.instances * other.most_bit_per_s for other in data) >= rate:
        most = max(data, key=lambda other: other.instances * other.most_bit_per_s)
        return AckPath(load=inf, hop=hop["name"], filled_by=most.name)
    left = left_bit_per_s(rate, data)
    return AckPath(load=asked / left if left > 0 else inf, hop=hop["name"])
