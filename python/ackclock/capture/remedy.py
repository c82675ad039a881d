"""Remedies: what would make a captured connection faster, in numbers.

A remedy is a sentence of the answer about a connection.
"""

import math
from collections.abc import Callable
from typing import Any

from ackclock.models.cubic_response import cubic_window, friendly_window
from ackclock.units import shown

Row = dict[str, Any]

# A rate is worth a change if it is at least this many times the present one.
_WORTH = 2.0


def remedy(connection: Row, limit: str, evidence: Row) -> str:
    """Returns what would help against a limit; empty if the capture does not show it.

    Args:
        connection: Row of the table `connections`.
        limit: The limiting factor.
        evidence: Means over the time with that limit: `rate_bit_per_s`, `rtt_mean_s`, `rtt_min_s`.
    """
    words = _REMEDIES.get(limit)
    return words(connection, evidence) if words is not None else ""


def next_rate(bit_per_s: float) -> float:
    """Returns the next power of ten that is at least twice that rate."""
    return 10.0 ** math.ceil(math.log10(_WORTH * bit_per_s) - 1e-9)


def allowed_loss(bit_per_s: float, rtt_s: float, mss_bytes: float) -> float:
    """Returns the loss rate at which CUBIC reaches a rate (RFC 9438).

    In the Reno-friendly region, where Reno allows more loss, it is that of Reno.
    """
    segments = bit_per_s * rtt_s / 8 / mss_bytes
    cubic = float(cubic_window(1.0, rtt_s)) / segments
    friendly = float(friendly_window(1.0)) / segments
    return float(min(1.0, max(cubic ** (4 / 3), friendly**2)))


def _goal(evidence: Row) -> tuple[float, float] | None:
    """Returns a rate that would be worth a change, and the round-trip time."""
    rate, rtt = evidence["rate_bit_per_s"], evidence["rtt_mean_s"]
    if rate is None or rtt is None or not rate > 0 or not rtt > 0:
        return None
    return next_rate(rate), rtt


def _of_buffer(buffer: str) -> Callable[[Row, Row], str]:
    def words(_connection: Row, evidence: Row) -> str:
        goal = _goal(evidence)
        if goal is None:
            return ""
        rate, rtt = goal
        return (
            f"{shown(rate, 'bit/s')} at {shown(rtt, 's')} would need {buffer} of "
            f"{shown(rate * rtt / 8, 'bytes')}"
        )

    return words


def _of_receive_window(connection: Row, evidence: Row) -> str:
    rate = evidence["rate_bit_per_s"]
    if connection["zero_windows"] and rate is not None:
        return (
            f"the receiving application read {shown(rate, 'bit/s')}, and a larger window helps "
            "only if it reads faster"
        )
    return _of_buffer("a window")(connection, evidence)


def _of_loss(connection: Row, evidence: Row) -> str:
    goal, mss = _goal(evidence), connection["mss_bytes"] or connection["largest_payload_bytes"]
    if goal is None or not mss:
        return ""
    rate, rtt = goal
    allowed = allowed_loss(rate, rtt, mss)
    return (
        f"for {shown(rate, 'bit/s')} at {shown(rtt, 's')} at most {100 * allowed:.2g} % may be lost"
    )


def _of_bottleneck_rate(_connection: Row, evidence: Row) -> str:
    rtt, least = evidence["rtt_mean_s"], evidence["rtt_min_s"]
    if rtt is None or least is None or not rtt > least:
        return ""
    saved = shown(rtt - least, "s")
    return (
        f"a shorter queue would save {saved} of delay; only a faster link or fewer flows would "
        "raise the rate"
    )


def _of_slow_start(_connection: Row, evidence: Row) -> str:
    rtt = evidence["rtt_mean_s"]
    return (
        f"each doubling of the initial window saves {shown(rtt, 's')}"
        if rtt is not None and rtt > 0
        else ""
    )


_REMEDIES: dict[str, Callable[[Row, Row], str]] = {
    "receive_window": _of_receive_window,
    "sender_buffer": _of_buffer("a buffer"),
    "congestion_window": _of_loss,
    "recovery": _of_loss,
    "bottleneck_rate": _of_bottleneck_rate,
    "slow_start": _of_slow_start,
}
