"""Heat maps: a metric over two swept values, a panel for each combination of the others."""

import math
import textwrap
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator, NullLocator

from ackclock.errors import InputError
from ackclock.metrics import METRICS
from ackclock.metrics.frame import HALF_WIDTH
from ackclock.plot.canvas import UNSETTLED as UNSETTLED_WORDS
from ackclock.plot.canvas import looks
from ackclock.plot.drawing import Drawing, grid_of_axes
from ackclock.plot.kind import FigureKind, View, refusal
from ackclock.plot.panels import (
    UNSETTLED,
    Dimension,
    Grid,
    dimension,
    dimensions,
    grid,
    known_rows,
    metric_axis,
    selected,
)
from ackclock.plot.paper import AS_DRAWN, Paper, fit
from ackclock.plot.scales import is_wide
from ackclock.plot.spec import Axis, Cell, CellPanel, HeatMap
from ackclock.plot.subject import points_table, subject_table
from ackclock.result.result import Result

#: Dark is low and light is high, also in grey; distinct to the colour-blind.
_COLOURS = "cividis"

# Inches: the smallest cell with a number in it, the height of a cell, and what stands round panels.
_NUMBER_WIDTH, _CELL_HEIGHT, _FRAME_HEIGHT, _FRAME_WIDTH = 0.28, 0.26, 0.55, 1.3

# Points, and inches of a character of that size.
_NUMBER_SIZE, _CHARACTER = 7.0, 0.058

# Inches of a character of a tick's label, and on average of an axis label.
_TICK_CHARACTER, _LABEL_CHARACTER = 0.066, 0.06


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
    swept = dimensions(table)
    if len(swept) < 2:
        raise InputError(
            "no-data",
            "",
            "sweeps fewer than two values, and a heat map has two axes; choose --kind sweep",
        )
    asked_x = dimension(swept, x, "--x") if x else None
    asked_y = dimension(swept, y, "--y") if y else None
    if asked_x is not None and asked_x == asked_y:
        raise InputError("contradiction", "--y", f"{y} is also the horizontal axis; choose another")
    # Numbers before choices, the fastest-varying first.
    order = [candidate for candidate in swept[::-1] if candidate.is_number]
    order += [candidate for candidate in swept[::-1] if not candidate.is_number]
    free = [candidate for candidate in order if candidate not in (asked_x, asked_y)]
    chosen_x = asked_x or free.pop(0)
    chosen_y = asked_y or free.pop(0)
    # Choices, such as the control, are columns of panels before numbers are.
    others = [candidate for candidate in swept if candidate not in (chosen_x, chosen_y)]
    others.sort(key=lambda candidate: candidate.is_number)
    return chosen_x, chosen_y, grid(others)


def heat_map(
    table: pa.Table, metric: str, *, x: str | None = None, y: str | None = None, title: str = "",
) -> HeatMap:  # fmt: skip
    """Shows a metric of a tidy table over two swept values.

    A cell has the mean, and the half width of its confidence interval unless that rounds to zero.
    A star marks means that have not settled.

    Args:
        table: A row for each point and flow, or for each point of one hop. It has numeric columns
            of swept values with the unit in the name, and text columns of choices. It has a column
            with the metric in its own unit, and perhaps `METRIC_half_width` and
            `METRIC_unsettled`.
        metric: Name of the metric's column.
        x: Path or column of the horizontal axis; by default the last swept quantity.
        y: That of the vertical axis; by default the quantity before it.
        title: Title; empty for none.

    Raises:
        InputError: The table has no such column, too few or too many dimensions, or no value of the
            metric is known.
    """
    rows = known_rows(table, metric)
    of_x, of_y, made = heat_map_axes(table, x, y)
    factor = METRICS[metric].shown_per_unit if metric in METRICS else 1.0
    values = [row[metric] * factor for row in rows if math.isfinite(row[metric])]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    norm = LogNorm(low, high) if is_wide(values) else Normalize(low, high)
    # Three significant digits of the largest value.
    digits = max(0, min(3, 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-9)))))
    panels = []
    for panel, swept in zip(made.panels(lambda _: ()), made.values, strict=True):
        by_place = {
            (row[of_y.column], row[of_x.column]): _cell(row, metric, factor, digits, norm)
            for row in selected(rows, swept)
        }
        cells = [[by_place.get((row, column)) for column in of_x.values] for row in of_y.values]
        panels.append(CellPanel(cells, panel.title, panel.column, panel.row))
    unsettled = any(row.get(metric + UNSETTLED) for row in rows)
    return HeatMap(
        title, metric_axis(metric).words, _axis(of_x), _axis(of_y), panels,
        len(made.column_values), (low, high), is_wide(values), unsettled,
    )  # fmt: skip


def _axis(swept: Dimension) -> Axis:
    ticks = tuple(
        (float(position), swept.value_text(value)) for position, value in enumerate(swept.values)
    )
    return Axis(swept.axis_name, swept.unit, ticks=ticks, is_choice=not swept.is_number)


def _cell(
    row: dict[str, Any], metric: str, factor: float, digits: int, norm: Normalize
) -> Cell | None:
    value = row[metric] * factor
    if not math.isfinite(value):
        return None
    half = row.get(metric + HALF_WIDTH)
    spread = "" if half is None else f"±{half * factor:.{digits}f}"
    star = "*" if row.get(metric + UNSETTLED) else ""
    share = round(float(norm(value)), 3)
    return Cell(value, f"{value:.{digits}f}{star}", spread if spread.strip("±0.") else "", share)


def draw_cells(spec: HeatMap, paper: Paper = AS_DRAWN) -> Drawing:
    """Draws a heat map; a cell without a value is hatched."""
    width_in, columns, rows = paper.panels_width_in, len(spec.x.ticks), len(spec.y.ticks)
    cell_width = (width_in - _FRAME_WIDTH) / (spec.columns * columns)
    panel_in = max(0.75, _CELL_HEIGHT * rows) + 0.22
    norm: Normalize = LogNorm(*spec.ends) if spec.is_log else Normalize(*spec.ends)
    with looks():
        figure, all_axes = grid_of_axes(
            spec.columns, [panel.column for panel in spec.panels[: spec.columns]],
            [panel.row for panel in spec.panels[spec.columns - 1 :: spec.columns]],
            width_in=width_in, panel_in=panel_in, round_in=_FRAME_HEIGHT,
            title=paper.titled(spec.title), beside_in=_FRAME_WIDTH,
        )  # fmt: skip
        for axes, panel in zip(all_axes, spec.panels, strict=True):
            drawn = _draw(axes, spec, panel, norm, cell_width)
        bar = figure.colorbar(drawn, ax=all_axes, pad=0.02, aspect=30, fraction=0.05)
        bar.outline.set_visible(False)
        for solid in bar.ax.collections:
            solid.set_rasterized(False)  # there is no image within a vector file
        # The label stands upright beside the panels and is no longer than they are high.
        most = int(panel_in * len(spec.panels) / spec.columns / _LABEL_CHARACTER)
        bar.set_label(textwrap.fill(spec.metric, most))
        if spec.is_log:  # 20 and 50 rather than powers of ten
            bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            bar.ax.yaxis.set_minor_locator(NullLocator())
            bar.ax.yaxis.set_major_formatter(lambda value, _position: f"{value:g}")
        figure.supxlabel(spec.x.words, fontsize=9)
        figure.supylabel(spec.y.words, fontsize=9)
        if spec.unsettled:
            bar.ax.set_title(f"* {UNSETTLED_WORDS}", fontsize=7, loc="right")
        fit(figure, paper)
    return figure


def _draw(axes: Axes, spec: HeatMap, panel: CellPanel, norm: Normalize, cell_width: float) -> Any:
    """Draws one panel; returns the coloured cells."""
    values = [[math.nan if cell is None else cell.value for cell in row] for row in panel.cells]
    for down, row in enumerate(panel.cells):
        for across, cell in enumerate(row):
            text = "" if cell is None else _text(cell, cell_width)
            if cell is not None and text:
                axes.text(
                    across, down, text, fontsize=_NUMBER_SIZE - ("\n" in text),
                    color=_contrasting(cell.share), linespacing=0.9,
                    horizontalalignment="center", verticalalignment="center",
                )  # fmt: skip
    axes.set_facecolor("#eeeeee")
    axes.patch.set(hatch="////", edgecolor="#bbbbbb")
    names = [name for _, name in spec.x.ticks]
    drawn = axes.pcolormesh(
        np.arange(len(names)), np.arange(len(spec.y.ticks)), np.ma.masked_invalid(values),
        cmap=_COLOURS, norm=norm, edgecolors="white", linewidth=0.8, shading="nearest",
    )  # fmt: skip
    widest = _TICK_CHARACTER * (max(map(len, names)) + 1)
    upright = not spec.x.is_choice and widest > cell_width
    axes.set_xticks(range(len(names)), names, rotation=90 if upright else 0)
    axes.set_yticks(range(len(spec.y.ticks)), [name for _, name in spec.y.ticks])
    axes.tick_params(length=0, labelsize=8)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn


def _text(cell: Cell, cell_width: float) -> str:
    """Returns what fits into a cell: the number, and the half width of its interval below."""
    if cell_width < max(_NUMBER_WIDTH, _CHARACTER * len(cell.text)):
        return "*" if cell.text.endswith("*") else ""
    if not cell.half or cell_width < _CHARACTER * len(cell.half):
        return cell.text
    return f"{cell.text}\n{cell.half}"


def _contrasting(share: float) -> str:
    """Returns black or white, whichever is easier to read on a cell's colour."""
    red, green, blue, _ = colormaps[_COLOURS](share)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def _of_result(
    result: Result, *, metric: str = "utilisation", x: str | None = None, y: str | None = None,
    subject: str | None = None,
) -> HeatMap:  # fmt: skip
    """Returns the heat map of a result; by default of all flows, or of the bottleneck."""
    table, title = subject_table(result, metric, subject)
    return heat_map(table, metric, x=x, y=y, title=title)


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
    ("simulate", "emulate"), _of_result, ("metric", "x", "y", "subject"), ("flows",),
    _lacks,
)  # fmt: skip

FIGURES = (HEAT_MAP,)
