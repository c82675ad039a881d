"""Shares of a link: what flows may send, and what they leave to one another."""

from collections.abc import Iterable
from math import inf, isnan, nan
from typing import Any

from ackclock.elements import facts
from ackclock.models.loss_window import loss_window
from ackclock.models.path import Competitor, Control


def most_bit_per_s(
    flow: dict[str, Any], control: Control, round_trip_s: float, loss: float, link_bit_per_s: float
) -> float:
    """Returns the most that an instance sends, with headers.

    Args:
        flow: A flow of a resolved scenario.
        control: Its control.
        round_trip_s: Its round-trip time without queueing.
        loss: Share of its data lost at random.
        link_bit_per_s: Rate of the slowest link on its route.

    Returns:
        The mean rate of its traffic, or what random loss, the receiver and the links allow;
        NaN if that is unknown, as for data that a client asks for.
    """
    traffic, packet = facts.traffic(flow), facts.packet_bytes(flow)
    offered = traffic["mean_bit_per_s"]
    unknown = offered is None or traffic["packet_bytes"] is None
    if "arrivals" in flow or unknown or traffic["closed_loop"] is True:
        return nan
    limits = [link_bit_per_s]
    if offered is not facts.NONE:
        payload = traffic["packet_bytes"] or facts.mss_bytes(flow)
        headers = packet - facts.mss_bytes(flow)
        limits.append(float(offered) * (payload + headers) / payload)
    window = facts.transport(flow)[1]["congestion_window"]
    if (window or control.name) and round_trip_s > 0:
        per_window = packet * 8 / round_trip_s
        receive = window["receive_segments"] if window else None
        if receive is not None and receive is not facts.NONE:
            limits.append(float(receive) * per_window)
        read = window["read_bit_per_s"] if window else None
        if read is not None and read is not facts.NONE:
            limits.append(float(read) * packet / facts.mss_bytes(flow))
        per_growth = window["segments_per_growth"] if window else 1.0
        allowed = loss_window(control, loss, round_trip_s, per_growth)
        if not isnan(allowed):
            limits.append(allowed * per_window)
    return min(limits)


def filled_by(bit_per_s: float, competitors: Iterable[Competitor]) -> str:
    """Returns the competitor with the most data if all together fill a link; empty if not."""
    sent = [(other.instances * other.most_bit_per_s, other.name) for other in competitors]
    if not sum(most for most, _ in sent) >= bit_per_s:
        return ""
    most, name = max(sent)
    return f"{name}, which sends up to {most / 1e6:.3g} Mbit/s,"


def left_bit_per_s(bit_per_s: float, competitors: Iterable[Competitor]) -> float:
    """Returns what flows without a control leave of a rate."""
    taken = sum(
        other.instances * other.most_bit_per_s
        for other in competitors
        if not other.is_responsive and other.most_bit_per_s < inf
    )
    return max(bit_per_s - taken, 0.0)


def share_bit_per_s(
    bit_per_s: float, competitors: Iterable[Competitor], own: Competitor | None
) -> float:
    """Returns the share of a link of an instance that takes all it can get.

    Flows that ask for less than an equal share leave the rest to the others (max-min fairness). A
    flow without a control counts as if all had equal shares.

    Args:
        bit_per_s: The rate of the link.
        competitors: All instances that cross it.
        own: The competitor that stands for the flow and those like it; they all take what they get.
    """
    every = tuple(competitors)
    if own is not None and not own.is_responsive:
        return bit_per_s / max(sum(other.instances for other in every), 1)
    left = left_bit_per_s(bit_per_s, every)
    asking = sorted(
        (
            inf if other == own or isnan(other.most_bit_per_s) else other.most_bit_per_s,
            other.instances,
        )
        for other in every
        if other.is_responsive or other == own
    )
    instances = sum(count for _, count in asking)
    for most, count in asking:
        if most * instances >= left:
            break
        left, instances = left - most * count, instances - count
    return left / max(instances, 1)
