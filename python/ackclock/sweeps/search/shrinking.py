"""Makes a found scenario as plain as it can be while a property holds.

Three steps, as property testing shrinks a counterexample. Each value goes back to that of the base
scenario; if it must differ, it goes as near as it can; then it gets as few digits as it can.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ackclock import units
from ackclock.errors import InputError
from ackclock.sweeps.parameters import Parameter, Range

# Halvings of the distance to the base value: the value is then within a sixteenth of the nearest.
_HALVINGS = 4

_NUMBER = re.compile(r"([-+.\deE]+)\s*(.*)")


def shrink(
    worst: dict[str, Any],
    parameters: Sequence[Parameter],
    base: Callable[[str], Any],
    holds: Callable[[dict[str, Any]], bool],
) -> dict[str, Any]:
    """Returns fewer and plainer assignments for which the property holds.

    Args:
        worst: Assignments for which it holds.
        parameters: What may differ from the base scenario.
        base: Returns the value of a path in the base scenario; None if it is not written there.
        holds: Returns True if the property holds of the base scenario with some assignments.
    """
    kept = _fewest(worst, parameters, holds)
    for parameter in parameters:
        if not isinstance(parameter.over, Range) or parameter.paths[0] not in kept:
            continue
        number = _number(kept[parameter.paths[0]])
        start = _base_number(base(parameter.paths[0]), parameter.over)
        if number is None:
            continue
        if start is not None:
            number = _nearest(parameter, number, start, kept, holds)
        kept = _shortest(parameter, number, kept, holds)
    return kept


def _fewest(
    worst: dict[str, Any], parameters: Sequence[Parameter], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Leaves out every parameter that can be left out, until none can."""
    kept, changed = dict(worst), True
    while changed:
        changed = False
        for parameter in parameters:
            without = {path: value for path, value in kept.items() if path not in parameter.paths}
            if without != kept and holds(without):
                kept, changed = without, True
    return kept


def _nearest(
    parameter: Parameter,
    number: float,
    start: float,
    kept: dict[str, Any],
    holds: Callable[[dict[str, Any]], bool],
) -> float:
    """Returns the number nearest to the start for which the property holds."""
    over = parameter.over
    if not isinstance(over, Range):
        return number
    good, bad = number, start
    for _ in range(_HALVINGS):
        middle = (
            math.copysign(math.sqrt(good * bad), good) if over.log and bad > 0 else (good + bad) / 2
        )
        if holds(kept | parameter.assignments(over.written(middle))):
            good = middle
        else:
            bad = middle
    return good


def _shortest(
    parameter: Parameter,
    number: float,
    kept: dict[str, Any],
    holds: Callable[[dict[str, Any]], bool],
) -> dict[str, Any]:
    """Returns the assignments with the fewest digits of the number."""
    over = parameter.over
    if not isinstance(over, Range):
        return kept
    for digits in (1, 2, 3):
        rounded = float(f"{number:.{digits}g}")
        if over.low <= rounded <= over.high:
            candidate = kept | parameter.assignments(over.written(rounded))
            if holds(candidate):
                return candidate
    return kept | parameter.assignments(over.written(number))


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    match = _NUMBER.fullmatch(str(value))
    return float(match[1]) if match else None


def _base_number(value: Any, over: Range) -> float | None:
    """Returns the base value in the range's unit; None if it has none in it."""
    match = _NUMBER.fullmatch(str(value))
    if match is None:
        return None
    if match[2] == over.unit:
        return float(match[1])
    try:
        base, unit = units.parse(value), units.parse(f"1 {over.unit}")
    except InputError:
        return None
    return base.amount / unit.amount if base.base == unit.base else None
