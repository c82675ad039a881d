"""Searches active queue management for targets that no drop-tail buffer meets.

Adaptive RED, Adaptive RED with ECN, and RED are searched over their target queue length, in
packets; CoDel, PIE, PI2 and FQ-CoDel over their target delay. Targets double.
Between two of them the search continues if they miss different targets of the question. The limit
only bounds bursts, and is that of the largest drop-tail buffer tried.
"""

from itertools import pairwise
from math import isnan
from typing import NamedTuple

from ackclock.advice.buffer.measures import MEASURES, MET, Target
from ackclock.advice.buffer.search import crossing
from ackclock.advice.buffer.trials import (
    Discipline,
    Outcome,
    Setting,
    Trials,
    adaptive_red,
    delay_queue,
    red,
)

# Queues that are searched on request, with their labels.
_DELAY_QUEUES = {"codel": "CoDel", "pie": "PIE", "pi2": "PI2", "fq_codel": "FQ-CoDel"}
# Their smallest target, in packets: with less the link would be idle between packets.
_LEAST_DELAY = 2

# Smaller targets do not matter to Adaptive RED: its lower threshold is at least five packets.
_LEAST_AIM = 10

# Shares of a measure: worse by less is not noticed, better by less does not pay for another queue.
# Chosen here.
_NOTICEABLE, _GAIN = 0.01, 0.2

# Number of sizes tried between two neighbours. Chosen here: a sixteenth of a doubling.
_LOOKS = 4


class _Kind(NamedTuple):
    """A kind of queue, and the smallest target that is tried, in packets."""

    setting: Discipline
    least: int = _LEAST_AIM


def alternatives(
    trials: Trials, targets: tuple[Target, ...], limit: int, *, every: bool = False
) -> tuple[Outcome, ...]:
    """Returns for each kind the setting that meets all targets, or comes nearest.

    Args:
        trials: The simulations.
        targets: The targets.
        limit: Limit of the queue, in packets.
        every: True to try all kinds. Otherwise no further kind is tried once one meets all targets.
    """
    nearest: list[Outcome] = []
    for kind in _kinds(trials, limit):
        nearest.append(_nearest(trials, kind, targets, limit))
        if nearest[-1].meets_all(targets) and not every:
            break
    return tuple(nearest)


def best(
    tried: tuple[Outcome, ...], targets: tuple[Target, ...], tail: Outcome | None
) -> Outcome | None:
    """Returns the best queue that meets all targets; None if none meets them.

    If some are better than the drop-tail buffer `tail`, it is the one of these that drops least
    without a change of senders. Otherwise it is the one that uses the link most; of those that use
    it alike, the one that drops least.
    """
    meeting = [outcome for outcome in tried if outcome.meets_all(targets)]
    better = [outcome for outcome in meeting if tail is not None and is_better(outcome, tail)]
    if better:
        return min(better, key=lambda outcome: (outcome.setting.ecn, *_dropped_and_waited(outcome)))
    return max(
        meeting,
        key=lambda outcome: (
            round(outcome.intervals["utilisation"].mean, 3),
            -outcome.intervals["loss"].mean,
        ),
        default=None,
    )


def _dropped_and_waited(outcome: Outcome) -> tuple[float, float]:
    return outcome.intervals["loss"].mean, outcome.intervals["delay_p99_s"].mean


def is_better(managed: Outcome, tail: Outcome) -> bool:
    """Returns True if queue management beats a drop-tail buffer that meets the same targets.

    It changes no measure for the worse beyond both intervals, or `_NOTICEABLE` of it. It lowers
    delay, loss or completion time beyond both intervals and by `_GAIN` at least.
    """
    gains = []
    for name, before in tail.intervals.items():
        after = managed.intervals[name]
        gain = after.mean - before.mean if MEASURES[name].at_least else before.mean - after.mean
        wide = sum(0.0 if isnan(each.half_width) else each.half_width for each in (before, after))
        if isnan(gain) or gain < -max(wide, _NOTICEABLE * before.mean):
            return False
        gains.append(not MEASURES[name].at_least and gain > max(wide, _GAIN * before.mean))
    return any(gains)


def _kinds(trials: Trials, limit: int) -> list[_Kind]:
    kinds = [_Kind(adaptive_red(trials.hop, limit, ecn=False))]
    if any(path.sender.transport == "tcp" for path in trials.hop.paths):
        kinds.append(_Kind(adaptive_red(trials.hop, limit, ecn=True)))
    kinds.append(_Kind(red(trials.hop, limit)))
    kinds += [
        _Kind(delay_queue(trials.hop, kind, label, limit), _LEAST_DELAY)
        for kind, label in _DELAY_QUEUES.items()
    ]
    return kinds


def _nearest(trials: Trials, kind: _Kind, targets: tuple[Target, ...], limit: int) -> Outcome:
    sizes = [kind.least]
    while sizes[-1] * 2 <= max(limit // 2, kind.least):
        sizes.append(sizes[-1] * 2)
    tried: dict[int, Setting] = {}

    def fails(size: int) -> set[str]:
        tried[size] = kind.setting(size)
        if trials.judge(tried[size], *targets) == MET:
            return set()
        outcome = trials.outcome(tried[size])
        return {target.measure.name for target in targets if outcome.judge(target) != MET}

    for size in sizes:
        if not fails(size):
            return trials.outcome(tried[size])
    for low, high in pairwise(sizes):
        # One keeps the queue too short for some target, the other too long for another.
        if fails(low).isdisjoint(fails(high)):
            met = crossing(low, high, fails, _LOOKS)
            if met is not None:
                return trials.outcome(tried[met])
    return min(
        (trials.outcome(setting) for setting in tried.values()),
        key=lambda outcome: distance(outcome, targets),
    )


def distance(outcome: Outcome, targets: tuple[Target, ...]) -> float:
    """Returns how far the worst mean is from its target.

    The distance is a share of the target; for utilisation, of the idle share that is allowed.
    """
    worst = 0.0
    for target in targets:
        mean = outcome.intervals[target.measure.name].mean
        off = target.bound - mean if target.measure.at_least else mean - target.bound
        scale = max(1 - target.bound, 1e-3) if target.measure.at_least else max(target.bound, 1e-6)
        worst = max(worst, float("inf") if isnan(off) else off / scale)
    return worst
