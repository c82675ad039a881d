"""The section of a report about a measurement."""

from datetime import UTC, datetime
from typing import Any

from ackclock.capture import connections
from ackclock.report import run_tables
from ackclock.result import Result
from ackclock.table import Cell, Rows, Table, Written, table

# Number of connections listed: a page is meant to be read, and the folder has the others.
_LISTED = 20


def section(result: Result, predicted: Result | None) -> dict[str, Any]:
    """Returns the answers, the table of connections, and the other tables."""
    rows = connections.connection_rows(result, _LISTED)
    left = connections.others(result, len(rows))
    answers = [f"{row['heading']}: {row['answer']}" for row in rows]
    note = (
        "Most payload first. Losses: the estimate with its bounds. Window: mean number of bytes in "
        "flight. Captured at: position between sender and receiver, inferred from timestamps."
    )
    note += f" {left} more connections carried payload." if left else ""
    tables = [_retransmissions(rows)]
    if predicted is not None:
        note_of_models = (
            "Measured and predicted goodput with 95 % intervals from resampled blocks of time. "
            "Loss is the rate of loss indications; RTT is the mean. If a model does not apply, "
            "the note says why."
        )
        told = run_tables.prediction_rows(predicted)
        tables.append(connections.prediction_table(result, told, note=note_of_models))
    return {
        "answers": answers,
        "flows": connections.connection_table(rows, note),
        "tables": tables,
        "unsettled": "",
    }


def facts(result: Result) -> dict[str, Any]:
    """Returns what was measured."""
    captures = result.run["captures"]
    found = {"source": result.run["source"], "packets": sum(one["packets"] for one in captures)}
    if result.points[0]["scenario"] is None and captures and captures[0]["begins_unix_ns"]:
        begins = datetime.fromtimestamp(captures[0]["begins_unix_ns"] * 1e-9, UTC)
        found["begins"] = f"{begins:%Y-%m-%d %H:%M:%S} UTC, which is time 0 below"
    return found


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
