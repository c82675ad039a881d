"""Figures. Each is a function of results; none starts a run."""

from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ackclock.measured import largest
from ackclock.metrics import shown_time_scales
from ackclock.plot.canvas import FORMATS, Span, inline, render, save
from ackclock.plot.captured import outstanding, rate_estimates, sequence
from ackclock.plot.curves import Curve, curves
from ackclock.plot.series import cwnd, queue, rtt, throughput
from ackclock.plot.sweep import sweep, swept_axis
from ackclock.plot.variation import variation
from ackclock.plot.ways import figures_of_ways, over_time, swept
from ackclock.result import Result

__all__ = [
    "FORMATS", "KINDS", "OVER_TIME", "Curve", "curves", "cwnd", "figures", "figures_of_ways", "inline", "outstanding",
    "over_time", "queue", "rate_estimates", "render", "rtt", "save", "sequence", "sweep", "swept", "swept_axis",
    "throughput", "variation",
]  # fmt: skip

# By name, in the order of a report.
OVER_TIME: dict[str, Callable[..., Figure]] = {"cwnd": cwnd, "throughput": throughput, "queue": queue, "rtt": rtt}
_CAPTURED: dict[str, Callable[..., Figure]] = {"throughput": throughput, "rtt": rtt}
_ONE_CONNECTION: dict[str, Callable[..., Figure]] = {
    "outstanding": outstanding, "sequence": sequence, "rate_estimates": rate_estimates,
}  # fmt: skip
# What some figures are drawn from is kept on request.
_KEPT_ON_REQUEST = {"sequence": "segments", "rate_estimates": "rate_estimates"}

#: The names of all figures.
KINDS = ("sweep", *OVER_TIME, "variation", *_ONE_CONNECTION)


def figures(
    result: Result, predicted: Result | None = None, *, of: str = "goodput", point: int = 0, replicate: int = 0,
    connection: int = 0, span: Span | None = None,
) -> dict[str, Callable[[], Figure]]:  # fmt: skip
    """Every figure that the result allows, by name; each is drawn when it is called.

    Args:
        result: Of `simulate`, `emulate` or `measure`.
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
    for name, figure in (_CAPTURED if measured else OVER_TIME).items():
        drawn[name] = partial(figure, result, **over_time)
    if not measured and shown_time_scales(result, point):
        drawn["variation"] = partial(variation, result, point=point)
    return drawn
