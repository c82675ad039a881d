"""Distributions over time: of the queueing delay at a hop, or of a flow's round-trip time."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import units
from ackclock.errors import InputError, suggestion
from ackclock.metrics.frame import swept
from ackclock.metrics.tables import grouped
from ackclock.plot.canvas import looks
from ackclock.plot.figure import FigureKind, View, refusal
from ackclock.plot.panels import (
    Dimension,
    Grid,
    dimension,
    dimensions,
    grid,
    legend,
    panels,
    selected,
)
from ackclock.plot.paper import AS_DRAWN, Paper
from ackclock.plot.style import control_styles, style
from ackclock.plot.subject import bottleneck, points_table
from ackclock.result.result import Result
from ackclock.table import capital

__all__ = ["BOX", "CDF", "box", "cdf", "quantiles"]

_NO_SAMPLES = "has no samples; run it again"

#: Lines that one can tell apart.
_MOST_LINES = 8

# A curve has this many points, evenly spaced in probability.
_CURVE = np.linspace(0.0, 1.0, 201)

# Inches.
_PANEL_HEIGHT, _LONE_HEIGHT, _FRAME_HEIGHT = 1.25, 2.2, 0.75


class _Samples(NamedTuple):
    """The samples of a distribution.

    Attributes:
        label: Label of the axis, with the unit.
        by_run: Samples in milliseconds by point and replicate.
    """

    label: str
    by_run: dict[tuple[int, int], NDArray[np.float64]]


def cdf(
    result: Result, *, subject: str | None = None, x: str | None = None,
    paper: Paper = AS_DRAWN,
) -> Figure:  # fmt: skip
    """Draws the share of time in which a delay is at most as large.

    It is over the sampling times after the warm-up, so over time, not over packets. A line is over
    all replicates; its band has the smallest and the largest of any replicate.

    Args:
        result: The result of `simulate`, `emulate` or `measure`.
        subject: A hop, for its queueing delay, or a flow, for the latest round-trip time of its
            instances; by default the bottleneck, or the first flow if hops are not observed.
        x: Path of the swept value whose values are the lines; by default a choice such as the
            control, else the last swept quantity.
        paper: Width and title.

    Raises:
        InputError: There is no such subject, or there are too many lines or panels.
    """
    samples, series, made = _prepared(result, subject, x)
    with looks():
        height = _PANEL_HEIGHT if len(made.row_values) > 1 else _LONE_HEIGHT
        title = paper.titled(_title(result, samples))
        figure, all_axes = panels(
            made, paper.panels_width_in, height, _FRAME_HEIGHT, title, entries=_entries(series)
        )
        looked = control_styles(result.run)
        for place, members in _in_panels(result, samples, made):
            axes = all_axes[place]
            for position, (value, runs) in enumerate(_lines(series, members)):
                line = looked.get(str(value), style(position))
                whole = np.quantile(np.concatenate(runs), _CURVE)
                each = np.array([np.quantile(run, _CURVE) for run in runs])
                name = series.panel_title(value) if series else "_"
                axes.plot(
                    whole, 100 * _CURVE, color=line.color, linestyle=line.linestyle, label=name
                )
                axes.fill_betweenx(
                    100 * _CURVE, each.min(axis=0), each.max(axis=0), color=line.color,
                    alpha=0.2, linewidth=0,
                )  # fmt: skip
            axes.tick_params(labelsize=8)
        all_axes[0, 0].set_xlim(left=0)  # all share it; not before the last is drawn
        all_axes[0, 0].set_ylim(0, 100)
        figure.supxlabel(samples.label, fontsize=9)
        figure.supylabel("share of time (%)", fontsize=9)
        legend(figure, all_axes.values(), title)
    return figure


def quantiles(
    result: Result,
) -> tuple[str, list[tuple[str, list[tuple[str, NDArray[np.float64]]]]]]:
    """Returns what `cdf` draws, without bands.

    Returns:
        The label of the delay, in ms; and for each panel its title and its lines: a name, and the
        delays at 201 shares of the time from 0 to 1.

    Raises:
        InputError: As for `cdf`.
    """
    samples, series, made = _prepared(result, None, None)
    found = []
    for (row, column), members in _in_panels(result, samples, made):
        values = {**made.column_values[column], **made.row_values[row]}
        lines = [
            (series.panel_title(value) if series else "", np.quantile(np.concatenate(runs), _CURVE))
            for value, runs in _lines(series, members)
        ]
        found.append((made.title(values), lines))
    return samples.label, found


def box(
    result: Result, *, subject: str | None = None, x: str | None = None,
    paper: Paper = AS_DRAWN,
) -> Figure:  # fmt: skip
    """Draws quartiles of a delay over time as boxes, with whiskers at 5 % and 95 %.

    They are over all replicates and the sampling times after the warm-up.

    Args:
        result: As for `cdf`.
        subject: As for `cdf`.
        x: Path of the swept value with a box for each value; by default as the lines of `cdf`.
        paper: Width and title.

    Raises:
        InputError: As for `cdf`.
    """
    samples, series, made = _prepared(result, subject, x)
    values = series.values if series else ("",)
    with looks():
        height = _PANEL_HEIGHT if len(made.row_values) > 1 else _LONE_HEIGHT
        title = paper.titled(_title(result, samples))
        figure, all_axes = panels(made, paper.panels_width_in, height, _FRAME_HEIGHT, title)
        for place, members in _in_panels(result, samples, made):
            axes = all_axes[place]
            _draw_boxes(axes, _lines(series, members), values)
            named = [series.value_text(value) if series else "" for value in values]
            axes.set_xticks(range(len(values)), named)
            axes.grid(visible=False, axis="x")
            axes.tick_params(labelsize=8)
        all_axes[0, 0].set_ylim(bottom=0)  # all share it; not before the last is drawn
        if series is not None:
            figure.supxlabel(series.axis_label, fontsize=9)
        figure.supylabel(f"{samples.label}\n5, 25, 50, 75, 95 % of time", fontsize=9)
    return figure


def _entries(series: Dimension | None) -> list[str]:
    return [series.panel_title(value) for value in series.values] if series else []


def _title(result: Result, samples: _Samples) -> str:
    what = samples.label.rpartition(" (")[0]
    return f"{capital(what)}: {result.run['name']}"


def _draw_boxes(
    axes: Axes, lines: list[tuple[Any, list[NDArray[np.float64]]]], values: tuple[Any, ...]
) -> None:
    """Draws a box for each value that has samples; an interrupted run may have none of a panel."""
    if lines:
        axes.bxp(
            [_box(np.concatenate(runs)) | {"label": ""} for _, runs in lines],
            positions=[values.index(value) for value, _ in lines],
            showfliers=False, widths=0.6, patch_artist=True,
            boxprops={"facecolor": "#cfe3f1", "edgecolor": "#0072B2"},
            medianprops={"color": "#D55E00"}, whiskerprops={"color": "#0072B2"},
            capprops={"color": "#0072B2"},
        )  # fmt: skip


def _box(values: NDArray[np.float64]) -> dict[str, float]:
    low, first, median, third, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
    return {"whislo": low, "q1": first, "med": median, "q3": third, "whishi": high}


def _prepared(
    result: Result, subject: str | None, x: str | None
) -> tuple[_Samples, Dimension | None, Grid]:
    """Returns the samples, the swept value that lines or boxes stand for, and the panels."""
    return _samples(result, subject), *_arranged(result, x)


def _arranged(result: Result, x: str | None) -> tuple[Dimension | None, Grid]:
    known = dimensions(points_table(result))
    if x is not None:
        series: Dimension | None = dimension(known, x, "--x")
    else:
        few = [one for one in known if len(one.values) <= _MOST_LINES]
        choices = [one for one in few if not one.is_number]
        series = next(iter([*choices, *reversed(few)]), None)
    if series is not None and len(series.values) > 4 * _MOST_LINES:
        raise InputError(
            "out-of-range", "--x", f"{series.path} has {len(series.values)} values; choose another"
        )
    others = sorted((one for one in known if one != series), key=lambda one: -len(one.values))
    return series, grid(others)


def _in_panels(
    result: Result, samples: _Samples, made: Grid
) -> Iterator[tuple[tuple[int, int], list[tuple[dict[str, Any], list[NDArray[np.float64]]]]]]:
    """Yields each panel's row and column, and its points: swept values, samples of each run."""
    columns = swept(result.points)
    rows = [
        {"point": at, **{one.name: one.values[at] for one in columns}}
        for at in range(len(result.points))
    ]
    places = [
        (row, column)
        for row, _ in enumerate(made.row_values)
        for column, _ in enumerate(made.column_values)
    ]
    for row, column in places:
        members = selected(rows, {**made.row_values[row], **made.column_values[column]})
        runs = {
            member["point"]: [
                values for (point, _), values in samples.by_run.items() if point == member["point"]
            ]
            for member in members
        }
        yield (
            (row, column),
            [(member, runs[member["point"]]) for member in members if runs[member["point"]]],
        )


def _lines(
    series: Dimension | None, members: list[tuple[dict[str, Any], list[NDArray[np.float64]]]]
) -> list[tuple[Any, list[NDArray[np.float64]]]]:
    """Returns each value of the series in a panel, with the samples of its runs."""
    if series is None:
        return [("", runs) for _, runs in members[:1]]
    return [
        (value, runs)
        for value in series.values
        for row, runs in members
        if row[series.column] == value
    ]


def _samples(result: Result, subject: str | None) -> _Samples:
    """Returns the samples of a hop's queueing delay or of a flow's round-trip time."""
    hops = _names(result, "hops", "hop")
    flows = _names(result, "samples", "flow")
    chosen = subject or bottleneck(result) or next(iter(flows), None)
    if chosen is None:
        raise InputError("no-data", "", _NO_SAMPLES)
    if chosen not in (*hops, *flows):
        raise InputError(
            "unknown-name",
            "--subject",
            f'unknown flow or hop "{chosen}"; {suggestion(chosen, [*hops, *flows])}',
        )
    if chosen in hops:
        rows = result.rows("hops", hop=chosen)
        label = f"queueing delay at {chosen} (ms)"
        names: tuple[str, ...] = ("time_s", "backlog_bytes", "rate_bit_per_s")
    else:
        rows = result.rows("samples", flow=chosen)
        label = f"round-trip time of {chosen} (ms)"
        names = ("time_s", "rtt_s")
    found = {}
    for (point, replicate), columns in grouped(rows, ("point", "replicate"), names):
        if (point, replicate) in result.left_out:
            continue
        late = columns["time_s"] > _warmup_s(result, point)
        if chosen in hops:
            late &= columns["rate_bit_per_s"] > 0
            values = columns["backlog_bytes"][late] * 8e3 / columns["rate_bit_per_s"][late]
        else:
            values = columns["rtt_s"][late] * 1e3
        values = values[np.isfinite(values)]
        if values.size:
            found[point, replicate] = values
    if not found:
        raise InputError("no-data", "", f"has no sample of the {label.rpartition(' (')[0]}")
    return _Samples(label, found)


def _warmup_s(result: Result, point: int) -> float:
    scenario = result.points[point]["scenario"]
    return -math.inf if scenario is None else units.seconds(scenario["warmup"])


def _names(result: Result, table: str, column: str) -> list[str]:
    """Returns the names in a column of a table, in order of appearance; none without the table."""
    if table not in result.tables:
        return []
    return [str(name) for name in result.rows(table)[column].unique().to_pylist()]


def _lacks(result: Result, view: View) -> str | None:
    if "hops" not in result.tables and "samples" not in result.tables:
        return _NO_SAMPLES
    if view.x or view.subject:
        return None
    return refusal(lambda: _prepared(result, None, None))


_METHODS = ("simulate", "emulate")

CDF = FigureKind(
    "cdf",
    "Distribution over time of the queueing delay at a hop, or of a flow's round-trip time.",
    _METHODS, cdf, ("subject", "x", "paper"), (), _lacks,
)  # fmt: skip

BOX = FigureKind(
    "box",
    "Quartiles over time of the queueing delay at a hop, or of a flow's round-trip time, with "
    "whiskers at 5 % and 95 %.",
    _METHODS, box, ("subject", "x", "paper"), (), _lacks,
)  # fmt: skip
