"""The figure `queue`."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, inside, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.series import MOST_LINES, TAKES, Line, Replicate, draw_line, with_looks
from ackclock.plot.style import Style, style
from ackclock.result.result import Result

__all__ = ["QUEUE", "queue"]

# The columns of losses, each with its marker and name.
_CAUSES = {
    "drops_queue": ("x", "queue full"),
    "drops_aqm": ("+", "AQM"),
    "drops_impairment": (".", "random loss"),
    "drops_retries": ("+", "given up"),
}


@with_looks
def queue(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> Figure:
    """Draws the backlog of each hop that had any, an adaptive limit, and losses per interval."""
    run = Replicate(result, point, replicate, span)
    figure, [backlog, drops] = new(2, 4.6)
    hops = run.rows("hops")
    limit = (
        ["limit_packets"] if "limit_packets" in hops.column_names else []
    )  # absent from older results
    shown = []
    for (hop,), rows in grouped(hops, ("hop",), ("time_s", "backlog_packets", *_CAUSES, *limit)):
        if rows["backlog_packets"].any() or any(rows[cause].any() for cause in _CAUSES):
            shown.append((hop, rows))
    for position, (hop, rows) in enumerate(shown[:MOST_LINES]):
        looked, in_span = style(position), inside(span, rows["time_s"])
        _draw_backlog(backlog, hop, rows, looked, in_span)
        _draw_drops(drops, hop, rows, looked, in_span)
    backlog.set_ylabel("backlog (packets)")
    interval = result.points[point]["scenario"]["sample_interval"]
    drops.set_ylabel(f"lost per {interval} (packets)")
    drops.set_ylim(bottom=0)
    return run.finish(figure, [backlog, drops], "Queue and losses", of_flows=False)


def _draw_backlog(
    axes: Axes, hop: str, rows: Columns, looked: Style, in_span: NDArray[np.bool_]
) -> None:
    time = rows["time_s"][in_span]
    draw_line(axes, time, rows["backlog_packets"][in_span], Line(hop, looked, 1, rows), hop)
    if "limit_packets" in rows and not np.isnan(rows["limit_packets"][in_span]).all():
        axes.plot(
            time, rows["limit_packets"][in_span], color=looked.color, linewidth=0.9,
            linestyle=(0, (1, 2)), label=f"{hop}: limit",
        )  # fmt: skip


def _draw_drops(
    axes: Axes, hop: str, rows: Columns, looked: Style, in_span: NDArray[np.bool_]
) -> None:
    for cause, (marker, meaning) in _CAUSES.items():
        lost = np.diff(rows[cause], prepend=0)
        when = in_span & (lost > 0)
        if when.any():
            axes.plot(
                rows["time_s"][when], lost[when], linestyle="none", marker=marker,
                color=looked.color, label=f"{hop}: {meaning}",
            )  # fmt: skip


QUEUE = FigureKind(
    "queue",
    "Backlog over time of each hop that had any, its limit if adaptive, and below losses by cause.",
    ("simulate", "emulate"), queue, TAKES, ("hops",),
)  # fmt: skip
