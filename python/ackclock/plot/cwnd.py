"""The figure `cwnd`."""

import numpy as np

from ackclock.metrics.tables import column
from ackclock.plot.canvas import Span, inside
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Line, Replicate, near
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.result.result import Result

__all__ = ["FIGURES"]


def _cwnd(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows congestion window and slow-start threshold in segments, and marks timeouts."""
    run = Replicate(result, point, replicate, span)
    series, timeouts = [], []
    for line in run.lines("time_s", "cwnd_bytes", "ssthresh_bytes"):
        window = line.rows["cwnd_bytes"] / line.mss_bytes
        threshold = near(line.rows["ssthresh_bytes"] / line.mss_bytes, window)
        series.append(line.series(window, "cwnd", run.main))
        if not np.isnan(threshold).all():
            series.append(line.series(threshold, "ssthresh", "limit", "steps"))
        timeouts += _timeouts(run, line)
    panel = Panel((*series, *timeouts))
    y = Axis("window", "segments", begin=0.0)
    return run.figure("cwnd", "Congestion window", y, [panel], CWND.summary)


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
