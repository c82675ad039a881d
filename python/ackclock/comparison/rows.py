"""Comparisons as plain data, for files and programs."""

import math
from typing import Any

from ackclock.comparison.explanation import explanations
from ackclock.comparison.table import Cell, Comparison, Residual, Row
from ackclock.metrics import metric

__all__ = ["FIELDS", "explanation_rows", "rows"]

# Columns of comparison.parquet.
FIELDS = {
    "metric": "Name of the metric.",
    "unit": "Of all numbers of the row but `residual_share`; empty for a plain number.",
    "point": "Number of the sweep's point.",
    "subject": "Name of the flow group or of the hop, or `all flows`.",
    "method": (
        "`predict`, `simulate`, `emulate`, or `measure-` and that of which captures were measured."
    ),
    "mean": "The way's number: mean over replicates; null if it does not know it.",
    "low": (
        "Lower end of its 95 % Student-t interval; null for fewer than two replicates and for "
        "models."
    ),
    "high": "Upper end.",
    "replicates": "How many there are.",
    "model": "Name of the model that fits the flow best; null for other ways.",
    "fidelity": (
        "Of a model its verdict, of an emulation how many runs are reliable; null for what is "
        "computed."
    ),
    "unsettled": "Whether it is a mean of flows that have not settled.",
    "why_unknown": "Why `mean` is null.",
    "reference": (
        "The way that this one is held against; null if it is the reference itself, or one does "
        "not know it."
    ),
    "residual": "This way's mean less the reference's.",
    "residual_low": "Lower end of the residual's 95 % interval.",
    "residual_high": "Upper end.",
    "residual_share": "The residual over the reference's mean.",
    "standing": (
        "`within its interval`, `exceeds its interval` (perhaps by `less than 1 %`) or `no "
        "interval`."
    ),
    "causes": (
        "Names of the causes that explain it; empty if there are none, or nothing is to be "
        "explained."
    ),
    "explanations": "How each of them shows.",
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
        {"number": one.number, "method": one.column, "reference": one.reference}
        | {"cause": one.cause.name, "sentence": one.cause.sentence, "cases": len(one.cases)}
        for one in explanations(comparison)
    ]


def _of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "mean": _known(cell.interval.mean),
        "low": _known(cell.interval.low),
        "high": _known(cell.interval.high),
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
        "residual": _known(gap.mean),
        "residual_low": _known(gap.low),
        "residual_high": _known(gap.high),
        "residual_share": _known(residual.relative),
        "standing": residual.standing,
        "causes": [one.cause for one in residual.findings],
        "explanations": [one.words for one in residual.findings],
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
