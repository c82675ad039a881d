"""Scales and ticks of axes with swept values."""

import math

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

__all__ = ["set_scales"]

# Up to this many swept values are the ticks of the axis.
_MOST_TICKS = 10


def set_scales(axes: Axes, x: list[float], drawn: list[list[float]]) -> None:
    """Makes an axis logarithmic if its small values would overlap.

    The horizontal axis is logarithmic if half of the values lie in the lowest quarter. The vertical
    axis is if its values span more than a decade and a half.
    """
    positive = sorted({value for value in x if value > 0})
    crowded = (
        len(positive) > 2
        and positive[(len(positive) - 1) // 2] < positive[0] + (positive[-1] - positive[0]) / 4
    )
    if crowded and min(x) >= 0:
        if min(x) == 0:
            axes.set_xscale("symlog", linthresh=positive[0])
            axes.set_xlim(left=-positive[0] * 0.15)
        else:
            axes.set_xscale("log")
    heights = [value for values in drawn for value in values if math.isfinite(value)]
    if heights and min(heights) > 0 and max(heights) / min(heights) > 30:
        axes.set_yscale("log")
        if max(heights) / min(heights) < 1000:  # else a power of ten each is enough
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_minor_formatter(NullFormatter())
    elif heights and min(heights) >= 0:
        axes.set_ylim(bottom=0)
    ticks = sorted(set(x))
    if len(ticks) <= _MOST_TICKS:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    else:
        axes.xaxis.set_major_formatter(_plain)
    axes.yaxis.set_major_formatter(_plain)
    axes.grid(visible=True, which="major")


def _plain(value: float, _position: float) -> str:
    """Returns a plain number, such as 0.1, rather than a power of ten."""
    return f"{value:g}"
