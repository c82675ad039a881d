"""The figure `rate_estimates`."""

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.canvas import Span, inside
from ackclock.plot.connection import TAKES, Connection, connection_of, lacks_payload
from ackclock.plot.kind import FigureKind, View
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.style import line
from ackclock.result.result import Result

_NOT_KEPT = (
    "keeps no rate estimates; run ackclock measure again at the sender's capture "
    "with --estimators all"
)


def _rate_estimates(
    result: Result, *, point: int = 0, replicate: int = 0, connection: int = 0,
    span: Span | None = None,
) -> FigureSpec:  # fmt: skip
    """Shows the rates that estimators infer from a connection's ACKs, and the acknowledged rate.

    Raises:
        InputError: The result has no estimates, the number is too large, or the connection has no
            data in the span.
    """
    if "rate_estimates" not in result.tables:
        raise InputError("no-data", "", _NOT_KEPT)
    observed = connection_of(result, point, replicate, connection)
    series = [_acknowledged(observed, span)]
    for position, (name, asked) in enumerate(result.run["estimators"].items()):
        rows = observed.rows("rate_estimates", estimator=name)
        time = column(rows, "time_s")
        shown = inside(span, time)
        rates = column(rows, "rate_bit_per_s").astype(float)[shown] * 1e-6
        words = asked["label"] + ("" if rows.num_rows else ": not captured near the sender")
        series.append(Series(f"{line(position)}/", time[shown], rates, label=words))
    y = Axis("rate", "Mbit/s", begin=0.0)
    summary = "Rates that estimators infer from ACKs, with the acknowledged rate."
    panel = Panel(tuple(series))
    return observed.figure("rate_estimates", "Rate estimates", y, panel, summary, span)


def _acknowledged(observed: Connection, span: Span | None) -> Series:
    """Returns the acknowledged rate between two samples."""
    samples = observed.rows("samples")
    time, delivered = column(samples, "time_s"), column(samples, "delivered_bytes")
    passed = np.diff(time)
    shown = inside(span, time[1:]) & (passed > 0)
    rates = 8e-6 * np.diff(delivered)[shown] / passed[shown]
    # Each holds from the sample before to its own.
    ends = np.append(time[:-1][shown], time[1:][shown][-1:])
    return Series("raw", ends, np.append(rates, rates[-1:]), "steps", "acknowledged")


def _lacks(result: Result, view: View) -> str | None:
    if "rate_estimates" not in result.tables or result.tables["rate_estimates"].num_rows == 0:
        return _NOT_KEPT
    return lacks_payload(result, view)


RATE_ESTIMATES = FigureKind(
    "rate_estimates",
    "Rates that estimators infer from a connection's ACKs over time, with the acknowledged rate. "
    "Needs `measure --estimators`.",
    ("measure",), _rate_estimates, TAKES, ("connections", "samples"), _lacks,
)  # fmt: skip

FIGURES = (RATE_ESTIMATES,)
