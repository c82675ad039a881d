"""Figures of a comparison: all methods in the same axes."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import metrics, units
from ackclock.comparison import COLUMNS, Column, Comparison, Row
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.metrics import Metric
from ackclock.metrics.tables import grouped
from ackclock.plot.canvas import entitle, looks, mark_unsettled, new
from ackclock.plot.figure import FigureKind, View, check_numbers
from ackclock.plot.scales import set_scales
from ackclock.plot.style import Style, reference_style, style
from ackclock.plot.sweep import NOTHING_SWEPT, Axis, swept_axis
from ackclock.result.labels import control_label
from ackclock.table import assigned, capital

__all__ = ["COMPARED_CWND", "COMPARED_SWEEP", "COMPARED_THROUGHPUT", "over_time", "swept"]

# Largest number of panels that fits on a page.
_MOST_PANELS = 6

# Height of a panel, and of title and axis together, in inches.
_PANEL, _FRAME = 1.9, 0.9

# Smallest number of intervals over which throughput is averaged. They are longer than in
# `plot.throughput`, so that overlapping lines can be distinguished.
_INTERVALS = 25


def swept(comparison: Comparison, *, metric: str = "goodput") -> Figure:
    """Draws a metric against the swept parameter: one panel per flow, one line per method.

    It shows means and 95 % confidence intervals.

    Raises:
        InputError: Nothing numeric is swept, or no method knows the metric.
    """
    axis, what = swept_axis(comparison.points), metrics.metric(metric)
    rows = [row for row in comparison.rows if row.metric == metric]
    if axis is None or not rows:
        raise InputError("no-data", "", NOTHING_SWEPT if axis is None else _unknown(metric))
    panels: dict[str, list[Row]] = {}
    for row in rows:
        panels.setdefault(_panel(comparison, row, axis), []).append(row)
    shown = dict(list(panels.items())[:_MOST_PANELS])
    with looks():
        figure, all_axes = new(len(shown), _FRAME + max(2.6, _PANEL * len(shown)))
        for axes, (label, members) in zip(all_axes, shown.items(), strict=True):
            drawn = [
                _draw_swept(axes, axis, what, name, column, members)
                for name, column in _answering(comparison)
            ]
            set_scales(axes, [axis.values[row.point] for row in members], drawn)
            axes.set_ylabel(f"{label}\n({what.shown_unit})" if what.shown_unit else label)
        all_axes[-1].set_xlabel(axis.label)
        _legend(all_axes)
        left = f", {len(shown)} of {len(panels)} flows" if len(panels) > len(shown) else ""
        label = capital(what.label)
        entitle(
            all_axes[0],
            f"{label}: {comparison.run['name']}, means of replicates ± 95 % confidence{left}",
        )
    return figure


def over_time(comparison: Comparison, what: str, *, point: int = 0, replicate: int = 0) -> Figure:
    """Draws a replicate over time: a panel per flow (first instance), a line per method.

    Args:
        comparison: The comparison.
        what: `throughput` or `cwnd`.
        point: Index of the point.
        replicate: Index of the replicate.

    Raises:
        InputError: The comparison has no such point or replicate.
    """
    check_numbers(comparison, point=point, replicate=replicate)
    scenario = comparison.points[point]["scenario"]
    flows = scenario["flows"][:_MOST_PANELS]
    columns = _over_time(comparison, point)
    with looks():
        figure, all_axes = new(len(flows), _FRAME + max(2.6, _PANEL * len(flows)))
        for axes, flow in zip(all_axes, flows, strict=True):
            _draw_level(axes, comparison, what, flow, point)
            for name, column in columns:
                _draw_series(axes, name, column, what, flow, (point, replicate))
            unit = "Mbit/s" if what == "throughput" else "segments"
            named = flow["name"] if flow.get("count") == 1 else f"{flow['name']}/0"
            axes.set_ylabel(f"{named}\n({unit})")
            axes.set_ylim(bottom=0)
        all_axes[-1].set_xlabel("time (s)")
        all_axes[-1].set_xlim(0, units.seconds(scenario["duration"]))
        _legend(all_axes)
        where = assigned(comparison.points[point]["assignments"])
        title = "Throughput" if what == "throughput" else "Congestion window"
        entitle(
            all_axes[0],
            ", ".join([f"{title}: {comparison.run['name']}", *where, f"replicate {replicate}"]),
        )
    return figure


def _style(name: str) -> Style:
    """Returns a column's style.

    Models are grey. A measurement has the colour of the measured run, with other dashes.
    """
    order = list(COLUMNS)
    if name == "predict":
        return reference_style(0)
    looked = style(order.index(name) - 1)
    source = COLUMNS[name][1]
    return looked._replace(color=style(order.index(source) - 1).color) if source else looked


def _answering(comparison: Comparison) -> list[tuple[str, Column]]:
    return [
        (name, column) for name, column in comparison.columns.items() if column.result is not None
    ]


def _over_time(comparison: Comparison, point: int) -> list[tuple[str, Column]]:
    """Returns the columns with data over time for a point."""
    return [
        (name, column)
        for name, column in _answering(comparison)
        if column.result is not None
        and "samples" in column.result.tables
        and column.own_number(point) is not None
    ]


def _panel(comparison: Comparison, row: Row, axis: Axis) -> str:
    """Returns the label of a panel: flow or hop, control, and the other swept values."""
    assigned = comparison.points[row.point]["assignments"]
    others = [
        str(value)
        for path, value in assigned.items()
        if path not in axis.settled and str(value) != row.control
    ]
    control = [control_label(row.control)] if row.control and row.control != row.subject else []
    return ", ".join([row.subject, *control, *others])


def _draw_swept(
    axes: Axes, axis: Axis, what: Metric, name: str, column: Column, rows: Sequence[Row]
) -> list[float]:
    known = sorted(
        (row for row in rows if row.cells[name].is_known), key=lambda row: axis.values[row.point]
    )
    if not known:
        return []
    x = [axis.values[row.point] for row in known]
    means = np.array([row.cells[name].interval.mean for row in known]) * what.shown_per_unit
    half = (
        np.nan_to_num([row.cells[name].interval.half_width for row in known]) * what.shown_per_unit
    )
    looked = _style(name)
    axes.plot(
        x,
        means,
        color=looked.color,
        linestyle=looked.linestyle,
        marker=looked.marker or "_",
        label=column.label,
    )
    if half.any():
        axes.fill_between(
            x, means - half, means + half, color=looked.color, alpha=0.15, linewidth=0
        )
        axes.errorbar(x, means, half, fmt="none", ecolor=looked.color, elinewidth=0.8, capsize=2.5)
    marked = np.array([row.cells[name].is_marked for row in known])
    mark_unsettled(axes, np.array(x)[marked], means[marked], looked.color)
    return [float(mean) for mean in means]


def _draw_level(
    axes: Axes, comparison: Comparison, what: str, flow: dict[str, Any], point: int
) -> None:
    """Draws a model's mean for one instance."""
    of = {"throughput": "goodput", "cwnd": "cwnd"}[what]
    for row in comparison.rows:
        told = row.cells.get("predict")
        if (
            (row.metric, row.point, row.subject) == (of, point, flow["name"])
            and told is not None
            and told.is_known
        ):
            mss = facts.mss_bytes(flow)
            level = (
                told.interval.mean * 1e-6 / flow.get("count", 1)
                if of == "goodput"
                else told.interval.mean / mss
            )
            looked = _style("predict")
            axes.axhline(
                level,
                color=looked.color,
                linestyle=looked.linestyle,
                linewidth=1.1,
                label="predict",
            )


def _draw_series(
    axes: Axes, name: str, column: Column, what: str, flow: dict[str, Any], run: tuple[int, int]
) -> None:
    """Draws the first instance of a flow in one replicate of one point."""
    if column.result is None:
        return
    mss = facts.mss_bytes(flow)
    value = "delivered_bytes" if what == "throughput" else "cwnd_bytes"
    wanted = (column.own_number(run[0]), run[1], flow["name"], 0)
    keys = ("point", "replicate", "flow", "instance")
    samples = column.result.tables["samples"]
    of_point = samples.filter(
        pc.and_(pc.equal(samples["point"], wanted[0]), pc.equal(samples["replicate"], run[1]))
    )
    for key, rows in grouped(of_point, keys, ("time_s", value)):
        if key != wanted or np.isnan(rows[value]).all():
            continue
        time, values = rows["time_s"], rows[value] / mss
        if what == "throughput":
            every = math.ceil(time.size / _INTERVALS)
            time, delivered = time[::every], rows[value][::every]
            values = np.diff(delivered) * 8e-6 / np.diff(time)
            time = (time[1:] + time[:-1]) / 2
        looked = _style(name)
        axes.plot(
            time, values, color=looked.color, linestyle=looked.linestyle, marker=looked.marker,
            markevery=max(1, time.size // 12), label=column.label,
        )  # fmt: skip


def _legend(all_axes: Sequence[Axes]) -> None:
    """Draws one legend for all panels, next to the first, with each method once."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
        if not axes.lines:
            axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center", va="center")
    if found:
        all_axes[0].legend(
            list(found.values()),
            list(found),
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            fontsize=8,
        )


def _unknown(metric: str) -> str:
    return f"compares no {metric}; choose for example --metric goodput"


def _lacks_sweep(comparison: Comparison, view: View) -> str | None:
    if swept_axis(comparison.points) is None:
        return NOTHING_SWEPT
    return None if view.metric in comparison.metrics else _unknown(view.metric)


def _lacks_series(comparison: Comparison, view: View) -> str | None:
    if _over_time(comparison, view.point):
        return None
    return f"has no run of point {view.point}; choose another with --point, or --kind sweep"


COMPARED_SWEEP = FigureKind(
    "sweep", "For a comparison, one panel per flow with one line per method.", ("compare",), swept,
    ("metric",), lacks=_lacks_sweep,
)  # fmt: skip

COMPARED_THROUGHPUT = FigureKind(
    "throughput",
    "For a comparison, one panel per flow (first instance) with one line per method.",
    ("compare",), partial(over_time, what="throughput"), ("point", "replicate"),
    lacks=_lacks_series,
)  # fmt: skip

COMPARED_CWND = FigureKind(
    "cwnd", "For a comparison, one panel per flow (first instance) with one line per method.",
    ("compare",), partial(over_time, what="cwnd"), ("point", "replicate"), lacks=_lacks_series,
)  # fmt: skip
