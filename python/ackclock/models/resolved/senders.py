"""Sender and transfer of a flow."""

from dataclasses import replace
from math import ceil, inf, nan
from typing import Any

from ackclock import units
from ackclock.elements import facts
from ackclock.models.path import Sender, Transfer
from ackclock.models.resolved.controls import control_of
from ackclock.models.resolved.topology import (
    codepoint_of,
    counts_marks,
    is_always_active,
    latest,
)

Flow = dict[str, Any]


def sender(flow: Flow, round_trip_s: float, full_queue_round_trip_s: float) -> Sender:
    """Returns the sender of a flow.

    Args:
        flow: A flow of a resolved scenario.
        round_trip_s: Round-trip time without queueing.
        full_queue_round_trip_s: Round-trip time while the bottleneck's queue is full.
    """
    name, stated = facts.transport(flow)
    window, timer = stated["congestion_window"], stated["timer"]
    if not window or not timer:
        return _without_window(flow, round_trip_s)
    return Sender(
        transport=name,
        control=control_of(flow),
        mss_bytes=facts.mss_bytes(flow),
        recovery=stated["loss_recovery"] or "",
        segments_per_ack=window["segments_per_growth"],
        segments_acked=stated["delayed_acks"]["segments"] if stated["delayed_acks"] else 1.0,
        first_timeout_s=_first_timeout(timer, round_trip_s),
        full_queue_timeout_s=_first_timeout(timer, full_queue_round_trip_s),
        receive_window_segments=_limit(window["receive_segments"]),
        read_bit_per_s=_limit(window["read_bit_per_s"]),
        initial_threshold_segments=_limit(window["initial_threshold_segments"]),
        codepoint=codepoint_of(flow),
        counts_marks=counts_marks(flow),
        bursts=stated["bursts"],
    )


def transfer(flow: Flow, measured_s: tuple[float, float], runs: int) -> Transfer:
    """Returns the data that a flow has to send.

    Args:
        flow: A flow of a resolved scenario.
        measured_s: End of the warm-up, and of the run.
        runs: Runs over which results are averaged.
    """
    stated, traffic = facts.transport(flow)[1], facts.traffic(flow)
    warmup_s, end_s = measured_s
    data = Transfer(
        is_greedy=traffic["greedy"],
        is_always_active=is_always_active(flow, warmup_s),
        size_segments=_size(traffic["size_bytes"], facts.mss_bytes(flow)),
        settles_s=max(warmup_s - latest(flow["start"]), 0.0),
        measured_s=end_s - warmup_s,
        runs=runs,
        is_asked_for=traffic["closed_loop"] is True,
    )
    delayed, window, timer = stated["delayed_acks"], stated["congestion_window"], stated["timer"]
    if not delayed or not window or not timer:
        return data
    initial_window = float(window["initial_segments"])
    at_once = delayed["segments"] <= 1 or delayed["first_segments"] >= 1
    return replace(
        data,
        has_handshake=bool(stated["handshake"]),
        syn_timer_s=timer["initial_s"],
        initial_window_segments=initial_window,
        resumes=window.get("resumes") is True,
        first_delayed_ack_s=delayed["timeout_s"] / 2
        if initial_window <= 1 and not at_once
        else 0.0,
    )


def _without_window(flow: Flow, round_trip_s: float) -> Sender:
    """Returns a sender without a window; its timeout is that of a throughput equation, if any."""
    _, stated = facts.control(flow)
    mss = facts.mss_bytes(flow)
    sender = Sender(facts.transport(flow)[0], control_of(flow), mss)
    equation = stated["equation"]
    if not equation:
        return sender
    timeout = equation["timeout"]
    return replace(
        sender,
        segments_per_ack=equation["packets_per_ack"],
        first_timeout_s=max(timeout["round_trips"] * round_trip_s, timeout["minimum_s"]),
        receive_window_segments=units.window_packets(equation["receive_window"], mss),
    )


def _size(size_bytes: Any, mss: float) -> float:
    """Returns the size of a transfer in segments: infinite if not fixed, NaN if not stated."""
    if size_bytes is None:
        return nan
    return inf if size_bytes is facts.NONE else float(ceil(size_bytes / mss))


def _limit(most: Any) -> float:
    """Returns a window or a rate; infinite without a limit or if none is stated."""
    return inf if most is None or most is facts.NONE else float(most)


def _first_timeout(timer: facts.Facts, round_trip_s: float) -> float:
    """Returns the retransmission timeout at a steady round-trip time."""
    minimum, tick = timer["minimum_s"], timer["tick_s"]
    if timer["floor"] in ("variance", "peak_variance"):
        timeout = round_trip_s + max(minimum, tick)
    else:
        timeout = max(minimum, round_trip_s + tick)
    return float(min(timeout, timer["maximum_s"]))
