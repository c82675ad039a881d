"""The section of a report about a measurement."""

from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from ackclock.capture import connections, limiting_factor
from ackclock.report import certainty, figures, provenance, run_tables
from ackclock.report.section import Asked, Section, Sure
from ackclock.result.result import Result
from ackclock.table import Cell, Rows, Table, Written, capital, number, table
from ackclock.validity.stationarity import Stationarity

# Number of connections listed: a page is meant to be read, and the folder has the others.
_LISTED = 20

# Below so many data packets a connection says little about what limits it.
_FEW = 100


def section(result: Result, predicted: Result | None) -> Section:
    """Returns the parts of a page about a measurement."""
    rows = connections.connection_rows(result, _LISTED)
    measured = facts(result)
    of_run = result.points[0]["scenario"] is not None
    file = result.run["name"] if of_run else PurePath(str(result.run["source"])).name
    several = len(rows) > 1
    answer = _sentences(rows[0]) if rows else []
    left = connections.others(result, len(rows))
    return Section(
        name=result.run["name"],
        question=f"What limits the connection{'s' if several else ''} in {file}?",
        answer=answer or ["No connection carried payload."],
        asked=Asked("", [f"{name}: {value}" for name, value in measured.items()]),
        sure=certainty.of_result(result, Stationarity([])) + _seen(rows),
        figures=figures.of_result(result),
        tables=_tables(result, predicted, rows, left),
        made=provenance.of_result(result, measured),
        others=[(row["heading"], f"{row['answer']}.") for row in rows[1:]],
        others_title=f"The other connections ({left} more not listed)"
        if left
        else "The other connections",
    )


_UNKNOWN = "at an unknown place"

_VANTAGES = {"sender": "near the sender", "receiver": "near the receiver", "middle": "on the way"}


def _sentences(row: dict[str, Any]) -> list[str]:
    """Returns the answer about a connection in sentences: what limits it, evidence, remedy."""
    limit, colon, evidence = row["answer"].partition(": ")
    parts = [f"{row['heading']} is {limit}", *(evidence.split(". ") if colon else [])]
    if not colon:
        parts = [f"{row['heading']}: {row['answer']}"]
    first, *others = (f"{part.rstrip('.')}." for part in parts)
    return [first, *(capital(part) for part in others)]


def _seen(rows: Rows) -> list[Sure]:
    """Returns where the connections were captured, and what the capture lacks of them."""
    if not rows:
        return []
    statements = [_place(rows)]
    lacking = sum(bool(limiting_factor.lacks(row)) for row in rows)
    if lacking:
        words = f"packets of {lacking} of {len(rows)} connections are missing in it."
        statements.append(Sure(False, "Incomplete capture:", words))
    short = rows[0]["end_s"] - rows[0]["start_s"]
    words = f"{number(rows[0]['data_packets'])} data packets in {number(short)} s."
    return [*statements, Sure(rows[0]["data_packets"] >= _FEW, "The largest connection:", words)]


def _place(rows: Rows) -> Sure:
    """Returns where the capture was taken: one place, or the host that its connections share."""
    places = {row["vantage"] for row in rows}
    if places == {"sender"}:
        return Sure(True, "Captured near the sender:", "what limits the sender is seen directly.")
    if len(places) == 1:
        where = _VANTAGES.get(places.pop(), _UNKNOWN)
        return Sure(False, f"Captured {where}:", "limits are inferred from afar.")
    ends = {"sender": "source", "receiver": "destination"}
    hosts = {row[ends[row["vantage"]]].rpartition(":")[0] for row in rows if row["vantage"] in ends}
    if len(hosts) == 1 and places <= ends.keys():
        meaning = "limits of what it sends are seen directly, of what it receives from afar."
        return Sure(rows[0]["vantage"] == "sender", f"Captured near {hosts.pop()}:", meaning)
    where = _VANTAGES.get(rows[0]["vantage"], _UNKNOWN).replace("the ", "its ")
    return Sure(
        rows[0]["vantage"] == "sender",
        f"The largest connection was captured {where}:",
        "others elsewhere; the table has the place of each.",
    )


def _tables(result: Result, predicted: Result | None, rows: Rows, left: int) -> list[Table]:
    note = (
        "Most payload first. Losses: the estimate with its bounds. Window: mean number of bytes in "
        "flight. Captured at: position between sender and receiver, inferred from timestamps."
    )
    note += f" {left} more connections carried payload." if left else ""
    tables = [connections.connection_table(rows, note), _retransmissions(rows)]
    if predicted is not None:
        note_of_models = (
            "Measured and predicted goodput with 95 % intervals from resampled blocks of time. "
            "Loss is the rate of loss indications; RTT is the mean. Models that do not apply are "
            "left out; ackclock measure --models NAME says why."
        )
        predictions = [
            row
            for row in run_tables.prediction_rows(predicted)
            if row["verdict"] != "does not apply"
        ]
        tables.append(connections.prediction_table(result, predictions, note=note_of_models))
    return [candidate for candidate in tables if candidate.rows]


def facts(result: Result) -> dict[str, Any]:
    """Returns what was measured."""
    captures = result.run["captures"]
    stated = {
        "source": result.run["source"],
        "packets": sum(capture["packets"] for capture in captures),
    }
    if result.points[0]["scenario"] is None and captures and captures[0]["begins_unix_ns"]:
        begins = datetime.fromtimestamp(captures[0]["begins_unix_ns"] * 1e-9, UTC)
        stated["begins"] = f"{begins:%Y-%m-%d %H:%M:%S} UTC, which is time 0 below"
    return stated


_CLASSES = {
    "fast": "fast",
    "timeout": "on a timeout",
    "after_timeout": "after a timeout",
    "tail_probe": "tail-loss probe",
    "unclear": "unclear",
    "spurious": "not needed",
}


def _retransmissions(rows: Rows) -> Table:
    note = "Retransmissions by their trigger, and unneeded ones of any kind."
    cells = (
        [row["heading"], *(_count(row[f"retransmissions_{name}"]) for name in _CLASSES)]
        for row in rows
    )
    return table("Retransmissions", ["connection", *_CLASSES.values()], cells, note)


def _count(number: float | None) -> Cell:
    return None if number is None else Written(number, f"{number:.0f}")
