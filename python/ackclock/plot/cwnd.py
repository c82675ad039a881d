"""The figure `cwnd`."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.metrics.tables import grouped
from ackclock.plot.canvas import Span, inside, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.series import MOST_ASIDES, TAKES, Replicate, draw_line, with_looks
from ackclock.plot.style import REFERENCE_COLOUR
from ackclock.result.result import Result

__all__ = ["CWND", "cwnd"]


@with_looks
def cwnd(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Draws congestion window and slow-start threshold in segments, and marks timeouts."""
    run = Replicate(result, point, replicate, span)
    figure, [axes] = new()
    lines = run.lines("time_s", "cwnd_bytes", "ssthresh_bytes")
    for line in lines:
        time = line.rows["time_s"]
        draw_line(axes, time, line.rows["cwnd_bytes"] / line.mss_bytes, line, f"{line.label} cwnd")
        if len(lines) <= MOST_ASIDES:
            threshold = line.rows["ssthresh_bytes"] / line.mss_bytes
            axes.plot(
                time, threshold, color=line.looks.color, linewidth=0.9, linestyle=(0, (1, 2)),
                drawstyle="steps-post", label=f"{line.label} ssthresh",
            )  # fmt: skip
    _mark_timeouts(axes, run)
    axes.set_ylabel("window (segments)")
    return run.finish(figure, [axes], "Congestion window")


def _mark_timeouts(axes: Axes, run: Replicate) -> None:
    times = [
        time
        for (kind,), rows in grouped(run.rows("events"), ("kind",), ("time_s",))
        if kind == "timeout"
        for time in rows["time_s"][inside(run.span, rows["time_s"])]
    ]
    if times:
        axes.plot(
            times, [0.02] * len(times), transform=axes.get_xaxis_transform(), linestyle="none",
            marker="|", markersize=9, color=REFERENCE_COLOUR, label="timeout",
        )  # fmt: skip


CWND = FigureKind(
    "cwnd",
    "Congestion window and slow-start threshold over time, in segments; timeouts are marked.",
    ("simulate", "emulate"), cwnd, TAKES, ("samples", "events", "hops"),
)  # fmt: skip
