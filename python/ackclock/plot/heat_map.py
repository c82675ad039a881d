"""Heat maps: a metric over two swept values, a panel for each combination of the others."""

import math
import textwrap
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.metrics import METRICS
from ackclock.metrics.frame import HALF_WIDTH
from ackclock.plot.canvas import UNSETTLED as UNSETTLED_WORDS
from ackclock.plot.canvas import looks
from ackclock.plot.figure import FigureKind, View, refusal
from ackclock.plot.panels import (
    UNSETTLED,
    Dimension,
    Grid,
    dimension,
    dimensions,
    grid,
    known_rows,
    metric_label,
    panels,
    selected,
)
from ackclock.plot.paper import AS_DRAWN, TEXT_WIDTH_IN, Paper
from ackclock.plot.subject import points_table, subject_table
from ackclock.result.result import Result

__all__ = [
    "HEAT_MAP",
    "Cell",
    "Cells",
    "cells_in",
    "cells_of",
    "heat_map",
    "heat_map_axes",
    "heat_map_of",
]

#: Dark is low and light is high, also in grey; distinct to the colour-blind.
_COLOURS = "cividis"

# Values that span more are shown on a logarithmic scale, as on the axes of a sweep.
_LINEAR_SPAN = 30

# Inches: the smallest cell with a number in it, the height of a cell, and what stands round panels.
_NUMBER_WIDTH, _CELL_HEIGHT, _FRAME_HEIGHT, _FRAME_WIDTH = 0.28, 0.26, 0.55, 1.3

# Points, and inches of a character of that size.
_NUMBER_SIZE, _CHARACTER = 7.0, 0.058

# Inches of a character of a tick's label, and on average of an axis label.
_TICK_CHARACTER, _LABEL_CHARACTER = 0.066, 0.06


class _Scale(NamedTuple):
    """Common to all panels."""

    x: Dimension
    y: Dimension
    norm: Normalize
    factor: float
    digits: int
    cell_width: float


def heat_map_axes(
    table: pa.Table, x: str | None = None, y: str | None = None
) -> tuple[Dimension, Dimension, Grid]:
    """Returns the two axes of a heat map of a tidy table, and the panels for the other dimensions.

    Args:
        table: A tidy table.
        x: Path or column of the horizontal axis; by default the last swept quantity.
        y: That of the vertical axis; by default the quantity before it.

    Raises:
        InputError: Fewer than two values are swept, one that is named is not, or there are too many
            panels.
    """
    known = dimensions(table)
    if len(known) < 2:
        raise InputError(
            "no-data",
            "",
            "sweeps fewer than two values, and a heat map has two axes; choose --kind sweep",
        )
    asked_x = dimension(known, x, "--x") if x else None
    asked_y = dimension(known, y, "--y") if y else None
    if asked_x is not None and asked_x == asked_y:
        raise InputError("contradiction", "--y", f"{y} is also the horizontal axis; choose another")
    # Numbers before choices, the fastest-varying first.
    order = [one for one in known[::-1] if one.is_number]
    order += [one for one in known[::-1] if not one.is_number]
    free = [one for one in order if one not in (asked_x, asked_y)]
    chosen_x = asked_x or free.pop(0)
    chosen_y = asked_y or free.pop(0)
    # Choices, such as the control, are columns of panels before numbers are.
    others = [one for one in known if one not in (chosen_x, chosen_y)]
    others.sort(key=lambda one: one.is_number)
    return chosen_x, chosen_y, grid(others)


def heat_map(
    table: pa.Table, metric: str, *, x: str | None = None, y: str | None = None, title: str = "",
    width_in: float = TEXT_WIDTH_IN,
) -> Figure:  # fmt: skip
    """Draws a metric of a tidy table over two swept values.

    A cell has the mean, and under it the half width of its confidence interval unless that rounds
    to zero. A star marks means that have not settled. A cell without a value is hatched.

    Args:
        table: A row for each point and flow, or for each point of one hop. It has numeric columns
            of swept values with the unit in the name, and text columns of choices. It has a column
            with the metric in its own unit, and perhaps `METRIC_half_width` and
            `METRIC_unsettled`.
        metric: Name of the metric's column.
        x: Path or column of the horizontal axis; by default the last swept quantity.
        y: That of the vertical axis; by default the quantity before it.
        title: Title; empty for none.
        width_in: Width in inches.

    Raises:
        InputError: The table has no such column, too few or too many dimensions, or no value of the
            metric is known.
    """
    rows = known_rows(table, metric)
    of_x, of_y, made = heat_map_axes(table, x, y)
    width = (width_in - _FRAME_WIDTH) / (len(made.column_values) * len(of_x.values))
    scale = _scale(rows, metric, of_x, of_y, width)
    panel_height = max(0.75, _CELL_HEIGHT * len(of_y.values)) + 0.22
    with looks():
        figure, all_axes = panels(made, width_in, panel_height, _FRAME_HEIGHT, title, _FRAME_WIDTH)
        for (row, column), axes in all_axes.items():
            values = {**made.row_values[row], **made.column_values[column]}
            drawn = _draw(axes, selected(rows, values), metric, scale)
        bar = figure.colorbar(drawn, ax=list(all_axes.values()), pad=0.02, aspect=30, fraction=0.05)
        bar.outline.set_visible(False)
        for solid in bar.ax.collections:
            solid.set_rasterized(False)  # there is no image within a vector file
        # The label stands upright beside the panels and is no longer than they are high.
        most = int(panel_height * len(made.row_values) / _LABEL_CHARACTER)
        bar.set_label(textwrap.fill(metric_label(metric), most))
        if isinstance(scale.norm, LogNorm):  # 20 and 50 rather than powers of ten
            bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            bar.ax.yaxis.set_minor_locator(NullLocator())
            bar.ax.yaxis.set_major_formatter(lambda value, _position: f"{value:g}")
        figure.supxlabel(of_x.axis_label, fontsize=9)
        figure.supylabel(of_y.axis_label, fontsize=9)
        if any(row.get(metric + UNSETTLED) for row in rows):
            bar.ax.set_title(f"* {UNSETTLED_WORDS}", fontsize=7, loc="right")
    return figure


def _scale(
    rows: list[dict[str, Any]], metric: str, x: Dimension, y: Dimension, cell_width: float
) -> _Scale:
    factor = METRICS[metric].shown_per_unit if metric in METRICS else 1.0
    values = [row[metric] * factor for row in rows if math.isfinite(row[metric])]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    logarithmic = low > 0 and high / low > _LINEAR_SPAN
    norm = LogNorm(low, high) if logarithmic else Normalize(low, high)
    # Three significant digits of the largest value.
    digits = max(0, min(3, 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-9)))))
    return _Scale(x, y, norm, factor, digits, cell_width)


def _draw(axes: Axes, rows: list[dict[str, Any]], metric: str, scale: _Scale) -> Any:
    """Draws one panel; returns the coloured cells."""
    x, y = scale.x, scale.y
    values: NDArray[np.float64] = np.full((len(y.values), len(x.values)), np.nan)
    for row in rows:
        at = y.values.index(row[y.column]), x.values.index(row[x.column])
        values[at] = row[metric] * scale.factor
        text, is_small = _text(row, metric, scale)
        if text:
            axes.text(
                at[1], at[0], text, fontsize=_NUMBER_SIZE - (1 if is_small else 0),
                color=_contrasting(scale.norm(values[at])), linespacing=0.9,
                horizontalalignment="center", verticalalignment="center",
            )  # fmt: skip
    axes.set_facecolor("#eeeeee")
    axes.patch.set(hatch="////", edgecolor="#bbbbbb")
    drawn = axes.pcolormesh(
        np.arange(len(x.values)), np.arange(len(y.values)), np.ma.masked_invalid(values),
        cmap=_COLOURS, norm=scale.norm, edgecolors="white", linewidth=0.8, shading="nearest",
    )  # fmt: skip
    ticks = [x.value_text(value) for value in x.values]
    upright = x.is_number and _TICK_CHARACTER * (max(map(len, ticks)) + 1) > scale.cell_width
    axes.set_xticks(range(len(x.values)), ticks, rotation=90 if upright else 0)
    axes.set_yticks(range(len(y.values)), [y.value_text(value) for value in y.values])
    axes.tick_params(length=0, labelsize=8)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn


def _text(row: dict[str, Any], metric: str, scale: _Scale) -> tuple[str, bool]:
    """Returns the text in a cell, and True if it has a second line; empty if it does not fit."""
    mean = f"{row[metric] * scale.factor:.{scale.digits}f}"
    star = "*" if row.get(metric + UNSETTLED) else ""
    if scale.cell_width < max(_NUMBER_WIDTH, _CHARACTER * len(mean + star)):
        return star, False
    half = row.get(metric + HALF_WIDTH)
    spread = "" if half is None else f"±{half * scale.factor:.{scale.digits}f}"
    if not spread.strip("±0.") or scale.cell_width < _CHARACTER * len(spread):
        return mean + star, False
    return f"{mean}{star}\n{spread}", True


def _contrasting(share: float) -> str:
    """Returns black or white, whichever is easier to read on a cell's colour."""
    red, green, blue, _ = colormaps[_COLOURS](share)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def heat_map_of(
    result: Result, *, metric: str = "utilisation", x: str | None = None, y: str | None = None,
    subject: str | None = None, paper: Paper = AS_DRAWN,
) -> Figure:  # fmt: skip
    """Draws the heat map of a result.

    Args:
        result: The result of a scenario with a sweep of at least two values.
        metric: Name of the metric.
        x: As for `heat_map`.
        y: As for `heat_map`.
        subject: Flow or hop; by default all flows, or the bottleneck.
        paper: Width and title.

    Raises:
        InputError: As for `heat_map`.
    """
    table, title = subject_table(result, metric, subject)
    width = paper.panels_width_in
    return heat_map(table, metric, x=x, y=y, title=paper.titled(title), width_in=width)


class Cell(NamedTuple):
    """A cell: its number, the half width of its interval, and its place on the scale, 0 to 1."""

    text: str
    half: str
    share: float


class Cells(NamedTuple):
    """A heat map as cells.

    Attributes:
        title: What it shows of which subject.
        metric: Label of the metric, with its unit.
        x: Label of the horizontal axis, and of each column.
        y: Label of the vertical axis.
        panels: Title of each panel, and its rows: a label and cells; None where nothing is known.
        unsettled: True if a star marks means that have not settled.
    """

    title: str
    metric: str
    x: tuple[str, list[str]]
    y: str
    panels: list[tuple[str, list[tuple[str, list[Cell | None]]]]]
    unsettled: bool


def cells_of(result: Result, metric: str) -> Cells:
    """Returns what `heat_map_of` draws, as cells with text.

    Raises:
        InputError: As for `heat_map`.
    """
    return cells_in(*subject_table(result, metric, None), metric)


def cells_in(table: pa.Table, title: str, metric: str) -> Cells:
    """Returns what `heat_map` draws of a tidy table, as cells with text.

    Raises:
        InputError: As for `heat_map`.
    """
    rows = known_rows(table, metric)
    of_x, of_y, made = heat_map_axes(table)
    scale = _scale(rows, metric, of_x, of_y, math.inf)
    panels = []
    for across in made.column_values:
        for down in made.row_values:
            values = {**down, **across}
            known = {
                (row[of_y.column], row[of_x.column]): _cell(row, metric, scale)
                for row in selected(rows, values)
            }
            lines = [
                (of_y.value_text(y), [known.get((y, x)) for x in of_x.values]) for y in of_y.values
            ]
            panels.append((made.title(values), lines))
    columns = [of_x.value_text(value) for value in of_x.values]
    unsettled = any(row.get(metric + UNSETTLED) for row in rows)
    x = of_x.axis_label, columns
    return Cells(title, metric_label(metric), x, of_y.axis_label, panels, unsettled)


def _cell(row: dict[str, Any], metric: str, scale: _Scale) -> Cell | None:
    if not math.isfinite(row[metric]):
        return None
    text, half = _text(row, metric, scale)[0].partition("\n")[::2]
    return Cell(text, half, round(float(scale.norm(row[metric] * scale.factor)), 3))


def _lacks(result: Result, view: View) -> str | None:
    if len(dimensions(points_table(result))) < 2:
        return "sweeps fewer than two values, and a heat map has two axes; choose --kind sweep"
    return None if view.x or view.y else refusal(lambda: _drawable(result, view))


def _drawable(result: Result, view: View) -> None:
    table, _ = subject_table(result, view.metric, view.subject)
    known_rows(table, view.metric)
    heat_map_axes(table)


HEAT_MAP = FigureKind(
    "heatmap",
    "Means of a metric over two swept values, a panel for each combination of others.",
    ("simulate", "emulate"), heat_map_of, ("metric", "x", "y", "subject", "paper"), ("flows",),
    _lacks,
)  # fmt: skip
