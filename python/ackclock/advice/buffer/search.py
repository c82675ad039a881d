"""Where a target begins and ceases to be met, among sizes that are whole numbers: brackets, then bisection.

Sizes are tried on a logarithmic grid and between its members by geometric means, until two
neighbours differ by one or by less than `RESOLUTION`. A size is judged by a function that says
`met`, `missed` or `undecided`; what is undecided is neither taken for met nor for missed, so that
both ends of what is not known are found. What is sought is nearly, not strictly, monotone in the
size: so the first stretch of sizes that meet is taken, and what is between two neighbours of the
grid is taken to change once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from ackclock.advice.buffer.measures import MET, MISSED

__all__ = ["RESOLUTION", "Edge", "Stretch", "between", "crossing", "stretch"]

#: Neighbouring sizes differ by a sixteenth of a doubling at most, unless they differ by one. Chosen
#: here: noise over replicates is seldom less.
RESOLUTION = 2 ** (1 / 16)

Judge = Callable[[int], str]


@dataclass(frozen=True)
class Edge:
    """Where a target begins or ceases to be met.

    Attributes:
        met: The outermost size that was shown to meet it.
        missed: The nearest size beyond that was shown to miss it; None if none did.
    """

    met: int
    missed: int | None


@dataclass(frozen=True)
class Stretch:
    """The sizes that meet a target.

    Attributes:
        low: Its lower edge.
        high: Its upper edge; None if the largest size that was tried meets it.
    """

    low: Edge
    high: Edge | None


def stretch(sizes: Sequence[int], judge: Judge) -> Stretch | None:
    """The first stretch of sizes that meet a target; None if none of `sizes` does.

    Args:
        sizes: Ascending, from 1; between them is looked where the judgement changes.
        judge: Of one size.
    """
    met = [size for size in sizes if judge(size) == MET]
    if not met:
        return None
    first = sizes.index(met[0])
    last = next((at for at in range(first, len(sizes)) if judge(sizes[at]) != MET), len(sizes)) - 1
    low = _edge(sizes[first], sizes[:first][::-1], judge)
    if last == len(sizes) - 1:
        return Stretch(low, None)
    return Stretch(low, _edge(sizes[last], sizes[last + 1 :], judge))


def _edge(met: int, beyond: Sequence[int], judge: Judge) -> Edge:
    """The edge beyond which sizes, the nearest first, do not meet."""
    if not beyond:
        return Edge(met, None)
    _, outermost = between(beyond[0], met, lambda size: judge(size) == MET)
    missing = next((size for size in beyond if judge(size) == MISSED), None)
    if missing is None:
        return Edge(outermost, None)
    _, nearest = between(outermost, missing, lambda size: judge(size) == MISSED)
    return Edge(outermost, nearest)


def between(no: int, yes: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Closes in on where something begins to hold: a size at which it does not and a neighbour at which it does.

    Args:
        no: It does not hold there.
        yes: There it does; on either side.
        holds: Whether it does.
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
    """A size that fails nothing, between two of which each meets what the other fails; None if none was found.

    Args:
        low: Fails what wants a larger size.
        high: Fails what wants a smaller one.
        fails: Names of what a size fails.
        looks: How many sizes to try at most; by default until neighbours differ by one.
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
