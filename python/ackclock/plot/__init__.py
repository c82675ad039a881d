"""Figures. Each is a function of results; none starts a run."""

from collections.abc import Callable
from functools import partial

from matplotlib.figure import Figure

from ackclock.plot.canvas import FORMATS, inline, render, save
from ackclock.plot.curves import Curve, curves
from ackclock.plot.series import cwnd, queue, rtt, throughput
from ackclock.plot.sweep import sweep, swept_axis
from ackclock.result import Result

__all__ = [
    "FORMATS", "OVER_TIME", "Curve", "curves", "cwnd", "figures", "inline", "queue", "render", "rtt", "save", "sweep",
    "swept_axis", "throughput",
]  # fmt: skip

# By name, in the order of a report.
OVER_TIME: dict[str, Callable[..., Figure]] = {"cwnd": cwnd, "throughput": throughput, "queue": queue, "rtt": rtt}


def figures(
    result: Result, predicted: Result | None = None, *, of: str = "goodput", point: int = 0, replicate: int = 0
) -> dict[str, Callable[[], Figure]]:
    """Every figure that the result allows, by name; each is drawn when it is called.

    Args:
        result: Of `simulate` or `emulate`.
        predicted: What models say of the same scenario.
        of: The metric of the figure against the swept parameter.
        point: Which point the figures over time show.
        replicate: Which replicate they show.
    """
    drawn: dict[str, Callable[[], Figure]] = {}
    if swept_axis(result.points) is not None:
        drawn["sweep"] = partial(sweep, result, predicted, of=of)
    for name, figure in OVER_TIME.items():
        drawn[name] = partial(figure, result, point=point, replicate=replicate)
    return drawn
