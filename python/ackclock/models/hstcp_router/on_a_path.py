"""What a scenario's flow under HighSpeed TCP means to the models of a router, and what they take for granted of it."""

from math import floor, inf, isnan

import numpy as np

from ackclock.models.assumptions import (
    AN_ACK_EACH,
    GREEDY,
    LONG_RUN,
    jitter,
    needs_tcp,
    no_droptail,
    not_highspeed,
    rate_varies,
    unless,
)
from ackclock.models.hstcp_response import loss_rate
from ackclock.models.model import Assumption
from ackclock.models.path import Competitor, FlowPath

# How far a round-trip time may be from evenly spread ones, over the mean, before it is said: the
# difference that the serialisation of segments of other sizes makes is less.
_SAME_SPREAD = 0.01


def round_trips(path: FlowPath) -> tuple[tuple[float, int], ...]:
    """Of all instances at the bottleneck, ascending, each with how many have it."""
    return path.bottleneck.round_trips or ((path.round_trip.base_s, path.bottleneck.flows),)


def flows_of(path: FlowPath) -> dict[str, float]:
    """The inputs about link and flows."""
    every = round_trips(path)
    return {
        "rate": path.bottleneck.segments_per_s, "rtt": path.round_trip.base_s, "flows": float(path.bottleneck.flows),
        "shortest": every[0][0], "longest": every[-1][0],
    }  # fmt: skip


def buffer_of(path: FlowPath) -> dict[str, float]:
    """The same, and what may wait."""
    return flows_of(path) | {"buffer": path.bottleneck.buffer_segments}


def places_of(path: FlowPath) -> dict[str, float]:
    """The same, and the places of the router, of which one is the segment's that is being sent."""
    return flows_of(path) | {"places": float(floor(path.bottleneck.buffer_segments)) + 1}


def red_of(path: FlowPath) -> dict[str, float]:
    """The same, and the thresholds, which count the segment being sent as well."""
    red = path.bottleneck.thresholds
    if red is None:
        return places_of(path)
    return places_of(path) | {"min_th": red.low + 1, "max_th": red.high + 1, "p_max": red.p_max}


def refusal_at_drop_tail(path: FlowPath) -> str:
    """Why the models of a drop-tail queue have no answer."""
    bottleneck = path.bottleneck
    if bottleneck.queue and bottleneck.drops is None:
        return _refusal(path, no_droptail(bottleneck))
    return _refusal(path, unless(bottleneck.is_droptail, "the bottleneck's queue is not drop-tail"))


def refusal_at_red(path: FlowPath) -> str:
    """Why the model of RED has none."""
    has_thresholds = path.bottleneck.thresholds is not None
    return _refusal(
        path, unless(has_thresholds, "the bottleneck's queue is not RED with fixed thresholds")
    )


def _refusal(path: FlowPath, of_queue: str) -> str:
    """Why a model has no answer; `of_queue` is why it has none for the queue."""
    bottleneck = path.bottleneck
    if reason := needs_tcp(path) or not_highspeed(path.control):
        return reason
    if other := next((one.name for one in _others(path)), ""):
        return f"the bottleneck is shared with {other}"
    if bottleneck.varies is not False or not 0 < bottleneck.segments_per_s < inf:
        return (
            "the bottleneck has no constant rate"
            if bottleneck.varies is not None
            else rate_varies(bottleneck)
        )
    if isnan(bottleneck.buffer_segments):
        of_queue = of_queue or f"{bottleneck.queue} does not state how much it holds"
    if reason := of_queue or unless(
        bottleneck.buffer_segments < inf, "the bottleneck's queue has no limit"
    ):
        return reason
    share = max(path.share_segments, 1.0)
    if path.sender.receive_window_segments <= share + bottleneck.buffer_segments / bottleneck.flows:
        return "the receiver's window keeps the queue from overflowing"
    return unless(
        path.loss.rate < float(loss_rate(share)),
        "random loss keeps windows below what the link takes",
    )


def _others(path: FlowPath) -> list[Competitor]:
    """Returns who else is at the bottleneck, not known to be HighSpeed TCP all the time, by name."""
    others = (
        one for one in path.bottleneck.competitors if not_highspeed(one.control) or one.arrive
    )
    return sorted(others, key=lambda one: one.name)


def _uneven(path: FlowPath) -> str:
    every = round_trips(path)
    times = np.repeat([time for time, _ in every], [count for _, count in every])
    off = np.abs(times - np.linspace(times[0], times[-1], len(times))).max()
    return unless(
        off <= _SAME_SPREAD * times.mean(),
        f"they are up to {off * 1e3:.4g} ms from even steps between the ends",
    )


OF_THE_FLOWS = (
    Assumption(
        "highspeed",
        "all flows at the bottleneck are HighSpeed TCP with the RFC's parameters, by its formula and not its table",
    ),
    Assumption(
        "even_round_trips",
        "the flows' round-trip times are evenly spread from the shortest to the longest",
        _uneven,
    ),
    Assumption(
        "no_random_loss",
        "segments are lost only at the router",
        lambda path: unless(path.loss.rate == 0, "random loss comes on top"),
    ),
    AN_ACK_EACH,
    GREEDY,
    LONG_RUN,
    Assumption(
        "steady_rtt",
        "nothing but the router's queue adds to the round-trip time",
        jitter,
    ),
)

POISSON = Assumption(
    "poisson",
    "packets come to the router one by one at random times, at a steady rate: neither bursts nor saw-tooth",
)

POISSON_BURSTS = Assumption(
    "poisson_bursts",
    "bursts of g packets come to the router at random times, at a steady rate: without a saw-tooth, and g is known",
)

NOT_GENTLE = Assumption(
    "not_gentle",
    "RED drops everything above max_th",
    lambda path: unless(
        path.bottleneck.thresholds is None or not path.bottleneck.thresholds.gentle,
        "above max_th the share dropped rises gently",
    ),
)
NO_AVERAGE = Assumption(
    "no_average", "RED drops by the queue that an arrival finds, not by an average of it"
)


def _unlike(path: FlowPath) -> str:
    every = round_trips(path)
    if every[0][0] == every[-1][0]:
        return unless(
            path.bottleneck.flows == 1,
            f"{path.bottleneck.flows} flows need not lose at the same time",
        )
    return "round-trip times differ: those with short ones get more than an even share"


IN_STEP = Assumption("in_step", "all flows have the same window and lose at the same time", _unlike)
ONE_LOSS_AT_AN_OVERFLOW = Assumption(
    "one_loss_at_an_overflow", "an overflow costs a flow one reduction, and recovery takes no time"
)
FLUID = Assumption(
    "fluid",
    "windows and queue move smoothly between overflows: without bursts or timeouts",
)
