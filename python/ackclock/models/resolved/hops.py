"""Round-trip time, loss and bottleneck of a route."""

from math import inf
from typing import Any

from ackclock import units
from ackclock.models.path import Bottleneck, Competitor, Feedback, LinkStates, Loss, RoundTrip
from ackclock.models.resolved.queues import thresholds, waiting_places
from ackclock.models.resolved.topology import Crowds, Hop, Route, base_round_trip, link_bit_per_s, propagation

__all__ = ["bottleneck", "loss", "round_trip"]


def round_trip(flow: dict[str, Any], route: Route) -> RoundTrip:
    """Returns the round-trip time of a flow."""
    kinds = _kinds(_impairments(route.data, "data") + _impairments(route.acks, "acks"))
    return RoundTrip(
        base_s=base_round_trip(flow, route), propagation_s=propagation(flow, route), has_jitter="jitter" in kinds
    )


def loss(route: Route, measured_s: tuple[float, float]) -> Loss:
    """Returns the random loss of a route.

    Args:
        route: The hops of a flow.
        measured_s: Beginning and end of the time over which scheduled loss is averaged.
    """
    on_data, on_acks = _impairments(route.data, "data"), _impairments(route.acks, "acks")
    kinds = _kinds(on_data)
    return Loss(
        rate=_of_all(on_data, measured_s),
        ack_rate=_of_all(on_acks, measured_s),
        is_bursty="gilbert_elliott" in kinds,
        changes="scheduled_loss" in kinds,
    )


def bottleneck(crossing: Crowds, flow: dict[str, Any], route: Route) -> Bottleneck:
    """Returns the hop with the smallest share, in segments of this flow, and who competes there.

    Args:
        crossing: Who crosses each hop.
        flow: Whose bottleneck it is.
        route: Its hops.
    """

    def competitors(hop: Hop) -> tuple[Competitor, ...]:
        if hop.get("scope", "shared") == "shared":
            return crossing[hop["name"]]
        control = flow["transport"].get("control", flow["transport"])["kind"]
        return (Competitor(control, sum(other is hop for other in route.data), base_round_trip(flow, route)),)

    shares = [(link_bit_per_s(hop) / sum(one.instances for one in competitors(hop)), hop) for hop in route.data]
    share, hop = min(shares, key=lambda one: one[0], default=(inf, {}))
    mss, packet = route.mss_bytes, route.packet_bytes
    varies = any(one["link"]["kind"] != "constant" for one in route.data)
    capped = share * mss / packet if mss else 0.0
    # What a hop gets of a medium depends on who else contends: which hop is the slowest is not known.
    if share == inf or any(one["link"]["kind"] == "contender" for one in route.data):
        return Bottleneck(link_bit_per_s=capped, varies=varies)
    segments_per_s = link_bit_per_s(hop) / 8 / packet if packet > 0 else inf
    return Bottleneck(
        link_bit_per_s=capped,
        segments_per_s=segments_per_s,
        buffer_segments=waiting_places(hop["queue"], segments_per_s, packet),
        queue=hop["queue"]["kind"],
        thresholds=thresholds(hop["queue"], segments_per_s, packet),
        varies=varies,
        link_states=_link_states(hop["link"], packet),
        feedback=_feedback(route.data, hop),
        competitors=competitors(hop),
    )


def _link_states(link: dict[str, Any], packet_bytes: float) -> LinkStates | None:
    if link["kind"] != "markov" or packet_bytes <= 0:
        return None
    rates = tuple(units.bit_per_s(rate) / 8 / packet_bytes for rate in link["rates"])
    step = units.seconds(link.get("step", "0 s"))
    written = link.get("mean_sojourn")
    if written is None:
        stays = [units.share(row[state]) for state, row in enumerate(link["transition_matrix"])]
        sojourns = [step / (1 - stay) if stay < 1 else inf for stay in stays]
    else:
        each = written if isinstance(written, list) else [written] * len(rates)
        sojourns = [units.seconds(one) for one in each]
    return LinkStates(rates, tuple(sojourns), step)


def _feedback(data: list[Hop], slowest: Hop) -> Feedback | None:
    """Returns the feedback that the first host on the route follows."""
    links = [hop["link"] for hop in data if hop["link"]["kind"] == "feedback"]
    if not links:
        return None
    link = links[0]
    algorithm = link["algorithm"]["kind"]
    if link["from"] != slowest["name"]:
        algorithm += f" of {link['from']}, which is not the bottleneck"
    lag = units.seconds(link["delay"]) + units.seconds(link["period"])
    share = units.share(link.get("target_utilisation", 1)) / link.get("sessions", 1)
    return Feedback(algorithm, lag, share)


def _of_all(impairments: list[dict[str, Any]], measured_s: tuple[float, float]) -> float:
    passed = 1.0
    for impairment in impairments:
        passed *= 1 - _mean_loss(impairment, measured_s)
    return 1 - passed


def _impairments(hops: list[Hop], packets: str) -> list[dict[str, Any]]:
    """Returns the impairments of `data` or of `acks`."""
    spared = "acks" if packets == "data" else "data"
    every = (one for hop in hops for one in hop.get("impairments", []))
    return [one for one in every if one.get("applies", "data") != spared]


def _kinds(impairments: list[dict[str, Any]]) -> set[str]:
    return {one["kind"] for one in impairments}


def _mean_loss(impairment: dict[str, Any], measured_s: tuple[float, float]) -> float:
    if impairment["kind"] == "iid_loss":
        return units.share(impairment["probability"])
    if impairment["kind"] == "scheduled_loss":
        return _mean_of_steps(impairment["steps"], *measured_s)
    if impairment["kind"] == "gilbert_elliott":
        into, out = units.share(impairment["good_to_bad"]), units.share(impairment["bad_to_good"])
        bad = into / (into + out) if into + out > 0 else 0.0  # it starts in the good state
        good_loss, bad_loss = units.share(impairment["loss_in_good"]), units.share(impairment["loss_in_bad"])
        return (1 - bad) * good_loss + bad * bad_loss
    return 0.0


def _mean_of_steps(steps: list[dict[str, Any]], from_s: float, until_s: float) -> float:
    """Returns the mean over time of a probability that is zero before the first step."""
    begins = [min(max(units.seconds(step["from"]), from_s), until_s) for step in steps]
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], until_s], strict=True)]
    shares = [units.share(step["probability"]) for step in steps]
    lost = sum(share * last for share, last in zip(shares, lasts, strict=True))
    return lost / (until_s - from_s) if until_s > from_s else shares[-1]
