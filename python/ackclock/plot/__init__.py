"""Figures. Each is a function of results; none starts a run."""

from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ackclock.capture.connections import largest
from ackclock.metrics import shown_time_scales
from ackclock.plot.bursts import bursts
from ackclock.plot.canvas import FORMATS, Span, inline, render, save
from ackclock.plot.captured import outstanding, rate_estimates, sequence
from ackclock.plot.curves import Curve, curves
from ackclock.plot.series import cwnd, is_known, loss_event_rate, queue, rtt, throughput
from ackclock.plot.sweep import sweep, swept_axis
from ackclock.plot.trade_off import Mark, Panel, trade_off
from ackclock.plot.variation import variation
from ackclock.plot.ways import figures_of_ways, over_time, swept
from ackclock.result import Result

__all__ = [
    "FORMATS", "KINDS", "OVER_TIME", "Curve", "Mark", "Panel", "bursts", "curves", "cwnd", "figures", "figures_of_ways",
    "inline", "loss_event_rate", "outstanding", "over_time", "queue", "rate_estimates", "render", "rtt", "save",
    "sequence", "sweep", "swept", "swept_axis", "throughput", "trade_off", "variation",
]  # fmt: skip

# By name, in the order of a report.
OVER_TIME: dict[str, Callable[..., Figure]] = {"cwnd": cwnd, "throughput": throughput, "queue": queue, "rtt": rtt}
# Of ways that know less.
_LESS: dict[str, dict[str, Callable[..., Figure]]] = {
    "measure": {"throughput": throughput, "rtt": rtt},
    "send": {"throughput": throughput, "rtt": rtt},
    "receive": {"throughput": throughput},
}
_ONE_CONNECTION: dict[str, Callable[..., Figure]] = {
    "outstanding": outstanding, "sequence": sequence, "rate_estimates": rate_estimates,
}  # fmt: skip
# What some figures are drawn from is kept on request.
_KEPT_ON_REQUEST = {"sequence": "segments", "rate_estimates": "rate_estimates"}

#: The names of all figures.
KINDS = ("sweep", *OVER_TIME, "loss_event_rate", "variation", "bursts", *_ONE_CONNECTION)


def figures(
    result: Result, predicted: Result | None = None, *, of: str = "goodput", point: int = 0, replicate: int = 0,
    connection: int = 0, span: Span | None = None,
) -> dict[str, Callable[[], Figure]]:  # fmt: skip
    """Every figure that the result allows, by name; each is drawn when it is called.

    Args:
        result: Of `simulate`, `emulate` or `measure`, or of a session.
        predicted: What models say of the same scenario.
        of: The metric of the figure against the swept parameter.
        point: Which point the figures over time show.
        replicate: Which replicate they show.
        connection: Of a measurement, which connection figures of one show, 0 being the one with the most payload.
        span: From when to when the figures over time go, in seconds; by default all the time.
    """
    drawn: dict[str, Callable[[], Figure]] = {}
    over_time: dict[str, Any] = {"point": point, "replicate": replicate, "span": span}
    measured = result.run["way"] == "measure"
    if swept_axis(result.points) is not None:
        # What models say of captures is of one connection each, and no line.
        drawn["sweep"] = partial(sweep, result, None if measured else predicted, of=of)
    if measured and largest(result, 1, ("flow",), point=point, replicate=replicate):
        for name, figure in _ONE_CONNECTION.items():
            table = _KEPT_ON_REQUEST.get(name)
            if table is None or (table in result.tables and result.tables[table].num_rows > 0):
                drawn[name] = partial(figure, result, connection=connection, **over_time)
    for name, figure in _LESS.get(result.run["way"], OVER_TIME).items():
        drawn[name] = partial(figure, result, **over_time)
    if not measured and is_known(result, "loss_event_rate", point):
        drawn["loss_event_rate"] = partial(loss_event_rate, result, **over_time)
    if not measured and shown_time_scales(result, point):
        # A receiver knows what arrived.
        of = "delivered" if result.run["way"] == "receive" else "sent"
        drawn["variation"] = partial(variation, result, point=point, of=of)
    if "bursts" in result.tables:
        drawn["bursts"] = partial(bursts, result)
    return drawn
