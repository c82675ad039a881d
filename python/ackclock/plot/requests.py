"""The figure `requests`."""

from collections.abc import Iterator

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, inside
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import MOST_LINES, TAKES, Replicate
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.style import line
from ackclock.result.result import Result

# More requests of a flow than these are not seen; each is the first of as many.
_MOST_ROWS = 1000
_COLUMNS = ("asked_s", "answered_s", "buffer_s", "rate_bit_per_s")


def _requests(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows how long each request took; of videos, the buffer and the rate of each chunk.

    Raises:
        InputError: No request of the span has been answered.
    """
    run = Replicate(result, point, replicate, span)
    flows = list(_answered(run, ("flow",)))
    if not flows:
        raise InputError("no-data", "", "no request was answered in this span")
    looks = {flow: line(position) for position, (flow, _) in enumerate(flows)}
    times = tuple(
        Series(
            f"{looks[flow]}/point", rows["asked_s"], rows["answered_s"] - rows["asked_s"], "dots",
            group=flow,
        )
        for flow, rows in flows
    )  # fmt: skip
    panels = [Panel(times, "times of requests", y=Axis("time of a request", "s", begin=0.0))]
    videos = [
        (label, rows)
        for label, rows in _answered(run, ("flow", "instance"))
        if np.isfinite(rows["buffer_s"]).any()
    ][:MOST_LINES]
    for column, scale, title, axis in (
        ("buffer_s", 1.0, "video in the buffer", Axis("video in the buffer", "s", begin=0.0)),
        ("rate_bit_per_s", 1e-6, "rate of the video", Axis("rate", "Mbit/s", begin=0.0)),
    ):
        series = tuple(
            Series(
                looks.get(label, line(number)), rows["answered_s"], rows[column] * scale, "steps",
                group=label,
            )
            for number, (label, rows) in enumerate(videos, start=len(looks))
        )  # fmt: skip
        if series:
            panels.append(Panel(series, title, y=axis))
    return run.figure(
        "requests", "Requests", Axis(begin=0.0), panels, REQUESTS.summary, of_flows=False
    )


def _answered(run: Replicate, keys: tuple[str, ...]) -> Iterator[tuple[str, Columns]]:
    """Yields name and answered requests of each flow or flow instance, of those of the span."""
    counts = {
        flow["name"]: flow.get("count", 0)
        for flow in run.result.points[run.point]["scenario"]["flows"]
    }
    for (flow, *instance), every in grouped(run.rows("requests"), keys, _COLUMNS):
        shown = inside(run.span, every["asked_s"]) & ~np.isnan(every["answered_s"])
        rows = np.flatnonzero(shown)
        rows = rows[:: max(1, len(rows) // _MOST_ROWS)]
        if rows.size:
            parts = [flow, *map(str, instance if counts.get(flow) != 1 else ())]
            yield "/".join(parts), {name: each[rows].astype(float) for name, each in every.items()}


REQUESTS = FigureKind(
    "requests",
    "Time of each request of a client, from asking to the whole response. Of videos also the "
    "buffer and the rate of each chunk.",
    ("simulate",), _requests, TAKES, ("requests", "hops"),
)  # fmt: skip

FIGURES = (REQUESTS,)
