"""Searches active queue management for targets that no drop-tail buffer meets.

Adaptive RED, Adaptive RED with ECN, and RED are searched over their target queue length, in
packets. Lengths double. Between two lengths the search continues if they miss different targets.
The limit only bounds bursts, and is that of the largest drop-tail buffer tried.
"""

from itertools import pairwise
from math import isnan

from ackclock.advice.buffer.measures import MET, Target
from ackclock.advice.buffer.search import crossing
from ackclock.advice.buffer.trials import Discipline, Outcome, Setting, Trials, adaptive_red, red

__all__ = ["alternatives"]

# Smaller targets do not matter to Adaptive RED: its lower threshold is at least five packets.
_LEAST_AIM = 10

# Number of sizes tried between two neighbours. Chosen here: a sixteenth of a doubling.
_LOOKS = 4


def alternatives(trials: Trials, targets: tuple[Target, ...], limit: int) -> tuple[Outcome, ...]:
    """Returns for each kind the setting that meets all targets, or comes nearest.

    No further kind is tried once one meets all.

    Args:
        trials: The simulations.
        targets: The targets.
        limit: Limit of the queue, in packets.
    """
    found: list[Outcome] = []
    for kind in _kinds(trials, limit):
        found.append(_best(trials, kind, targets, limit))
        if found[-1].meets_all(targets):
            break
    return tuple(found)


def _kinds(trials: Trials, limit: int) -> list[Discipline]:
    kinds = [adaptive_red(trials.hop, limit, ecn=False)]
    if any(path.sender.transport == "tcp" for path in trials.hop.paths):
        kinds.append(adaptive_red(trials.hop, limit, ecn=True))
    return [*kinds, red(trials.hop, limit)]


def _best(trials: Trials, kind: Discipline, targets: tuple[Target, ...], limit: int) -> Outcome:
    sizes = [_LEAST_AIM]
    while sizes[-1] * 2 <= max(limit // 2, _LEAST_AIM):
        sizes.append(sizes[-1] * 2)
    tried: dict[int, Setting] = {}

    def fails(size: int) -> set[str]:
        tried[size] = kind(size)
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
        key=lambda one: _distance(one, targets),
    )


def _distance(one: Outcome, targets: tuple[Target, ...]) -> float:
    """Returns how far the worst mean is from its target.

    The distance is a share of the target; for utilisation, of the idle share that is allowed.
    """
    worst = 0.0
    for target in targets:
        mean = one.found[target.measure.name].mean
        off = target.bound - mean if target.measure.at_least else mean - target.bound
        scale = max(1 - target.bound, 1e-3) if target.measure.at_least else max(target.bound, 1e-6)
        worst = max(worst, float("inf") if isnan(off) else off / scale)
    return worst
