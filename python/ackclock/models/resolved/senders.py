"""Sender and transfer of a flow."""

from math import ceil, inf, nan
from typing import Any

from ackclock import units
from ackclock.models.path import Control, Sender, Transfer
from ackclock.models.resolved.topology import latest

__all__ = ["sender", "transfer"]

Transport = dict[str, Any]


def sender(transport: Transport, round_trip_s: float, full_queue_round_trip_s: float) -> Sender:
    """Returns the sender of a flow.

    Args:
        transport: Of the flow, as in a resolved scenario.
        round_trip_s: Round-trip time without queueing.
        full_queue_round_trip_s: Round-trip time while the bottleneck's queue is full.
    """
    mss = units.data_bytes(transport["mss"])
    if transport["kind"] != "tcp":
        return _over_udp(transport, mss, round_trip_s)
    return Sender(
        transport="tcp",
        control=_control(transport["control"]),
        mss_bytes=mss,
        recovery=transport["recovery"],
        segments_per_ack=_segments_per_ack(transport),
        first_timeout_s=_first_timeout(transport, round_trip_s),
        full_queue_timeout_s=_first_timeout(transport, full_queue_round_trip_s),
        receive_window_segments=units.window_packets(transport["receive_window"], mss),
        initial_threshold_segments=units.window_packets(transport["initial_ssthresh"], mss),
    )


def transfer(flow: dict[str, Any], warmup_s: float) -> Transfer:
    """Returns the data that a flow has to send.

    Args:
        flow: As in a resolved scenario.
        warmup_s: End of the warm-up.
    """
    transport, traffic = flow["transport"], flow["traffic"]
    mss = units.data_bytes(transport["mss"])
    known = Transfer(
        is_greedy=traffic["kind"] == "bulk",
        is_always_active="arrivals" not in flow and flow["stop"] == "end" and latest(flow["start"]) <= warmup_s,
        size_segments=_size(traffic, mss),
    )
    if transport["kind"] != "tcp":
        return known
    delayed = transport["delayed_ack"]
    initial_window = units.window_packets(transport["initial_window"], mss)
    at_once = units.packets(delayed["every"]) <= 1 or units.packets(delayed["quick"]) >= 1
    return Transfer(
        is_greedy=known.is_greedy,
        is_always_active=known.is_always_active,
        size_segments=known.size_segments,
        has_handshake=transport["handshake"],
        syn_timer_s=units.seconds(transport["rto_initial"]),
        initial_window_segments=initial_window,
        first_delayed_ack_s=units.seconds(delayed["timeout"]) / 2 if initial_window <= 1 and not at_once else 0.0,
    )


def _over_udp(transport: Transport, mss: float, round_trip_s: float) -> Sender:
    control = transport.get("control", {})
    is_aimd = control.get("kind") == "gaimd"
    return Sender(
        transport=transport["kind"],
        control=Control(
            name=control.get("kind", ""),
            is_aimd=is_aimd,
            growth_segments=float(control["increase"]) if is_aimd else 1.0,
            kept_share=float(control["decrease"]) if is_aimd else 0.5,
        ),
        mss_bytes=mss,
        segments_per_ack=float(control.get("packets_per_ack", control.get("b", 1.0))),  # TFRCP's, TFRC's
        first_timeout_s=_equations_timeout(control, round_trip_s),
        receive_window_segments=units.window_packets(control.get("receive_window", "unlimited"), mss),
    )


def _control(control: dict[str, Any]) -> Control:
    return Control(
        name=control["kind"],
        is_aimd=control["kind"] == "reno",
        growth_segments=float(control.get("alpha", 1.0)),
        kept_share=float(control.get("beta", 0.5)),
        cubic_c=float(control.get("c", nan)),
        has_hystart=bool(control.get("hystart", False)),
    )


def _size(traffic: dict[str, Any], mss: float) -> float:
    """Returns the size of a transfer in segments; infinite if it is drawn or if there is no end."""
    given = traffic["kind"] == "transfer" and isinstance(traffic["size"], str)
    return float(ceil(units.data_bytes(traffic["size"]) / mss)) if given else inf


def _segments_per_ack(transport: Transport) -> float:
    every = max(units.packets(transport["delayed_ack"]["every"]), 1.0)
    counted = {"per_ack": 1.0, "bytes_at_most_two_segments": min(every, 2.0), "bytes": every}
    return every / counted[transport["window_counting"]]


def _equations_timeout(control: dict[str, Any], round_trip_s: float) -> float:
    """Returns the timeout in a rate control's equation at a steady round-trip time; infinite without an equation."""
    match control.get("kind"):
        case "tfrcp":
            return max(round_trip_s, units.seconds(control["rto_minimum"]))
        case "tfrc":
            return max(4 * round_trip_s, 1.0 if control["t_rto"] == "four_rtt_or_a_second" else 0.0)
        case _:
            return inf


def _first_timeout(transport: Transport, round_trip_s: float) -> float:
    """Returns the retransmission timeout at a steady round-trip time."""
    minimum, tick = units.seconds(transport["rto_minimum"]), units.seconds(transport["clock_granularity"])
    if transport["rto_floor"] == "variance":
        timeout = round_trip_s + max(minimum, tick)
    else:
        timeout = max(minimum, round_trip_s + tick)
    return min(timeout, units.seconds(transport["rto_maximum"]))
