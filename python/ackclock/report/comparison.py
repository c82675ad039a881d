"""One self-contained HTML page about a comparison: tables of all methods, explanations of residuals, figures."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ackclock import plot
from ackclock.comparison import Comparison, rendering
from ackclock.comparison.explanation import Explanation, explanations, tally
from ackclock.report import run_tables
from ackclock.report.environment import environment
from ackclock.result import Result
from ackclock.table import Table

__all__ = ["page_of_comparison"]

# Figures over time of more points than this make a page too long; `ackclock plot --point` draws the
# others.
_MOST_POINTS = 4

# The metrics of figures against the swept parameter.
_SWEPT_METRICS = ("goodput", "rtt", "retransmissions")

_METHOD = (
    "The interval of a residual is Welch's where both ways have replicates, the reference's own (Student's t) where "
    "the other is a model, and that of the differences run by run where captures of the same runs were measured. Runs "
    "that are unreliable are left out unless it is said otherwise."
)
_HOW_EXPLAINED = (
    "A cause is named where its evidence is in the results, and where its direction, and its size if that is known, "
    "fit the residual: it may contribute, which does not prove that it does. A residual that no cause explains is "
    "marked [?]. Residuals within their interval, or of less than 1 %, are not explained."
)


def page_of_comparison(
    comparison: Comparison, progress: Callable[[float], None] | None = None
) -> str:
    """The page's text. The same comparison gives the same text.

    Args:
        comparison: What is told.
        progress: Is told the share done.
    """
    listed = explanations(comparison)
    emulated = _result(comparison, "emulate")
    template = environment().get_template("comparison.html.jinja")
    return template.render(
        run=comparison.run,
        scenario=comparison.points[0]["scenario"],
        machine=emulated.run.get("machine", {}) if emulated is not None else {},
        warnings=_warnings(comparison),
        answers=rendering.answer_table(comparison),
        tally=tally(comparison),
        method=_METHOD,
        tables=[rendering.metric_table(comparison, name, listed) for name in comparison.metrics],
        how_explained=_HOW_EXPLAINED,
        explanations=[
            {
                "number": one.number,
                "sentence": one.cause.sentence,
                "cases": _count(len(one.cases), "residual"),
            }
            | {
                "residual": " − ".join(
                    comparison.columns[name].label for name in (one.column, one.reference)
                )
            }
            for one in listed
        ],
        causes=_causes(comparison, listed),
        figures=_figures(comparison, progress),
        more=_more(comparison),
        json=json.dumps(comparison.run["scenario"], indent=2, ensure_ascii=False),
    )


def _result(comparison: Comparison, name: str) -> Result | None:
    return comparison.columns[name].result if name in comparison.columns else None


def _causes(comparison: Comparison, listed: Sequence[Explanation]) -> list[Table]:
    """The residuals without an explanation, and those with one case by case."""
    tables = [
        rendering.unexplained_table(comparison),
        rendering.explanation_table(comparison, listed),
    ]
    return [table for table in tables if table.rows]


def _more(comparison: Comparison) -> list[Table]:
    """The answers of all models, and how far each emulated run can be trusted."""
    tables = []
    predicted, emulated = _result(comparison, "predict"), _result(comparison, "emulate")
    if predicted is not None:
        note = "Every chosen model; goodput is capped at what the path allows."
        tables.append(run_tables.prediction_table(run_tables.prediction_rows(predicted), note=note))
    return tables + (run_tables.emulation_tables(emulated) if emulated is not None else [])


def _figures(
    comparison: Comparison, progress: Callable[[float], None] | None
) -> list[tuple[str, str]]:
    """Id and drawing of each figure: those against the swept parameter first, then point by point."""
    drawn: dict[str, Callable[[], Any]] = {}
    for metric in _SWEPT_METRICS:
        view = plot.View(metric=metric)
        for kind in plot.available(comparison, view):
            if "metric" in kind.takes:
                name = kind.name if metric == _SWEPT_METRICS[0] else f"{kind.name}-{metric}"
                drawn[name] = partial(kind.drawn, comparison, view)
    for point in range(min(len(comparison.points), _MOST_POINTS)):
        view = plot.View(point=point)
        for kind in plot.available(comparison, view):
            if "point" in kind.takes:
                drawn[f"{kind.name}-{point}"] = partial(kind.drawn, comparison, view)
    figures = []
    for position, (name, draw) in enumerate(drawn.items()):
        figures.append((name, plot.inline(plot.render(draw(), "svg"), f"{name}-")))
        if progress is not None:
            progress((position + 1) / len(drawn))
    return figures


def _warnings(comparison: Comparison) -> list[str]:
    return [
        f"{column.label}: {warning}"
        for column in comparison.columns.values()
        if column.result is not None
        for warning in (*column.result.run["warnings"], column.unsettled)
        if warning
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
