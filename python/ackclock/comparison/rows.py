"""Comparisons as plain data, for files and programs."""

import math
from typing import Any

from ackclock.comparison.explanation import explanations
from ackclock.comparison.table import Cell, Comparison, Residual, Row
from ackclock.metrics import metric

# Columns of comparison.parquet.
FIELDS = {
    "metric": "Name of the metric.",
    "unit": "Unit of the numbers of the row except `residual_share`; empty for a plain number.",
    "point": "Index of the point.",
    "subject": "Name of the flow or hop, or `all flows`.",
    "method": (
        "`predict`, `simulate`, `emulate`, or `measure-` and the method whose captures were "
        "measured."
    ),
    "mean": "The number of the method, a mean over replicates; null if unknown.",
    "low": (
        "Lower end of its 95 % Student-t interval; null for models and for fewer than two "
        "replicates."
    ),
    "high": "Upper end of that interval.",
    "replicates": "Number of replicates.",
    "model": "Name of the model that fits the flow best; null for other methods.",
    "fidelity": (
        "Verdict of a model, or how many emulated runs are reliable; null for a simulation."
    ),
    "unsettled": "True if it is a mean over flows that have not settled.",
    "why_unknown": "Reason why `mean` is null.",
    "reference": (
        "The method that this one is compared with; null for the reference itself, or if either "
        "number is unknown."
    ),
    "residual": "Mean of this method minus that of the reference.",
    "residual_low": "Lower end of the 95 % interval of the residual.",
    "residual_high": "Upper end of that interval.",
    "residual_share": "Residual over the mean of the reference.",
    "standing": (
        "`within its interval`, `exceeds its interval` (perhaps `less than 1 %`), or `no interval`."
    ),
    "causes": (
        "Names of the causes that may explain it; empty if none does, or if there is nothing to "
        "explain."
    ),
    "explanations": "Evidence of each cause.",
}


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Returns one row per metric, point, subject and method, with the columns `FIELDS`."""
    return [
        {
            "metric": row.metric,
            "unit": metric(row.metric).unit,
            "point": row.point,
            "subject": row.subject,
        }
        | {"method": column}
        | _of_cell(cell)
        | _of_residual(row, column)
        for row in comparison.rows
        for column, cell in row.cells.items()
    ]


def explanation_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Returns every explanation with its number, column, reference, cause and number of cases.

    The cases themselves are in `rows`.
    """
    return [
        {
            "number": explanation.number,
            "method": explanation.column,
            "reference": explanation.reference,
        }
        | {
            "cause": explanation.cause.name,
            "sentence": explanation.cause.sentence,
            "cases": len(explanation.cases),
        }
        for explanation in explanations(comparison)
    ]


def _of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "mean": _or_none(cell.interval.mean),
        "low": _or_none(cell.interval.low),
        "high": _or_none(cell.interval.high),
        "replicates": cell.interval.replicates,
        "model": cell.prediction.model.name if cell.prediction is not None else None,
        "fidelity": cell.fidelity or None,
        "unsettled": cell.is_marked,
        "why_unknown": cell.why or None,
    }


def _of_residual(row: Row, column: str) -> dict[str, Any]:
    residual: Residual | None = row.residuals.get(column)
    if residual is None:
        names = (
            "reference",
            "residual",
            "residual_low",
            "residual_high",
            "residual_share",
            "standing",
        )
        return {**dict.fromkeys(names), "causes": [], "explanations": []}
    gap = residual.difference
    return {
        "reference": residual.reference,
        "residual": _or_none(gap.mean),
        "residual_low": _or_none(gap.low),
        "residual_high": _or_none(gap.high),
        "residual_share": _or_none(residual.relative),
        "standing": residual.standing,
        "causes": [finding.cause for finding in residual.findings],
        "explanations": [finding.words for finding in residual.findings],
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
