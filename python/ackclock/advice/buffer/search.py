"""Finds the edges between which a target is met, among whole sizes: brackets, then bisection.

Sizes are tried on a logarithmic grid, and between its members at geometric means, until two
neighbours differ by one or by less than `RESOLUTION`. A judge calls each size `met`, `missed` or
`undecided`. Undecided sizes count as neither, so that both ends of the unknown range are found.
Targets are nearly, but not strictly, monotone in the size. The search therefore takes the first
range of sizes that meet, and assumes a single change between two neighbours of the grid.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from ackclock.advice.buffer.measures import MET, MISSED

#: Neighbouring sizes differ by at most a sixteenth of a doubling, unless they differ by one. Chosen
#: here: noise over replicates is seldom less.
RESOLUTION = 2 ** (1 / 16)

Judge = Callable[[int], str]


@dataclass(frozen=True)
class Edge:
    """An edge of the range in which a target is met.

    Attributes:
        met: Outermost size that was shown to meet it.
        missed: Nearest size beyond it that was shown to miss it; None if none was.
    """

    met: int
    missed: int | None


@dataclass(frozen=True)
class Stretch:
    """The range of sizes that meet a target.

    Attributes:
        low: Lower edge.
        high: Upper edge; None if the largest size that was tried meets it.
    """

    low: Edge
    high: Edge | None


def stretch(sizes: Sequence[int], judge: Judge) -> Stretch | None:
    """Returns the first range of sizes that meet a target; None if none of `sizes` does.

    Args:
        sizes: Ascending, from 1. Sizes between two of them are tried where the verdict changes.
        judge: Verdict on one size.
    """
    met = [size for size in sizes if judge(size) == MET]
    if not met:
        return None
    first = sizes.index(met[0])
    last = (
        next(
            (index for index in range(first, len(sizes)) if judge(sizes[index]) != MET), len(sizes)
        )
        - 1
    )
    low = _edge(sizes[first], sizes[:first][::-1], judge)
    if last == len(sizes) - 1:
        return Stretch(low, None)
    return Stretch(low, _edge(sizes[last], sizes[last + 1 :], judge))


def _edge(met: int, beyond: Sequence[int], judge: Judge) -> Edge:
    """Returns the edge between a size that meets and the sizes beyond it, nearest first."""
    if not beyond:
        return Edge(met, None)
    verdicts = {size: judge(size) for size in beyond}

    def is_met(size: int) -> bool:
        verdicts[size] = judge(size)
        return verdicts[size] == MET

    _, outermost = between(beyond[0], met, is_met)
    # Sizes that missed on the way are nearer than those of the grid.
    missing = [size for size, verdict in verdicts.items() if verdict == MISSED]
    if not missing:
        return Edge(outermost, None)
    missed = min(missing, key=lambda size: abs(size - outermost))
    _, nearest = between(outermost, missed, lambda size: judge(size) == MISSED)
    return Edge(outermost, nearest)


def between(no: int, yes: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Closes in on an edge; returns a size where a condition fails and a neighbour where it holds.

    Args:
        no: Size at which the condition fails.
        yes: Size at which it holds, on either side.
        holds: The condition.
    """
    while abs(yes - no) > 1 and max(yes, no) > RESOLUTION * min(yes, no):
        middle = round(sqrt(yes * no))
        if middle in (yes, no):
            middle = (yes + no) // 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return no, yes


def crossing(
    low: int, high: int, fails: Callable[[int], set[str]], looks: int | None = None
) -> int | None:
    """Returns a size that fails nothing, between two that fail different targets.

    None if not found.

    Args:
        low: Fails the targets that want a larger size.
        high: Fails the targets that want a smaller size.
        fails: Returns the names of the targets that a size fails.
        looks: Largest number of sizes to try; by default until neighbours differ by one.
    """
    wants_more, tried = fails(low), 0
    while high - low > 1 and tried != looks:
        middle = round(sqrt(low * high))
        if middle in (low, high):
            middle = (low + high) // 2
        failing, tried = fails(middle), tried + 1
        if not failing:
            return middle
        if wants_more & failing:
            low = middle
        else:
            high = middle
    return None
