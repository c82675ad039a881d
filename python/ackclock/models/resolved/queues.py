"""The capacity and the thresholds of a queue, in full segments."""

from math import inf
from typing import Any

from ackclock import units
from ackclock.models.path import Thresholds

__all__ = ["thresholds", "waiting_places"]


def waiting_places(queue: dict[str, Any], segments_per_s: float, packet_bytes: float) -> float:
    """Returns the full segments that may wait for the link, without the one being sent.

    Args:
        queue: A queue of a resolved scenario.
        segments_per_s: Rate of its link.
        packet_bytes: Size of a full segment with headers.
    """
    written = queue.get("limit", queue.get("maximum", "unlimited"))
    places = _segments(written, segments_per_s, packet_bytes)
    counts_one_more = queue.get("counts_packet_in_service") and units.parse(written).base != "s"
    return max(places - 1, 0.0) if counts_one_more else places


def thresholds(queue: dict[str, Any], segments_per_s: float, packet_bytes: float) -> Thresholds | None:
    """Returns the fixed thresholds of random drops; None if there are none, or if they move."""
    if queue["kind"] != "red":
        return None
    low, high = (_segments(queue[f"{end}_threshold"], segments_per_s, packet_bytes) for end in ("minimum", "maximum"))
    return Thresholds(low, high, units.share(queue["maximum_probability"]), bool(queue["gentle"]))


def _segments(written: str, segments_per_s: float, packet_bytes: float) -> float:
    """Converts a limit in packets, bytes or time to full segments."""
    if written == "unlimited":
        return inf
    limit = units.parse(written)
    if limit.base == "s":
        return limit.amount * segments_per_s
    return limit.amount / packet_bytes if limit.base == "bytes" else limit.amount
