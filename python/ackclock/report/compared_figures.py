"""Figures of a comparison, with the methods in the same axes."""

import math
from typing import Any

import numpy as np

from ackclock import units
from ackclock.comparison import Column, Comparison, Row, answer
from ackclock.comparison.explanation import written_residual
from ackclock.elements import facts
from ackclock.metrics import in_shown_unit, metric
from ackclock.metrics.tables import grouped
from ackclock.report import live
from ackclock.report.asked import timing
from ackclock.report.section import Live
from ackclock.report.swept_figure import Mark, swept_figure
from ackclock.table import assigned

__all__ = ["figures", "minus"]

#: Metrics that have a figure, the one beside the answer first.
_DRAWN = (
    "goodput",
    "rtt",
    "retransmissions",
    "cwnd",
    "queueing_delay",
    "completion_time",
    "fairness",
)

# Panels of a figure over time: for each point and flow.
_MOST_PANELS = 6
# A throughput is averaged over so many intervals; shorter ones would show bursts of delivery.
_INTERVALS = 60
_QUANTITIES = {
    "throughput": ("Throughput over time", "Mbit/s", "delivered_bytes"),
    "cwnd": ("Congestion window over time", "segments", "cwnd_bytes"),
}


def figures(comparison: Comparison) -> list[Live]:
    """Returns the figures of metrics, then those over time."""
    drawn = [name for name in _DRAWN if name in comparison.metrics]
    found = [_of_metric(comparison, name, is_key=at == 0) for at, name in enumerate(drawn)]
    over_time = [_over_time(comparison, what) for what in _QUANTITIES]
    return [*found, *(one for one in over_time if one is not None)]


def minus(text: str) -> str:
    """Returns a signed number with the sign for minus."""
    return text.replace("-", "−")


def _of_metric(comparison: Comparison, name: str, *, is_key: bool) -> Live:
    rows = [row for row in comparison.rows if row.metric == name]
    marks = {
        (id(row), column): _mark(row, column)
        for row in rows
        for column in comparison.columns
        if row.cells[column].is_known
    }
    known = [
        column for column in comparison.columns if any(series == column for _, series in marks)
    ]
    keys = [
        live.key(column, "points", off=column == "measure-simulate" and "emulate" in known)
        for column in known
    ]
    note = None
    for column in ("emulate", "predict"):
        row = answer.largest(comparison, [name], column) if column in comparison.columns else None
        if row is not None and note is None and is_key:
            reference = row.residuals[column].reference
            note = (marks[id(row), column], marks[id(row), reference], _note(row, column))
    return swept_figure(
        f"figure-{name}", name, list(marks.values()), comparison.points, keys, is_key=is_key,
        note=note,
    )  # fmt: skip


def _mark(row: Row, column: str) -> Mark:
    cell, scale = row.cells[column], metric(row.metric).shown_per_unit
    interval = in_shown_unit(cell.interval, row.metric)
    assert interval is not None
    runs = [value * scale for value in cell.values.values()] if "measure" not in column else []
    residual = row.residuals.get(column)
    note = minus(written_residual(residual, scale)) if residual is not None else ""
    violated = cell.prediction is not None and bool(cell.prediction.violated)
    return Mark(row.point, row.subject, row.control, column, interval, runs, note, violated)


def _note(row: Row, column: str) -> list[str]:
    residual = row.residuals[column]
    size = f"{100 * abs(residual.relative):.0f} %"
    prediction = row.cells[column].prediction
    who = prediction.model.label if prediction else "Linux"
    return [who, f"{size} {'above' if residual.relative > 0 else 'below'}"]


def _over_time(comparison: Comparison, what: str) -> Live | None:
    """Returns the first instance of each flow in the first replicate, point by point."""
    title, unit, value = _QUANTITIES[what]
    flows = list(comparison.points[0]["scenario"]["flows"])
    places = [(flow, point) for flow in flows for point in range(len(comparison.points))]
    shown = places[:_MOST_PANELS]
    columns = {
        name: column
        for name, column in comparison.columns.items()
        if column.result is not None and "samples" in column.result.tables
    }
    most = live.span_of(len(shown) * len(columns))
    panels, found = [], []
    for flow, point in shown:
        series = []
        mss = facts.mss_bytes(flow)
        for name, column in columns.items():
            drawn = _series(column, (flow["name"], point), value, mss, most)
            if drawn is not None:
                series.append({"s": name, "draw": "line"} | drawn)
                found.append(name)
        panels.append(_panel(comparison, flow["name"], point, series))
    if not found:
        return None
    lines = [one["y"] for panel in panels for one in panel["series"]]
    log = what == "cwnd" and live.log_axis(value for line in lines for value in line)
    scenarios = [point["scenario"] for point in comparison.points]
    end = max(units.seconds(tree["duration"]) for tree in scenarios)
    keys = [
        live.key(name, "line", off=name == "measure-simulate") for name in columns if name in found
    ]
    left = f"; {len(shown)} of {len(places)} panels" if len(places) > len(shown) else ""
    spec = {
        "title": title,
        "description": f"One panel for each flow and point; {timing(scenarios)}.",
        "height": 210,
        "columns": min(3, len(comparison.points)) if len(comparison.points) > 1 else 2,
        "x": live.time_axis(0.0, end),
        "y": {"kind": "log" if log else "linear", "unit": unit, "zero": not log},
        "link": "time",
        "keys": keys,
        "panels": panels,
    }
    caption = (
        f"First flow of each kind, replicate 0; the shaded warm-up is in no average{left}. "
        "Drag to see a part of the time, double-click for all of it."
    )
    sub = f"{unit}, logarithmic axis" if log else unit
    return Live(f"time-{what}", title, sub, caption, spec, wide=True)


def _panel(
    comparison: Comparison, flow: str, point: int, series: list[dict[str, Any]]
) -> dict[str, Any]:
    assignments = comparison.points[point]["assignments"]
    scenario = comparison.points[point]["scenario"]
    warmup = units.seconds(scenario["warmup"])
    return {
        "title": ", ".join([flow, *assigned(assignments)]),
        "shade": [0, warmup] if warmup > 0 else None,
        "series": series,
    }


def _series(
    column: Column, where: tuple[str, int], value: str, mss: float, most: int
) -> dict[str, Any] | None:
    """Returns the samples of a flow's first instance; None if the method has none."""
    flow, point = where
    own = column.own_number(point)
    if column.result is None or own is None:
        return None
    samples = column.result.rows("samples", point=own, replicate=0, flow=flow, instance=0)
    if value not in samples.column_names:
        return None
    for _, rows in grouped(samples, ("flow",), ("time_s", value)):
        time, values = rows["time_s"], rows[value]
        if time.size < 2 or np.isnan(values).all():
            continue
        if value == "delivered_bytes":
            return live.thinned(*_rate(time, values), most)
        return live.thinned(time, values / mss, most)
    return None


def _rate(time: Any, delivered: Any) -> tuple[Any, Any]:
    every = max(1, math.ceil(time.size / _INTERVALS))
    time, delivered = time[::every], delivered[::every]
    return (time[1:] + time[:-1]) / 2, np.diff(delivered) * 8e-6 / np.diff(time)
