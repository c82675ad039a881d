"""The metrics and figures of a page as data, and the quantiles of intervals.

The page evaluates formulas (`static/formula.js`), fills figures from its tables (`summary.js`), and
has no definition of its own.
"""

from dataclasses import asdict
from typing import Any

from ackclock.metrics import METRICS, Formula
from ackclock.metrics.confidence import USUAL_T
from ackclock.plot import cwnd, queue, rtt, throughput
from ackclock.plot.series import FAR
from ackclock.plot.trace import OverTime
from ackclock.result.flows import UNCONTROLLED
from ackclock.table import capital, compact_json

#: Metrics in the table of a page: of the busiest hop, or of all flows together.
_METRICS = ("goodput", "utilisation", "rtt", "queueing_delay", "retransmissions", "fairness")

#: Figures by the names that scenarios have for them (`lab.figures`), from above.
_FIGURES = {
    "cwnd": cwnd.WINDOW,
    "queue": queue.BACKLOG,
    "rtt": rtt.ROUND_TRIP,
    "goodput": throughput.DELIVERED,
}

#: Columns of tables that formulas and figures need beside those that they name.
_KEYS = {
    "flows": ["flow", "control", "measured_s"],
    "samples": ["flow", "instance", "time_s"],
    "hops": ["hop", "time_s"],
    "events": ["time_s", "kind"],
}


def definitions() -> str:
    """Returns the definitions as JSON."""
    return compact_json(
        {
            "metrics": [_metric(name) for name in _METRICS],
            "student": USUAL_T,
            "uncontrolled": UNCONTROLLED,
            "figures": [_figure(name, figure) for name, figure in _FIGURES.items()],
            "far": FAR,
        }
    )


def columns() -> dict[str, list[str]]:
    """Returns the columns of tables that a page needs."""
    needed = {table: [*names] for table, names in _KEYS.items()}
    for name in _METRICS:
        formula = _formula(name)
        needed[formula.table] += filter(None, (*formula.columns, formula.over))
    for figure in _FIGURES.values():
        needed[figure.table] += figure.columns
    return {table: list(dict.fromkeys(names)) for table, names in needed.items()}


def _figure(name: str, figure: OverTime) -> dict[str, Any]:
    return {
        "name": name,
        "title": figure.title,
        "table": figure.table,
        "unit": figure.y.unit,
        "begin": figure.y.begin,
        "traces": [trace._asdict() for trace in figure.traces],
        "absent": figure.absent,
    }


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
