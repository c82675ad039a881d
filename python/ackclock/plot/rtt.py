"""The figure `rtt`."""

from ackclock.plot.canvas import Span
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Replicate
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.trace import OverTime, Trace
from ackclock.result.result import Result

ROUND_TRIP = OverTime(
    "rtt", "Round-trip time", "samples", Axis("round-trip time", "ms", begin=0.0),
    (
        Trace("rtt_s", "measured", "raw", "dots", scale=1e3),
        Trace("smoothed_rtt_s", "smoothed", scale=1e3),
    ),
)  # fmt: skip


def _rtt(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows the latest round-trip time at each sample, and the sender's smoothed estimate."""
    run = Replicate(result, point, replicate, span)
    series: list[Series] = []
    for line in run.lines("time_s", *ROUND_TRIP.columns):
        series += line.traces(ROUND_TRIP, run.main)
    panel = Panel(tuple(series))
    return run.figure(ROUND_TRIP.name, ROUND_TRIP.title, ROUND_TRIP.y, [panel], RTT.summary)


RTT = FigureKind(
    "rtt", "Round-trip time: the latest measurement at each sample, and the smoothed estimate.",
    ("simulate", "emulate", "measure", "send"), _rtt, TAKES, ("samples", "flows"),
)  # fmt: skip

FIGURES = (RTT,)
