"""Sender and transfer of a flow."""

from dataclasses import replace
from math import ceil, inf, nan
from typing import Any

from ackclock import units
from ackclock.elements import facts
from ackclock.models.path import Sender, Transfer
from ackclock.models.resolved.controls import control_of
from ackclock.models.resolved.topology import codepoint_of, counts_marks, latest

__all__ = ["sender", "transfer"]

Transport = dict[str, Any]


def sender(transport: Transport, round_trip_s: float, full_queue_round_trip_s: float) -> Sender:
    """Returns the sender of a flow.

    Args:
        transport: The flow's transport, as in a resolved scenario.
        round_trip_s: Round-trip time without queueing.
        full_queue_round_trip_s: Round-trip time while the bottleneck's queue is full.
    """
    mss = units.data_bytes(transport["mss"])
    if transport["kind"] != "tcp":
        return _over_udp(transport, mss, round_trip_s)
    return Sender(
        transport="tcp",
        control=control_of(transport),
        mss_bytes=mss,
        recovery=transport["recovery"],
        segments_per_ack=_segments_per_ack(transport),
        first_timeout_s=_first_timeout(transport, round_trip_s),
        full_queue_timeout_s=_first_timeout(transport, full_queue_round_trip_s),
        receive_window_segments=units.window_packets(transport["receive_window"], mss),
        initial_threshold_segments=units.window_packets(transport["initial_ssthresh"], mss),
        codepoint=codepoint_of(transport),
        counts_marks=counts_marks(transport),
    )


def transfer(flow: dict[str, Any], warmup_s: float) -> Transfer:
    """Returns the data that a flow has to send.

    Args:
        flow: A flow of a resolved scenario.
        warmup_s: End of the warm-up.
    """
    transport, traffic = flow["transport"], facts.traffic(flow)
    mss = units.data_bytes(transport["mss"])
    known = Transfer(
        is_greedy=traffic["greedy"],
        is_always_active="arrivals" not in flow
        and flow["stop"] == "end"
        and latest(flow["start"]) <= warmup_s,
        size_segments=_size(traffic["size_bytes"], mss),
    )
    if transport["kind"] != "tcp":
        return known
    delayed = transport["delayed_ack"]
    initial_window = units.window_packets(transport["initial_window"], mss)
    at_once = (
        units.packets(delayed["every"]) <= 1 or units.packets(delayed["quickack_segments"]) >= 1
    )
    return replace(
        known,
        has_handshake=transport["handshake"],
        syn_timer_s=units.seconds(transport["rto_initial"]),
        initial_window_segments=initial_window,
        first_delayed_ack_s=units.seconds(delayed["timeout"]) / 2
        if initial_window <= 1 and not at_once
        else 0.0,
    )


def _over_udp(transport: Transport, mss: float, round_trip_s: float) -> Sender:
    """Returns a sender over UDP; without a throughput equation it has no timeout and no window."""
    _, stated = facts.control(transport)
    known = Sender(transport["kind"], control_of(transport), mss)
    equation = stated["equation"]
    if not equation:
        return known
    timeout = equation["timeout"]
    return replace(
        known,
        segments_per_ack=equation["packets_per_ack"],
        first_timeout_s=max(timeout["round_trips"] * round_trip_s, timeout["minimum_s"]),
        receive_window_segments=units.window_packets(equation["receive_window"], mss),
    )


def _size(size_bytes: Any, mss: float) -> float:
    """Returns the size of a transfer in segments: infinite if not fixed, NaN if not stated."""
    if size_bytes is None:
        return nan
    return inf if size_bytes is facts.NONE else float(ceil(size_bytes / mss))


def _segments_per_ack(transport: Transport) -> float:
    every = max(units.packets(transport["delayed_ack"]["every"]), 1.0)
    counted = {"per_ack": 1.0, "abc_l2": min(every, 2.0), "all": every, "delivered": every}
    return every / counted[transport["byte_counting"]]


def _first_timeout(transport: Transport, round_trip_s: float) -> float:
    """Returns the retransmission timeout at a steady round-trip time."""
    minimum, tick = (
        units.seconds(transport["rto_minimum"]),
        units.seconds(transport["clock_granularity"]),
    )
    if transport["rto_floor"] in ("variance", "peak_variance"):
        timeout = round_trip_s + max(minimum, tick)
    else:
        timeout = max(minimum, round_trip_s + tick)
    return min(timeout, units.seconds(transport["rto_maximum"]))
