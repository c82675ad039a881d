"""The figure `rtt`."""

import numpy as np
from matplotlib.figure import Figure

from ackclock.plot.canvas import Span, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.series import MOST_ASIDES, TAKES, Replicate, draw_line, with_looks
from ackclock.result.result import Result

__all__ = ["RTT", "rtt"]


@with_looks
def rtt(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Draws the latest round-trip time at each sample, and the sender's smoothed estimate."""
    run = Replicate(result, point, replicate, span)
    figure, [axes] = new()
    lines = run.lines("time_s", "rtt_s", "smoothed_rtt_s")
    for line in lines:
        time = line.rows["time_s"]
        if len(lines) <= MOST_ASIDES and not np.isnan(line.rows["rtt_s"]).all():
            axes.plot(
                time, line.rows["rtt_s"] * 1e3, linestyle="none", marker=".", markersize=2,
                alpha=0.5, color=line.looks.color, label=f"{line.label} measured",
            )  # fmt: skip
        draw_line(axes, time, line.rows["smoothed_rtt_s"] * 1e3, line, f"{line.label} smoothed")
    axes.set_ylabel("round-trip time (ms)")
    return run.finish(figure, [axes], "Round-trip time")


RTT = FigureKind(
    "rtt", "Round-trip time: the latest measurement at each sample, and the smoothed estimate.",
    ("simulate", "emulate", "measure", "send"), rtt, TAKES, ("samples", "flows"),
)  # fmt: skip
