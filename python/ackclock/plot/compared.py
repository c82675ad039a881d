"""Figures of a comparison: all methods in the same axes."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ackclock import units
from ackclock.comparison import Column, Comparison, Row, answer
from ackclock.comparison.explanation import written_residual
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.metrics import in_shown_unit, metric
from ackclock.metrics.tables import grouped
from ackclock.plot.kind import FigureKind, View, check_numbers
from ackclock.plot.scales import height_axis
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.sweep import NOTHING_SWEPT, Mark, swept, swept_axis
from ackclock.plot.throughput import mean_rates
from ackclock.table import assigned

#: Largest number of panels that fits on a page.
MOST_PANELS = 6

# Smallest number of intervals over which throughput is averaged. They are longer than in
# `throughput`, so that overlapping lines can be distinguished.
_INTERVALS = 40

# Title, axis and column of the figures over time, and the metric of models' answers.
_QUANTITIES = {
    "throughput": ("Throughput", Axis("throughput", "Mbit/s", begin=0.0), "goodput"),
    "cwnd": ("Congestion window", Axis("window", "segments", begin=0.0), "cwnd"),
}


def _swept(comparison: Comparison, *, metric: str = "goodput") -> FigureSpec:
    """Shows a metric against the swept parameter: one panel per flow, one line per method.

    It has means and 95 % confidence intervals.

    Raises:
        InputError: Nothing numeric is swept, or no method knows the metric.
    """
    if swept_axis(comparison.points) is None:
        raise InputError("no-data", "", NOTHING_SWEPT)
    if metric not in comparison.metrics:
        raise InputError("no-data", "", _unknown(metric))
    return swept_of(comparison, metric)


def swept_of(comparison: Comparison, name: str, *, with_residual: bool = False) -> FigureSpec:
    """Returns a metric against the swept value, point or flow; perhaps with a difference named."""
    rows = [row for row in comparison.rows if row.metric == name]
    marks = {
        (id(row), column): _mark(row, column)
        for row in rows
        for column in comparison.columns
        if row.cells[column].is_known
    }
    residual = None
    for column in ("emulate", "predict") if with_residual else ():
        row = answer.largest(comparison, [name], column) if column in comparison.columns else None
        if row is not None and residual is None:
            other = row.residuals[column].reference
            residual = (marks[id(row), column], marks[id(row), other], _words(row, column))
    labels = {key: column.label for key, column in comparison.columns.items()}
    where = f"{comparison.run['name']}, means of replicates ± 95 % confidence"
    figure = swept(
        name, list(marks.values()), comparison.points, {"controls": []}, where=where, labels=labels,
        residual=residual,
    ).apart()  # fmt: skip
    left = len(figure.panels) - MOST_PANELS
    if left <= 0:
        return figure
    return replace(
        figure, panels=figure.panels[:MOST_PANELS],
        where=f"{where}, {MOST_PANELS} of {len(figure.panels)} flows",
    )  # fmt: skip


def _mark(row: Row, column: str) -> Mark:
    cell, scale = row.cells[column], metric(row.metric).shown_per_unit
    interval = in_shown_unit(cell.interval, row.metric)
    assert interval is not None
    runs = [value * scale for value in cell.values.values()] if "measure" not in column else []
    difference = row.residuals.get(column)
    note = "" if difference is None else written_residual(difference, scale).replace("-", "−")
    violated = cell.prediction is not None and bool(cell.prediction.violated)
    return Mark(
        row.point, row.subject, row.control, column, interval, runs, note, violated,
        cell.is_marked,
    )  # fmt: skip


def _words(row: Row, column: str) -> list[str]:
    residual = row.residuals[column]
    size = f"{100 * abs(residual.relative):.0f} %"
    prediction = row.cells[column].prediction
    who = prediction.model.label if prediction else "Linux"
    return [who, f"{size} {'above' if residual.relative > 0 else 'below'}"]


def over_time(
    comparison: Comparison, quantity: str, *, point: int | None = 0, replicate: int = 0
) -> FigureSpec:
    """Shows a replicate over time: a panel per flow (first instance), a line per method.

    Args:
        comparison: The comparison.
        quantity: `throughput` or `cwnd`.
        point: Index of the point; None for all, with a panel for each.
        replicate: Index of the replicate.

    Raises:
        InputError: The comparison has no such point or replicate.
    """
    check_numbers(comparison, point=point or 0, replicate=replicate)
    title, y, _ = _QUANTITIES[quantity]
    points = range(len(comparison.points)) if point is None else [point]
    scenarios = [comparison.points[number]["scenario"] for number in points]
    flows = [flow["name"] for flow in scenarios[0]["flows"]]
    places = [(flow, number) for flow in flows for number in points]
    panels = [
        _panel(comparison, quantity, flow, number, replicate, with_point=point is None)
        for flow, number in places
    ]
    end_s = max(units.seconds(scenario["duration"]) for scenario in scenarios)
    if point is None:  # Points may differ by magnitudes.
        values = [series.y for panel in panels for series in panel.series]
        y = height_axis(np.concatenate(values or [np.empty(0)]), y.label, y.unit)
    assignments = assigned(comparison.points[points[0]]["assignments"]) if point is not None else []
    where = ", ".join([comparison.run["name"], *assignments, f"replicate {replicate}"])
    if len(panels) > MOST_PANELS:
        where += f", {MOST_PANELS} of {len(panels)} panels"
    return FigureSpec(
        quantity, title, Axis("time", "s", ends=(0.0, end_s), is_dense=True), y,
        tuple(panels[:MOST_PANELS]), where, "First instance of each flow.", absent="not known",
    )  # fmt: skip


def _panel(
    comparison: Comparison, quantity: str, name: str, point: int, replicate: int, *,
    with_point: bool,
) -> Panel:  # fmt: skip
    place = comparison.points[point]
    scenario = place["scenario"]
    flow = next(flow for flow in scenario["flows"] if flow["name"] == name)
    series = [
        *_level(comparison, quantity, flow, point, units.seconds(scenario["duration"])),
        *(
            curve
            for key, column in _over_time(comparison, point)
            for curve in _series(key, column, quantity, flow, (point, replicate))
        ),
    ]
    warmup_s = units.seconds(scenario["warmup"])
    named = name if flow.get("count") == 1 else f"{name}/0"
    return Panel(
        tuple(series),
        ", ".join([named, *(assigned(place["assignments"]) if with_point else [])]),
        shade=(0.0, warmup_s) if warmup_s > 0 else None,
    )  # fmt: skip


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


def _level(
    comparison: Comparison, quantity: str, flow: dict[str, Any], point: int, end_s: float
) -> Iterator[Series]:
    """Yields a model's mean for one instance."""
    name = _QUANTITIES[quantity][2]
    for row in comparison.rows:
        cell = row.cells.get("predict")
        if (row.metric, row.point, row.subject) != (name, point, flow["name"]):
            continue
        if cell is not None and cell.is_known:
            mss = facts.mss_bytes(flow)
            scale = 1e-6 / flow.get("count", 1) if name == "goodput" else 1 / mss
            level = np.full(2, cell.interval.mean * scale)
            yield Series("predict/", np.array([0.0, end_s]), level, label="predict")


def _series(
    name: str, column: Column, quantity: str, flow: dict[str, Any], run: tuple[int, int]
) -> Iterator[Series]:
    """Yields the first instance of a flow in one replicate of one point."""
    own, value = column.own_number(run[0]), "cwnd_bytes"
    if quantity == "throughput":
        value = "delivered_bytes"
    if column.result is None or own is None:
        return
    samples = column.result.rows(
        "samples", point=own, replicate=run[1], flow=flow["name"], instance=0
    )  # fmt: skip
    if value not in samples.column_names:
        return
    for _, rows in grouped(samples, ("flow",), ("time_s", value)):
        time, values = rows["time_s"], rows[value].astype(float)
        if time.size < 2 or np.isnan(values).all():
            continue
        if quantity == "throughput":
            time, values = mean_rates(time, values, math.ceil(time.size / _INTERVALS))
        else:
            values = values / facts.mss_bytes(flow)
        yield Series(name, time, values, label=column.label, is_off=name == "measure-simulate")


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


_PANELS = "For a comparison, one panel per flow with one line per method."
_FIRST = "For a comparison, one panel per flow (first instance) with one line per method."

FIGURES = (
    FigureKind(
        "sweep", _PANELS, ("compare",), _swept, ("metric",), lacks=_lacks_sweep
    ),
    *(
        FigureKind(
            quantity, _FIRST, ("compare",), partial(over_time, quantity=quantity),
            ("point", "replicate"), lacks=_lacks_series,
        )
        for quantity in _QUANTITIES
    ),
)  # fmt: skip
