"""The factor that limited a captured connection, in a sentence with its evidence."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.capture.cause import NETWORK, Cause, cause, explains, lost, marks_in_words
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


_SHORT_OF_UNKNOWN = "unknown"

# A factor is named too if it limits for at least this share of the time. Chosen here.
_NAMED = 0.05


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


@dataclass(frozen=True)
class Answer:
    """The answer about one connection.

    Attributes:
        words: Sentences without the last full stop: factor or cause, the share of the time of each
            factor, the evidence, what would help.
        cause: Name of the cause behind the limit; empty if the evidence singles none out.
    """

    words: str
    cause: str = ""


def answer(result: Result, connection: Row, predicted: Sequence[Row] = ()) -> Answer:
    """Returns what limited a connection.

    Args:
        result: Result of `measure`.
        connection: Row of its table `connections`.
        predicted: The rows of its table `predictions` for that connection.
    """
    keys = {name: connection[name] for name in KEYS}
    limit, share = connection["limit"], connection["limit_share"]
    if not limit or share is None:
        return Answer("too little data to tell what limited it")
    evidence = _evidence(result, keys, limit)
    why = cause(connection, limit, evidence, predicted) or Cause(
        "", LIMITS[limit], _WORDS[limit](connection, evidence), remedy(connection, limit, evidence)
    )
    times = f"{100 * share:.0f} % of the time{_others(result, keys, limit)}"
    words = f"limited by {why.subject} ({times}): {why.evidence}"
    further = filter(None, [_explained(limit, predicted), why.remedy, lacks(connection)])
    return Answer(". ".join([words, *(capital(sentence) for sentence in further)]), why.name)


def lacks(connection: Row) -> str:
    """Returns how many packets the capture lacks and which numbers suffer.

    Empty if it lacks none.
    """
    missed = connection["missed_packets"] or 0
    if missed == 0:
        return ""
    share = missed / (missed + connection["packets"])
    return (
        f"the capture lacks at least {_packets(int(missed))} of it ({100 * share:.2g} %), "
        "so that its packets and losses are undercounted and the limit is less certain"
    )


def _others(result: Result, keys: Row, limit: str) -> str:
    """Returns the other factors with their shares of the time, the longest first.

    The network's factors count together where they come first only together.
    """
    stretches = result.rows("limit_periods", **keys)
    lasts, limits = (
        column(stretches, "end_s") - column(stretches, "start_s"),
        column(stretches, "limit"),
    )
    shares = {name: float(lasts[limits == name].sum() / lasts.sum()) for name in LIMITS}
    own = shares.pop(limit)
    longest = max(shares.values())
    together = ""
    if limit in NETWORK and own < longest:
        network = own + sum(shares[name] for name in NETWORK - {limit})
        together = f", the network {100 * network:.0f} %"
    named = sorted(shares.items(), key=lambda item: -item[1])
    listed = ", ".join(
        f"{_SHORT_OF_UNKNOWN if name == 'unknown' else LIMITS[name]} {100 * share:.0f} %"
        for name, share in named
        if share >= _NAMED
    )
    return together + (f"; {listed}" if listed else "")


def _explained(limit: str, predicted: Sequence[Row]) -> str:
    """Returns that a model at the measured loss and RTT gives the measured rate; or nothing."""
    if limit not in {"congestion_window", "recovery", "unknown"}:
        return ""
    rows = [row for row in predicted if explains(row)]
    if not rows:
        return ""
    nearest = min(
        rows, key=lambda row: abs(math.log(row["goodput_bit_per_s"] / row["measured_bit_per_s"]))
    )
    inputs = nearest["inputs"]
    given = f"{100 * inputs['loss']:.2g} % loss"
    given += f" and {shown(inputs['rtt'], 's')}" if inputs.get("rtt") else ""
    return (
        f"loss and RTT explain the rate: at {given}, {nearest['label']} predicts "
        f"{shown(nearest['goodput_bit_per_s'], 'bit/s')}, and "
        f"{shown(nearest['measured_bit_per_s'], 'bit/s')} were measured"
    )


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
    yet = " yet" if connection["losses_estimate"] == 0 else ""
    marked = marks_in_words(connection)
    words = f"{lost(connection)}{yet}, {marked + ', ' if marked else ''}{_bytes(outstanding)}"
    words += " in flight on average"
    return words + (f", RTT {shown(rtt, 's')}" if rtt is not None else "") + _running(evidence)


def _of_bottleneck_rate(connection: Row, evidence: Row) -> str:
    rtt, least, rate = evidence["rtt_mean_s"], evidence["rtt_min_s"], evidence["rate_bit_per_s"]
    link = f"it carried {shown(rate, 'bit/s')}" if rate is not None else "a queue stood before it"
    marked = marks_in_words(connection)
    marked = f"; {marked}" if marked else ""
    if rtt is None or least is None:
        return link + marked
    return (
        f"{link}, and the queue before it raised the RTT from {shown(least, 's')} to "
        f"{shown(rtt, 's')}{marked}"
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
    if connection["pure_acks"] is None:
        return "no ACKs were captured"
    if connection["vantage"] != "sender":
        remain = (
            "captured away from the sender, an application that writes little, a full send buffer "
            "and a congestion window that stands still look alike"
        )
        return f"{remain}{_running(evidence)}. A capture at the sender would decide"
    remain = (
        "an application that writes little, a full send buffer, and a sender that paces or whose "
        "congestion window stands still look alike here"
    )
    return f"{remain}{_running(evidence)}. At the sender, ss -ti decides: app_limited, busy, cwnd"


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
