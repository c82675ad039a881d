"""Curves that no run produced: formulas, with measured points beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from ackclock.plot.canvas import WIDTH_IN, ShownFigure, looks
from ackclock.plot.style import reference_style, style

#: Matplotlib's own labels overlap, or are too few, on axes that span less than this.
FEW_DECADES = 100


class Curve(NamedTuple):
    """One line, or one set of points.

    Attributes:
        label: Name in the legend.
        x: Horizontal values.
        y: Vertical values.
        drawn: `line`; `points`, unconnected; or `reference`, a grey line for limits and thresholds.
        of: Index of the line whose style points share, counted without references; None for a style
            of their own.
        half_widths: Half widths of intervals around each y; None if unknown.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    drawn: str = "line"
    of: int | None = None
    half_widths: ArrayLike | None = None


@dataclass(frozen=True)
class Curves:
    """Curves on one pair of axes; the fields are the arguments of `curves`."""

    drawn: tuple[Curve, ...]
    x_label: str
    y_label: str
    title: str
    log_x: bool
    log_y: bool
    categories: tuple[str, ...]
    y_from: float


class CurveFigure(ShownFigure):
    """A figure of curves that keeps them, so that a page can draw them itself.

    Attributes:
        curves: What it shows.
    """

    curves: Curves


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
) -> CurveFigure:
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
    with looks():
        figure = CurveFigure(figsize=(WIDTH_IN, 3.8), layout="constrained")
        axes = figure.subplots()
        references, others = count(), count()
        for curve in drawn:
            if curve.drawn == "reference":
                looked = reference_style(next(references))
            else:
                looked = style(next(others) if curve.of is None else curve.of)
            _draw(axes, curve, looked)
        if log_x:
            axes.set_xscale("log")
            _label_few_decades(axes.xaxis)
        if log_y:
            axes.set_yscale("log")
            _label_few_decades(axes.yaxis)
        elif all(np.nanmin(np.asarray(curve.y, float)) >= 0 for curve in drawn):
            # The margin is a share of the data's range. Measured from zero it may be too small for
            # a marker.
            axes.set_ylim(bottom=y_from)
            axes.set_ylim(
                top=max(axes.get_ylim()[1], 1.05 * max(np.nanmax(curve.y) for curve in drawn))
            )
        if categories:
            axes.set_xticks(range(len(categories)), categories)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    figure.curves = Curves(
        tuple(drawn), x_label, y_label, title, log_x, log_y, tuple(categories), y_from
    )
    return figure


def _label_few_decades(axis: Any) -> None:
    """Labels 1, 2 and 5 of each decade with plain numbers, if powers of ten would be too few."""
    least, most = axis.get_view_interval()
    if most / least < FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _draw(axes: Any, curve: Curve, looked: Any) -> None:
    if curve.half_widths is not None:
        y, half = np.asarray(curve.y, float), np.nan_to_num(np.asarray(curve.half_widths, float))
        axes.vlines(curve.x, y - half, y + half, color=looked.color, linewidth=0.9)
    if curve.drawn == "points":
        axes.plot(
            curve.x,
            curve.y,
            linestyle="none",
            color=looked.color,
            marker=looked.marker,
            markerfacecolor="none",
            label=curve.label,
        )
    else:
        axes.plot(
            curve.x, curve.y, color=looked.color, linestyle=looked.linestyle, label=curve.label
        )
