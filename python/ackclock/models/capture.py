"""Inputs of models from a captured connection, with or without its scenario.

Numbers come from the tables `connections`, `estimates` and `rtt_histogram`.

- **Round-trip time**: The measured mean, queueing included. The Markov chain uses the whole
  distribution.
- **Loss**: The rate of loss indications in the table `estimates`, whatever their cause. A capture
  does not distinguish drops by a full queue from other losses. For models with a given loss rate, a
  full buffer therefore looks like a lossy path.
- **Segments**: Full segments, with the largest payload that the connection used.
- **Receive window**: Its mean, if its scale is known; else unlimited.
- **Segments per ACK, b**: One, as for senders that count acknowledged bytes (RFC 3465; Linux and
  most others do). If there is a scenario, its value, because only the scenario says how the window
  grows.
- **First timeout, T0**: By RFC 6298 from mean and standard deviation of the round-trip time, at
  least 200 ms as in Linux.
- **Link**: If a queue stood before a link for most of the time, the rate carried meanwhile caps the
  models. Its buffer and its other users are unknown, so models that need a bottleneck do not apply.
- **Transfer**: The data sent, if the capture holds the connection from its SYN to its FIN; else it
  has no end. The initial window is ten segments (RFC 6928), the timer of a SYN 1 s (RFC 6298).
- **Congestion control**: The scenario's, if there is one; a capture does not tell it. Otherwise
  models of Reno answer as if the sender were Reno, those of CUBIC as if it were CUBIC, and say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, inf
from typing import Any

from ackclock.models.loss_window import loss_window
from ackclock.models.path import (
    Bottleneck,
    Control,
    FlowPath,
    Loss,
    RoundTrip,
    RttLaw,
    Sender,
    Transfer,
)

# Smallest timeout of an unknown sender: Linux's (TCP_RTO_MIN in include/net/tcp.h).
_LEAST_TIMEOUT_S = 0.2

# RFC 6928 section 2 and RFC 6298 section 2.1. A capture that begins later does not show them.
_INITIAL_WINDOW = 10.0
_SYN_TIMER_S = 1.0

# A larger relative deviation than timers and delayed ACKs cause means jitter. Chosen here.
_VARYING = 0.25

Row = Mapping[str, Any]


def flow_paths(
    connection: Row,
    estimate: Row,
    law: RttLaw | None,
    may_be: Sequence[Control],
    scenario_path: FlowPath | None = None,
) -> list[FlowPath]:
    """Returns the possible paths of a connection: one for each control it may have.

    Args:
        connection: A row of the table `connections`.
        estimate: Its row of the table `estimates`.
        law: Its round-trip times, if there are any.
        may_be: The controls that it may have if there is no scenario.
        scenario_path: The path from its scenario, if there is one; its control is then the only
            one.
    """
    measured = _measured(connection, estimate, law)
    if scenario_path is not None:
        sender = replace(
            measured.sender,
            control=scenario_path.control,
            recovery=scenario_path.sender.recovery,
            segments_per_ack=scenario_path.sender.segments_per_ack,
        )
        return [_with_sender(measured, sender)]
    return [_with_sender(measured, replace(measured.sender, control=control)) for control in may_be]


def _with_sender(path: FlowPath, sender: Sender) -> FlowPath:
    """Returns the path of another sender, with the window that the loss rate then allows."""
    rtt_s = path.round_trip.base_s
    window = loss_window(sender.control, path.loss.rate, rtt_s, sender.segments_per_ack)
    return replace(path, sender=sender, loss=replace(path.loss, window_segments=window))


def why_not(connection: Row, estimate: Row) -> str:
    """Returns the reason why no model applies to a connection; empty if one may."""
    if estimate["rtt_mean_s"] is None or not estimate["rtt_mean_s"] > 0:
        return "the capture shows no round-trip time"
    if estimate["indication_rate"] is None:
        return "the capture shows no ACKs, hence no losses"
    return "" if connection["largest_payload_bytes"] else "it carried no payload"


def _measured(connection: Row, estimate: Row, law: RttLaw | None) -> FlowPath:
    """Returns the path of a connection with an unknown control."""
    largest = float(connection["largest_payload_bytes"])
    mss = min(
        float(connection["mss_bytes"] or largest), largest
    )  # a short transfer fills no segment
    rtt = float(estimate["rtt_mean_s"])
    deviation = connection["ack_rtt_sd_s"] or 0.0
    whole = connection["begins"] == "syn" and connection["ends"] == "fin"
    has_sack = bool(connection["sack_permitted"]) or bool(connection["acks_with_sack"])
    window = (
        connection["receive_window_mean_bytes"] if connection["receive_window_scaled"] else None
    )
    loss_rate = float(estimate["indication_rate"])
    return FlowPath(
        flow=connection["flow"],
        instances=1,
        round_trip=RoundTrip(base_s=rtt, has_jitter=deviation > _VARYING * rtt, law=law),
        loss=Loss(rate=loss_rate),
        bottleneck=Bottleneck(
            link_bit_per_s=inf if estimate["link_bit_per_s"] is None else estimate["link_bit_per_s"]
        ),
        sender=Sender(
            transport="tcp",
            control=Control(),
            mss_bytes=mss,
            recovery="sack" if has_sack else "newreno",
            first_timeout_s=max(_LEAST_TIMEOUT_S, rtt + 4 * deviation),
            receive_window_segments=inf if window is None else window / mss,
        ),
        transfer=Transfer(
            is_greedy=connection["limit"] != "application",
            is_always_active=connection["limit"] != "slow_start",
            size_segments=float(ceil(connection["unique_bytes"] / mss)) if whole else inf,
            has_handshake=connection["begins"] == "syn",
            syn_timer_s=_SYN_TIMER_S,
            initial_window_segments=_INITIAL_WINDOW,
        ),
    )
