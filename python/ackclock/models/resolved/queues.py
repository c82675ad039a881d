"""The capacity and the thresholds of a queue, in full segments."""

from math import inf, nan

from ackclock import units
from ackclock.elements.facts import Facts
from ackclock.models.path import Coupling, Steering, Thresholds

__all__ = ["coupling", "marks_above", "steering", "thresholds", "waiting_places"]


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


def thresholds(queue: Facts, segments_per_s: float, packet_bytes: float) -> Thresholds | None:
    """Returns the fixed thresholds of random drops; None if there are none, or if they move."""
    stated = queue["thresholds"]
    if stated is None:
        return None
    low, high = (_segments(stated[end], segments_per_s, packet_bytes) for end in ("low", "high"))
    return Thresholds(low, high, stated["p_max"], stated["gentle"])


def steering(queue: Facts) -> Steering | None:
    """Returns the law that steers the delay of all packets; None if none is stated."""
    stated = queue["steering"]
    if stated is None:
        return None
    interval_s = stated["interval_s"]
    return Steering(stated["law"], stated["target_s"], nan if interval_s is None else interval_s)


def coupling(queue: Facts) -> Coupling | None:
    """Returns the queue for low latency beside a queue; None if none is stated."""
    stated = queue["low_latency"]
    if stated is None:
        return None
    return Coupling(stated["joins"], stated["coupling"], stated["classic_target_s"])


def marks_above(queue: Facts, segments_per_s: float, packet_bytes: float) -> float:
    """Returns the queue above which every packet is marked, in full segments; NaN if none."""
    stated = queue["marking"]
    if stated is None:
        return nan
    ramp = stated["ramp"]
    if ramp is not None and _segments(ramp, segments_per_s, packet_bytes) > 0:
        return nan
    return _segments(stated["threshold"], segments_per_s, packet_bytes)


def _segments(written: str, segments_per_s: float, packet_bytes: float) -> float:
    """Converts a limit in packets, bytes or time to full segments."""
    if written == "unlimited":
        return inf
    limit = units.parse(written)
    if limit.base == "s":
        return limit.amount * segments_per_s
    return limit.amount / packet_bytes if limit.base == "bytes" else limit.amount
