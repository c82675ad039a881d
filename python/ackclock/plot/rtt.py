"""The figure `rtt`."""

import numpy as np

from ackclock.plot.canvas import Span
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Replicate
from ackclock.plot.spec import Axis, FigureSpec, Panel
from ackclock.result.result import Result

__all__ = ["FIGURES"]


def _rtt(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows the latest round-trip time at each sample, and the sender's smoothed estimate."""
    run = Replicate(result, point, replicate, span)
    series = []
    for line in run.lines("time_s", "rtt_s", "smoothed_rtt_s"):
        measured, smoothed = line.rows["rtt_s"] * 1e3, line.rows["smoothed_rtt_s"] * 1e3
        if not np.isnan(measured).all():
            series.append(line.series(measured, "measured", "raw", "dots"))
        series.append(line.series(smoothed, "smoothed", run.main))
    y = Axis("round-trip time", "ms", begin=0.0)
    return run.figure("rtt", "Round-trip time", y, [Panel(tuple(series))], RTT.summary)


RTT = FigureKind(
    "rtt", "Round-trip time: the latest measurement at each sample, and the smoothed estimate.",
    ("simulate", "emulate", "measure", "send"), _rtt, TAKES, ("samples", "flows"),
)  # fmt: skip

FIGURES = (RTT,)
