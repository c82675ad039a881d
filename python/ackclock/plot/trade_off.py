"""The figure of a buffer's trade-off: measures against its size, with targets and the answer."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from ackclock.plot.scales import is_wide
from ackclock.plot.spec import Axis, Band, Event, FigureSpec, Limit, Panel, Series, values_of
from ackclock.plot.style import line

# Height of a panel, in inches.
_PANEL_HEIGHT = 1.5


class Measure(NamedTuple):
    """One measure.

    Attributes:
        label: Label, with its unit.
        means: Mean at each size.
        half_widths: Half widths of their intervals; NaN if there is no interval.
        target: Target value; None for no target.
        at_least: True if the target is a minimum.
    """

    label: str
    means: Sequence[float]
    half_widths: Sequence[float]
    target: float | None
    at_least: bool


class Size(NamedTuple):
    """A named buffer size.

    Attributes:
        size: The size.
        label: Label beside it.
    """

    size: float
    label: str


def trade_off(
    sizes: Sequence[float],
    panels: Sequence[Measure],
    title: str,
    *,
    answer: Size | None = None,
    allowed: tuple[float, float] | None = None,
    marks: Sequence[Size] = (),
    ms_per_packet: float,
) -> FigureSpec:
    """Shows panels below each other against the buffer size, on a logarithmic axis.

    Args:
        sizes: Sizes in packets, ascending and positive.
        panels: Panels, from above.
        title: Title of the figure.
        answer: The advised size.
        allowed: Smallest and largest size that meet all targets.
        marks: Other sizes, such as rules of thumb.
        ms_per_packet: Scale of the second axis, above.
    """
    bands = () if allowed is None else (Band(*allowed, "measure", "meets all targets"),)
    events = [Event(mark.size, mark.label) for mark in marks]
    if answer is not None:
        events.append(Event(answer.size, answer.label, "answer"))
    drawn = [
        replace(_panel(sizes, panel, position), bands=bands, events=tuple(events))
        for position, panel in enumerate(panels)
    ]
    x = Axis("buffer", "packets", "log", above=("buffer (ms)", ms_per_packet), is_dense=True)
    return FigureSpec(
        "trade_off", title, x, Axis(), tuple(drawn), height_in=_PANEL_HEIGHT
    )  # fmt: skip


def _panel(sizes: Sequence[float], panel: Measure, position: int) -> Panel:
    indices = [index for index, mean in enumerate(panel.means) if isfinite(mean)]
    means, half = (values_of(numbers)[indices] for numbers in (panel.means, panel.half_widths))
    series = Series(line(position), values_of(sizes)[indices], means, "points", half=half)
    log = is_wide(means)
    begin = None if log or panel.at_least else 0.0
    limits: tuple[Limit, ...] = ()
    if panel.target is not None:
        sign = "≥" if panel.at_least else "≤"
        limits = (Limit(panel.target, f"{sign} {panel.target:.4g}", "target"),)
    y = Axis(panel.label, scale="log" if log else "linear", begin=begin)
    return Panel((series,), y=y, limits=limits)
