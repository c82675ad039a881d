"""The figure `cwnd`."""

import numpy as np

from ackclock.metrics.tables import column
from ackclock.plot.canvas import Span, inside
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Line, Replicate
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.trace import OverTime, Trace
from ackclock.result.result import Result

WINDOW = OverTime(
    "cwnd", "Congestion window", "samples", Axis("window", "segments", begin=0.0),
    (
        Trace("cwnd_bytes", "cwnd", per_segment=True),
        Trace("ssthresh_bytes", "ssthresh", "limit", "steps", per_segment=True, is_near=True),
    ),
)  # fmt: skip


def _cwnd(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows congestion window and slow-start threshold in segments, and marks timeouts."""
    run = Replicate(result, point, replicate, span)
    series: list[Series] = []
    timeouts: list[Series] = []
    for line in run.lines("time_s", *WINDOW.columns):
        series += line.traces(WINDOW, run.main)
        timeouts += _timeouts(run, line)
    panel = Panel((*series, *timeouts))
    return run.figure(WINDOW.name, WINDOW.title, WINDOW.y, [panel], CWND.summary)


def _timeouts(run: Replicate, line: Line) -> list[Series]:
    where = {"flow": line.flow, "instance": line.instance, "kind": "timeout"}
    events = run.rows("events", **where)
    times = column(events, "time_s")
    times = times[inside(run.span, times)]
    if not times.size:
        return []
    zeros = np.zeros(times.size)
    return [Series("timeout", times, zeros, "ticks", "timeout", line.label, "timeout")]


CWND = FigureKind(
    "cwnd",
    "Congestion window and slow-start threshold over time, in segments; timeouts are marked.",
    ("simulate", "emulate"), _cwnd, TAKES, ("samples", "events", "hops"),
)  # fmt: skip

FIGURES = (CWND,)
