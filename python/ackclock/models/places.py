"""How much a queue holds, in full segments."""

from math import inf
from typing import Any

from ackclock import units


def waiting_places(queue: dict[str, Any], capacity: float, packet_bytes: float) -> float:
    """How many full segments may wait for the link, without the one being sent."""
    written = queue.get("limit", queue.get("maximum", "unlimited"))
    places = segments(written, capacity, packet_bytes)
    counts_one_more = queue.get("counts_packet_in_service") and units.parse(written).base != "s"
    return max(places - 1, 0.0) if counts_one_more else places


def segments(written: str, capacity: float, packet_bytes: float) -> float:
    """A limit in packets, bytes or time as full segments."""
    if written == "unlimited":
        return inf
    limit = units.parse(written)
    if limit.base == "s":
        return limit.amount * capacity
    return limit.amount / packet_bytes if limit.base == "bytes" else limit.amount
