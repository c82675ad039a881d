"""Figures. A file here makes the description of one from results, and none starts a run."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from ackclock.errors import InputError
from ackclock.plot.canvas import FORMATS, Span, inline, render, save
from ackclock.plot.curves import Curve, curves
from ackclock.plot.drawing import Drawing
from ackclock.plot.drawing import draw as _draw
from ackclock.plot.heat_map import draw_cells, heat_map
from ackclock.plot.kind import OPTIONS, FigureKind, Subject, View, method_of
from ackclock.plot.paper import AS_DRAWN, FONTS, Paper, width_in
from ackclock.plot.small_multiples import small_multiples
from ackclock.plot.spec import (
    Axis,
    Cell,
    CellPanel,
    FigureSpec,
    HeatMap,
    Panel,
    Series,
    Spec,
    values_of,
)
from ackclock.plot.trade_off import Measure, Size, trade_off
from ackclock.plugins import Records
from ackclock.result.result import Result

__all__ = [
    "FIGURES",
    "FONTS",
    "FORMATS",
    "OPTIONS",
    "Axis",
    "Cell",
    "CellPanel",
    "Curve",
    "Drawing",
    "FigureKind",
    "FigureSpec",
    "HeatMap",
    "Measure",
    "Panel",
    "Paper",
    "Series",
    "Size",
    "Spec",
    "Subject",
    "View",
    "available",
    "catalogue",
    "curves",
    "draw",
    "figure",
    "figures",
    "heat_map",
    "inline",
    "names",
    "render",
    "save",
    "small_multiples",
    "trade_off",
    "values_of",
    "why_not",
    "width_in",
]

# Files of figures, in the order in which `ackclock plot` draws them. Each has `FIGURES`.
_FILES = (
    "sweep",
    "heat_map",
    "outstanding",
    "sequence",
    "rate_estimates",
    "cwnd",
    "states",
    "throughput",
    "queue",
    "rtt",
    "distribution",
    "loss_event_rate",
    "variation",
    "bursts",
    "requests",
    "compared",
    "side_by_side",
)

#: Every kind of figure.
FIGURES: Records[FigureKind] = Records(
    "ackclock.figures",
    FigureKind,
    [kind for name in _FILES for kind in import_module(f"ackclock.plot.{name}").FIGURES],
)


def draw(spec: Spec, paper: Paper = AS_DRAWN) -> Drawing:
    """Draws the description of a figure as a paper has it."""
    return draw_cells(spec, paper) if isinstance(spec, HeatMap) else _draw(spec, paper)


def names() -> list[str]:
    """Returns the names of all figures; a result and a comparison may share a name."""
    return list(dict.fromkeys(kind.name for kind in FIGURES))


def catalogue() -> dict[str, dict[str, Any]]:
    """Returns `name`, `summary`, `methods` and `options` of every figure, by name."""
    entries: dict[str, dict[str, Any]] = {}
    for name in names():
        kinds = [kind for kind in FIGURES if kind.name == name]
        entries[name] = {
            "name": name,
            "summary": " ".join(kind.summary for kind in kinds),
            "methods": [method for kind in kinds for method in kind.methods],
            "options": [
                option for option in OPTIONS if any(option in kind.takes for kind in kinds)
            ],
        }
    return entries


def available(subject: Subject, view: View) -> list[FigureKind]:
    """Returns the figures available for a result or a comparison, in the order of `FIGURES`."""
    return [kind for kind in FIGURES if kind.why_not(subject, view) is None]


def why_not(subject: Subject, name: str, view: View) -> str | None:
    """Returns the reason why a result has no such figure, and the remedy; None if it has one."""
    kinds = [kind for kind in FIGURES if kind.name == name]
    fitting = [kind for kind in kinds if method_of(subject) in kind.methods] or kinds
    return fitting[0].why_not(subject, view)


def figure(
    subject: Subject, name: str, /, *, paper: Paper = AS_DRAWN, **options: Any
) -> Drawing:  # fmt: skip
    """Draws a figure of a result or a comparison.

    Args:
        subject: The result of `simulate`, `emulate` or `measure` or of a session, or a comparison.
        name: Name of the figure, from `names`.
        paper: Width, font and title.
        options: Fields of a `View`, such as `point=1`.

    Raises:
        InputError: It has no such figure, or the view shows nothing.
    """
    view = View(**options)
    # That what is asked for is not there, the figure says itself.
    reason = why_not(subject, name, replace(view, x=None, y=None, subject=None))
    if reason is not None:
        raise InputError("no-data", "", reason)
    kinds = [kind for kind in FIGURES if kind.name == name and method_of(subject) in kind.methods]
    return draw(kinds[0].spec(subject, view), paper)


def figures(
    subject: Subject, predicted: Result | None = None, *, metric: str = "goodput", point: int = 0,
    replicate: int = 0, connection: int = 0, span: Span | None = None,
) -> dict[str, Callable[[], Drawing]]:  # fmt: skip
    """Returns every available figure by name; each is drawn when it is called.

    Args:
        subject: A result of `simulate`, `emulate` or `measure` or of a session, or a comparison.
        predicted: The answers of models to the same scenario.
        metric: The metric of the figure against the swept parameter.
        point: Index of the point that figures over time show.
        replicate: Index of the replicate that they show.
        connection: Index of the captured connection that figures of one connection show; 0 has the
            most payload.
        span: Start and end of figures over time, in seconds; by default the whole run.
    """
    view = View(predicted, metric, point, replicate, connection, span)
    return {
        kind.name: partial(lambda kind: draw(kind.spec(subject, view)), kind)
        for kind in available(subject, view)
    }
