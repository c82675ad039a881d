"""Data of the figures that a page draws itself (`figures.js`).

A figure's data is a dict: `title` and `description`, `x` and `y` axis, `keys` (the series, for the
legend) and `panels` with `series`. Numbers have four significant digits, as in tables.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KEYS",
    "key",
    "log_axis",
    "ordered",
    "position",
    "rounded",
    "span_axis",
    "span_of",
    "steps",
    "thinned",
    "time_axis",
    "values_axis",
]

Numbers = NDArray[np.float64]

#: Names of methods in legends, and what answers by each.
KEYS: Mapping[str, tuple[str, str]] = {
    "predict": ("predict", "models"),
    "simulate": ("simulate", "engine"),
    "measure-simulate": ("measure", "of engine"),
    "emulate": ("emulate", "Linux"),
    "measure-emulate": ("measure", "of Linux"),
    "measure": ("measure", "capture"),
}

# A figure over time holds at most so many values, and a line between these numbers of them.
_MOST_OF_FIGURE, _MOST_OF_LINE, _FEWEST_OF_LINE = 16_000, 4_000, 300

# With more swept values the axis has round ticks.
_MOST_TICKS = 10

# Values that span more than this are drawn on a logarithmic axis.
_FAR = 30


def key(series: str, draw: str, name: str = "", of: str = "", *, off: bool = False) -> Any:
    """Returns an entry of the legend.

    Args:
        series: Name of the series, which decides on its colour, dash and mark.
        draw: How it is drawn.
        name: Its name in the legend; that of the method by default.
        of: What it is of, more softly.
        off: True if it is not shown at first.
    """
    known = KEYS.get(series, (series, ""))
    entry = {"s": series, "draw": draw, "name": name or known[0], "of": of if name else known[1]}
    return entry | ({"off": True} if off else {})


def rounded(values: Iterable[float | None]) -> list[float | None]:
    """Returns numbers with four significant digits; None for those that are not finite."""
    return [_short(value) for value in values]


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def log_axis(values: Iterable[float | None]) -> bool:
    """True if values are positive and span more than a decade and a half."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) > _FAR


def values_axis(values: Sequence[float], label: str, unit: str) -> dict[str, Any]:
    """Returns a horizontal axis of swept values, logarithmic if small ones would overlap.

    A logarithmic axis has no zero: values that begin there have equal distances instead.
    """
    known = sorted(set(values))
    wide = known[0] > 0 and (is_crowded(known) or known[-1] / known[0] >= 8)
    ending = f" {unit}" if unit == "%" else ""
    names = [f"{value:g}{ending}" for value in known]
    if known[0] <= 0 and is_crowded(known):
        ranks = [list(one) for one in enumerate(names)]
        return {"kind": "linear", "label": f"{label}, not to scale", "ticks": ranks}
    ticks = [list(one) for one in zip(known, names, strict=True)]
    few = ticks if len(ticks) <= _MOST_TICKS else None
    return {"kind": "log" if wide else "linear", "label": label, "ticks": few}


def position(values: Sequence[float], value: float) -> float:
    """Returns the place of a value on the axis of `values_axis`: the value, or its rank."""
    known = sorted(set(values))
    return known.index(value) if known[0] <= 0 and is_crowded(known) else value


def is_crowded(known: Sequence[float]) -> bool:
    """True if half of the values, in their order, lie in the lowest quarter."""
    middle = known[(len(known) - 1) // 2]
    return len(known) > 2 and middle < known[0] + (known[-1] - known[0]) / 4


def time_axis(start: float, end: float) -> dict[str, Any]:
    """Returns a horizontal axis of time in seconds."""
    return {"kind": "time", "label": "time, s", "span": [_short(start), _short(end)]}


def span_axis(start: float, end: float, label: str, unit: str) -> dict[str, Any]:
    """Returns a horizontal axis of any quantity that lines run along, as time does."""
    axis = {"kind": "time", "label": label, "span": [_short(start), _short(end)]}
    return axis | {"unit": unit}


def ordered(names: Sequence[str], name: str) -> str:
    """Returns the series of a name that has no look of its own: by its place, again after eight."""
    return f"line-{names.index(name) % 8 + 1}"


def span_of(lines: int) -> int:
    """Returns the number of values that each line of a figure over time may have."""
    return max(_FEWEST_OF_LINE, min(_MOST_OF_LINE, _MOST_OF_FIGURE // max(1, lines)))


def thinned(time: Numbers, values: Numbers, most: int) -> dict[str, Any]:
    """Returns `x` or `x0` and `dx`, and `y`, of at most about `most` values.

    More values than that are replaced by the least and the greatest of each of `most / 2` equal
    intervals of time, in their order.
    """
    where: dict[str, Any]
    known = np.isfinite(time)
    time, values = time[known], values[known]
    if time.size > most:
        time, values = _extremes(time, values, most // 2)
    steps = np.diff(time)
    if time.size > 2 and np.allclose(steps, steps[0], rtol=1e-3, atol=0):
        where = {
            "x0": _short(float(time[0])),
            "dx": float(f"{(time[-1] - time[0]) / steps.size:.7g}"),
        }
    else:
        where = {"x": [float(f"{one:.6g}") for one in time]}
    return where | {"y": rounded(map(float, values))}


def steps(time: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the values of a series that changes in steps: those that differ from the one before.

    The last value stays, as it says where the series ends.
    """
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    kept = np.concatenate([[True], ~same])
    kept[-1] = True
    return time[kept], values[kept]


def _extremes(time: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Returns the least and the greatest value of each interval, at its first and third quarter."""
    step = (time[-1] - time[0]) / count
    bucket = np.minimum(((time - time[0]) / step).astype(int), count - 1)
    kept = np.full((count, 2), np.nan)
    for number in range(count):
        low, high = np.searchsorted(bucket, [number, number + 1])
        part = values[low:high]
        if part.size and not np.isnan(part).all():
            ends = sorted((int(np.nanargmin(part)), int(np.nanargmax(part))))
            kept[number] = part[ends]
    at = time[0] + step * (np.arange(2 * count) * 0.5 + 0.25)
    return at, kept.ravel()
