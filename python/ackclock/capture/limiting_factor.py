"""The factor that limited a captured connection, in a sentence with its evidence."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ackclock.capture.estimates import KEYS
from ackclock.capture.remedy import remedy
from ackclock.metrics.tables import column
from ackclock.result.result import Result
from ackclock.table import capital
from ackclock.units import shown

Row = dict[str, Any]

#: Values of the column `limit` of `connections` and `limit_periods`, in words that follow "limited
#: by".
LIMITS: dict[str, str] = {
    "application": "the application",
    "receive_window": "the receiver's window",
    "sender_buffer": "the sender's buffer",
    "congestion_window": "the congestion window",
    "bottleneck_rate": "the rate of a link",
    "slow_start": "slow start",
    "recovery": "loss recovery",
    "unknown": "something that the capture does not show",
}


# Below this share of the time the second factor is named too.
_MOST = 0.5


def heading(result: Result, row: Row) -> str:
    """Returns `10.0.0.1:5001 > 10.1.0.1:80`, or the name of the flow.

    The instance and the run are added where there are several.

    Args:
        result: Result of `measure`.
        row: Row of one of its tables with connections.
    """
    flow, instance = row["flow"], row["instance"]
    named = flow if instance == 0 else f"{flow}, number {instance + 1}"
    if result.points[row["point"]]["scenario"] is not None and " > " not in flow:
        named = f"{flow}/{instance}"  # As in the figures of the run itself.
    if len(result.run["captures"]) > 1:
        named += f", point {row['point']}, replicate {row['replicate']}"
    return named


def answer(result: Result, connection: Row) -> str:
    """Returns the main limiting factor in sentences, without the last full stop.

    They state the share of the time, what that allowed, and what would help.

    Args:
        result: Result of `measure`.
        connection: Row of its table `connections`.
    """
    keys = {name: connection[name] for name in KEYS}
    limit, share = connection["limit"], connection["limit_share"]
    if not limit or share is None:
        return "too little data to tell what limited it"
    evidence = _evidence(result, keys, limit)
    then = "" if share >= _MOST else _next(result, keys, limit)
    words = (
        f"limited by {LIMITS[limit]} ({100 * share:.0f} % of the time{then}): "
        f"{_WORDS[limit](connection, evidence)}"
    )
    further = filter(None, [remedy(connection, limit, evidence), lacks(connection)])
    return ". ".join([words, *(capital(sentence) for sentence in further)])


def lacks(connection: Row) -> str:
    """Returns how many packets the capture lacks and which numbers suffer.

    Empty if it lacks none.
    """
    # Results of earlier versions do not have this column.
    missed = connection.get("missed_packets") or 0
    if missed == 0:
        return ""
    share = missed / (missed + connection["packets"])
    return (
        f"the capture lacks at least {_packets(int(missed))} of it ({100 * share:.2g} %), "
        "so that its packets and losses are undercounted and the limit is less certain"
    )


def _next(result: Result, keys: Row, limit: str) -> str:
    """Returns the factor that limited for the second longest time."""
    stretches = result.rows("limit_periods", **keys)
    lasts, limits = (
        column(stretches, "end_s") - column(stretches, "start_s"),
        column(stretches, "limit"),
    )
    shares = {
        other: float(lasts[limits == other].sum() / lasts.sum())
        for other in LIMITS
        if other != limit
    }
    other = max(shares, key=lambda name: shares[name])
    return f"; {LIMITS[other]} {100 * shares[other]:.0f} %" if shares[other] > 0 else ""


def _evidence(result: Result, keys: Row, limit: str) -> Row:
    """Returns means and sums over the periods with that limit."""
    stretches = result.rows("limit_periods", **keys, limit=limit)
    lasts = column(stretches, "end_s") - column(stretches, "start_s")

    def mean(name: str) -> float | None:
        values = column(stretches, name).astype(float)
        present = ~np.isnan(values)
        weight = float(lasts[present].sum())
        return float((values * lasts)[present].sum()) / weight if weight > 0 else None

    means = ("in_flight_mean_bytes", "receive_window_mean_bytes", "rate_bit_per_s", "rtt_mean_s")
    [flow] = result.rows("flows", **keys).to_pylist() or [{}]
    evidence: Row = {name: mean(name) for name in means}
    if evidence["rtt_mean_s"] is None:
        evidence["rtt_mean_s"] = flow.get("rtt_mean_s")
    resent = int(column(stretches, "retransmitted_packets").sum())
    return evidence | {"rtt_min_s": flow.get("rtt_min_s"), "resent": resent}


def _of_receive_window(connection: Row, evidence: Row) -> str:
    window, rtt = evidence["receive_window_mean_bytes"], evidence["rtt_mean_s"]
    if window is None:
        return "it was closed or full" + _running(evidence)
    closed = int(connection["zero_windows"] or 0)
    often = f" and closed the window {_times(closed)}" if closed else ""
    if rtt is None:
        return f"the receiver offered {shown(window, 'bytes')}{often}" + _running(evidence)
    most = shown(window * 8 / rtt, "bit/s")
    return (
        f"the receiver offered {shown(window, 'bytes')}{often}; an RTT of {shown(rtt, 's')} then "
        f"allows {most}"
    )


def _of_application(connection: Row, evidence: Row) -> str:
    sent = shown(connection["unique_bytes"], "bytes")
    over = shown(connection["end_s"] - connection["start_s"], "s")
    return (
        f"it wrote {sent} in {over} and left the connection idle or partly used in between"
        + _running(evidence)
    )


def _of_sender_buffer(_connection: Row, evidence: Row) -> str:
    outstanding, rtt = evidence["in_flight_mean_bytes"], evidence["rtt_mean_s"]
    words = f"hardly ever more than {_bytes(outstanding)} in flight, without losses or queueing"
    window = evidence["receive_window_mean_bytes"]
    words += (
        f", although the receiver offered {shown(window, 'bytes')}" if window is not None else ""
    )
    if outstanding is None or rtt is None:
        return words
    return (
        f"{words}; an RTT of {shown(rtt, 's')} then allows {shown(outstanding * 8 / rtt, 'bit/s')}"
    )


def _of_congestion_window(connection: Row, evidence: Row) -> str:
    outstanding, rtt = evidence["in_flight_mean_bytes"], evidence["rtt_mean_s"]
    losses, sent = connection["losses_estimate"], connection["data_packets"]
    lost = (
        f"{100 * losses / sent:.2g} % of the packets lost"
        if losses and sent
        else "no packet lost yet"
    )
    words = f"{lost}, {_bytes(outstanding)} in flight on average"
    return words + (f", RTT {shown(rtt, 's')}" if rtt is not None else "") + _running(evidence)


def _of_bottleneck_rate(_connection: Row, evidence: Row) -> str:
    rtt, least, rate = evidence["rtt_mean_s"], evidence["rtt_min_s"], evidence["rate_bit_per_s"]
    link = f"it carried {shown(rate, 'bit/s')}" if rate is not None else "a queue stood before it"
    if rtt is None or least is None:
        return link
    return (
        f"{link}, and the queue before it raised the RTT from {shown(least, 's')} to "
        f"{shown(rtt, 's')}"
    )


def _of_slow_start(connection: Row, evidence: Row) -> str:
    rtt = evidence["rtt_mean_s"]
    sent = shown(connection["unique_bytes"], "bytes")
    if rtt is None or not rtt > 0:
        return f"the congestion window was still doubling; {sent} were sent altogether"
    trips = max(1, round((connection["last_data_s"] - connection["first_data_s"]) / rtt))
    plural = "" if trips == 1 else "s"
    return (
        f"the congestion window was still doubling; {sent} were sent in {trips} round trip{plural} "
        f"of {shown(rtt, 's')}"
    )


def _of_recovery(connection: Row, evidence: Row) -> str:
    timeouts = int(connection["retransmissions_timeout"] or 0)
    words = f"{_packets(evidence['resent'])} retransmitted"
    return (
        words + (f", {_times(timeouts)} after a timeout" if timeouts else "") + _running(evidence)
    )


def _of_unknown(connection: Row, evidence: Row) -> str:
    seen = "" if connection["pure_acks"] is not None else "no ACKs were captured"
    return seen or "nothing stands out" + _running(evidence)


_WORDS: dict[str, Callable[[Row, Row], str]] = {
    "application": _of_application,
    "receive_window": _of_receive_window,
    "sender_buffer": _of_sender_buffer,
    "congestion_window": _of_congestion_window,
    "bottleneck_rate": _of_bottleneck_rate,
    "slow_start": _of_slow_start,
    "recovery": _of_recovery,
    "unknown": _of_unknown,
}


def _running(evidence: Row) -> str:
    """Returns the rate during these periods, if it is known."""
    rate = evidence["rate_bit_per_s"]
    return f"; the rate was {shown(rate, 'bit/s')}" if rate is not None else ""


def _bytes(amount: float | None) -> str:
    return "an unknown amount" if amount is None else shown(amount, "bytes")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _packets(count: int) -> str:
    return f"{count} packet{'' if count == 1 else 's'}"
