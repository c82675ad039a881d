"""The actions of a learner: each makes orders of window and rate of what the learner chose.

Orders are clipped to what a transport can do. `info` says what was applied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ackclock.gym.intervals import Array, Intervals, or_else

#: Largest window in full segments, and bounds of a rate in bit/s.
MOST_PACKETS, LEAST_RATE, MOST_RATE = 1e6, 1e4, 1e12

#: Window over rate × smoothed round-trip time where a rate alone was chosen: it limits only a
#: sender whose ACKs stay away for a round trip.
_ROOM = 2.0

#: Step of `scale` in Aurora's code (Jay et al., ICML 2019), whose actions have no bounds.
STEP = 0.025


class Orders(NamedTuple):
    """Orders by environment and learner: window in bytes and rate in bit/s; NaN for no change."""

    cwnd: Array
    rate: Array


@dataclass(frozen=True)
class Action:
    """A kind of action.

    Attributes:
        summary: Its meaning.
        space: Space of one learner's action.
        orders: Takes actions (environments by learners by the space's shape), intervals, and the
            step of `scale`.
        paces: True if it orders a rate, which the transport has to keep.
    """

    summary: str
    space: spaces.Space[Any]
    orders: Callable[[Array, Intervals, float], Orders]
    paces: bool


def _rate_alone(rate: Array, intervals: Intervals) -> Orders:
    rate = np.clip(rate, LEAST_RATE, MOST_RATE)
    smoothed = or_else(intervals.column("smoothed_rtt_s"), 1.0)
    mss = intervals.column("mss_bytes")
    return Orders(np.maximum(_ROOM * rate / 8 * smoothed, 4 * mss), rate)


def _present_rate(intervals: Intervals) -> Array:
    """Returns the rate that was ordered; before the first order, window by round-trip time."""
    own = 8 * intervals.column("cwnd_bytes") / intervals.column("smoothed_rtt_s")
    ordered = intervals.column("rate_bit_per_s")
    return or_else(or_else(ordered, own), 1e6)


def _scale(actions: Array, intervals: Intervals, step: float) -> Orders:
    change = step * actions[..., 0]
    factor = np.where(change >= 0, 1 + change, 1 / (1 - np.minimum(change, 0)))
    return _rate_alone(_present_rate(intervals) * factor, intervals)


def _megabits(chosen: Array) -> Array:
    """Returns the rate in bit/s for an action from -1 to 1: 2^(5 + 11 a) Mbit/s."""
    return np.clip(1e6 * np.exp2(5 + 11 * chosen), LEAST_RATE, MOST_RATE)


def _window(packets: Array, intervals: Intervals) -> Array:
    return np.clip(packets, 1, MOST_PACKETS) * intervals.column("mss_bytes")


def _rate(actions: Array, intervals: Intervals, _: float) -> Orders:
    return _rate_alone(_megabits(actions[..., 0]), intervals)


def _window_alone(actions: Array, intervals: Intervals, _: float) -> Orders:
    cwnd = _window(np.exp2(8 + 8 * actions[..., 0]), intervals)
    return Orders(cwnd, np.full_like(cwnd, np.nan))


def _both(actions: Array, intervals: Intervals, _: float) -> Orders:
    cwnd = _window(np.exp2(8 + 8 * actions[..., 0]), intervals)
    return Orders(cwnd, _megabits(actions[..., 1]))


_FACTORS, _TERMS = np.array([0.5, 1, 1, 1, 2.0]), np.array([0, -10, 0, 10, 0.0])


def _discrete(actions: Array, intervals: Intervals, _: float) -> Orders:
    chosen = actions.astype(np.int64)
    packets = intervals.column("cwnd_bytes") / intervals.column("mss_bytes")
    cwnd = _window(packets * _FACTORS[chosen] + _TERMS[chosen], intervals)
    return Orders(cwnd, np.full_like(cwnd, np.nan))


def _box(numbers: int) -> spaces.Box:
    return spaces.Box(-1.0, 1.0, (numbers,), dtype=np.float32)


#: Every kind of action by its name.
ACTIONS: dict[str, Action] = {
    "scale": Action(
        "a from -1 to 1: rate × (1 + step a), or ÷ (1 + step |a|) for a below 0; step is 0.025 "
        "unless chosen", _box(1), _scale, True,
    ),
    "rate": Action("a from -1 to 1: 2^(5 + 11 a) Mbit/s", _box(1), _rate, True),
    "window": Action("a from -1 to 1: 2^(8 + 8 a) packets", _box(1), _window_alone, False),
    "both": Action("the action of window, then that of rate", _box(2), _both, True),
    "discrete": Action(
        "0 to 4: window × ½, − 10 packets, as it is, + 10 packets, × 2", spaces.Discrete(5),
        _discrete, False,
    ),
}  # fmt: skip
