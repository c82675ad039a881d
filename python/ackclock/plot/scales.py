"""Axes of swept values, and of what they lead to."""

import math
from collections.abc import Iterable, Sequence

from ackclock.plot.spec import Axis

# Up to this many swept values are the ticks of the axis.
_MOST_TICKS = 10

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
    named = tuple((value, f"{value:g}") for value in distinct)
    ticks = named if len(distinct) <= _MOST_TICKS or scale == "symlog" else ()
    return Axis(label, unit, scale, ticks=ticks)


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
