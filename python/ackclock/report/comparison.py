"""Pages about comparisons: the answer first, then why methods differ, tables, provenance."""

from collections.abc import Callable, Sequence

from ackclock.comparison import Comparison, answer, rendering
from ackclock.comparison.explanation import Explanation, explanations
from ackclock.report import certainty, figures, provenance, reasons, run_tables
from ackclock.report.environment import render_page
from ackclock.report.question import asked
from ackclock.report.section import Section
from ackclock.result.result import Result
from ackclock.table import Table


def page_of_comparison(
    comparison: Comparison, progress: Callable[[float], None] | None = None
) -> str:
    """Returns the text of the page. The same comparison gives the same text.

    Args:
        comparison: The comparison.
        progress: Takes the share done.
    """
    text = render_page([section_of_comparison(comparison)])
    if progress is not None:
        progress(1.0)
    return text


def section_of_comparison(comparison: Comparison) -> Section:
    """Returns the parts of the page."""
    listed = explanations(comparison)
    named = ["goodput"] if "goodput" in comparison.metrics else comparison.metrics[:1]
    findings = answer.findings(comparison, named)
    return Section(
        name=comparison.run["name"],
        question=provenance.question(
            comparison.run["scenario"], f"{comparison.run['name']}: methods compared"
        ),
        answer=findings or ["No method has a number."],
        asked=asked(comparison.points),
        sure=certainty.of_comparison(comparison),
        figures=figures.of_comparison(comparison),
        tables=_tables(comparison, listed),
        made=provenance.of_comparison(comparison),
        groups=reasons.groups(comparison, listed),
        lead=reasons.LEAD,
        models=_models(comparison),
    )


def _models(comparison: Comparison) -> str:
    predicted = _result(comparison, "predict")
    return "" if predicted is None else run_tables.applying(run_tables.prediction_rows(predicted))


def _result(comparison: Comparison, name: str) -> Result | None:
    return comparison.columns[name].result if name in comparison.columns else None


def _tables(comparison: Comparison, listed: Sequence[Explanation]) -> list[Table]:
    tables = [rendering.metric_table(comparison, name, listed) for name in comparison.metrics]
    tables += [
        rendering.answer_table(comparison),
        rendering.unexplained_table(comparison),
        rendering.explanation_table(comparison, listed),
    ]
    predicted, emulated = _result(comparison, "predict"), _result(comparison, "emulate")
    if predicted is not None:
        rows = [
            row
            for row in run_tables.prediction_rows(predicted)
            if row["verdict"] != "does not apply"
        ]
        note = "Models that apply. Goodput is the model's, or what the path allows if less."
        tables.append(run_tables.prediction_table(rows, note=note))
    tables += run_tables.emulation_tables(emulated) if emulated is not None else []
    return [table for table in tables if table.rows]
