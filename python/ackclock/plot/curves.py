"""Curves that no run produced: formulas, with measured points beside them."""

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ackclock.plot.drawing import Drawing, draw
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series, values_of
from ackclock.plot.style import line, reference


class Curve(NamedTuple):
    """One line, or one set of points.

    Attributes:
        label: Name in the legend.
        x: Horizontal values.
        y: Vertical values.
        drawn: `line`; `points`, unconnected; or `reference`, a grey line for limits and thresholds.
        style_of: Index of the line whose style points share, counted without references; None for a
            style of their own.
        half_widths: Half widths of intervals around each y; None if unknown.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    drawn: str = "line"
    style_of: int | None = None
    half_widths: ArrayLike | None = None


def curves(
    drawn: Sequence[Curve],
    x_label: str,
    y_label: str,
    title: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    categories: Sequence[str] = (),
    y_from: float = 0.0,
) -> Drawing:
    """Draws curves on one pair of axes, distinguishable without colour.

    Args:
        drawn: The curves, in the order of the legend.
        x_label: Label of the horizontal axis, with its unit.
        y_label: Label of the vertical axis, with its unit.
        title: Title of the figure.
        log_x: True for a logarithmic horizontal axis.
        log_y: True for a logarithmic vertical axis.
        categories: Names of x = 0, 1, ... if x is not a quantity.
        y_from: Start of a linear vertical axis if no value is negative.
    """
    series = []
    references, lines = count(), count()
    for curve in drawn:
        x, y = values_of(curve.x), values_of(curve.y)
        if curve.drawn == "reference":
            style = reference(next(references))
        else:
            style = line(next(lines) if curve.style_of is None else curve.style_of)
        half = None if curve.half_widths is None else values_of(curve.half_widths)
        form = "marks" if curve.drawn == "points" else "line" if half is None else "points"
        name = style if form == "marks" else f"{style}/"
        series.append(Series(name, x, y, form, curve.label, half=half))
    lowest = min((float(np.nanmin(curve.y)) for curve in series), default=0.0)
    x_words, x_unit = _words_and_unit(x_label)
    y_words, y_unit = _words_and_unit(y_label)
    x_axis = Axis(
        x_words, x_unit, "log" if log_x else "linear",
        ticks=tuple((float(position), name) for position, name in enumerate(categories)),
        is_choice=bool(categories), is_dense=not categories,
    )  # fmt: skip
    begin = None if log_y or lowest < 0 else y_from
    y_axis = Axis(y_words, y_unit, "log" if log_y else "linear", begin=begin)
    panel = Panel(tuple(series))
    summary = f"{y_label} against {x_label}."
    return draw(FigureSpec("curves", title, x_axis, y_axis, (panel,), summary=summary))


def _words_and_unit(label: str) -> tuple[str, str]:
    """Returns the words of a label and its unit in brackets at the end; empty if it has none."""
    match = re.fullmatch(r"(.+) \(([^()]+)\)", label)
    return (match[1], match[2]) if match else (label, "")
