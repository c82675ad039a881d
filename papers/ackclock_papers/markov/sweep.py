"""Throughput over the loss probability: the common part of figures 8.7 to 8.13."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

from ackclock import plot
from ackclock.models import aimd_chain
from ackclock.reproduction import Cell, Comparison, Origin, Setting
from ackclock_papers.markov.paper import FIGURE_CRITERION, FIGURE_SHARE


class Case(NamedTuple):
    """One curve.

    Attributes:
        label: Label in the legend.
        w_max: Window limit, in segments.
        rate: Link rate L, in segments/s.
        rtt_mean_s: Mean of the normal law of the round-trip time, in seconds.
        rtt_sd_s: Its standard deviation, in seconds.
    """

    label: str
    w_max: int
    rate: float
    rtt_mean_s: float = 0.060
    rtt_sd_s: float = 0.030


Quantity = Callable[[Case, float], float]

# Range of every figure; the paper's is not known.
GRID = np.geomspace(1e-4, 0.3, 61)

# Printed.
NORMAL_RTT = Setting(
    "round-trip time", "normal, mean 60 ms, standard deviation 30 ms", Origin.PRINTED
)
# Equation (5.3), taken literally.
NEGATIVE = Setting("round-trip times below zero", "throughput is L", Origin.INFERRED)
BY_SEGMENT = Setting("weights of the windows", "by segment", Origin.INFERRED)


def throughput(case: Case, p: float) -> Any:
    """Returns the law of the throughput, by segment."""
    chain = aimd_chain.solve(aimd_chain.Bernoulli(p), case.w_max)
    rtt = aimd_chain.rtt.normal(case.rtt_mean_s, case.rtt_sd_s, negative="cap")
    return aimd_chain.Throughput(chain, rtt, rate=case.rate, mode="segment")


def mean(case: Case, p: float) -> float:
    """Returns ET in segments/s."""
    return float(throughput(case, p).mean())


def sd(case: Case, p: float) -> float:
    """Returns the standard deviation of T in segments/s."""
    return float(throughput(case, p).sd())


class Peak(NamedTuple):
    """Highest point of a curve."""

    p: float
    value: float


def peak(case: Case, function: Quantity) -> Peak:
    """Returns the highest point of a curve that has one between 1e-4 and 0.9."""
    grid = np.geomspace(1e-4, 0.9, 41)
    start = int(np.argmax([function(case, p) for p in grid]))
    around = (np.log(grid[max(start - 1, 0)]), np.log(grid[min(start + 1, grid.size - 1)]))
    optimum = minimize_scalar(
        lambda log_p: -function(case, float(np.exp(log_p))), bounds=around, method="bounded"
    )
    return Peak(float(np.exp(optimum.x)), -float(optimum.fun))


class Swept(NamedTuple):
    """Curves and their comparison; the figure and the comparison share their numbers.

    Attributes:
        curves: p to value for each case, by label.
        comparison: Some of these values beside reference values.
        draw: Draws the curves and marks the reference values.
    """

    curves: dict[str, dict[float, float]]
    comparison: Comparison
    draw: Callable[[], Figure]

    def value(self, case: Case, p: float) -> float:
        """Returns the value of a curve at a compared p."""
        return self.curves[case.label][p]


def sweep(
    cases: Iterable[Case],
    function: Quantity,
    expected: Mapping[str, tuple[str, ...]],
    quantity: str,
    title: str,
    extra: Iterable[Cell] = (),
) -> Swept:
    """Computes curves and compares points on them.

    Args:
        cases: Cases, one for each curve.
        function: Quantity on the vertical axis.
        expected: Reference values by p as written, one for each case; empty if unknown.
        quantity: Label of the axis, with its unit.
        title: Title of the figure.
        extra: More cells; their rows are a p and their quantities name the curve.
    """
    cases = list(cases)
    p_of = {text: float(text) for text in expected}
    every = sorted({*GRID.tolist(), *p_of.values()})
    curves = {case.label: {p: function(case, p) for p in every} for case in cases}
    cells = tuple(
        Cell.of((text,), f"{case.label}", value, curves[case.label][p], FIGURE_SHARE)
        for text, p in p_of.items()
        for case, value in zip(cases, expected[text], strict=True)
        if value
    )
    comparison = Comparison(quantity, Origin.REFERENCE, ("p",), (*cells, *extra), FIGURE_CRITERION)
    return Swept(curves, comparison, partial(_draw, curves, cells, quantity, title))


def _draw(
    curves: dict[str, dict[float, float]], cells: tuple[Cell, ...], quantity: str, title: str
) -> Figure:
    drawn = []
    for position, (label, values) in enumerate(curves.items()):
        own = [cell for cell in cells if cell.quantity == label]
        drawn.append(plot.Curve(label, list(values), list(values.values())))
        p = [float(cell.row[0]) for cell in own]
        drawn.append(plot.Curve("reference", p, [cell.theirs for cell in own], "points", position))
    return plot.curves(drawn, "loss probability p", quantity, title, log_x=True)
