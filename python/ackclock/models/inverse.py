"""Inverse questions: the loss rate, round-trip time, window or capacity for a given throughput.

A grid searches the unknown's domain. The only assumption about the model is that everything between
two neighbours of the grid shows at its ends. Each change of sign is then refined by Brent's method.
On a domain of positive numbers both use a logarithmic scale.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from ackclock.errors import InputError
from ackclock.models.model import Array, Input, Model, Output, in_unit


class NoSolutionError(InputError):
    """No value of the unknown gives the target; the message has the closest result."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__("no-solution", field, message)


@dataclass(frozen=True)
class Solution:
    """The answer to an inverse question.

    Attributes:
        unknown: Name of the input.
        unit: Its unit.
        values: All values that give the target, ascending; at least one. For an interval of such
            values, the smallest.
        output: Name of the output with the target.
        target: Its target.
    """

    unknown: str
    unit: str
    values: tuple[float, ...]
    output: str
    target: float


# Ends of the search, by unit, if a domain has no end or begins at zero.
SEARCHED = {
    "": (1e-12, 1e6),
    "s": (1e-9, 1e6),
    "segments": (1e-6, 1e12),
    "segments/s": (1e-6, 1e15),
}

# At a root the output equals the target to this precision, relative to the target and to the
# distance at the grid's neighbours. Otherwise it is a jump over the target.
_SAME = 1e-6


def solve(
    model: Model, unknown: str, target: float, *, output: str = "",
    say: Callable[[Input | Output, float], str] | None = None, **fixed: float,
) -> Solution:  # fmt: skip
    """Returns the values of one input for which an output has its target.

    Args:
        model: The model.
        unknown: Name of the input that is asked for.
        target: Target of the output, in its unit.
        output: Name of the output; by default the primary one.
        say: Formats a value of an input or output in an error; by default in its unit.
        fixed: The other inputs by name; those with a default are optional.

    Raises:
        InputError: An input or output is unknown, missing or out of its domain, or the unknown is
            given.
        NoSolutionError: No value gives the target.
    """
    wanted, asked = model.output(output), model.input(unknown)
    if unknown in fixed:
        raise InputError("contradiction", unknown, "remove it; it is solved for")
    if not asked.backwards:
        others = ", ".join(
            entry.name for entry in model.inputs if entry.backwards and entry.name not in fixed
        )
        raise InputError(
            "unsupported",
            unknown,
            f"solving for it takes too long; give values, or solve for {others}",
        )
    if not isfinite(target):
        raise InputError(
            "out-of-range", wanted.name, f"{target:g} is not finite; give a finite number", target
        )
    say = say or (lambda quantity, value: in_unit(value, quantity.unit))
    if asked.domain.values:
        return _among(model, asked, target, wanted, fixed, say)

    def evaluated(points: Array) -> Array:
        return model.evaluated(model.completed(**fixed, **{unknown: points}))[wanted.name]

    low, high = _ends(model, unknown)
    grid = _between(low, high, model.points, asked.domain.low == 0 and asked.domain.ends[0] == "[")
    given = evaluated(grid)
    if np.isnan(given).any():
        given = np.where(np.isnan(given), inf, given)

    def miss(x: float) -> float:
        return float(evaluated(np.asarray(x))) - target

    roots = _roots(miss, grid, given - target)
    values = [root for root, around in roots if abs(miss(root)) <= _SAME * max(abs(target), around)]
    if values:
        return Solution(unknown, asked.unit, tuple(values), wanted.name, target)
    raise NoSolutionError(
        "", _explained(asked, wanted, target, grid, given, [root for root, _ in roots], say)
    )


def _among(
    model: Model, asked: Input, target: float, wanted: Output, fixed: dict[str, float],
    say: Callable[[Input | Output, float], str],
) -> Solution:  # fmt: skip
    """Solves for an input that has only a few allowed values."""
    choices = asked.domain.values
    given = model.answer(**fixed, **{asked.name: np.array(choices)})[wanted.name]
    values = [
        value
        for value, gives in zip(choices, given, strict=True)
        if abs(gives - target) <= _SAME * abs(target)
    ]
    if not values:
        answers = ", ".join(
            f"{say(wanted, gives)} at {value:g}"
            for value, gives in zip(choices, given, strict=True)
        )
        raise NoSolutionError(
            "",
            f"no solution: by {asked.name}, {wanted.name} is {answers}; "
            f"the target is {say(wanted, target)}",
        )
    return Solution(asked.name, asked.unit, tuple(values), wanted.name, target)


def _ends(model: Model, unknown: str) -> tuple[float, float]:
    """Returns the ends of the search: those of the domain, or limits where it has none."""
    asked = model.input(unknown)
    least, most = SEARCHED.get(asked.unit, SEARCHED[""])
    low, high = asked.domain.low, asked.domain.high
    if low <= 0:
        low = least
    elif asked.domain.ends[0] == "(":
        low = np.nextafter(low, inf)
    if high == inf:
        high = most
    elif asked.domain.ends[1] == ")":
        high = high - (high - low) * 1e-12
    return float(low), float(high)


def _between(low: float, high: float, points: int, zero: bool) -> Array:
    """Returns a logarithmic grid, with as many points near the upper end; `zero` adds a 0."""
    grid = np.geomspace(low, high, points)
    near = high - np.geomspace((high - low) * 1e-9, (high - low) * 0.5, points)
    both = np.unique(np.concatenate([grid, near]))
    both[0], both[-1] = low, high
    return np.concatenate([[0.0], both]) if zero else both


def _roots(miss: Callable[[float], float], grid: Array, misses: Array) -> list[tuple[float, float]]:
    """Returns zeros and changes of sign, each with the largest miss at its grid neighbours."""
    roots = []
    is_zero, signs = misses == 0, np.sign(misses)
    for position in np.flatnonzero(is_zero & ~np.concatenate([[False], is_zero[:-1]])):
        roots.append((_first_zero(miss, grid, int(position)), 0.0))
    for position in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        here = slice(position, position + 2)
        roots.append(
            (_root_between(miss, grid[here], misses[here]), float(np.abs(misses[here]).max()))
        )
    return sorted(roots)


def _root_between(miss: Callable[[float], float], ends: Array, misses: Array) -> float:
    """Returns a zero between two ends of different sign.

    The search is logarithmic unless the lower end is zero.
    """
    from scipy.optimize import brentq  # slow to import, and only inverse questions need it

    a, b = (float(end) for end in ends)

    def along(t: float) -> float:
        return min(a * (b / a) ** t, b) if a > 0 else b * t

    def off(t: float) -> float:
        # The ends keep the grid's values: evaluated again on their own, they may be rounded to the
        # other sign.
        return float(misses[int(t)]) if t in (0, 1) else miss(along(t))

    return along(brentq(off, 0.0, 1.0, xtol=1e-15 if a > 0 else 1e-300, rtol=1e-14))


def _first_zero(miss: Callable[[float], float], grid: Array, position: int) -> float:
    """Returns the smallest of an interval of zeros; `position` is the first of them on the grid."""
    if position == 0 or position + 1 == len(grid) or miss(float(grid[position + 1])) != 0:
        return float(grid[position])
    below, zero = float(grid[position - 1]), float(grid[position])
    while zero - below > 1e-14 * zero:
        middle = (below + zero) / 2
        if miss(middle) == 0:
            zero = middle
        else:
            below = middle
    return zero


def _explained(
    unknown: Input, output: Output, target: float, grid: Array, given: Array, jumps: list[float],
    say: Callable[[Input | Output, float], str],
) -> str:  # fmt: skip
    wanted = say(output, target)
    if jumps:
        return (
            f"no solution: at {unknown.name} = {say(unknown, jumps[0])} {output.name} "
            f"jumps over {wanted}"
        )
    nearest = int(np.argmin(np.abs(given - target)))
    side = "at least" if given[nearest] > target else "at most"
    best = (
        f"{side} {say(output, float(given[nearest]))}, "
        f"at {unknown.name} = {say(unknown, float(grid[nearest]))}"
    )
    return f"no solution: {output.name} is {best}; the target is {wanted}"
