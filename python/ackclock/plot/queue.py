"""The figure `queue`."""

from typing import Any

import numpy as np

from ackclock import units
from ackclock.elements import facts
from ackclock.metrics.tables import grouped
from ackclock.plot.canvas import Span, inside
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import MOST_LINES, TAKES, Line, Replicate
from ackclock.plot.spec import Axis, FigureSpec, Limit, Panel, Series
from ackclock.plot.style import line as line_style
from ackclock.plot.trace import OverTime, Trace
from ackclock.result.result import Result

BACKLOG = OverTime(
    "queue", "Queue", "hops", Axis("backlog", "packets", begin=0.0),
    (
        Trace("backlog_packets"),
        Trace("limit_packets", "limit", "limit", "steps"),
    ),
    absent="no flow's data passes a shared hop",
)  # fmt: skip

# The columns of losses, each with its marker and name.
_CAUSES = {
    "drops_queue": ("cross", "queue full"),
    "drops_aqm": ("plus", "AQM"),
    "drops_impairment": ("point", "random loss"),
    "drops_retries": ("plus", "given up"),
}


def _queue(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows the backlog of each hop that had any, its limit, and losses per interval."""
    run = Replicate(result, point, replicate, span)
    backlog: list[Series] = []
    lost: list[Series] = []
    shown = _hops(run)
    for line in shown:
        backlog += line.traces(BACKLOG, run.main)
        lost += _losses(line)
    limits = _limits(run, shown[0].label) if len(shown) == 1 else ()
    interval = result.points[point]["scenario"]["sample_interval"]
    panels = [
        Panel(tuple(backlog), y=BACKLOG.y, limits=limits),
        Panel(tuple(lost), y=Axis(f"lost per {interval}", "packets", begin=0.0)),
    ]
    y = Axis(unit="packets")
    title = f"{BACKLOG.title} and losses"
    return run.figure(BACKLOG.name, title, y, panels, QUEUE.summary, of_flows=False)


def _hops(run: Replicate) -> list[Line]:
    """Returns the samples of each hop that had a backlog or a loss."""
    hops = run.rows("hops")
    columns = ("time_s", *BACKLOG.columns, *_CAUSES)
    busy = [
        (hop, rows)
        for (hop,), rows in grouped(hops, ("hop",), columns)
        if rows["backlog_packets"].any() or any(rows[cause].any() for cause in _CAUSES)
    ]
    lines = []
    for position, (hop, rows) in enumerate(busy[:MOST_LINES]):
        per_interval = {cause: np.diff(rows[cause], prepend=0) for cause in _CAUSES}
        shown = inside(run.span, rows["time_s"])
        own = {name: values[shown] for name, values in (rows | per_interval).items()}
        lines.append(Line(hop, line_style(position), own))
    return lines


def _losses(line: Line) -> list[Series]:
    series = []
    for cause, (marker, words) in _CAUSES.items():
        when = line.rows[cause] > 0
        if when.any():
            time, values = line.rows["time_s"][when], line.rows[cause][when].astype(float)
            style = f"{line.style}/{marker}"
            series.append(Series(style, time, values, "marks", words, line.label, style))
    return series


def _limits(run: Replicate, hop: str) -> tuple[Limit, ...]:
    """Returns the fixed limit of a hop's queue, in packets; none if it has no such thing."""
    hops = run.result.points[run.point]["scenario"]["hops"]
    tree: dict[str, Any] = next(candidate for candidate in hops if candidate["name"] == hop)
    capacity = facts.queue(tree)[1]["capacity"] or {}
    limit = str(capacity.get("limit", "")) if capacity.get("kind") == "limit" else ""
    return (Limit(units.packets(limit), f"limit {limit}"),) if "packet" in limit else ()


QUEUE = FigureKind(
    "queue",
    "Backlog over time of each hop that had any, its limit if adaptive, and below losses by cause.",
    ("simulate", "emulate"), _queue, TAKES, ("hops",),
)  # fmt: skip

FIGURES = (QUEUE,)
