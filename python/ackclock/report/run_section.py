"""The parts of a page about a simulation, an emulation or a session."""

import math
from typing import Any

from ackclock.metrics import METRICS, by_replicate, in_shown_unit, metric, summarise
from ackclock.metrics.frame import swept
from ackclock.models.prediction import Prediction, best
from ackclock.plot.subject import bottleneck
from ackclock.plot.sweep import swept_axis
from ackclock.report import (
    certainty,
    live,
    made,
    run_tables,
    session,
    summary,
    time_figures,
    value_figures,
)
from ackclock.report.asked import asked
from ackclock.report.section import Asked, Live, Section
from ackclock.report.swept_figure import Mark, swept_figure
from ackclock.result.flows import control_of
from ackclock.result.result import Result
from ackclock.table import Rows, brief, capital, named, text
from ackclock.validity.stationarity import Stationarity, judge

__all__ = ["section_of_run", "section_of_session"]

# Metrics of a run that are drawn against the swept value.
_SWEPT = ("goodput", "rtt", "retransmissions", "utilisation", "queueing_delay")
# Flows that the answer names.
_NAMED = 3
# With more panels, small multiples show more.
_MOST_PANELS = 6


def section_of_run(result: Result, predicted: Result | None) -> Section:
    """Returns the parts of a page about a simulation or an emulation."""
    judged = judge(result)
    rows = run_tables.flow_rows(result, predicted, judged)
    hops = run_tables.hop_rows(result, judged)
    figures = _figures(result, predicted)
    return Section(
        name=result.run["name"],
        question=made.question(result.run["scenario"], summary.subject(result)),
        answer=[*_goodput(result, rows), *summary.sentences(result, rows, hops)]
        or ["No flow has a result."],
        asked=asked(result.points),
        sure=certainty.of_result(result, judged),
        figures=[
            *figures,
            *value_figures.heat_map(result),
            *value_figures.of_result(result),
        ],
        tables=_tables(result, predicted, rows, hops),
        made=made.of_result(result, {}),
        models=_models(predicted),
    )


def section_of_session(result: Result) -> Section:
    """Returns the parts of a page about a session of `ackclock send` or `receive`."""
    told = session.section(result)
    facts = session.facts(result)
    return Section(
        name=result.run["name"],
        question=f"{result.run['name']}: {facts.get('control') or result.run['method']}",
        answer=told["answers"],
        asked=Asked("", [f"{name}: {value}" for name, value in facts.items()]),
        sure=certainty.of_result(result, Stationarity([])),
        figures=[
            *time_figures.of_run(result, is_key=True),
            *value_figures.of_result(result),
        ],
        tables=[table for table in [told["flows"], *told["tables"]] if table.rows],
        made=made.of_result(result, facts),
    )


def _models(predicted: Result | None) -> str:
    return "" if predicted is None else run_tables.applying(run_tables.prediction_rows(predicted))


def _goodput(result: Result, rows: Rows) -> list[str]:
    """Returns the goodput of each flow in a sentence, for a run without a sweep."""
    if len(result.points) > 1 or not rows:
        return []
    rows = [row for row in rows if not math.isnan(row["goodput"].mean)]
    shown = [brief(in_shown_unit(row["goodput"], "goodput")) for row in rows[:_NAMED]]
    said = [
        f"{named(row['flow'], row['count'])} gets {text(goodput)} Mbit/s"
        for row, goodput in zip(rows, shown, strict=False)
    ]
    more = f", {len(rows) - _NAMED} more flows in the table" if len(rows) > _NAMED else ""
    return [f"{', '.join(said)}{more}."] if said else []


def _tables(result: Result, predicted: Result | None, rows: Rows, hops: Rows) -> list[Any]:
    words = result.averaging
    words = capital(words)
    note = (
        f"{words}. Goodput (summed over a flow's instances), utilisation (of the busiest shared "
        "hop on its route) and RTT exclude the warm-up; retransmissions, drops and timeouts "
        "cover the whole run."
    )
    tables = [
        run_tables.flow_table(rows, note=note),
        run_tables.hop_table(hops, note=f"{words}, without the warm-up."),
        *run_tables.emulation_tables(result),
    ]
    if predicted is not None:
        note = "Models that apply. Goodput is the model's, or what the path allows if less."
        rows = run_tables.prediction_rows(predicted)
        told = [row for row in rows if row["verdict"] != "does not apply"]
        tables.append(run_tables.prediction_table(told, note=note))
    return [table for table in tables if table.rows]


def _figures(result: Result, predicted: Result | None) -> list[Live]:
    """Returns the figures of a sweep, if it has one axis to draw, then those over time."""
    over_time = time_figures.of_run(result, is_key=not _has_axis(result))
    if not _has_axis(result):
        return over_time
    marks = {name: _marks(result, predicted, name) for name in _SWEPT}
    known = [name for name in _SWEPT if marks[name]]
    keys = {name: {mark.series for mark in marks[name]} for name in known}
    swept_figures = [
        swept_figure(
            f"figure-{name}", name, marks[name], result.points,
            [live.key(one, "points") for one in live.KEYS if one in keys[name]],
            is_key=at == 0,
        )
        for at, name in enumerate(known)
    ]  # fmt: skip
    return [*swept_figures, *over_time]


def _has_axis(result: Result) -> bool:
    """True if few enough panels show the sweep."""
    axis = swept_axis(result.points)
    if axis is None:
        return 1 < len(result.points) <= _MOST_PANELS
    others = [one for one in swept(result.points) if one.path not in axis.settled]
    panels = {tuple(str(one.values[at]) for one in others) for at in range(len(result.points))}
    return len(panels) * len(result.points[0]["scenario"]["flows"]) <= _MOST_PANELS


def _marks(result: Result, predicted: Result | None, name: str) -> list[Mark]:
    """Returns the numbers of a metric, and for the goodput those of the best model."""
    what, scale = metric(name), metric(name).shown_per_unit
    values = by_replicate(result, METRICS[name])
    busiest = bottleneck(result)
    marks = []
    for one in summarise(result, what):
        flows = result.points[one.point]["scenario"]["flows"]
        flow = next((flow for flow in flows if flow["name"] == one.subject), None)
        interval = in_shown_unit(one.interval, name)
        if interval is None or interval.mean != interval.mean:
            continue
        if flow is None and one.subject != busiest:
            continue
        control = "" if flow is None else control_of(flow)
        runs = [value * scale for value in values.get((one.point, one.subject), {}).values()]
        method = str(result.run["method"])
        marks.append(Mark(one.point, one.subject, control, method, interval, runs))
        told = _predicted(predicted, one.point, flow) if name == "goodput" and flow else None
        if told is not None:
            exact = interval._replace(mean=told.value * scale, half_width=float("nan"))
            marks.append(
                Mark(
                    one.point, one.subject, control, "predict", exact, [],
                    violated=bool(told.violated),
                )
            )  # fmt: skip
    return marks


def _predicted(predicted: Result | None, point: int, flow: dict[str, Any]) -> Prediction | None:
    if predicted is None:
        return None
    rows = [
        row
        for row in run_tables.prediction_rows(predicted)
        if row["point"] == point and row["flow"] == flow["name"]
    ]
    return best(rows, "goodput", flow)
