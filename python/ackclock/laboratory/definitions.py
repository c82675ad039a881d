"""The metrics of a page as data, and the quantiles of their intervals.

The page has one evaluator for them (`static/formula.js`) and no definition of its own.
"""

from dataclasses import asdict
from typing import Any

from ackclock.metrics import METRICS, Formula
from ackclock.metrics.confidence import USUAL_T
from ackclock.result.flows import UNCONTROLLED
from ackclock.table import capital, compact_json

__all__ = ["columns", "definitions"]

#: Metrics in the table of a page: of the busiest hop, or of all flows together.
_METRICS = ("goodput", "utilisation", "rtt", "queueing_delay", "retransmissions", "fairness")

#: Columns of tables that formulas need beside those that they name.
_KEYS = {
    "flows": ["flow", "control", "measured_s"],
    "samples": ["flow", "instance", "time_s"],
    "hops": ["hop", "time_s"],
}


def definitions() -> str:
    """Returns the definitions as JSON."""
    return compact_json(
        {
            "metrics": [_metric(name) for name in _METRICS],
            "student": USUAL_T,
            "uncontrolled": UNCONTROLLED,
        }
    )


def columns() -> dict[str, list[str]]:
    """Returns the columns of tables that the metrics of a page need."""
    needed = {table: [*names] for table, names in _KEYS.items()}
    for name in _METRICS:
        formula = _formula(name)
        needed[formula.table] += filter(None, (*formula.columns, formula.over))
    return {table: list(dict.fromkeys(names)) for table, names in needed.items()}


def _metric(name: str) -> dict[str, Any]:
    metric = METRICS[name]
    return {
        "name": name,
        "label": capital(metric.label),
        "unit": metric.shown_unit,
        "scale": metric.shown_per_unit,
        "formula": asdict(_formula(name)),
    }


def _formula(name: str) -> Formula:
    formula = METRICS[name].values
    assert isinstance(formula, Formula), name
    return formula
