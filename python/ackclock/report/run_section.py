"""The parts of a page about a simulation, an emulation or a session."""

import math
from typing import Any

from ackclock.metrics import in_shown_unit
from ackclock.report import certainty, figures, provenance, run_tables, session, summary
from ackclock.report.question import asked
from ackclock.report.section import Asked, Section
from ackclock.result.result import Result
from ackclock.table import Rows, brief, capital, named, text
from ackclock.validity.stationarity import Stationarity, judge

# Flows that the answer names.
_NAMED = 3


def section_of_run(result: Result, predicted: Result | None) -> Section:
    """Returns the parts of a page about a simulation or an emulation."""
    judged = judge(result)
    rows = run_tables.flow_rows(result, predicted, judged)
    hops = run_tables.hop_rows(result, judged)
    return Section(
        name=result.run["name"],
        question=provenance.question(result.run["scenario"], summary.subject(result)),
        answer=[*_goodput(result, rows), *summary.sentences(result, rows, hops)]
        or ["No flow has a result."],
        asked=asked(result.points),
        sure=certainty.of_result(result, judged),
        figures=figures.of_result(result, predicted),
        tables=_tables(result, predicted, rows, hops),
        made=provenance.of_result(result, {}),
        models=_models(predicted),
    )


def section_of_session(result: Result) -> Section:
    """Returns the parts of a page about a session of `ackclock send` or `receive`."""
    parts = session.section(result)
    facts = session.facts(result)
    return Section(
        name=result.run["name"],
        question=f"{result.run['name']}: {facts.get('control') or result.run['method']}",
        answer=parts["answers"],
        asked=Asked("", [f"{name}: {value}" for name, value in facts.items()]),
        sure=certainty.of_result(result, Stationarity([])),
        figures=figures.of_result(result),
        tables=[table for table in [parts["flows"], *parts["tables"]] if table.rows],
        made=provenance.of_result(result, facts),
    )


def _models(predicted: Result | None) -> str:
    return "" if predicted is None else run_tables.applying(run_tables.prediction_rows(predicted))


def _goodput(result: Result, rows: Rows) -> list[str]:
    """Returns the goodput of each flow in a sentence, for a run without a sweep."""
    if len(result.points) > 1 or not rows:
        return []
    rows = [row for row in rows if not math.isnan(row["goodput"].mean)]
    shown = [brief(in_shown_unit(row["goodput"], "goodput")) for row in rows[:_NAMED]]
    clauses = [
        f"{named(row['flow'], row['count'])} gets {text(goodput)} Mbit/s"
        for row, goodput in zip(rows, shown, strict=False)
    ]
    more = f", {len(rows) - _NAMED} more flows in the table" if len(rows) > _NAMED else ""
    return [f"{', '.join(clauses)}{more}."] if clauses else []


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
        applying = [row for row in rows if row["verdict"] != "does not apply"]
        tables.append(run_tables.prediction_table(applying, note=note))
    return [table for table in tables if table.rows]
