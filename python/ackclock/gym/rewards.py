"""Rewards: functions of intervals that pay for what was delivered, never for what was sent.

All are rates, not sums, so that a longer interval earns no more. Where intervals differ in length,
discount by time: `info["interval_s"]` has it.
"""

from collections.abc import Callable

import numpy as np

from ackclock.gym.intervals import Array, Intervals, or_else

#: Takes intervals; returns rewards by environment and learner.
Reward = Callable[[Intervals], Array]

#: Packet in Aurora's reward in bits, and the scale of its code (Jay et al., ICML 2019).
_AURORA_PACKET, _AURORA_SCALE = 8 * 1500, 1e-3
#: Least throughput in Mbit/s of which logarithms are taken: a packet of 1250 bytes in ten seconds.
_LEAST_MBIT = 1e-3


def _megabits(intervals: Intervals) -> Array:
    return np.maximum(intervals.throughput / 1e6, _LEAST_MBIT)


def aurora(intervals: Intervals) -> Array:
    """10 × packets per s − 1000 × round-trip time in s − 2000 × share lost, all × 0.001."""
    packets = intervals.throughput / _AURORA_PACKET
    rtt = or_else(intervals.rtt, 0.0)
    return _AURORA_SCALE * (10 * packets - 1e3 * rtt - 2e3 * intervals.loss)


def power(intervals: Intervals) -> Array:
    """Logarithm of throughput in Mbit/s over the ratio of round-trip times, − 10 × share lost."""
    ratio = np.maximum(intervals.rtt_ratio, 1.0)
    return np.log(_megabits(intervals)) - np.log(ratio) - 10 * intervals.loss


def fair(intervals: Intervals) -> Array:
    """Mean over the learners of the logarithm of throughput: proportional fairness (α = 1)."""
    utility = np.log(_megabits(intervals)).mean(axis=-1, keepdims=True)
    return np.broadcast_to(utility, intervals.throughput.shape).copy()


def goodput_minus_delay(intervals: Intervals) -> Array:
    """Throughput in Mbit/s × (1 − (RTT/least RTT − 1)) − throughput × 10 × share lost."""
    queueing = intervals.rtt_ratio - 1
    return intervals.throughput / 1e6 * (1 - queueing - 10 * intervals.loss)


#: Every reward by its name.
REWARDS: dict[str, Reward] = {
    "aurora": aurora,
    "power": power,
    "fair": fair,
    "goodput_minus_delay": goodput_minus_delay,
}
