"""Round-trip time, loss and bottleneck of a route."""

from math import inf, isnan, nan
from typing import Any

from ackclock.elements import facts
from ackclock.models.path import (
    Bottleneck,
    Competitor,
    Feedback,
    LinkStates,
    RoundTrip,
)
from ackclock.models.resolved.crowds import Crowds
from ackclock.models.resolved.losses import any_of, impairments_of
from ackclock.models.resolved.queues import (
    coupling,
    marks_above,
    steering,
    thresholds,
    waiting_places,
)
from ackclock.models.resolved.shares import filled_by, share_bit_per_s
from ackclock.models.resolved.topology import (
    Hop,
    Route,
    back,
    base_round_trip,
    propagation,
    service_bit_per_s,
    unknown_serialisation,
)


def round_trip(flow: dict[str, Any], route: Route) -> RoundTrip:
    """Returns the round-trip time of a flow."""
    every = impairments_of(route.data, "data") + impairments_of(route.acks, "acks")
    return RoundTrip(
        base_s=base_round_trip(flow, route),
        propagation_s=propagation(flow, route),
        back_s=back(flow, route),
        has_jitter=any_of(stated["delays"] for _, stated in every),
        unknown=unknown_serialisation(route),
    )


def bottleneck(crossing: Crowds, flow: dict[str, Any], route: Route) -> Bottleneck:
    """Returns the hop with the smallest share, in segments of this flow, and its competitors.

    Args:
        crossing: The competitors at each hop.
        flow: The flow whose bottleneck is asked for.
        route: Its hops.
    """
    alone = crossing.flows[flow["name"]]

    def competitors(hop: Hop) -> tuple[Competitor, ...]:
        if hop.get("scope", "shared") == "shared":
            return crossing.data[hop["name"]]
        return (alone._replace(instances=sum(other is hop for other in route.data)),)

    def share_of(hop: Hop) -> float:
        every = competitors(hop)
        own = next((other for other in every if other._replace(instances=0) == alone), None)
        return share_bit_per_s(service_bit_per_s(hop), every, own)

    links = [facts.link(hop)[1] for hop in route.data]
    shares = [(share_of(hop), hop) for hop in route.data]
    filling = filter(
        None, (filled_by(service_bit_per_s(each), competitors(each)) for each in route.data)
    )
    share, hop = min(shares, key=lambda pair: pair[0], default=(inf, {}))
    varies, packet = any_of(link["varies"] for link in links), route.packet_bytes
    capped = share * route.mss_bytes / packet if route.mss_bytes else 0.0
    names = [hop["name"] for hop in route.data]
    unknown = next(filter(None, (_unknown_rate(hop, names) for hop in route.data)), "")
    if share == inf or unknown:
        return Bottleneck(
            link_bit_per_s=capped, varies=varies, unknown=unknown, filled_by=next(filling, "")
        )
    whole = service_bit_per_s(hop)
    segments_per_s = whole / 8 / packet if packet > 0 else inf
    name, queue = facts.queue(hop)
    return Bottleneck(
        link_bit_per_s=capped,
        segments_per_s=segments_per_s,
        buffer_segments=waiting_places(queue, segments_per_s, packet),
        queue=name,
        drops=queue["drops"],
        limit_moves=None if queue["capacity"] is None else queue["capacity"]["kind"] != "limit",
        thresholds=thresholds(queue, segments_per_s, packet),
        steering=steering(queue),
        marks=queue["marks"],
        marks_above_segments=marks_above(queue, segments_per_s, packet),
        coupling=coupling(queue),
        varies=varies,
        link_states=_link_states(facts.link(hop)[1], packet),
        feedback=_feedback(links, hop),
        competitors=competitors(hop),
        hop=hop["name"],
        acks_share=_acks_bit_per_s(crossing, hop) / whole if whole > 0 else 0.0,
        filled_by=next(filling, ""),
        other_places=_places([each for each in route.data if each is not hop], packet),
    )


def _places(hops: list[Hop], packet: float) -> float:
    """Returns the fewest segments that a queue of some hops holds."""
    places = [
        waiting_places(facts.queue(hop)[1], service_bit_per_s(hop) / 8 / packet, packet)
        for hop in hops
        if packet > 0
    ]
    return nan if any(isnan(held) for held in places) else min(places, default=inf)


def _acks_bit_per_s(crossing: Crowds, hop: Hop) -> float:
    """Returns the rate of the ACKs that share a hop with data."""
    is_shared = hop.get("scope", "shared") == "shared"
    return crossing.acks.get(hop["name"], 0.0) if is_shared else 0.0


def _unknown_rate(hop: Hop, route: list[str]) -> str:
    """Returns the reason why the highest rate of a hop is not known; empty if it is.

    The rate of a link that contends depends on the other contenders. A link that follows the rate
    of another one on the route is not slower than that one.
    """
    (name, link), (queue_name, queue) = facts.link(hop), facts.queue(hop)
    if queue["highest_bit_per_s"] is None:
        return f"{queue_name} does not state whether it limits the rate"
    if link["measures"] in route:
        return ""
    if link["measures"]:
        return f"the link of {hop['name']} follows the rate of {link['measures']}"
    if link["contends"]:
        return f"the link of {hop['name']} contends for a medium"
    if link["contends"] is None:
        return f"{name} does not state whether it contends for a medium"
    return f"{name} does not state its highest rate" if link["highest_bit_per_s"] is None else ""


def _link_states(link: facts.Facts, packet_bytes: float) -> LinkStates | facts.Nothing | None:
    states = link["states"]
    if not states:
        return facts.NONE if states is facts.NONE else None
    if packet_bytes <= 0 or None in states["sojourns_s"]:
        return None
    return LinkStates(
        segments_per_s=tuple(rate / 8 / packet_bytes for rate in states["bit_per_s"]),
        sojourns_s=tuple(
            inf if sojourn is facts.NONE else sojourn for sojourn in states["sojourns_s"]
        ),
        step_s=states["step_s"],
    )


def _feedback(links: list[facts.Facts], slowest: Hop) -> Feedback | facts.Nothing | None:
    """Returns the feedback that the first host on the route follows."""
    link = next((link for link in links if link["feedback"]), None)
    if link is None:
        unfed = all(link["feedback"] is facts.NONE for link in links)
        return facts.NONE if unfed else None
    stated, algorithm = link["feedback"], link["feedback"]["algorithm"]
    if link["measures"] != slowest["name"]:
        algorithm += f" of {link['measures']}, which is not the bottleneck"
    return Feedback(algorithm, stated["lag_s"], stated["share"], stated["jumps"])
