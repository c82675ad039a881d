"""Active queue management that meets what no drop-tail buffer does: Adaptive RED, the same with ECN, RED.

Each is searched over what it aims at, in packets, by doublings and between the two of them where
one side wants more and the other less. The limit only bounds bursts, and is that of the largest
drop-tail buffer tried.
"""

from itertools import pairwise
from math import isnan

from ackclock.advice.buffer.measures import MET, Target
from ackclock.advice.buffer.search import crossing
from ackclock.advice.buffer.trials import Discipline, Outcome, Setting, Trials, adaptive_red, red

__all__ = ["alternatives"]

# Smaller aims are all the same to Adaptive RED, whose lower threshold is five packets at least.
_LEAST_AIM = 10

# So often it is looked between two neighbours. Chosen here: a sixteenth of a doubling.
_LOOKS = 4


def alternatives(trials: Trials, targets: tuple[Target, ...], limit: int) -> tuple[Outcome, ...]:
    """Of each kind the setting that meets all targets, or comes nearest; no further kind once one meets all.

    Args:
        trials: Where they are tried.
        targets: What is wanted.
        limit: What may wait at most, in packets.
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
        # The one keeps the queue too short for some target, the other too long for another.
        if fails(low).isdisjoint(fails(high)):
            met = crossing(low, high, fails, _LOOKS)
            if met is not None:
                return trials.outcome(tried[met])
    return min(
        (trials.outcome(setting) for setting in tried.values()),
        key=lambda one: _distance(one, targets),
    )


def _distance(one: Outcome, targets: tuple[Target, ...]) -> float:
    """How far the worst of its means is from its target, as a share of it, or of what may be idle of a link."""
    worst = 0.0
    for target in targets:
        mean = one.found[target.measure.name].mean
        off = target.bound - mean if target.measure.at_least else mean - target.bound
        scale = max(1 - target.bound, 1e-3) if target.measure.at_least else max(target.bound, 1e-6)
        worst = max(worst, float("inf") if isnan(off) else off / scale)
    return worst
