"""The figure `sequence`."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, column
from ackclock.plot.canvas import ShownFigure, Span, inside, looks
from ackclock.plot.connection import TAKES, connection_of, lacks_payload
from ackclock.plot.figure import FigureKind, View
from ackclock.plot.style import REFERENCE_COLOUR
from ackclock.result.result import Result

__all__ = ["SEQUENCE", "sequence"]

_NOT_KEPT = "keeps no segments; run ackclock measure again with --segments"

# With more marks a vector drawing would be larger than a bitmap.
_MOST_DRAWN = 20_000

_MARKS: dict[str, dict[str, Any]] = {
    "data": {"color": "#000000", "linewidth": 1.2, "label": "sent"},
    "sack": {"color": "#CC79A7", "linewidth": 2.2, "label": "SACK"},
    "ack": {"color": "#009E73", "linewidth": 0.9, "label": "acknowledged"},
    "window": {
        "color": REFERENCE_COLOUR,
        "linewidth": 0.9,
        "linestyle": (0, (4, 2)),
        "label": "receiver's window",
    },
}


def sequence(
    result: Result,
    *,
    point: int = 0,
    replicate: int = 0,
    connection: int = 0,
    span: Span | None = None,
) -> Figure:
    """Draws bytes sent, retransmitted and acknowledged over time (Jacobson's and Shepard's plot).

    Args:
        result: The result of `measure` with segments.
        point: Index of the point.
        replicate: Index of the replicate.
        connection: Index of the connection there; 0 is the one with the most payload.
        span: Start and end of the time shown, in seconds; by default all of it.

    Raises:
        ValueError: The result has no table of segments, the number is too large, or the connection
            has no data in the span; one line.
    """
    if "segments" not in result.tables:
        raise InputError("no-data", "", _NOT_KEPT)
    observed = connection_of(result, point, replicate, connection)
    segments = observed.rows("segments")
    shown = inside(span, column(segments, "time_s"))
    kinds = column(segments, "kind")[shown]
    marks = {name: column(segments, name)[shown] for name in ("time_s", "low_bytes", "high_bytes")}
    with looks():
        figure = ShownFigure(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.subplots()
        flat = kinds.size > _MOST_DRAWN
        for kind, draw in (("window", _steps), ("ack", _steps), ("sack", _bars), ("data", _bars)):
            chosen = {name: values[kinds == kind] for name, values in marks.items()}
            if chosen["time_s"].size and (kind != "window" or observed.window_is_near):
                draw(axes, chosen, kind, flat)
        again = kinds == "retransmission"
        if again.any():
            middle = (marks["low_bytes"][again] + marks["high_bytes"][again]) / 2e6
            axes.plot(
                marks["time_s"][again], middle, linestyle="none", marker="x", markersize=4,
                color="#D55E00", label="sent again", rasterized=flat, zorder=3,
            )  # fmt: skip
        axes.set_ylabel("sequence (MB)")
        axes.set_ylim(*_heights(marks["high_bytes"][kinds != "window"], span))
        observed.finish(axes, axes, "Time and sequence", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def _heights(sequence: NDArray[Any], span: Span | None) -> tuple[float, float]:
    """Returns the ends of the axis in MB: from 0, or around the data in the span."""
    top = max(int(sequence.max(initial=0)), 1)
    bottom = 0 if span is None else int(sequence.min(initial=top))
    room = 0.02 * max(top - bottom, 1)
    return (bottom - room if bottom else 0) * 1e-6, (top + room) * 1e-6


def _bars(axes: Axes, marks: Columns, kind: str, flat: bool) -> None:
    """Draws a vertical bar from first byte to last at each time."""
    low, high = marks["low_bytes"] * 1e-6, marks["high_bytes"] * 1e-6
    ends = np.stack(
        [np.stack([marks["time_s"], low], -1), np.stack([marks["time_s"], high], -1)], 1
    )
    axes.add_collection(LineCollection(list(ends), rasterized=flat, **_MARKS[kind]))
    axes.autoscale_view()


def _steps(axes: Axes, marks: Columns, kind: str, flat: bool) -> None:
    """Draws values that hold until the next mark."""
    axes.plot(
        marks["time_s"],
        marks["high_bytes"] * 1e-6,
        drawstyle="steps-post",
        rasterized=flat,
        **_MARKS[kind],
    )


def _lacks(result: Result, view: View) -> str | None:
    if "segments" not in result.tables or result.tables["segments"].num_rows == 0:
        return _NOT_KEPT
    return lacks_payload(result, view)


SEQUENCE = FigureKind(
    "sequence",
    "Bytes sent, retransmitted and acknowledged over time: Jacobson's and Shepard's time-sequence "
    "plot. Needs `measure --segments`.",
    ("measure",), sequence, TAKES, ("connections",), _lacks,
)  # fmt: skip
