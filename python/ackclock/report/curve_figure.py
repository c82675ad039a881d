"""The figure of curves that no run produced, as a page draws it: see `ackclock.plot.curves`."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.plot import Curve, Curves
from ackclock.report import live
from ackclock.report.section import Live

__all__ = ["curve_figure"]

_HEIGHT = 330
# Looks of lines of their own; a further one begins again.
_LOOKS = 8
# Looks of references.
_REFERENCES = ("limit", "limit-2")
# More marks on one line hide it.
_MOST_MARKED = 60
# A cursor steps from value to value if there are at most so many, else it runs along the axis.
_MOST_STEPS = 2_000

Series = dict[str, Any]


def curve_figure(name: str, curves: Curves) -> Live:
    """Returns the figure.

    Args:
        name: Its id.
        curves: What it shows.
    """
    drawn = list(_drawn(curves))
    series = [one for one, _ in drawn]
    events = [
        {"x": live.rounded([float(_numbers(one.x)[0])])[0], "text": one.label}
        for one in curves.drawn
        if _is_upright(one)
    ]
    y_words, y_unit = _unit(curves.y_label)
    lowest = min((value for one in series for value in one["y"] if value is not None), default=0)
    spec = {
        "title": curves.title,
        "description": f"{curves.y_label} against {curves.x_label}. "
        f"Shown: {', '.join(dict.fromkeys(one.label for one in curves.drawn))}.",
        "height": _HEIGHT,
        "x": _horizontal(curves),
        "y": {
            "kind": "log" if curves.log_y else "linear",
            "unit": y_unit,
            "zero": curves.y_from == 0 and lowest >= 0,
        },
        "keys": [key for _, key in drawn],
        "panels": [{"title": "", "series": series, "events": events}],
    }
    axes = {(True, True): "both axes logarithmic", (False, True): "logarithmic axis"}
    sub = ", ".join(filter(None, [y_words, y_unit, axes.get((curves.log_x, curves.log_y))]))
    return Live(name, curves.title, sub, "", spec)


def _drawn(curves: Curves) -> Iterator[tuple[Series, Any]]:
    """Returns each curve with its entry in the legend."""
    lines, references = 0, 0
    for number, curve in enumerate(curves.drawn):
        if _is_upright(curve):
            continue
        if curve.drawn == "reference":
            look, references = _REFERENCES[references % 2], references + 1
        else:
            place = lines if curve.of is None else curve.of
            look, lines = f"line-{place % _LOOKS + 1}", lines + (curve.of is None)
        series = _series(curve, look, log_x=curves.log_x)
        if curves.categories and series["draw"] == "line":
            series["draw"] = "points"
        named = {"id": str(number)}
        yield series | named, live.key(look, series["draw"], curve.label) | named


def _series(curve: Curve, look: str, *, log_x: bool) -> Series:
    x, y = _numbers(curve.x), _numbers(curve.y)
    known = np.isfinite(x) & ((x > 0) if log_x else True)
    order = np.flatnonzero(known)[np.argsort(x[known], kind="stable")]
    half = None if curve.half_widths is None else _numbers(curve.half_widths)
    draw = "marks" if curve.drawn == "points" else "line"
    if draw == "line" and half is not None and order.size <= _MOST_MARKED:
        draw = "points"
    series: Series = {"s": look, "draw": draw}
    if half is None and order.size > live.span_of(1):
        return series | live.thinned(x[order], y[order], live.span_of(1))
    series |= {"x": [float(f"{one:.6g}") for one in x[order]], "y": live.rounded(y[order])}
    return series if half is None else series | {"half": live.rounded(half[order])}


def _horizontal(curves: Curves) -> dict[str, Any]:
    words, unit = _unit(curves.x_label)
    label = f"{words}, {unit}" if unit else words
    if curves.categories:
        ticks = [list(one) for one in enumerate(curves.categories)]
        return {"kind": "category", "label": label, "ticks": ticks}
    every = np.concatenate([_numbers(one.x) for one in curves.drawn])
    every = every[np.isfinite(every) & ((every > 0) if curves.log_x else True)]
    low, high = float(every.min()), float(every.max())
    far = (high / low) ** 0.03 if curves.log_x else 1.0
    room = 0.0 if curves.log_x else 0.03 * (high - low or 1.0)
    axis = live.span_axis(low / far - room, high * far + room, label, unit)
    snaps = np.unique(every).size <= _MOST_STEPS
    return axis | {"log": curves.log_x, "snaps": bool(snaps)}


def _is_upright(curve: Curve) -> bool:
    """True for a reference that stands on one value of the horizontal axis."""
    return curve.drawn == "reference" and np.unique(_numbers(curve.x)).size == 1


def _unit(label: str) -> tuple[str, str]:
    """Returns the words of a label and its unit in brackets at the end; empty if it has none."""
    found = re.fullmatch(r"(.+) \(([^()]+)\)", label)
    return (found[1], found[2]) if found else (label, "")


def _numbers(values: Any) -> NDArray[np.float64]:
    return np.atleast_1d(np.asarray(values, float))
