"""Round-trip time, loss and bottleneck of a route."""

from collections.abc import Iterable
from math import inf, nan
from typing import Any

from ackclock.elements import facts
from ackclock.models.path import Bottleneck, Competitor, Feedback, LinkStates, Loss, RoundTrip
from ackclock.models.resolved.controls import control_of
from ackclock.models.resolved.queues import (
    coupling,
    marks_above,
    steering,
    thresholds,
    waiting_places,
)
from ackclock.models.resolved.topology import (
    Crowds,
    Hop,
    Route,
    base_round_trip,
    codepoint_of,
    counts_marks,
    propagation,
    service_bit_per_s,
)

__all__ = ["bottleneck", "loss", "round_trip"]

Impairments = list[tuple[str, facts.Facts]]


def round_trip(flow: dict[str, Any], route: Route) -> RoundTrip:
    """Returns the round-trip time of a flow."""
    every = _impairments(route.data, "data") + _impairments(route.acks, "acks")
    return RoundTrip(
        base_s=base_round_trip(flow, route),
        propagation_s=propagation(flow, route),
        has_jitter=_any(stated["delays"] for _, stated in every),
    )


def loss(route: Route, measured_s: tuple[float, float]) -> Loss:
    """Returns the random loss of a route.

    Args:
        route: The hops of a flow.
        measured_s: Beginning and end of the time over which scheduled loss is averaged.
    """
    on_data, on_acks = _impairments(route.data, "data"), _impairments(route.acks, "acks")
    return Loss(
        rate=_of_all(on_data, measured_s),
        ack_rate=_of_all(on_acks, measured_s),
        is_bursty=_any(stated["bursty"] for _, stated in on_data),
        changes=_any(stated["changes"] for _, stated in on_data),
        unknown=_unknown(on_data + on_acks),
    )


def bottleneck(crossing: Crowds, flow: dict[str, Any], route: Route) -> Bottleneck:
    """Returns the hop with the smallest share, in segments of this flow, and its competitors.

    Args:
        crossing: The competitors at each hop.
        flow: The flow whose bottleneck is asked for.
        route: Its hops.
    """

    def competitors(hop: Hop) -> tuple[Competitor, ...]:
        if hop.get("scope", "shared") == "shared":
            return crossing[hop["name"]]
        transport, crosses = flow["transport"], sum(other is hop for other in route.data)
        return (
            Competitor(
                transport["kind"],
                control_of(transport),
                crosses,
                base_round_trip(flow, route),
                codepoint=codepoint_of(transport),
                counts_marks=counts_marks(transport),
            ),
        )

    links = [facts.link(hop)[1] for hop in route.data]
    shares = [
        (service_bit_per_s(hop) / sum(one.instances for one in competitors(hop)), hop)
        for hop in route.data
    ]
    share, hop = min(shares, key=lambda one: one[0], default=(inf, {}))
    varies, packet = _any(link["varies"] for link in links), route.packet_bytes
    capped = share * route.mss_bytes / packet if route.mss_bytes else 0.0
    if share == inf or any(_may_be_slower(link) for link in links):
        return Bottleneck(link_bit_per_s=capped, varies=varies)
    segments_per_s = service_bit_per_s(hop) / 8 / packet if packet > 0 else inf
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
        marks_above_segments=marks_above(queue, segments_per_s, packet),
        coupling=coupling(queue),
        varies=varies,
        link_states=_link_states(facts.link(hop)[1], packet),
        feedback=_feedback(links, hop),
        competitors=competitors(hop),
    )


def _may_be_slower(link: facts.Facts) -> bool:
    """Returns True if a link states no rate, or its share of a medium depends on the contenders.

    A link that follows another one's rate is not slower than that one.
    """
    return link["highest_bit_per_s"] is None and link["measures"] is None


def _link_states(link: facts.Facts, packet_bytes: float) -> LinkStates | None:
    states = link["states"]
    if states is None or packet_bytes <= 0:
        return None
    return LinkStates(
        segments_per_s=tuple(rate / 8 / packet_bytes for rate in states["bit_per_s"]),
        sojourns_s=tuple(inf if sojourn is None else sojourn for sojourn in states["sojourns_s"]),
        step_s=states["step_s"],
    )


def _feedback(links: list[facts.Facts], slowest: Hop) -> Feedback | None:
    """Returns the feedback that the first host on the route follows."""
    link = next((link for link in links if link["feedback"] is not None), None)
    if link is None:
        return None
    stated, algorithm = link["feedback"], link["feedback"]["algorithm"]
    if link["measures"] != slowest["name"]:
        algorithm += f" of {link['measures']}, which is not the bottleneck"
    return Feedback(algorithm, stated["lag_s"], stated["share"])


def _impairments(hops: list[Hop], packets: str) -> Impairments:
    """Returns the impairments of `data` or `acks`, and those that do not state which."""
    every = (one for hop in hops for one in facts.impairments(hop))
    return [one for one in every if one[1]["applies_to"] in (packets, "all", None)]


def _any(stated: Iterable[bool | None]) -> bool | None:
    """Returns True if a fact holds; None if none is known to hold and one is not stated."""
    known = list(stated)
    return None if None in known and True not in known else True in known


def _unknown(impairments: Impairments) -> str:
    """Returns the reason why the loss rate is unknown; empty if it is known."""
    for name, stated in impairments:
        if stated["mean_loss"] is None and stated["loss_steps"] is None:
            return f"{name} does not state how much it loses"
        if stated["mean_loss"] != 0 and stated["applies_to"] is None:
            return f"{name} does not state which packets it loses"
    return ""


def _of_all(impairments: Impairments, measured_s: tuple[float, float]) -> float:
    passed = 1.0
    for _, stated in impairments:
        passed *= 1 - _mean_loss(stated, measured_s)
    return 1 - passed


def _mean_loss(impairment: facts.Facts, measured_s: tuple[float, float]) -> float:
    mean, steps = impairment["mean_loss"], impairment["loss_steps"]
    if mean is not None:
        return float(mean)
    return nan if steps is None else _mean_of_steps(steps, *measured_s)


def _mean_of_steps(steps: list[dict[str, float]], from_s: float, until_s: float) -> float:
    """Returns the mean over time of a probability that is zero before the first step."""
    begins = [min(max(step["from_s"], from_s), until_s) for step in steps]
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], until_s], strict=True)]
    shares = [step["probability"] for step in steps]
    lost = sum(share * last for share, last in zip(shares, lasts, strict=True))
    return lost / (until_s - from_s) if until_s > from_s else shares[-1]
