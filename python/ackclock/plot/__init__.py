"""Figures. Each is a function of results, and none starts a run. Append new ones to `FIGURES`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ackclock.plot.bursts import BURSTS, bursts
from ackclock.plot.canvas import FORMATS, Span, inline, render, save
from ackclock.plot.compared import (
    COMPARED_CWND,
    COMPARED_SWEEP,
    COMPARED_THROUGHPUT,
    over_time,
    swept,
)
from ackclock.plot.curves import Curve, CurveFigure, Curves, curves
from ackclock.plot.cwnd import CWND, cwnd
from ackclock.plot.distribution import BOX, CDF, box, cdf
from ackclock.plot.figure import OPTIONS, FigureKind, Subject, View, method_of
from ackclock.plot.heat_map import HEAT_MAP, heat_map
from ackclock.plot.loss_event_rate import LOSS_EVENT_RATE, loss_event_rate
from ackclock.plot.outstanding import OUTSTANDING, outstanding
from ackclock.plot.paper import FONTS, Paper, printed, width_in
from ackclock.plot.queue import QUEUE, queue
from ackclock.plot.rate_estimates import RATE_ESTIMATES, rate_estimates
from ackclock.plot.rtt import RTT, rtt
from ackclock.plot.sequence import SEQUENCE, sequence
from ackclock.plot.small_multiples import small_multiples
from ackclock.plot.states import STATES, states
from ackclock.plot.sweep import SWEEP, sweep, swept_axis
from ackclock.plot.throughput import THROUGHPUT, throughput
from ackclock.plot.trade_off import Mark, Panel, trade_off
from ackclock.plot.variation import VARIATION, variation
from ackclock.plugins import Records
from ackclock.result.result import Result

__all__ = [
    "FIGURES",
    "FONTS",
    "FORMATS",
    "OPTIONS",
    "Curve",
    "CurveFigure",
    "Curves",
    "FigureKind",
    "Mark",
    "Panel",
    "Paper",
    "Subject",
    "View",
    "available",
    "box",
    "bursts",
    "catalogue",
    "cdf",
    "curves",
    "cwnd",
    "figures",
    "heat_map",
    "inline",
    "loss_event_rate",
    "names",
    "outstanding",
    "over_time",
    "printed",
    "queue",
    "rate_estimates",
    "render",
    "rtt",
    "save",
    "sequence",
    "small_multiples",
    "states",
    "sweep",
    "swept",
    "swept_axis",
    "throughput",
    "trade_off",
    "variation",
    "why_not",
    "width_in",
]

#: Every kind of figure, in the order in which `ackclock plot` draws them.
FIGURES: Records[FigureKind] = Records(
    "ackclock.figures",
    FigureKind,
    (
        SWEEP,
        HEAT_MAP,
        OUTSTANDING,
        SEQUENCE,
        RATE_ESTIMATES,
        CWND,
        STATES,
        THROUGHPUT,
        QUEUE,
        RTT,
        CDF,
        BOX,
        LOSS_EVENT_RATE,
        VARIATION,
        BURSTS,
        COMPARED_SWEEP,
        COMPARED_THROUGHPUT,
        COMPARED_CWND,
    ),
)


def names() -> list[str]:
    """Returns the names of all figures; a result and a comparison may share a name."""
    return list(dict.fromkeys(kind.name for kind in FIGURES))


def catalogue() -> dict[str, dict[str, Any]]:
    """Returns `name`, `summary`, `methods` and `options` of every figure, by name."""
    found: dict[str, dict[str, Any]] = {}
    for name in names():
        kinds = [kind for kind in FIGURES if kind.name == name]
        found[name] = {
            "name": name,
            "summary": " ".join(kind.summary for kind in kinds),
            "methods": [method for kind in kinds for method in kind.methods],
            "options": [
                option for option in OPTIONS if any(option in kind.takes for kind in kinds)
            ],
        }
    return found


def available(subject: Subject, view: View) -> list[FigureKind]:
    """Returns the figures available for a result or a comparison, in the order of `FIGURES`."""
    return [kind for kind in FIGURES if kind.why_not(subject, view) is None]


def why_not(subject: Subject, name: str, view: View) -> str | None:
    """Returns the reason why a result has no such figure, and the remedy; None if it has one."""
    kinds = [kind for kind in FIGURES if kind.name == name]
    fitting = [kind for kind in kinds if method_of(subject) in kind.methods] or kinds
    return fitting[0].why_not(subject, view)


def figures(
    subject: Subject, predicted: Result | None = None, *, metric: str = "goodput", point: int = 0,
    replicate: int = 0, connection: int = 0, span: Span | None = None,
) -> dict[str, Callable[[], Figure]]:  # fmt: skip
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
    return {kind.name: partial(kind.drawn, subject, view) for kind in available(subject, view)}
