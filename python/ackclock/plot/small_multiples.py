"""Small multiples: a metric against a swept value, a panel for each combination of others."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.errors import InputError
from ackclock.metrics import METRICS
from ackclock.metrics.frame import HALF_WIDTH
from ackclock.plot.canvas import UNSETTLED as UNSETTLED_WORDS
from ackclock.plot.canvas import looks, mark_unsettled
from ackclock.plot.panels import (
    UNSETTLED,
    Dimension,
    Grid,
    dimension,
    dimensions,
    grid,
    known_rows,
    legend,
    metric_label,
    panels,
    selected,
)
from ackclock.plot.paper import TEXT_WIDTH_IN
from ackclock.plot.scales import set_scales
from ackclock.plot.style import Style, style

__all__ = ["MOST_LINES", "small_multiples", "small_multiples_axes"]

#: Lines in a panel that one can tell apart.
MOST_LINES = 8

# Heights in inches: of a panel among rows of them, of one in a single row, and of what is round.
_PANEL_HEIGHT, _LONE_HEIGHT, _FRAME_HEIGHT = 1.25, 2.0, 0.75


def small_multiples_axes(
    table: pa.Table, x: str | None = None
) -> tuple[Dimension, Dimension | None, Grid]:
    """Returns the horizontal axis of a tidy table, its lines, and the panels for the rest.

    The axis is the last swept quantity, unless `x` names another. Lines are a choice such as the
    control, if there is one with few values, else the swept value before.

    Raises:
        InputError: No quantity is swept, `x` is none, or there are too many panels.
    """
    known = dimensions(table)
    numbers = [one for one in known if one.is_number]
    of_x = dimension(known, x, "--x") if x else next(reversed(numbers), None)
    if of_x is None:
        raise InputError(
            "no-data",
            "",
            "sweeps no quantity with several values; choose --kind heatmap or --kind box",
        )
    if not of_x.is_number:
        raise InputError(
            "unsupported", "--x", f"{of_x.path} is not a quantity; choose another axis, "
            "or a heat map", x,
        )  # fmt: skip
    rest = [one for one in known if one != of_x]
    few = [one for one in rest if len(one.values) <= MOST_LINES]
    choices = [one for one in few if not one.is_number]
    lines = next(iter(choices or reversed(few)), None)
    others = sorted((one for one in rest if one != lines), key=lambda one: -len(one.values))
    return of_x, lines, grid(others)


def small_multiples(
    table: pa.Table, metric: str, *, x: str | None = None, title: str = "",
    width_in: float = TEXT_WIDTH_IN, styles: dict[str, Style] | None = None,
) -> Figure:  # fmt: skip
    """Draws a metric of a tidy table against a swept quantity, with 95 % confidence intervals.

    All panels have the same axes, and one legend. Hollow markers are means that have not settled.

    Args:
        table: As for `heat_map`.
        metric: Name of the metric's column.
        x: Path or column of the horizontal axis; by default the last swept quantity.
        title: Title; empty for none.
        width_in: Width in inches.
        styles: Style of each value that is a line, such as that of a control; others have their
            own.

    Raises:
        InputError: As for `heat_map`.
    """
    rows = known_rows(table, metric)
    of_x, lines, made = small_multiples_axes(table, x)
    looked = _styles(lines, styles or {})
    height = _PANEL_HEIGHT if len(made.row_values) > 1 else _LONE_HEIGHT
    drawn: list[list[float]] = []
    with looks():
        entries = [lines.panel_title(value) for value in lines.values] if lines else []
        if any(row.get(metric + UNSETTLED) for row in rows):
            entries.append(UNSETTLED_WORDS)
        figure, all_axes = panels(made, width_in, height, _FRAME_HEIGHT, title, entries=entries)
        for (row, column), axes in all_axes.items():
            values = {**made.row_values[row], **made.column_values[column]}
            drawn += _draw(axes, selected(rows, values), metric, of_x, lines, looked)
        for axes in all_axes.values():
            set_scales(axes, [float(value) for value in of_x.values], drawn)
            axes.tick_params(labelsize=8)
        _close_up(all_axes[0, 0], drawn)
        figure.supxlabel(of_x.axis_label, fontsize=9)
        figure.supylabel(metric_label(metric), fontsize=9)
        legend(figure, all_axes.values(), title)
    return figure


def _styles(lines: Dimension | None, given: dict[str, Style]) -> dict[Any, Style]:
    """Returns a style for each line, no two the same."""
    values: tuple[Any, ...] = lines.values if lines else ("",)
    taken: list[Style] = []
    for position, value in enumerate(values):
        looked = given.get(str(value), style(position))
        taken.append(style(len(given) + position) if looked in taken else looked)
    return dict(zip(values, taken, strict=True))


def _draw(
    axes: Axes, rows: list[dict[str, Any]], metric: str, x: Dimension, lines: Dimension | None,
    looked: dict[Any, Style],
) -> list[list[float]]:  # fmt: skip
    """Draws the lines of one panel; returns their values."""
    factor = METRICS[metric].shown_per_unit if metric in METRICS else 1.0
    drawn = []
    for value, line in looked.items():
        members = selected(rows, {lines.column: value}) if lines else rows
        members = sorted(members, key=lambda row: float(row[x.column]))
        if not members:
            continue
        at = np.array([float(row[x.column]) for row in members])
        means = np.array([row[metric] for row in members]) * factor
        half = np.array([row.get(metric + HALF_WIDTH) or 0.0 for row in members]) * factor
        axes.plot(
            at, means, color=line.color, linestyle=line.linestyle, marker=line.marker,
            markersize=3.5, linewidth=1.1, label=lines.panel_title(value) if lines else "_",
        )  # fmt: skip
        axes.errorbar(at, means, half, fmt="none", ecolor=line.color, elinewidth=0.8, capsize=2)
        marked = np.array([bool(row.get(metric + UNSETTLED)) for row in members])
        mark_unsettled(axes, at[marked], means[marked], line.color, 5.5)
        drawn.append([float(mean) for mean in means if math.isfinite(mean)])
    return drawn


def _close_up(axes: Axes, drawn: list[list[float]]) -> None:
    """Lets a linear axis begin below the smallest mean if zero is far from all means."""
    means = [mean for line in drawn for mean in line]
    if axes.get_yscale() == "linear" and means and 0 < max(means) < 2 * min(means):
        margin = 0.1 * (max(means) - min(means)) or 0.1 * max(means)
        axes.set_ylim(min(means) - margin, max(means) + margin)
