"""The capacity and the thresholds of a queue, in full segments."""

from math import inf, nan
from typing import Any

from ackclock import units
from ackclock.elements.facts import NONE, Facts, Nothing
from ackclock.models.path import Coupling, Steering, Thresholds


def waiting_places(queue: Facts, segments_per_s: float, packet_bytes: float) -> float:
    """Returns the queue limit in full segments, without the one being sent; NaN if not stated.

    Args:
        queue: Facts of the queue.
        segments_per_s: Rate of its link.
        packet_bytes: Size of a full segment with headers.
    """
    capacity = queue["capacity"]
    if capacity is None:
        return nan
    written = capacity["limit"] if capacity["kind"] == "limit" else capacity["most"]
    places = _segments(written, segments_per_s, packet_bytes)
    in_time = written != "unlimited" and units.parse(written).base == "s"
    return max(places - 1, 0.0) if capacity["counts_packet_in_service"] and not in_time else places


def thresholds(
    queue: Facts, segments_per_s: float, packet_bytes: float
) -> Thresholds | Nothing | None:
    """Returns the fixed thresholds of random drops."""
    stated: Any = queue["thresholds"]
    if not stated:
        return _absent(stated)
    low, high = (_segments(stated[end], segments_per_s, packet_bytes) for end in ("low", "high"))
    return Thresholds(low, high, stated["p_max"], stated["gentle"])


def steering(queue: Facts) -> Steering | Nothing | None:
    """Returns the law that steers the delay of all packets."""
    stated: Any = queue["steering"]
    if not stated:
        return _absent(stated)
    interval_s = stated["interval_s"]
    if interval_s is None:
        return None
    has_one = interval_s is not NONE
    return Steering(stated["law"], stated["target_s"], interval_s if has_one else nan)


def coupling(queue: Facts) -> Coupling | Nothing | None:
    """Returns the queue for low latency beside a queue."""
    stated: Any = queue["low_latency"]
    if not stated:
        return _absent(stated)
    return Coupling(stated["joins"], stated["coupling"], stated["classic_target_s"])


def marks_above(queue: Facts, segments_per_s: float, packet_bytes: float) -> float:
    """Returns the queue above which every packet is marked, in full segments.

    NaN if there is no such threshold, or if none is known.
    """
    stated = queue["marking"]
    if not stated:
        return nan
    ramp = stated["ramp"]
    if ramp is None or (ramp and _segments(ramp, segments_per_s, packet_bytes) > 0):
        return nan
    return _segments(stated["threshold"], segments_per_s, packet_bytes)


def _absent(stated: Any) -> Nothing | None:
    """Returns `NONE` if a queue states that it lacks something, None if it does not say."""
    return None if stated is None else NONE


def _segments(written: str, segments_per_s: float, packet_bytes: float) -> float:
    """Converts a limit in packets, bytes or time to full segments."""
    if written == "unlimited":
        return inf
    limit = units.parse(written)
    if limit.base == "s":
        return limit.amount * segments_per_s
    return limit.amount / packet_bytes if limit.base == "bytes" else limit.amount
