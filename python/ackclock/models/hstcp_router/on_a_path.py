"""Inputs, refusals and assumptions of the router models for a flow under HighSpeed TCP."""

from dataclasses import replace
from math import floor, inf, isnan

import numpy as np

from ackclock.models.assumptions import (
    AN_ACK_EACH,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    STEADY_FLOWS,
    jitter,
    lacks,
    long_run,
    needs_tcp,
    no_droptail,
    not_highspeed,
    rate_varies,
    unless,
)
from ackclock.models.hstcp_response import decrease, increase, loss_rate
from ackclock.models.model import Assumption
from ackclock.models.path import Competitor, FlowPath
from ackclock.models.sawtooth import slow_repair

# Largest deviation of a round-trip time from even spacing, over the mean, that violates nothing.
# The serialisation of segments of different sizes makes a smaller difference.
_SAME_SPREAD = 0.01


def round_trips(path: FlowPath) -> tuple[tuple[float, int], ...]:
    """Returns the round-trip times of all instances at the bottleneck, ascending, with counts."""
    return path.bottleneck.round_trips or ((path.round_trip.base_s, path.bottleneck.flows),)


def flows_of(path: FlowPath) -> dict[str, float]:
    """Returns the inputs about link and flows."""
    every = round_trips(path)
    return {
        "rate": path.bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "flows": float(path.bottleneck.flows), "shortest": every[0][0], "longest": every[-1][0],
    }  # fmt: skip


def buffer_of(path: FlowPath) -> dict[str, float]:
    """Returns the same with the queue limit."""
    return flows_of(path) | {"buffer": path.bottleneck.buffer_segments}


def places_of(path: FlowPath) -> dict[str, float]:
    """Returns the same with the capacity of the router: the queue and the segment being sent."""
    return flows_of(path) | {"places": float(floor(path.bottleneck.buffer_segments)) + 1}


def red_of(path: FlowPath) -> dict[str, float]:
    """Returns the same with the thresholds, which also count the segment being sent."""
    red = path.bottleneck.thresholds
    if not red:
        return places_of(path)
    return places_of(path) | {"min_th": red.low + 1, "max_th": red.high + 1, "p_max": red.p_max}


def refusal_at_drop_tail(path: FlowPath) -> str:
    """Returns the reason why the models of a drop-tail queue do not apply."""
    return _refusal(path, no_droptail(path.bottleneck))


def refusal_at_red(path: FlowPath) -> str:
    """Returns the reason why the model of RED does not apply."""
    red = path.bottleneck.thresholds
    return _refusal(path, lacks(path.bottleneck, red, "fixed thresholds of random drops"))


def _refusal(path: FlowPath, of_queue: str) -> str:
    """Returns the reason why a model does not apply; `of_queue` is the reason about the queue."""
    bottleneck = path.bottleneck
    if reason := needs_tcp(path) or not_highspeed(path.control):
        return reason
    if other := next((competitor.name for competitor in _others(path)), ""):
        return f"the bottleneck is shared with {other}"
    if reason := rate_varies(bottleneck) or unless(
        0 < bottleneck.segments_per_s < inf, "the bottleneck's rate is not known"
    ):
        return reason
    if isnan(bottleneck.buffer_segments):
        of_queue = of_queue or f"{bottleneck.queue} does not state how much it holds"
    if reason := of_queue or unless(
        bottleneck.buffer_segments < inf, "the bottleneck's queue has no limit"
    ):
        return reason
    share = max(path.share_segments, 1.0)
    if path.sender.receive_window_segments <= share + bottleneck.buffer_segments / bottleneck.flows:
        return "the receive window keeps the queue from overflowing"
    return unless(
        path.loss.rate < float(loss_rate(share)),
        "random loss keeps windows too small to fill the link",
    )


def _others(path: FlowPath) -> list[Competitor]:
    """Returns the competitors not known to be HighSpeed TCP all the time, by name."""
    others = (
        competitor
        for competitor in path.bottleneck.competitors
        if not_highspeed(competitor.control) or competitor.arrive
    )
    return sorted(others, key=lambda competitor: competitor.name)


def _uneven(path: FlowPath) -> str:
    every = round_trips(path)
    times = np.repeat([time for time, _ in every], [count for _, count in every])
    off = np.abs(times - np.linspace(times[0], times[-1], len(times))).max()
    return unless(
        off <= _SAME_SPREAD * times.mean(),
        f"they are up to {off * 1e3:.4g} ms from even spacing",
    )


def _between_losses_s(path: FlowPath) -> float:
    """Returns the time in which a flow that has its share grows by what a loss takes."""
    held = path.share_segments + path.bottleneck.buffer_segments / path.bottleneck.flows
    window = max(held, 1.0)
    rounds = window * float(decrease(window)) / float(increase(window))
    return rounds * path.full_queue_round_trip_s


OF_THE_FLOWS = (
    Assumption(
        "highspeed",
        "all flows at the bottleneck are HighSpeed TCP with the RFC's parameters, by its formula, "
        "not its table",
    ),
    Assumption(
        "even_round_trips",
        "the flows' round-trip times are evenly spaced from the shortest to the longest",
        _uneven,
    ),
    Assumption(
        "no_random_loss",
        "segments are lost only at the router",
        lambda path: unless(path.loss.rate == 0, "there is random loss too"),
    ),
    AN_ACK_EACH,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    long_run(_between_losses_s),
    STEADY_FLOWS,
    Assumption(
        "steady_rtt",
        "only the router's queue adds to the round-trip time",
        jitter,
    ),
)

POISSON = Assumption(
    "poisson",
    "packets arrive at the router as a Poisson process: there are no bursts and no saw-tooth",
)

# Whatever the buffer, windows are cut and rise together, which no Poisson process does.
# Simulated, goodputs of `mm1k` are from 26 % too low to 19 % too high where recovery is quick, and
# round-trip times up to 46 % too short. Goodputs of `mm1k_burst` are up to 88 % too low.
POISSON_AT_DROP_TAIL = replace(POISSON, violation=lambda _: "a full queue makes a saw-tooth")

POISSON_BURSTS = Assumption(
    "poisson_bursts",
    "bursts of g packets arrive at the router as a Poisson process; there is no saw-tooth",
    lambda _: "at a full queue there is a saw-tooth, and the size of bursts is a fit",
)

NOT_GENTLE = Assumption(
    "not_gentle",
    "RED drops everything above max_th",
    lambda path: unless(
        not path.bottleneck.thresholds or not path.bottleneck.thresholds.gentle,
        "above max_th the drop probability rises gently",
    ),
)
NO_AVERAGE = Assumption(
    "no_average",
    "RED drops by the queue length at an arrival, not by its average",
    lambda _: "RED drops by the average of its queue, and windows rise until that has followed",
)


def _unlike(path: FlowPath) -> str:
    every = round_trips(path)
    if every[0][0] == every[-1][0]:
        return unless(
            path.bottleneck.flows == 1,
            f"{path.bottleneck.flows} flows may lose at different times",
        )
    return "round-trip times differ, and flows with short ones get more than an equal share"


IN_STEP = Assumption("in_step", "all flows have the same window and lose at the same time", _unlike)


def _slow_repair(path: FlowPath) -> str:
    share = path.share_segments + path.bottleneck.buffer_segments / path.bottleneck.flows
    return slow_repair(path, float(increase(max(share, 1.0))))


QUICK_REPAIR = Assumption(
    "one_reduction_at_an_overflow",
    "each flow reduces its window once per overflow, and recovery takes no time",
    _slow_repair,
)
FLUID = Assumption(
    "fluid",
    "windows and queue change smoothly between overflows: there are no bursts and no timeouts",
)
