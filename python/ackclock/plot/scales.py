"""Axes of swept values, and of what they lead to."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ackclock.plot.spec import Axis

# Up to this many swept values are the ticks of the axis.
_MOST_TICKS = 10

# Significant digits of a tick's label, and the least share of the axis between two of them. Values
# that need more, or lie closer, give way to round numbers.
_ROUND_DIGITS, _LEAST_GAP = 3, 0.06

# Values that span more than a decade and a half are drawn on a logarithmic axis.
_FAR = 30


def swept_axis_of(values: Sequence[float], label: str, unit: str = "") -> Axis:
    """Returns a horizontal axis of swept values, logarithmic if small ones would overlap.

    They would if half of the values lie in the lowest quarter. An axis that begins at zero is then
    linear up to the next value.
    """
    distinct = sorted(set(values))
    middle = distinct[(len(distinct) - 1) // 2] if distinct else 0.0
    is_crowded = (
        len(distinct) > 2 and distinct[0] >= 0
        and middle < distinct[0] + (distinct[-1] - distinct[0]) / 4
    )  # fmt: skip
    scale = "linear" if not is_crowded else "symlog" if distinct[0] == 0 else "log"
    named = tuple(zip(distinct, short_numbers(distinct), strict=True))
    can_be_named = len(distinct) <= _MOST_TICKS and _are_round(distinct, scale)
    ticks = named if can_be_named or scale == "symlog" else ()
    return Axis(label, unit, scale, ticks=ticks)


def short_numbers(values: Sequence[float]) -> list[str]:
    """Returns numbers as tick labels: three significant digits, more if two would be the same."""
    for digits in range(_ROUND_DIGITS, 16):
        labels = [f"{float(f'{value:.{digits}g}'):g}" for value in values]
        if len(set(labels)) == len(set(values)):
            return labels
    return [f"{value:g}" for value in values]


def _are_round(values: Sequence[float], scale: str) -> bool:
    """True if ascending values need few digits and lie so far apart that labels do not meet."""
    if any(value != float(f"{value:.{_ROUND_DIGITS}g}") for value in values):
        return False
    places = [math.log(value) for value in values] if scale == "log" else list(values)
    gaps = [after - before for before, after in pairwise(places)]
    return not gaps or min(gaps) >= _LEAST_GAP * (places[-1] - places[0])


def is_wide(values: Iterable[float]) -> bool:
    """True if values are positive and span more than a decade and a half."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > _FAR


def height_axis(values: Iterable[float], label: str, unit: str = "") -> Axis:
    """Returns a vertical axis, from zero or logarithmic, whichever shows the values."""
    finite = [value for value in values if math.isfinite(value)]
    if is_wide(finite):
        return Axis(label, unit, "log")
    return Axis(label, unit, begin=0.0 if not finite or min(finite) >= 0 else None)
