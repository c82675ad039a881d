"""Causes in the path: what shares it, reorders packets, or holds up ACKs."""

import math

from ackclock.comparison.causes.cause import (
    NOTICEABLE,
    OF_THE_WINDOW,
    Cause,
    Evidence,
    SeenPath,
    percent,
)
from ackclock.elements import facts
from ackclock.result.flows import is_controlled

# A link that is this busy makes packets wait for each other, even without a long queue. Guessed.
_BUSY = 0.9

# Share of the segments sent again that must be needless to count as reordering. Guessed.
_NEEDLESS = 0.1


def _is_of_model(evidence: Evidence) -> bool:
    return evidence.method == "predict" and evidence.flow is not None


def _cross_traffic(evidence: Evidence) -> str:
    """Compares with the rate that traffic without a congestion control takes of a hop.

    Models share a link equally among the flows, whatever these take.
    """
    seen = evidence.reference_path
    if seen is None or evidence.flow is None or not _is_of_model(evidence):
        return ""
    taken = {hop: _taken(seen, hop) for hop in evidence.flow["route"]}
    hop = max(taken, key=lambda name: taken[name] / seen.capacity.get(name, math.inf))
    share = taken[hop] / seen.capacity.get(hop, math.inf)
    effect = 1 / max(1 - share, NOTICEABLE) - 1
    if share < NOTICEABLE or (evidence.metric == "goodput" and not evidence.fits(effect)):
        return ""
    return (
        f"traffic without a congestion control takes {taken[hop] / 1e6:.3g} of "
        f"{seen.capacity[hop] / 1e6:.3g} Mbit/s at {hop}, {percent(share)}"
    )


def _taken(seen: SeenPath, hop: str) -> float:
    """Returns the rate that other flows without a congestion control deliver through a hop."""
    return sum(
        seen.goodput.get(flow["name"], 0.0)
        for flow in seen.scenario["flows"]
        if hop in flow["route"] and not is_controlled(flow)
    )


def _reordering(evidence: Evidence) -> str:
    """Looks for an element that lets packets overtake, and for more sent again than was lost."""
    seen = evidence.reference_path
    again, lost = (
        evidence.reference_saw.get(name, 0.0) for name in ("retransmissions", "loss_rate")
    )
    if seen is None or evidence.flow is None or not _is_of_model(evidence):
        return ""
    if again - lost <= _NEEDLESS * again:
        return ""
    route = [*evidence.flow["route"], *evidence.flow["return"]]
    places = [
        f"{name} at {hop['name']}"
        for hop in seen.scenario["hops"]
        if hop["name"] in route
        for name, stated in facts.impairments(hop)
        if stated["reorders"]
    ]
    concerns = (*OF_THE_WINDOW, "retransmissions", "rtt")
    if not places or evidence.metric not in concerns:
        return ""
    if evidence.metric == "goodput" and not evidence.more:
        return ""
    return (
        f"packets overtake each other ({', '.join(places)}), and the sender takes them for lost: "
        f"{percent(again)} of the segments were sent again, {percent(lost)} of the packets were "
        "dropped"
    )


def _return_path(evidence: Evidence) -> str:
    """Looks at the hops of the ACKs: a busy link, or a queue that lengthens the round trip."""
    seen = evidence.reference_path
    if seen is None or evidence.flow is None or evidence.path is None or not _is_of_model(evidence):
        return ""
    concerns = {"goodput": evidence.more, "rtt": not evidence.more, "rtt_p99": not evidence.more}
    if not concerns.get(evidence.metric, evidence.metric in OF_THE_WINDOW):
        return ""
    base_s = evidence.path.round_trip.base_s
    for hop in evidence.flow["return"]:
        if hop in evidence.flow["route"]:
            continue
        busy, waits_s = seen.utilisation.get(hop, 0.0), seen.queueing_delay.get(hop, 0.0)
        if busy >= _BUSY or waits_s > 0.1 * base_s:
            return (
                f"ACKs wait {waits_s * 1e3:.3g} ms at {hop}, whose link is busy {percent(busy)} "
                f"of the time; the round trip without queues is {base_s * 1e3:.3g} ms"
            )
    return ""


CROSS_TRAFFIC = Cause(
    "cross_traffic",
    "The model shares the link equally; traffic without a congestion control takes another share.",
    _cross_traffic,
    is_of_path=True,
)
REORDERING = Cause(
    "reordering",
    "The model knows losses only; here packets overtake each other, which a sender reacts to.",
    _reordering,
    is_of_path=True,
)
RETURN_PATH = Cause(
    "return_path",
    "The model has no queue on the way back; here ACKs wait, come late or are lost there.",
    _return_path,
    is_of_path=True,
)
