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
    unknown_serialisation,
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
        unknown=unknown_serialisation(route),
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
        crosses = sum(other is hop for other in route.data)
        return (
            Competitor(
                facts.transport(flow)[0],
                control_of(flow),
                crosses,
                base_round_trip(flow, route),
                codepoint=codepoint_of(flow),
                counts_marks=counts_marks(flow),
            ),
        )

    links = [facts.link(hop)[1] for hop in route.data]
    shares = [
        (service_bit_per_s(hop) / sum(other.instances for other in competitors(hop)), hop)
        for hop in route.data
    ]
    share, hop = min(shares, key=lambda pair: pair[0], default=(inf, {}))
    varies, packet = _any(link["varies"] for link in links), route.packet_bytes
    capped = share * route.mss_bytes / packet if route.mss_bytes else 0.0
    names = [hop["name"] for hop in route.data]
    unknown = next(filter(None, (_unknown_rate(hop, names) for hop in route.data)), "")
    if share == inf or unknown:
        return Bottleneck(link_bit_per_s=capped, varies=varies, unknown=unknown)
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
        marks=queue["marks"],
        marks_above_segments=marks_above(queue, segments_per_s, packet),
        coupling=coupling(queue),
        varies=varies,
        link_states=_link_states(facts.link(hop)[1], packet),
        feedback=_feedback(links, hop),
        competitors=competitors(hop),
    )


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
    return Feedback(algorithm, stated["lag_s"], stated["share"])


def _impairments(hops: list[Hop], packets: str) -> Impairments:
    """Returns the impairments of `data` or `acks`, and those that do not state which."""
    every = (impairment for hop in hops for impairment in facts.impairments(hop))
    return [
        impairment for impairment in every if impairment[1]["applies_to"] in (packets, "all", None)
    ]


def _any(stated: Iterable[bool | None]) -> bool | None:
    """Returns True if a fact holds; None if none is known to hold and one is not stated."""
    values = list(stated)
    return None if None in values and True not in values else True in values


def _unknown(impairments: Impairments) -> str:
    """Returns the reason why the loss rate is unknown; empty if it is known."""
    for name, stated in impairments:
        mean = stated["mean_loss"]
        if (mean is None or mean is facts.NONE) and not stated["loss_steps"]:
            return f"{name} does not state how much it loses"
        if mean != 0 and stated["applies_to"] is None:
            return f"{name} does not state which packets it loses"
    return ""


def _of_all(impairments: Impairments, measured_s: tuple[float, float]) -> float:
    passed = 1.0
    for _, stated in impairments:
        passed *= 1 - _mean_loss(stated, measured_s)
    return 1 - passed


def _mean_loss(impairment: facts.Facts, measured_s: tuple[float, float]) -> float:
    mean, steps = impairment["mean_loss"], impairment["loss_steps"]
    if steps:
        return _mean_of_steps(steps, *measured_s)
    return nan if mean is None or mean is facts.NONE else float(mean)


def _mean_of_steps(steps: list[dict[str, float]], from_s: float, until_s: float) -> float:
    """Returns the mean over time of a probability that is zero before the first step."""
    begins = [min(max(step["from_s"], from_s), until_s) for step in steps]
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], until_s], strict=True)]
    shares = [step["probability"] for step in steps]
    lost = sum(share * last for share, last in zip(shares, lasts, strict=True))
    return lost / (until_s - from_s) if until_s > from_s else shares[-1]
