"""One self-contained HTML page about a comparison: tables of all methods, explanations of residuals, figures."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from ackclock import plot
from ackclock.comparison import Comparison
from ackclock.comparison import rendering as words
from ackclock.comparison.explanation import explanations, tally
from ackclock.report import run_tables
from ackclock.report.environment import environment
from ackclock.result import Result

__all__ = ["page_of_comparison"]

# Figures over time of more points than this make a page too long; `ackclock plot --point` draws the others.
_MOST_POINTS = 4

# The metrics of figures against the swept parameter.
_SWEPT_METRICS = ("goodput", "rtt", "retransmissions")

Shown = tuple[str, str, list[str], list[list[str]]]

_METHOD = (
    "The interval of a residual is Welch's where both ways have replicates, the reference's own (Student's t) where "
    "the other is a model, and that of the differences run by run where captures of the same runs were measured. Runs "
    "that are not to be trusted are left out unless it is said otherwise."
)
_HOW_EXPLAINED = (
    "A cause is named where its evidence is in the results, and where its direction, and its size if that is known, "
    "fit the residual: it may contribute, which does not prove that it does. A residual that no cause explains is "
    "marked [?]. Residuals within their interval, or of less than 1 %, are not explained."
)


def page_of_comparison(comparison: Comparison, progress: Callable[[float], None] | None = None) -> str:
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
        answers=(
            "How each way answered",
            "Each is a result folder of its own beside this page.",
            *words.answer_cells(comparison),
        ),
        tally=tally(comparison),
        method=_METHOD,
        tables=[_table(comparison, name, listed) for name in comparison.metrics],
        how_explained=_HOW_EXPLAINED,
        explanations=[
            {"number": one.number, "sentence": one.cause.sentence, "cases": _count(len(one.cases), "residual")}
            | {"residual": " − ".join(comparison.columns[name].label for name in (one.column, one.reference))}
            for one in listed
        ],
        causes=_causes(comparison, listed),
        figures=_figures(comparison, progress),
        more=_more(comparison),
        json=json.dumps(comparison.run["scenario"], indent=2, ensure_ascii=False),
    )


def _result(comparison: Comparison, name: str) -> Result | None:
    return comparison.columns[name].result if name in comparison.columns else None


def _table(comparison: Comparison, name: str, listed: Any) -> Shown:
    return (words.title(name), words.note(comparison, name), *words.cells(comparison, name, listed))


def _causes(comparison: Comparison, listed: Any) -> list[Shown]:
    tables: list[Shown] = []
    unexplained = words.unexplained_cells(comparison)
    if unexplained[1]:
        tables.append(("Unexplained", "They exceed their interval, and no known cause shows.", *unexplained))
    if listed:
        note = "How each cause shows, residual by residual."
        tables.append(("Case by case", note, *words.explanation_cells(comparison, listed)))
    return tables


def _more(comparison: Comparison) -> list[Shown]:
    """What all models say, and how far each emulated run can be trusted."""
    tables: list[Shown] = []
    predicted, emulated = _result(comparison, "predict"), _result(comparison, "emulate")
    if predicted is not None:
        note = "Every model that was asked; goodput is the smaller of the model's and of what the path allows."
        tables.append(("What models say", note, *run_tables.prediction_cells(run_tables.prediction_rows(predicted))))
    if emulated is not None:
        note = "Of each run: the verdict, packets lost outside the hops, how late packets were, what the emulator used."
        tables.append(("Fidelity", note, *run_tables.fidelity_cells(run_tables.fidelity_rows(emulated))))
        refused = run_tables.refused_setting_cells(emulated)
        if refused[1]:
            tables.append(("Settings", "What the kernel does in another way than the scenario asks.", *refused))
    return tables


def _figures(comparison: Comparison, progress: Callable[[float], None] | None) -> list[tuple[str, str]]:
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
        for warning in column.result.run["warnings"]
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
