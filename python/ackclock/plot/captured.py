"""Figures of one captured connection over time."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.capture.connections import largest
from ackclock.capture.estimates import KEYS
from ackclock.capture.limiting_factor import LIMITS, heading
from ackclock.metrics.tables import Columns, column
from ackclock.plot.canvas import Span, between, entitle, inside, looks
from ackclock.plot.style import REFERENCE_COLOUR, style
from ackclock.result import Result

__all__ = ["outstanding", "rate_estimates", "sequence"]

# Above this many marks a drawing would be larger than a picture of it.
_MOST_DRAWN = 20_000

# Told apart by shade and hatching.
_LIMIT_LOOKS: dict[str, tuple[str, str]] = {
    "application": ("#ffffff", ""),
    "receive_window": ("#0072B2", ""),
    "sender_buffer": ("#56B4E9", "xx"),
    "congestion_window": ("#dddddd", "//"),
    "bottleneck_rate": ("#D55E00", "\\\\"),
    "slow_start": ("#ffffff", ".."),
    "recovery": ("#000000", ""),
    "unknown": ("#ffffff", "--"),
}

# A receiver's window so many times what was outstanding is not drawn: it would press all else to the ground.
_FAR = 4

# The strip of limits takes one part, the rest this many.
_PARTS = 7


def outstanding(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0, span: Span | None = None
) -> Figure:
    """Outstanding data of a connection, the receiver's window if it is not far above, and below what limited it.

    Args:
        result: Of `measure`.
        point: Which point.
        replicate: Which replicate.
        connection: Which connection of these, 0 being the one with the most payload.
        span: From when to when, in seconds; by default all its time.

    Raises:
        ValueError: There is none of that number, or nothing of it in the span.
    """
    row, keys = _connection(result, point, replicate, connection)
    with looks():
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes, strip = figure.subplots(2, 1, sharex=True, height_ratios=(_PARTS, 1))
        samples, stretches = result.rows("samples", **keys), result.rows("stretches", **keys)
        if span is not None:
            here = pc.and_(pc.less(stretches["start_s"], span[1]), pc.greater(stretches["end_s"], span[0]))
            stretches = stretches.filter(here)
        time = column(samples, "time_s")
        shown = inside(span, time)
        in_flight = column(samples, "in_flight_bytes")[shown] * 1e-3
        axes.plot(time[shown], in_flight, color="#0072B2", label="outstanding")
        if _window_is_near(row):
            _draw_window(axes, stretches)
        axes.set_ylabel("data (kB)")
        axes.set_ylim(bottom=0)
        _draw_limits(strip, stretches)
        _finish(axes, strip, row, result, "Outstanding data", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        strip.legend(loc="upper left", bbox_to_anchor=(1.0, 1.6), fontsize=8, title="limited by", title_fontsize=8)
    return figure


def sequence(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0, span: Span | None = None
) -> Figure:
    """What was sent, sent again and acknowledged, byte by byte over time: Jacobson's and Shepard's time-sequence plot.

    Args:
        result: Of `measure` with segments.
        point: Which point.
        replicate: Which replicate.
        connection: Which connection of these, 0 being the one with the most payload.
        span: From when to when, in seconds; by default all its time.

    Raises:
        ValueError: The table of segments was not kept, there is no connection of that number, or nothing of it in the
            span.
    """
    if "segments" not in result.tables:
        raise ValueError("keeps no table of segments; run ackclock measure again with --segments")
    row, keys = _connection(result, point, replicate, connection)
    segments = result.rows("segments", **keys)
    shown = inside(span, column(segments, "time_s"))
    kinds = column(segments, "kind")[shown]
    marks = {name: column(segments, name)[shown] for name in ("time_s", "low_bytes", "high_bytes")}
    with looks():
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.subplots()
        flat = kinds.size > _MOST_DRAWN
        for kind, draw in (("window", _steps), ("ack", _steps), ("sack", _bars), ("data", _bars)):
            chosen = {name: values[kinds == kind] for name, values in marks.items()}
            if chosen["time_s"].size and (kind != "window" or _window_is_near(row)):
                draw(axes, chosen, kind, flat)
        again = kinds == "retransmission"
        if again.any():
            middle = (marks["low_bytes"][again] + marks["high_bytes"][again]) / 2e6
            axes.plot(
                marks["time_s"][again], middle, linestyle="none", marker="x", markersize=4, color="#D55E00",
                label="sent again", rasterized=flat, zorder=3,
            )  # fmt: skip
        axes.set_ylabel("sequence (MB)")
        axes.set_ylim(*_heights(marks["high_bytes"][kinds != "window"], span))
        _finish(axes, axes, row, result, "Time and sequence", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def rate_estimates(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0, span: Span | None = None
) -> Figure:
    """What rate estimators said of a connection, and what was acknowledged between two samples.

    Args:
        result: Of `measure` with estimators.
        point: Which point.
        replicate: Which replicate.
        connection: Which connection of these, 0 being the one with the most payload.
        span: From when to when, in seconds; by default all its time.

    Raises:
        ValueError: No estimates were kept, there is no connection of that number, or nothing of it in the span.
    """
    if "rate_estimates" not in result.tables:
        raise ValueError("keeps no rate estimates; run ackclock measure again with --estimators all")
    row, keys = _connection(result, point, replicate, connection)
    with looks():
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.subplots()
        _draw_acknowledged(axes, result.rows("samples", **keys), span)
        for position, (name, asked) in enumerate(result.run["estimators"].items()):
            rows = result.rows("rate_estimates", estimator=name, **keys)
            time, looked = column(rows, "time_s"), style(position)
            shown = inside(span, time)
            rates = column(rows, "rate_bit_per_s")[shown] * 1e-6
            axes.plot(time[shown], rates, color=looked.color, linestyle=looked.linestyle, label=asked["label"])
            if not rows.num_rows:
                axes.text(0.5, 0.5, "not captured near the sender", transform=axes.transAxes, ha="center")
        axes.set_ylabel("rate (Mbit/s)")
        axes.set_ylim(bottom=0)
        _finish(axes, axes, row, result, "Rate estimates", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def _draw_acknowledged(axes: Axes, samples: Any, span: Span | None) -> None:
    """What was acknowledged between two samples, per time."""
    time, delivered = column(samples, "time_s"), column(samples, "delivered_bytes")
    ends, passed = time[1:], np.diff(time)
    shown = inside(span, ends) & (passed > 0)
    rates = 8e-6 * np.diff(delivered)[shown] / passed[shown]
    axes.plot(ends[shown], rates, drawstyle="steps-pre", color=REFERENCE_COLOUR, linewidth=0.8, label="acknowledged")


_MARKS: dict[str, dict[str, Any]] = {
    "data": {"color": "#000000", "linewidth": 1.2, "label": "sent"},
    "sack": {"color": "#CC79A7", "linewidth": 2.2, "label": "SACK"},
    "ack": {"color": "#009E73", "linewidth": 0.9, "label": "acknowledged"},
    "window": {"color": REFERENCE_COLOUR, "linewidth": 0.9, "linestyle": (0, (4, 2)), "label": "receiver's window"},
}


def _heights(sequence: NDArray[Any], span: Span | None) -> tuple[float, float]:
    """Where the axis begins and ends, in MB: from nought on, or about what is in the span."""
    top = max(int(sequence.max(initial=0)), 1)
    bottom = 0 if span is None else int(sequence.min(initial=top))
    room = 0.02 * max(top - bottom, 1)
    return (bottom - room if bottom else 0) * 1e-6, (top + room) * 1e-6


def _bars(axes: Axes, marks: Columns, kind: str, flat: bool) -> None:
    """A bar from first byte to last, at its moment."""
    low, high = marks["low_bytes"] * 1e-6, marks["high_bytes"] * 1e-6
    ends = np.stack([np.stack([marks["time_s"], low], -1), np.stack([marks["time_s"], high], -1)], 1)
    axes.add_collection(LineCollection(list(ends), rasterized=flat, **_MARKS[kind]))
    axes.autoscale_view()


def _steps(axes: Axes, marks: Columns, kind: str, flat: bool) -> None:
    """What holds until the next mark."""
    axes.plot(marks["time_s"], marks["high_bytes"] * 1e-6, drawstyle="steps-post", rasterized=flat, **_MARKS[kind])


def _draw_window(axes: Axes, stretches: Any) -> None:
    """Steps from stretch to stretch."""
    time = np.stack([column(stretches, "start_s"), column(stretches, "end_s")], -1).ravel()
    window = column(stretches, "receive_window_mean_bytes").astype(float)
    axes.plot(
        time, np.repeat(window, 2) * 1e-3, color=REFERENCE_COLOUR, linestyle=(0, (4, 2)), linewidth=1.0,
        label="receiver's window",
    )  # fmt: skip


def _draw_limits(strip: Axes, stretches: Any) -> None:
    """A bar for each stretch, told apart by shade and hatching."""
    start, end, limits = column(stretches, "start_s"), column(stretches, "end_s"), column(stretches, "limit")
    for limit, (colour, hatch) in _LIMIT_LOOKS.items():
        chosen = limits == limit
        if chosen.any():
            spans = list(zip(start[chosen], (end - start)[chosen], strict=True))
            strip.broken_barh(
                spans, (0, 1), facecolor=colour, edgecolor="#000000", linewidth=0.3, hatch=hatch, label=LIMITS[limit]
            )
    strip.set_yticks([])
    strip.grid(visible=False)


def _window_is_near(row: dict[str, Any]) -> bool:
    window, most = row["receive_window_mean_bytes"], row["outstanding_max_bytes"]
    return bool(row["receive_window_scaled"]) and window is not None and most is not None and window <= _FAR * most


def _connection(result: Result, point: int, replicate: int, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    rows = largest(result, number + 1, point=point, replicate=replicate)
    if len(rows) <= number:
        raise ValueError(f"there is no connection {number} with payload; there are {len(rows)}, from 0")
    return rows[number], {name: rows[number][name] for name in KEYS}


def _finish(top: Axes, bottom: Axes, row: dict[str, Any], result: Result, what: str, span: Span | None) -> None:
    interrupted = " (interrupted)" if result.partial else ""
    entitle(top, f"{what}: {heading(result, row)}{interrupted}")
    bottom.set_xlabel("time (s)")
    bottom.set_xlim(*between(span, row["start_s"], max(row["end_s"], row["start_s"] + 1e-9)))
