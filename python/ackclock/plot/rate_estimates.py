"""The figure `rate_estimates`."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.canvas import ShownFigure, Span, inside, looks
from ackclock.plot.connection import TAKES, connection_of, lacks_payload
from ackclock.plot.figure import FigureKind, View
from ackclock.plot.style import REFERENCE_COLOUR, style
from ackclock.result.result import Result

__all__ = ["RATE_ESTIMATES", "rate_estimates"]

_NOT_KEPT = (
    "keeps no rate estimates; run ackclock measure again at the sender's capture "
    "with --estimators all"
)


def rate_estimates(
    result: Result,
    *,
    point: int = 0,
    replicate: int = 0,
    connection: int = 0,
    span: Span | None = None,
) -> Figure:
    """Draws the rates that estimators infer from a connection's ACKs, and the acknowledged rate.

    Args:
        result: The result of `measure` with estimators.
        point: Index of the point.
        replicate: Index of the replicate.
        connection: Index of the connection there; 0 is the one with the most payload.
        span: Start and end of the time shown, in seconds; by default all of it.

    Raises:
        ValueError: The result has no estimates, the number is too large, or the connection has no
            data in the span; one line.
    """
    if "rate_estimates" not in result.tables:
        raise InputError("no-data", "", _NOT_KEPT)
    observed = connection_of(result, point, replicate, connection)
    with looks():
        figure = ShownFigure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.subplots()
        _draw_acknowledged(axes, observed.rows("samples"), span)
        for position, (name, asked) in enumerate(result.run["estimators"].items()):
            rows = observed.rows("rate_estimates", estimator=name)
            time, looked = column(rows, "time_s"), style(position)
            shown = inside(span, time)
            rates = column(rows, "rate_bit_per_s")[shown] * 1e-6
            axes.plot(
                time[shown],
                rates,
                color=looked.color,
                linestyle=looked.linestyle,
                label=asked["label"],
            )
            if not rows.num_rows:
                axes.text(
                    0.5, 0.5, "not captured near the sender", transform=axes.transAxes, ha="center"
                )
        axes.set_ylabel("rate (Mbit/s)")
        axes.set_ylim(bottom=0)
        observed.finish(axes, axes, "Rate estimates", span)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def _draw_acknowledged(axes: Axes, samples: Any, span: Span | None) -> None:
    """Draws the acknowledged rate between two samples."""
    time, delivered = column(samples, "time_s"), column(samples, "delivered_bytes")
    ends, passed = time[1:], np.diff(time)
    shown = inside(span, ends) & (passed > 0)
    rates = 8e-6 * np.diff(delivered)[shown] / passed[shown]
    axes.plot(
        ends[shown],
        rates,
        drawstyle="steps-pre",
        color=REFERENCE_COLOUR,
        linewidth=0.8,
        label="acknowledged",
    )


def _lacks(result: Result, view: View) -> str | None:
    if "rate_estimates" not in result.tables or result.tables["rate_estimates"].num_rows == 0:
        return _NOT_KEPT
    return lacks_payload(result, view)


RATE_ESTIMATES = FigureKind(
    "rate_estimates",
    "Rates that estimators infer from a connection's ACKs over time, with the acknowledged rate. "
    "Needs `measure --estimators`.",
    ("measure",), rate_estimates, TAKES, ("connections", "samples"), _lacks,
)  # fmt: skip
