"""The figure `outstanding`."""

import numpy as np

from ackclock.capture.limiting_factor import LIMITS
from ackclock.metrics.tables import column
from ackclock.plot.canvas import Span, inside
from ackclock.plot.connection import TAKES, Connection, connection_of, lacks_payload
from ackclock.plot.kind import FigureKind
from ackclock.plot.spec import Axis, Band, FigureSpec, Panel, Series
from ackclock.result.result import Result

# Gap between periods with the same limit below which they are joined, in seconds.
_TOUCHING_S = 1e-6


def _outstanding(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0,
    span: Span | None = None,
) -> FigureSpec:  # fmt: skip
    """Shows a connection's data in flight and a near receive window; below, the limiting factor.

    Raises:
        InputError: The number is too large, or the connection has no data in the span.
    """
    observed = connection_of(result, point, replicate, connection)
    samples = observed.rows("samples")
    time = column(samples, "time_s")
    shown = inside(span, time)
    in_flight = column(samples, "in_flight_bytes")[shown] * 1e-3
    series = [Series("measure", time[shown], in_flight, label="outstanding")]
    if observed.window_is_near:
        series.append(_window(observed, span))
    bands = _bands(observed, span)
    y = Axis("data", "kB", begin=0.0)
    return observed.figure(
        "outstanding", "Outstanding data", y, Panel(tuple(series), bands=bands),
        OUTSTANDING.summary, span, strip="limited by",
    )  # fmt: skip


def _window(observed: Connection, span: Span | None) -> Series:
    """Returns the receive window, which holds from period to period."""
    periods = observed.rows("limit_periods")
    start, end = (column(periods, name).astype(float) for name in ("start_s", "end_s"))
    low, high = span or (-np.inf, np.inf)
    here = (start < high) & (end > low)
    window = column(periods, "receive_window_mean_bytes").astype(float)[here] * 1e-3
    time = np.stack([start[here], end[here]], -1).ravel()
    return Series("window", time, np.repeat(window, 2), "steps", "receiver's window")


def _bands(observed: Connection, span: Span | None) -> tuple[Band, ...]:
    """Returns periods with one limit, neighbours joined."""
    periods = observed.rows("limit_periods")
    low, high = span or (-np.inf, np.inf)
    bands: list[Band] = []
    for start, end, limit in zip(
        *(column(periods, name) for name in ("start_s", "end_s", "limit")), strict=True
    ):
        if not (start < high and end > low):
            continue
        if bands and bands[-1].style == limit and abs(bands[-1].end - start) < _TOUCHING_S:
            bands[-1] = bands[-1]._replace(end=float(end))
        else:
            bands.append(Band(float(start), float(end), str(limit), LIMITS[str(limit)]))
    return tuple(bands)


OUTSTANDING = FigureKind(
    "outstanding",
    "Data in flight of a connection over time, its receive window, and below the limiting factor.",
    ("measure",), _outstanding, TAKES, ("connections", "samples", "limit_periods"), lacks_payload,
)  # fmt: skip

FIGURES = (OUTSTANDING,)
