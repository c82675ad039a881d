"""Reports on comparisons: one self-contained HTML page with tables, explanations and figures."""

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

# Beyond this many points, figures over time make a page too long. `ackclock plot --point` draws the
# others.
_MOST_POINTS = 4

# Metrics drawn against the swept parameter.
_SWEPT_METRICS = ("goodput", "rtt", "retransmissions")

_METHOD = (
    "A replicate has the same random losses whatever runs it, so differences are taken replicate "
    "by replicate. Their intervals are Student's t, or Welch's with fewer than two replicates in "
    "common; beside a model, the interval is the reference's. Unreliable runs are left out unless "
    "stated otherwise."
)
_HOW_EXPLAINED = (
    "A cause is named if its evidence is in the results, and if its sign, and its size where "
    "known, fit the difference. It may contribute; that is not proof. Differences that no cause "
    "explains are marked [?]. Differences within their interval, or below 1 %, are not explained."
)


def page_of_comparison(
    comparison: Comparison, progress: Callable[[float], None] | None = None
) -> str:
    """Returns the text of the page. The same comparison gives the same text.

    Args:
        comparison: The comparison.
        progress: Takes the share done.
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
                "cases": _count(len(one.cases), "difference"),
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
    """Returns the tables of unexplained differences, and of explained ones case by case."""
    tables = [
        rendering.unexplained_table(comparison),
        rendering.explanation_table(comparison, listed),
    ]
    return [table for table in tables if table.rows]


def _more(comparison: Comparison) -> list[Table]:
    """Returns the tables of all models' answers and of the reliability of each emulated run."""
    tables = []
    predicted, emulated = _result(comparison, "predict"), _result(comparison, "emulate")
    if predicted is not None:
        note = "All models asked. Goodput is the model's, or what the path allows if that is less."
        tables.append(run_tables.prediction_table(run_tables.prediction_rows(predicted), note=note))
    return tables + (run_tables.emulation_tables(emulated) if emulated is not None else [])


def _figures(
    comparison: Comparison, progress: Callable[[float], None] | None
) -> list[tuple[str, str]]:
    """Returns the id and drawing of each figure.

    Figures against the swept parameter come first, then those of each point.
    """
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
