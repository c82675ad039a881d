"""The figure `sequence`."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.canvas import Span, inside
from ackclock.plot.connection import TAKES, connection_of, lacks_payload
from ackclock.plot.kind import FigureKind, View
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.result.result import Result

_NOT_KEPT = "keeps no segments; run ackclock measure again with --segments"

# Kinds of marks from below: their look, form and name.
_KINDS = {
    "window": ("window", "steps", "receiver's window"),
    "ack": ("ack", "steps", "acknowledged"),
    "sack": ("sack", "bars", "SACK"),
    "data": ("sent", "bars", "sent"),
    "retransmission": ("again", "dots", "sent again"),
}


def _sequence(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0,
    span: Span | None = None,
) -> FigureSpec:  # fmt: skip
    """Shows bytes sent, retransmitted and acknowledged over time (Jacobson's and Shepard's plot).

    Raises:
        InputError: The result has no table of segments, the number is too large, or the connection
            has no data in the span.
    """
    if "segments" not in result.tables:
        raise InputError("no-data", "", _NOT_KEPT)
    observed = connection_of(result, point, replicate, connection)
    segments = observed.rows("segments")
    shown = inside(span, column(segments, "time_s"))
    kinds = column(segments, "kind")[shown]
    time, low, high = (
        column(segments, name)[shown].astype(float)
        for name in ("time_s", "low_bytes", "high_bytes")
    )
    series = []
    for kind, (style, form, words) in _KINDS.items():
        of_kind = kinds == kind
        if not of_kind.any() or (kind == "window" and not observed.window_is_near):
            continue
        y = (low[of_kind] + high[of_kind]) / 2 if form == "dots" else high[of_kind]
        lower = low[of_kind] * 1e-6 if form == "bars" else None
        series.append(Series(style, time[of_kind], y * 1e-6, form, words, low=lower))
    y_axis = Axis("sequence", "MB", ends=_heights(high[kinds != "window"], span))
    panel = Panel(tuple(series))
    summary = "Bytes sent, sent again and acknowledged: Jacobson's and Shepard's plot."
    figure = observed.figure("sequence", "Time and sequence", y_axis, panel, summary, span)
    return replace(figure, height_in=3.5)


def _heights(sequence: NDArray[Any], span: Span | None) -> tuple[float, float]:
    """Returns the ends of the axis in MB: from 0, or around the data in the span."""
    top = max(int(sequence.max(initial=0)), 1)
    bottom = 0 if span is None else int(sequence.min(initial=top))
    room = 0.02 * max(top - bottom, 1)
    return (bottom - room if bottom else 0) * 1e-6, (top + room) * 1e-6


def _lacks(result: Result, view: View) -> str | None:
    if "segments" not in result.tables or result.tables["segments"].num_rows == 0:
        return _NOT_KEPT
    return lacks_payload(result, view)


SEQUENCE = FigureKind(
    "sequence",
    "Bytes sent, retransmitted and acknowledged over time: Jacobson's and Shepard's time-sequence "
    "plot. Needs `measure --segments`.",
    ("measure",), _sequence, TAKES, ("connections",), _lacks,
)  # fmt: skip

FIGURES = (SEQUENCE,)
