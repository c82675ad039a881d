"""The figure `states`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, inside
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Replicate
from ackclock.plot.spec import Axis, Band, Event, FigureSpec, Panel, Series
from ackclock.plot.style import line
from ackclock.result.result import Result

# More rows than these are not seen; each is the first of as many.
_MOST_ROWS = 500
_SUMMARY = "What the control of the first flow decides from one ACK to the next, by states."

# Lines in bytes and in bit/s: column and name.
_DATA = (
    ("in_flight_bytes", "in flight"),
    ("cwnd_bytes", "cwnd"),
    ("inflight_longterm_bytes", "long-term bound"),
    ("inflight_shortterm_bytes", "short-term bound"),
)
_RATES = (
    ("sample_bit_per_s", "sample"),
    ("max_bw_bit_per_s", "max_bw"),
    ("bw_shortterm_bit_per_s", "short-term bound"),
)
_LABELS = ("mode", "phase")


def states(
    result: Result,
    *,
    point: int = 0,
    replicate: int = 0,
    span: Span | None = None,
    names: Mapping[str, str] | None = None,
    marks: Sequence[tuple[float, str]] = (),
) -> FigureSpec:
    """Shows what a control decides from one ACK to the next, over bands for its states.

    Args:
        result: A result with the table `control_states`.
        point: Index of the point.
        replicate: Index of the replicate.
        span: Start and end of the time shown, in seconds.
        names: Other names for states, by `mode phase` or by `mode`.
        marks: Times to be marked, with their names.
    """
    run = Replicate(result, point, replicate, span)
    rows, labels = _state_rows(run, span)
    end_s = float(rows["time_s"][-1]) if span is None else span[1]
    bands = _stays(labels, rows["time_s"], names or {}, end_s)
    events = tuple(Event(at_s, name) for at_s, name in marks)
    panels = [
        Panel(_series(rows, lines, scale), title, y=axis, bands=bands, events=events)
        for lines, scale, title, axis in (
            (_DATA, 1e3, "data", Axis("payload", "kB", begin=0.0)),
            (_RATES, 1e6, "rates", Axis("rate of payload", "Mbit/s", begin=0.0)),
        )
    ]
    y = Axis(begin=0.0)
    title = "States of the control"
    return run.figure("states", title, y, panels, _SUMMARY, of_flows=False)


def _series(rows: Columns, lines: tuple[tuple[str, str], ...], scale: float) -> tuple[Series, ...]:
    series = []
    for position, (column, label) in enumerate(lines):
        values = rows[column].astype(float) / scale
        finite = np.isfinite(values)
        if finite.any():
            is_sample = column == "sample_bit_per_s"
            chosen = finite if is_sample else slice(None)
            form, style = ("dots", "point") if is_sample else ("steps", "")
            name = f"{line(position)}/{style}" if style else line(position)
            series.append(Series(name, rows["time_s"][chosen], values[chosen], form, label))
    return tuple(series)


def _state_rows(run: Replicate, span: Span | None) -> tuple[Columns, Any]:
    """Returns what is drawn of the first flow, and the names of its states."""
    table = run.rows("control_states")
    columns = ("time_s", *(name for name, _ in (*_DATA, *_RATES)))
    first_flow = next(grouped(table, ("flow", "instance"), (*columns, *_LABELS)), None)
    if first_flow is None:
        raise InputError("no-data", "", "no state was recorded; the flow sent nothing")
    rows = first_flow[1]
    shown = np.flatnonzero(inside(span, rows["time_s"]))
    if not shown.size:
        raise InputError("no-data", "", "nothing to draw in this span")
    shown = shown[:: max(1, len(shown) // _MOST_ROWS)]
    labels = np.char.add(np.char.add(rows["mode"].astype(str), " "), rows["phase"].astype(str))
    return {name: rows[name][shown] for name in columns}, np.char.strip(labels[shown])


def _stays(
    labels: NDArray[Any], time_s: NDArray[Any], names: Mapping[str, str], end_s: float
) -> tuple[Band, ...]:
    """Returns each stay in a state; a state looks the same in all of them."""
    named = np.array(
        [names.get(state, names.get(state.split(" ", 1)[0], state)) for state in labels]
    )
    starts = np.flatnonzero(np.concatenate([[True], named[1:] != named[:-1]]))
    ends = [*time_s[starts[1:]].tolist(), end_s]
    order = list(dict.fromkeys(named[starts].tolist()))
    return tuple(
        Band(float(time_s[start]), end, line(order.index(named[start])), str(named[start]))
        for start, end in zip(starts, ends, strict=True)
    )


STATES = FigureKind(
    "states",
    "What a control decides, ACK by ACK: window, data in flight, rates and bounds, over bands for "
    "its states. The first flow with control_states = true.",
    ("simulate",), states, TAKES, ("control_states", "hops"),
)  # fmt: skip

FIGURES = (STATES,)
