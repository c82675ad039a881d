"""The figure `states`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, inside, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.series import TAKES, Replicate, with_looks
from ackclock.plot.style import REFERENCE_COLOUR, style
from ackclock.result.result import Result

__all__ = ["DATA", "RATES", "STATES", "state_rows", "states", "stays"]

# More rows than these are not seen; each is the first of as many.
_MOST_ROWS = 500
# Backgrounds of states, in the order of their first appearance.
_BACKGROUNDS = ("#dce9f5", "#fbe6d5", "#e4f1e2", "#f3e3ee", "#eeeeee", "#e0f2f7", "#fdf3d6")
# A name is written into a band that is wider than this share of the figure.
_WIDE_ENOUGH = 0.05

#: Lines in bytes and in bit/s: column and name.
DATA = (
    ("in_flight_bytes", "in flight"),
    ("cwnd_bytes", "cwnd"),
    ("inflight_longterm_bytes", "long-term bound"),
    ("inflight_shortterm_bytes", "short-term bound"),
)
RATES = (
    ("sample_bit_per_s", "sample"),
    ("max_bw_bit_per_s", "max_bw"),
    ("bw_shortterm_bit_per_s", "short-term bound"),
)
_LABELS = ("mode", "phase")


@with_looks
def states(
    result: Result,
    *,
    point: int = 0,
    replicate: int = 0,
    span: Span | None = None,
    names: Mapping[str, str] | None = None,
    marks: Sequence[tuple[float, str]] = (),
) -> Figure:
    """Draws what a control decides from one ACK to the next, over bands for its states.

    Args:
        result: A result with the table `control_states`.
        point: Index of the point.
        replicate: Index of the replicate.
        span: Start and end of the time shown, in seconds.
        names: Other names for states, by `mode phase` or by `mode`.
        marks: Times to be marked, with their names.
    """
    run = Replicate(result, point, replicate, span)
    figure, [data, rates] = new(2, 5.0)
    columns = ("time_s", *(name for name, _ in (*DATA, *RATES)))
    rows, labels = state_rows(run, columns, span)
    whole = (float(rows["time_s"][0]), float(rows["time_s"][-1])) if span is None else span
    bands = stays(labels, rows["time_s"], names or {}, whole[1])
    for axes in (data, rates):
        _draw_bands(axes, bands, whole)
        for at_s, _ in marks:
            axes.axvline(at_s, color=REFERENCE_COLOUR, linewidth=0.9, linestyle=(0, (1, 1.5)))
    _draw(data, rows, DATA, 1e3)
    _draw(rates, rows, RATES, 1e6)
    data.set_ylabel("payload (kB)")
    rates.set_ylabel("rate of payload (Mbit/s)")
    run.finish(figure, [data, rates], "States of the control", of_flows=False)
    _name_bands(data, bands, whole, marks)
    return figure


def state_rows(run: Replicate, columns: tuple[str, ...], span: Span | None) -> tuple[Columns, Any]:
    """Returns some of the columns of the first flow, and the names of its states."""
    table = run.rows("control_states")
    found = next(grouped(table, ("flow", "instance"), (*columns, *_LABELS)), None)
    if found is None:
        raise InputError("no-data", "", "no state was recorded; the flow sent nothing")
    rows = found[1]
    shown = np.flatnonzero(inside(span, rows["time_s"]))
    if not shown.size:
        raise InputError("no-data", "", "nothing to draw in this span")
    shown = shown[:: max(1, len(shown) // _MOST_ROWS)]
    labels = np.char.add(np.char.add(rows["mode"].astype(str), " "), rows["phase"].astype(str))
    return {name: rows[name][shown] for name in columns}, np.char.strip(labels[shown])


def stays(
    labels: NDArray[Any], time_s: NDArray[Any], names: Mapping[str, str], end_s: float
) -> list[tuple[float, float, str]]:
    """Returns beginning, end and name of each stay in a state."""
    named = np.array([names.get(one, names.get(one.split(" ", 1)[0], one)) for one in labels])
    starts = np.flatnonzero(np.concatenate([[True], named[1:] != named[:-1]]))
    ends = [*time_s[starts[1:]].tolist(), end_s]
    return [
        (float(time_s[start]), end, str(named[start]))
        for start, end in zip(starts, ends, strict=True)
    ]


def _draw_bands(axes: Axes, bands: list[tuple[float, float, str]], whole: Span) -> None:
    known = list(dict.fromkeys(name for *_, name in bands))
    for begin, end, name in bands:
        axes.axvspan(
            max(begin, whole[0]), end, linewidth=0,
            color=_BACKGROUNDS[known.index(name) % len(_BACKGROUNDS)], zorder=0,
        )  # fmt: skip


def _name_bands(
    axes: Axes,
    bands: list[tuple[float, float, str]],
    whole: Span,
    marks: Sequence[tuple[float, str]],
) -> None:
    """Writes the names of bands that are wide enough, and of marks."""
    above = axes.get_xaxis_transform()
    for begin, end, name in bands:
        if end - begin > _WIDE_ENOUGH * (whole[1] - whole[0]):
            axes.text(
                (begin + end) / 2, 0.97, name.replace(" ", "\n"), transform=above, ha="center",
                va="top", fontsize=7, color=REFERENCE_COLOUR,
            )  # fmt: skip
    for at_s, name in marks:
        if whole[0] <= at_s <= whole[1]:
            axes.text(
                at_s, 0.03, f" {name}", transform=above, ha="left", va="bottom", fontsize=7,
                color=REFERENCE_COLOUR,
            )  # fmt: skip


def _draw(axes: Axes, rows: Columns, lines: tuple[tuple[str, str], ...], scale: float) -> None:
    for position, (column, label) in enumerate(lines):
        values = rows[column]
        known = np.isfinite(values)
        if known.any():
            looked = style(position)
            axes.plot(
                rows["time_s"][known] if column == "sample_bit_per_s" else rows["time_s"],
                (values[known] if column == "sample_bit_per_s" else values) / scale,
                color=looked.color, linestyle="none" if column == "sample_bit_per_s" else
                looked.linestyle, marker="." if column == "sample_bit_per_s" else "",
                markersize=2.5, drawstyle="steps-post", label=label,
            )  # fmt: skip


STATES = FigureKind(
    "states",
    "What a control decides, ACK by ACK: window, data in flight, rates and bounds, over bands for "
    "its states. The first flow with control_states = true.",
    ("simulate",), states, TAKES, ("control_states", "hops"),
)  # fmt: skip
