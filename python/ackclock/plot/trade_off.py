"""The figure of a buffer's trade-off: measures against its size, with targets and the answer."""

import textwrap
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ackclock.plot.canvas import looks, new
from ackclock.plot.style import REFERENCE_COLOUR, style

# Heights of a panel, and of title and axes together, in inches.
_PANEL_HEIGHT, _AROUND_HEIGHT = 1.35, 1.3

# Longest line of a title above the axes.
_TITLE_CHARACTERS = 95

# Ratio of largest to smallest value above which an axis is logarithmic.
_DECADES_APART = 30

_ALLOWED_COLOUR = "#009E73"


class Panel(NamedTuple):
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


class Mark(NamedTuple):
    """A named buffer size.

    Attributes:
        size: The size.
        label: Label beside it.
    """

    size: float
    label: str


def trade_off(
    sizes: Sequence[float],
    panels: Sequence[Panel],
    title: str,
    *,
    answer: Mark | None = None,
    allowed: tuple[float, float] | None = None,
    marks: Sequence[Mark] = (),
    ms_per_packet: float,
) -> Figure:
    """Draws stacked panels against the buffer size, on a logarithmic axis.

    Args:
        sizes: Sizes in packets, ascending and positive.
        panels: Panels, from above.
        title: Title of the figure.
        answer: The advised size.
        allowed: Smallest and largest size that meet all targets.
        marks: Other sizes, such as rules of thumb.
        ms_per_packet: Scale of the second axis, above.
    """
    with looks():
        figure, every = new(rows=len(panels), height=_AROUND_HEIGHT + _PANEL_HEIGHT * len(panels))
        for position, (axes, panel) in enumerate(zip(every, panels, strict=True)):
            _draw(axes, sizes, panel, position)
            if allowed is not None:
                axes.axvspan(*allowed, color=_ALLOWED_COLOUR, alpha=0.12, linewidth=0)
            if answer is not None:
                axes.axvline(answer.size, color="#000000", linewidth=1.3)
            for mark in marks:
                axes.axvline(
                    mark.size, color=REFERENCE_COLOUR, linewidth=0.8, linestyle=(0, (1, 1.5))
                )
        for mark in marks:
            _name(every[0], mark, "normal")
        if answer is not None:
            _name(every[0], answer, "bold")
        every[-1].set_xlabel("buffer (packets)")
        above = every[0].secondary_xaxis("top", functions=_scaled(ms_per_packet))
        above.set_xlabel("buffer (ms)")
        for axis in (every[-1].xaxis, above.xaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(_plain))
            axis.set_minor_formatter(NullFormatter())
        every[0].set_title(
            "\n".join(textwrap.fill(line, _TITLE_CHARACTERS) for line in title.split("\n")),
            fontsize=9,
        )
    return figure


def _draw(axes: Axes, sizes: Sequence[float], panel: Panel, position: int) -> None:
    looked = style(position)
    known = [at for at, mean in enumerate(panel.means) if isfinite(mean)]
    x, means = np.asarray(sizes, float)[known], np.asarray(panel.means, float)[known]
    half = np.nan_to_num(np.asarray(panel.half_widths, float)[known])
    axes.plot(x, means, color=looked.color, marker=looked.marker, markersize=3.5)
    axes.errorbar(x, means, half, fmt="none", ecolor=looked.color, elinewidth=0.8, capsize=2)
    if panel.target is not None:
        axes.axhline(panel.target, color="#000000", linewidth=1.0, linestyle=(0, (5, 2)))
        sign = "≥" if panel.at_least else "≤"
        axes.annotate(
            f"{sign} {panel.target:.4g}", (1, panel.target), xycoords=("axes fraction", "data"),
            fontsize=8, xytext=(3, 0), textcoords="offset points", verticalalignment="center",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylabel(panel.label, fontsize=8)
    if means.size and means.min() > 0 and means.max() > _DECADES_APART * means.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif not panel.at_least:
        axes.set_ylim(bottom=0)


def _scaled(factor: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Returns the conversions to the axis above and back."""
    return lambda x: x * factor, lambda x: x / factor


def _plain(value: float, _position: int | None) -> str:
    return f"{value:g}"


def _name(axes: Axes, mark: Mark, weight: str) -> None:
    """Writes a mark's label upright beside its line, from the bottom of the top panel."""
    axes.annotate(
        mark.label, (mark.size, 0.04), xycoords=("data", "axes fraction"), xytext=(-2, 0),
        textcoords="offset points", rotation=90, horizontalalignment="right",
        verticalalignment="bottom", fontsize=7, fontweight=weight,
    )  # fmt: skip
