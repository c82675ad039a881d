"""The figure `outstanding`."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.capture.limiting_factor import LIMITS
from ackclock.metrics.tables import column
from ackclock.plot.canvas import ShownFigure, Span, inside, looks
from ackclock.plot.connection import TAKES, connection_of, lacks_payload
from ackclock.plot.figure import FigureKind
from ackclock.plot.style import REFERENCE_COLOUR
from ackclock.result.result import Result

__all__ = ["OUTSTANDING", "outstanding"]

# Limits are distinguished by shade and hatching.
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

# Height of the plot relative to the strip of limits.
_PARTS = 7


def outstanding(
    result: Result,
    *,
    point: int = 0,
    replicate: int = 0,
    connection: int = 0,
    span: Span | None = None,
) -> Figure:
    """Draws a connection's data in flight and a near receive window; below, the limiting factor.

    Args:
        result: The result of `measure`.
        point: Index of the point.
        replicate: Index of the replicate.
        connection: Index of the connection there; 0 is the one with the most payload.
        span: Start and end of the time shown, in seconds; by default all of it.

    Raises:
        ValueError: The number is too large, or the connection has no data in the span; one line.
    """
    observed = connection_of(result, point, replicate, connection)
    with looks():
        figure = ShownFigure(figsize=(7.2, 4.0), layout="constrained")
        axes, strip = figure.subplots(2, 1, sharex=True, height_ratios=(_PARTS, 1))
        samples, stretches = observed.rows("samples"), observed.rows("limit_periods")
        if span is not None:
            here = pc.and_(
                pc.less(stretches["start_s"], span[1]), pc.greater(stretches["end_s"], span[0])
            )
            stretches = stretches.filter(here)
        time = column(samples, "time_s")
        shown = inside(span, time)
        in_flight = column(samples, "in_flight_bytes")[shown] * 1e-3
        axes.plot(time[shown], in_flight, color="#0072B2", label="outstanding")
        if observed.window_is_near:
            _draw_window(axes, stretches)
        axes.set_ylabel("data (kB)")
        axes.set_ylim(bottom=0)
        _draw_limits(strip, stretches)
        observed.finish(axes, strip, "Outstanding data", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        strip.legend(
            loc="upper left",
            bbox_to_anchor=(1.0, 1.6),
            fontsize=8,
            title="limited by",
            title_fontsize=8,
        )
    return figure


def _draw_window(axes: Axes, stretches: Any) -> None:
    """Draws the receive window as steps from period to period."""
    time = np.stack([column(stretches, "start_s"), column(stretches, "end_s")], -1).ravel()
    window = column(stretches, "receive_window_mean_bytes").astype(float)
    axes.plot(
        time, np.repeat(window, 2) * 1e-3, color=REFERENCE_COLOUR, linestyle=(0, (4, 2)),
        linewidth=1.0, label="receiver's window",
    )  # fmt: skip


def _draw_limits(strip: Axes, stretches: Any) -> None:
    """Draws a bar for each period, distinguished by shade and hatching."""
    start, end, limits = (
        column(stretches, "start_s"),
        column(stretches, "end_s"),
        column(stretches, "limit"),
    )
    for limit, (colour, hatch) in _LIMIT_LOOKS.items():
        chosen = limits == limit
        if chosen.any():
            spans = list(zip(start[chosen], (end - start)[chosen], strict=True))
            strip.broken_barh(
                spans,
                (0, 1),
                facecolor=colour,
                edgecolor="#000000",
                linewidth=0.3,
                hatch=hatch,
                label=LIMITS[limit],
            )
    strip.set_yticks([])
    strip.grid(visible=False)


OUTSTANDING = FigureKind(
    "outstanding",
    "Data in flight of a connection over time, its receive window, and below the limiting factor.",
    ("measure",), outstanding, TAKES, ("connections", "samples", "limit_periods"), lacks_payload,
)  # fmt: skip
