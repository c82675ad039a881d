"""Small multiples: a metric against a swept value, a panel for each combination of others."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.errors import InputError
from ackclock.metrics import METRICS
from ackclock.metrics.frame import HALF_WIDTH
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
from ackclock.plot.scales import height_axis, swept_axis_of
from ackclock.plot.spec import Axis, FigureSpec, Series, values_of
from ackclock.plot.style import line

#: Lines in a panel that one can tell apart.
MOST_LINES = 8


def small_multiples_axes(
    table: pa.Table, x: str | None = None
) -> tuple[Dimension, Dimension | None, Grid]:
    """Returns the horizontal axis of a tidy table, its lines, and the panels for the rest.

    The axis is the last swept quantity, unless `x` names another. Lines are a choice such as the
    control, if there is one with few values, else the swept value before.

    Raises:
        InputError: No quantity is swept, `x` is none, or there are too many panels.
    """
    swept = dimensions(table)
    numbers = [candidate for candidate in swept if candidate.is_number]
    of_x = dimension(swept, x, "--x") if x else next(reversed(numbers), None)
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
    rest = [candidate for candidate in swept if candidate != of_x]
    few = [candidate for candidate in rest if len(candidate.values) <= MOST_LINES]
    choices = [candidate for candidate in few if not candidate.is_number]
    lines = next(iter(choices or reversed(few)), None)
    others = sorted(
        (candidate for candidate in rest if candidate != lines),
        key=lambda candidate: -len(candidate.values),
    )
    return of_x, lines, grid(others)


def small_multiples(
    table: pa.Table, metric: str, *, x: str | None = None, title: str = "",
    styles: dict[str, str] | None = None,
) -> FigureSpec:  # fmt: skip
    """Shows a metric of a tidy table against a swept quantity, with 95 % confidence intervals.

    All panels have the same axes, and one legend. Hollow markers are means that have not settled.

    Args:
        table: As for `heat_map`.
        metric: Name of the metric's column.
        x: Path or column of the horizontal axis; by default the last swept quantity.
        title: Title; empty for none.
        styles: Look of each value that is a line, such as that of a control; others have their own.

    Raises:
        InputError: As for `heat_map`.
    """
    rows = known_rows(table, metric)
    of_x, lines, made = small_multiples_axes(table, x)
    looks = _styles(lines, styles or {})
    panels = made.panels(lambda values: _series(selected(rows, values), metric, of_x, lines, looks))
    values = [float(value) for panel in panels for series in panel.series for value in series.y]
    axis = metric_axis(metric)
    y = height_axis(values, axis.label, axis.unit)
    return FigureSpec(
        "sweep", title, swept_axis_of([float(value) for value in of_x.values], of_x.axis_name,
        of_x.unit), _close_up(y, values), panels, columns=len(made.column_values),
    )  # fmt: skip


def _styles(lines: Dimension | None, given: dict[str, str]) -> dict[Any, str]:
    """Returns a look for each line, no two the same."""
    values: tuple[Any, ...] = lines.values if lines else ("",)
    taken: list[str] = []
    for position, value in enumerate(values):
        style = given.get(str(value), line(position))
        taken.append(line(len(given) + position) if style in taken else style)
    return dict(zip(values, taken, strict=True))


def _series(
    rows: list[dict[str, Any]], metric: str, x: Dimension, lines: Dimension | None,
    looks: dict[Any, str],
) -> list[Series]:  # fmt: skip
    """Returns the lines of one panel."""
    factor = METRICS[metric].shown_per_unit if metric in METRICS else 1.0
    series = []
    for value, style in looks.items():
        members = selected(rows, {lines.column: value}) if lines else rows
        members = sorted(members, key=lambda row: float(row[x.column]))
        if members:
            half = [row.get(metric + HALF_WIDTH) or 0.0 for row in members]
            marked = [bool(row.get(metric + UNSETTLED)) for row in members]
            series.append(
                Series(
                    style, values_of([row[x.column] for row in members]),
                    values_of([row[metric] for row in members]) * factor, "points",
                    lines.panel_title(value) if lines else "",
                    half=values_of(half) * factor if any(half) else None,
                    unsettled=np.array(marked),
                )
            )  # fmt: skip
    return series


def _close_up(y: Axis, values: list[float]) -> Axis:
    """Lets a linear axis begin below the smallest mean if zero is far from all means."""
    means = [value for value in values if math.isfinite(value)]
    if y.scale != "linear" or not means or not 0 < max(means) < 2 * min(means):
        return y
    margin = 0.1 * (max(means) - min(means)) or 0.1 * max(means)
    return replace(y, ends=(min(means) - margin, max(means) + margin))
