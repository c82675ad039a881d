"""Causes behind a limit, where the evidence singles one out.

A limit says what the sender waits for: its congestion window, the receiver's window. A cause says
why: marks or needless retransmissions make a congestion window small, a slow reader a receiver's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.units import shown

Row = dict[str, Any]

#: Limits that the network sets.
NETWORK = frozenset({"congestion_window", "bottleneck_rate", "slow_start", "recovery"})

_WINDOW = frozenset({"congestion_window", "recovery"})

# Fewer events may have happened at the beginning and say nothing of the rest. Chosen here.
_FEW = 3

# Least rise of the round-trip time on the way back that counts, over the least round trip and in
# seconds. It is the rise that counts as a queue on both ways (STRETCHED in limits.rs). The clocks
# of timestamps tick every millisecond.
_RISE, _TICKS_S = 0.25, 0.002

# A window that is small by itself is always offered in full, in 7 transfers of Linux to 1 %. A
# slow reader leaves it open by 48 % at most, and by less at times (18 transfers).
_REDUCED = 0.75

# Factor within which a model explains a rate, and the number of loss indications from which their
# rate is known to about a third (of Poisson counts). Chosen here.
_EXPLAINS, _INDICATIONS = 1.25, 10


@dataclass(frozen=True)
class Cause:
    """A cause behind a limit.

    Attributes:
        name: A word or two for a table.
        subject: Words that follow "limited by".
        evidence: What shows it.
        remedy: What would help; empty if the capture does not show it.
    """

    name: str
    subject: str
    evidence: str
    remedy: str


def cause(connection: Row, limit: str, evidence: Row, predicted: Sequence[Row]) -> Cause | None:
    """Returns the cause behind a limit; None if nothing singles one out.

    Args:
        connection: Row of the table `connections`.
        limit: The limiting factor.
        evidence: Means over the time with that limit, as of `limiting_factor`.
        predicted: The rows of `predictions` of the connection.
    """
    candidates = (_way_back, _reordering, _marks, _reader)
    for candidate in candidates:
        cause_found = candidate(connection, limit, evidence)
        if cause_found is not None:
            return cause_found
    return _losses(connection, limit, predicted)


def marks(connection: Row) -> int:
    """Returns the least number of marks; 0 without an ACK."""
    return int(connection["marks_lower"] or 0)


def marks_in_words(connection: Row) -> str:
    """Returns how many packets were marked; empty if none is known to have been."""
    count, sent = marks(connection), connection["data_packets"]
    if count == 0:
        return ""
    if count > connection["cwr_packets"] or count == connection["ce_packets"]:
        return f"{count:,} of {sent:,} packets were marked ({100 * count / sent:.2g} %)"
    times = "once" if count == 1 else f"{count:,} times"
    return f"marks made the sender reduce its window {times}"


def lost(connection: Row) -> str:
    """Returns the share of packets lost, in words."""
    losses, sent = connection["losses_estimate"], connection["data_packets"]
    if losses and sent:
        return f"{100 * losses / sent:.2g} % of the packets lost"
    return "no packet lost" if losses == 0 else "an unknown number of packets lost"


def explains(row: Row) -> bool:
    """Returns true if a model at the measured loss and RTT gives about the measured rate."""
    predicted, measured = row["goodput_bit_per_s"], row["measured_bit_per_s"]
    if not predicted or not measured or not (row["inputs"] or {}).get("loss"):
        return False
    return bool(1 / _EXPLAINS <= predicted / measured <= _EXPLAINS)


def _state(evidence: Row) -> str:
    """Returns means over the time with a limit, in words that follow others."""
    parts = [
        (evidence["in_flight_mean_bytes"], "bytes", "; {} in flight on average"),
        (evidence["rtt_mean_s"], "s", ", RTT {}"),
        (evidence["rate_bit_per_s"], "bit/s", "; the rate was {}"),
    ]
    return "".join(
        words.format(shown(value, unit)) for value, unit, words in parts if value is not None
    )


def _way_back(connection: Row, limit: str, evidence: Row) -> Cause | None:
    there, back = (connection.get(f"{way}_queueing_mean_s") for way in ("data", "ack"))
    least = evidence["rtt_min_s"]
    if limit not in NETWORK or there is None or back is None or least is None:
        return None
    if back < max(there, _RISE * least, _TICKS_S):
        return None
    return Cause(
        "way back",
        "the way back, on which the ACKs wait",
        f"the ACKs waited {shown(back, 's')} on average, the data on its way {shown(there, 's')}; "
        f"the least RTT was {shown(least, 's')}, {lost(connection)}{_state(evidence)}",
        "a faster way back or fewer ACKs would help; a faster link for the data alone would not",
    )


def _reordering(connection: Row, limit: str, evidence: Row) -> Cause | None:
    resent, needless = (
        connection[name] for name in ("retransmitted_packets", "retransmissions_spurious")
    )
    if limit not in _WINDOW or resent is None or needless is None:
        return None
    if needless < _FEW or 2 * needless < resent or needless <= (connection["losses_estimate"] or 0):
        return None
    after_timeouts = sum(
        connection[f"retransmissions_{kind}"] or 0 for kind in ("timeout", "after_timeout")
    )
    too_early = 2 * after_timeouts > resent
    counted = (
        f"{needless:.0f} of {resent:.0f} retransmissions were not needed: the packets had only "
        f"arrived late; {lost(connection)}{_state(evidence)}"
    )
    if too_early:
        return Cause(
            "early timeouts", "timeouts that came too early", counted,
            "a steadier delay, or a sender that undoes such a reduction (RFC 3522, RFC 5682), "
            "would help",
        )  # fmt: skip
    return Cause(
        "reordering", "reordering, which the sender took for losses", counted,
        "a path that keeps the order, or a sender that waits longer for late packets (RFC 8985), "
        "would help",
    )  # fmt: skip


def _marks(connection: Row, limit: str, evidence: Row) -> Cause | None:
    count = marks(connection)
    if limit not in _WINDOW or count < max(_FEW, connection["losses_estimate"] or 0):
        return None
    return Cause(
        "marks",
        "marks, which keep the congestion window small",
        f"{marks_in_words(connection)}, {lost(connection)}{_state(evidence)}",
        "the queue that marks is probably that of the slowest link: a faster link there, or fewer "
        "flows on it, would raise the rate",
    )


def _reader(connection: Row, limit: str, evidence: Row) -> Cause | None:
    window, largest, least = (
        evidence["receive_window_mean_bytes"], connection["receive_window_max_bytes"],
        connection["receive_window_min_bytes"],
    )  # fmt: skip
    rate = evidence["rate_bit_per_s"]
    if limit != "receive_window" or None in (window, largest, least, rate):
        return None
    closed = int(connection["zero_windows"] or 0)
    if window > _REDUCED * largest or least > _REDUCED * window:
        return None
    often = f", closed {'once' if closed == 1 else f'{closed} times'}" if closed else ""
    return Cause(
        "slow reader",
        "the receiving application, which reads slowly",
        f"it read {shown(rate, 'bit/s')}, and left of a window of {shown(largest, 'bytes')} "
        f"{shown(window, 'bytes')} on average{often}",
        "a larger window helps only if it reads faster",
    )


def _losses(connection: Row, limit: str, predicted: Sequence[Row]) -> Cause | None:
    """Returns losses where no rule of round trips decides, and a model explains the rate."""
    if limit != "unknown":
        return None
    indications = sum(
        connection[name] or 0 for name in ("fast_recoveries", "retransmissions_timeout")
    )
    explaining = [row for row in predicted if explains(row)]
    if indications < _INDICATIONS or not explaining:
        return None
    return Cause(
        "losses",
        "losses, probably",
        f"round trips do not decide it, but {lost(connection)}, which explains the rate",
        "",
    )
