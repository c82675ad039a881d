"""Figures of results beside each other: a line for each result."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ackclock import units
from ackclock.comparison import SideBySide
from ackclock.comparison.side_by_side import Row
from ackclock.comparison.side_by_side_tables import percent
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.metrics import in_shown_unit, metric
from ackclock.plot.canvas import Span, between, inside
from ackclock.plot.compared import MOST_PANELS
from ackclock.plot.cwnd import WINDOW
from ackclock.plot.kind import FigureKind, View, check_numbers
from ackclock.plot.rtt import ROUND_TRIP
from ackclock.plot.scales import height_axis
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series, values_of
from ackclock.plot.style import line
from ackclock.plot.sweep import Mark, swept
from ackclock.plot.throughput import DELIVERED, mean_rates
from ackclock.table import assigned, capital

# Smallest number of intervals over which throughput is averaged: lines lie over each other, and
# longer intervals than in `throughput` tell them apart.
_INTERVALS = 60


class _Quantity(NamedTuple):
    """A quantity over time: title, axis, column, factor, and if it is per segment or a rate."""

    title: str
    y: Axis
    column: str
    scale: float = 1.0
    per_segment: bool = False
    is_rate: bool = False


_QUANTITIES = {
    "throughput": _Quantity(
        DELIVERED.title, Axis("throughput", "Mbit/s", begin=0.0), "delivered_bytes", is_rate=True
    ),
    "cwnd": _Quantity(WINDOW.title, WINDOW.y, "cwnd_bytes", per_segment=True),
    "rtt": _Quantity(
        "Smoothed round-trip time", ROUND_TRIP.y, "smoothed_rtt_s", scale=1e3
    ),
}  # fmt: skip


def means_of(side: SideBySide, *, metric: str = "goodput") -> FigureSpec:
    """Shows the means of a metric: a line per result against the swept value, or by result.

    Raises:
        InputError: No result has the metric.
    """
    rows = [row for row in side.rows if row.metric == metric] or side.rows_of(metric)
    if not rows:
        raise InputError("no-data", "", _unknown(metric))
    if len(side.points) == 1:
        return _of_one_point(side, rows)
    marks = [
        _mark(side, row, number)
        for number in range(len(side.results))
        for row in rows
        if row.cells[number].is_known
    ]
    figure = swept(
        metric, marks, side.points, {"controls": []}, labels=dict(zip(_looks(side), side.names,
        strict=True)), where="means of replicates ± 95 % confidence",
    ).apart()  # fmt: skip
    left = len(figure.panels) - MOST_PANELS
    if left <= 0:
        return figure
    where = f"{figure.where}, {MOST_PANELS} of {len(figure.panels)} flows"
    return replace(figure, panels=figure.panels[:MOST_PANELS], where=where)


def _of_one_point(side: SideBySide, rows: Sequence[Row]) -> FigureSpec:
    """Returns the means of the results beside each other, a panel for each flow or hop."""
    record = metric(rows[0].metric)
    ticks = tuple((float(number), name) for number, name in enumerate(side.names))
    panels, means = [], []
    for row in rows[:MOST_PANELS]:
        series = []
        for number, name in enumerate(side.names):
            if row.cells[number].is_known:
                mark = _mark(side, row, number)
                means.append(mark.interval.mean)
                half = values_of([mark.interval.half_width])
                series.append(
                    Series(
                        line(number), values_of([number]), values_of([mark.interval.mean]),
                        "points", name, half=half if np.isfinite(half).any() else None,
                        unsettled=np.array([mark.unsettled]), runs=[mark.runs], notes=[mark.note],
                    )
                )  # fmt: skip
        panels.append(Panel(tuple(series), row.subject))
    left = f", {MOST_PANELS} of {len(rows)}" if len(rows) > MOST_PANELS else ""
    return FigureSpec(
        "sweep", capital(record.label), Axis(ticks=ticks, is_choice=True),
        height_axis(means, record.label, record.shown_unit), tuple(panels),
        f"means of replicates ± 95 % confidence{left}", record.summary, absent="not known",
    )  # fmt: skip


def _looks(side: SideBySide) -> list[str]:
    return [line(number) for number in range(len(side.results))]


def _mark(side: SideBySide, row: Row, number: int) -> Mark:
    cell, scale = row.cells[number], metric(row.metric).shown_per_unit
    mean = in_shown_unit(cell.interval, row.metric)
    assert mean is not None
    runs = [value * scale for value in cell.values.values()]
    difference = row.differences[number]
    note = "" if difference is None else f"{percent(difference)} %".replace("-", "−")
    look = _looks(side)[number]
    return Mark(
        row.point, row.subject, "", look, mean, runs, note, unsettled=cell.is_marked
    )  # fmt: skip


def over_time(
    side: SideBySide, quantity: str, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows a replicate over time: a panel per flow (first instance), a line per result.

    Args:
        side: The results.
        quantity: `throughput`, `cwnd` or `rtt`.
        point: Index of the point in the reference.
        replicate: Index of the replicate.
        span: Start and end of the time shown, in seconds; None for all.

    Raises:
        InputError: There is no such point or replicate.
    """
    check_numbers(side, point=point, replicate=replicate)
    chosen = _QUANTITIES[quantity]
    flows = list(side.flows(1, point).names)
    panels, end_s = [], 0.0
    for name in flows:
        series = list(_series(side, chosen, name, point, replicate, span))
        ends = [float(curve.x[-1]) for curve in series if curve.x.size]
        end_s = max([end_s, *ends])
        panels.append(Panel(tuple(series), name, shade=_warmup(side, point)))
    where = ", ".join([*assigned(side.points[point]["assignments"]), f"replicate {replicate}"])
    if len(panels) > MOST_PANELS:
        where += f", {MOST_PANELS} of {len(panels)} flows"
    ends_s = between(span, 0.0, max(end_s, 1e-9))
    return FigureSpec(
        quantity, chosen.title, Axis("time", "s", ends=ends_s, is_dense=True), chosen.y,
        tuple(panels[:MOST_PANELS]), where, "First instance of each flow, a line for each result.",
        absent="not known",
    )  # fmt: skip


def _warmup(side: SideBySide, point: int) -> tuple[float, float] | None:
    scenario = side.points[point]["scenario"]
    end_s = units.seconds(scenario["warmup"]) if scenario else 0.0
    return (0.0, end_s) if end_s > 0 else None


def _series(
    side: SideBySide, quantity: _Quantity, flow: str, point: int, replicate: int, span: Span | None
) -> Iterator[Series]:
    """Yields the first instance of a flow in each result that has the quantity."""
    for number, (name, result) in enumerate(side.results):
        own = side.own_point(number, point)
        if own is None or "samples" not in result.tables:
            continue
        named = side.flows(number, point).names.get(flow)
        samples = result.rows("samples", point=own, replicate=replicate, flow=named, instance=0)
        if quantity.column not in samples.column_names or samples.num_rows < 2:
            continue
        time, values = (
            samples[column].to_numpy(zero_copy_only=False).astype(float)
            for column in ("time_s", quantity.column)
        )
        if np.isnan(values).all():
            continue
        if quantity.is_rate:
            time, values = mean_rates(time, values, math.ceil(time.size / _INTERVALS))
        elif quantity.per_segment:
            flow_of = _flow(result.points[own]["scenario"], str(named))
            if flow_of is None:  # Of a capture from elsewhere.
                continue
            values = values / facts.mss_bytes(flow_of)
        shown = inside(span, time)
        yield Series(
            f"{line(number)}/", time[shown], values[shown] * quantity.scale, label=name
        )  # fmt: skip


def _flow(scenario: dict[str, Any] | None, name: str) -> dict[str, Any] | None:
    flows = scenario["flows"] if scenario else []
    return next((flow for flow in flows if flow["name"] == name), None)


def _unknown(name: str) -> str:
    return f"has no {name} in any result; choose another with --metric"


def _lacks_means(side: SideBySide, view: View) -> str | None:
    return None if side.rows_of(view.metric) else _unknown(view.metric)


def _lacks_series(quantity: str, side: SideBySide, view: View) -> str | None:
    if view.point >= len(side.points):
        return None
    if side.own_point(1, view.point) is None:
        return f"has no run of point {view.point} in {side.names[1]}; choose another with --point"
    # A subject that is not in the figure, such as a rate-controlled flow's window, has no panel.
    chosen = _QUANTITIES[quantity]
    for flow in side.flows(1, view.point).names:
        if any(True for _ in _series(side, chosen, flow, view.point, view.replicate, None)):
            return None
    return f"has no {quantity} over time in any result"


_LINES = "For results beside each other, one panel per flow (first instance), a line per result."

FIGURES = (
    FigureKind(
        "sweep",
        "For results beside each other, the means of each, against the swept value or by flow.",
        ("results",), means_of, ("metric",), lacks=_lacks_means,
    ),
    *(
        FigureKind(
            quantity, _LINES, ("results",), partial(over_time, quantity=quantity),
            ("point", "replicate", "span"), lacks=partial(_lacks_series, quantity),
        )
        for quantity in _QUANTITIES
    ),
)  # fmt: skip
