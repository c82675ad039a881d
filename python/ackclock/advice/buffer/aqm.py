"""Searches active queue management for targets that no drop-tail buffer meets.

Adaptive RED, Adaptive RED with ECN, and RED are searched over their target queue length, in
packets; on request also CoDel, PIE, PI2 and FQ-CoDel over their target delay. Targets double.
Between two of them the search continues if they miss different targets of the question. The limit
only bounds bursts, and is that of the largest drop-tail buffer tried.
"""

from itertools import pairwise
from math import isnan
from typing import NamedTuple

from ackclock.advice.buffer.measures import MET, Target
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
        every: True to try all kinds. Otherwise those with a target delay are left out, and no
            further kind is tried once one meets all targets.
    """
    nearest: list[Outcome] = []
    for kind in _kinds(trials, limit, every=every):
        nearest.append(_nearest(trials, kind, targets, limit))
        if nearest[-1].meets_all(targets) and not every:
            break
    return tuple(nearest)


def best(tried: tuple[Outcome, ...], targets: tuple[Target, ...]) -> Outcome | None:
    """Returns the queue that meets all targets and uses the link most; None if none meets them.

    Of those that use it alike, the one that drops least.
    """
    meeting = [outcome for outcome in tried if outcome.meets_all(targets)]
    return max(
        meeting,
        key=lambda outcome: (
            round(outcome.intervals["utilisation"].mean, 3),
            -outcome.intervals["loss"].mean,
        ),
        default=None,
    )


def _kinds(trials: Trials, limit: int, *, every: bool) -> list[_Kind]:
    kinds = [_Kind(adaptive_red(trials.hop, limit, ecn=False))]
    if any(path.sender.transport == "tcp" for path in trials.hop.paths):
        kinds.append(_Kind(adaptive_red(trials.hop, limit, ecn=True)))
    kinds.append(_Kind(red(trials.hop, limit)))
    if every:
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
        key=lambda outcome: _distance(outcome, targets),
    )


def _distance(outcome: Outcome, targets: tuple[Target, ...]) -> float:
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
