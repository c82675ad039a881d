"""The short answer of a comparison: a table of marked numbers, and sentences about it."""

import math
from collections.abc import Sequence

from ackclock.comparison.column import Column as ComparedColumn
from ackclock.comparison.explanation import Explanation
from ackclock.comparison.rendering import identify, place, title
from ackclock.comparison.table import EXCEEDS, Comparison, Row
from ackclock.metrics import metric
from ackclock.stationarity import NOTE, starred
from ackclock.table import Cell as Shown
from ackclock.table import Column, Table, Written, in_shown_unit, number, table, text

__all__ = ["DIFFERS", "OUTSIDE", "causes", "legend", "marked_table", "sentences"]

#: A run's number that differs from its reference by more than the 95 % interval.
DIFFERS = "≠"
#: A model's number outside the reference's 95 % interval.
OUTSIDE = "!"

# What answers by each method.
_ANSWERS = {
    "predict": "model",
    "simulate": "engine",
    "emulate": "Linux TCP",
}
# The same in a sentence.
_SPEAKERS = {
    "predict": "the model",
    "simulate": "the simulation",
    "emulate": "Linux",
    "measure": "the measurement",
}
# Below so many replicates an interval says little.
_FEW = 5


def marked_table(comparison: Comparison, name: str) -> Table:
    """Returns the table of one metric: a column for each method, its numbers marked."""
    rows = [row for row in comparison.rows if row.metric == name]
    columns = identify(comparison, rows)
    keys = len(columns)
    for column, of in comparison.columns.items():
        if any(row.cells[column].is_known for row in rows):
            columns.append((_head(of), [_marked(row, column) for row in rows]))
    cells = zip(*(cells for _, cells in columns), strict=True)
    return table(title(name), (column for column, _ in columns), cells, keys=keys)


def _head(column: ComparedColumn) -> Column:
    """The head of a method. A narrow terminal first leaves out captures of a simulated run."""
    if column.source is None:
        return Column(column.method, _ANSWERS[column.method], numeric=True)
    spare = 0 if column.source.method == "simulate" else 1
    return Column(column.method, f"of {column.source.method}", spare, numeric=True)


def legend(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Returns a line for each mark in the tables of these metrics."""
    rows = [row for row in comparison.rows if row.metric in names]
    marks = {_mark(row, column) for row in rows for column in row.cells}
    lines = ["mean ± 95 % interval over replicates"]
    if any(cell.is_marked for row in rows for cell in row.cells.values()):
        lines.append(NOTE)
    if DIFFERS in marks:
        lines.append(f"{DIFFERS} differs from its reference by more than the 95 % interval")
    if OUTSIDE in marks:
        lines.append(f"{OUTSIDE} outside the reference's 95 % interval")
    return lines


def sentences(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Returns the answer in sentences: the range, the largest differences, cautions."""
    rows = [row for row in comparison.rows if row.metric in names]
    goodput = [row for row in rows if row.metric == "goodput"]
    said = [_range(comparison, goodput)] if comparison.reference is not None else []
    for name, column in comparison.columns.items():
        largest = _largest(goodput or rows, name)
        if largest is not None and column.source is None:  # A capture shows its own run.
            said.append(_difference(comparison, largest, name))
    return [*filter(None, said), *_cautions(comparison)]


def causes(
    comparison: Comparison, listed: Sequence[Explanation], names: Sequence[str]
) -> list[str]:
    """Returns a line for each cause that shows in these metrics, with the number of its cases."""
    lines = []
    for one in listed:
        count = sum(case.row.metric in names for case in one.cases)
        if count:
            who, against = (_speaker(comparison, name) for name in (one.column, one.reference))
            times = f"{count} difference{'' if count == 1 else 's'}"
            lines.append(f"{_capital(who)} and {against}: {one.cause.sentence} ({times})")
    return lines


def _mark(row: Row, column: str) -> str:
    residual = row.residuals.get(column)
    if residual is None or residual.standing != EXCEEDS:
        return ""
    return OUTSIDE if row.cells[column].prediction is not None else DIFFERS


def _marked(row: Row, column: str) -> Shown:
    cell = row.cells[column]
    interval = in_shown_unit(cell.interval, row.metric)
    if interval is None or not cell.is_known:
        return None
    return Written(interval, f"{text(starred(interval, cell.is_marked))} {_mark(row, column):1}")


def _range(comparison: Comparison, rows: Sequence[Row]) -> str:
    """The ends of the reference's goodput, if there are two."""
    reference = str(comparison.reference)
    known = [row for row in rows if row.cells[reference].is_known]
    if len(known) < 2:
        return ""
    ends = [end(known, key=lambda row: row.cells[reference].interval.mean) for end in (max, min)]
    scale, unit = metric("goodput").shown_per_unit, metric("goodput").shown_unit
    most, least = (
        f"{number(row.cells[reference].interval.mean, scale)} {unit} ({place(comparison, row)})"
        for row in ends
    )
    speaker = _speaker(comparison, reference)
    return _capital(f"{speaker} has a goodput of {most} down to {least}.")


def _largest(rows: Sequence[Row], column: str) -> Row | None:
    """The row with a method's largest relative difference that exceeds its interval."""
    found = [
        row for row in rows if _mark(row, column) and not math.isnan(row.residuals[column].relative)
    ]
    return max(found, key=lambda row: abs(row.residuals[column].relative), default=None)


def _difference(comparison: Comparison, row: Row, column: str) -> str:
    cell, residual = row.cells[column], row.residuals[column]
    who = cell.prediction.model.label if cell.prediction else _speaker(comparison, column)
    against = _speaker(comparison, residual.reference)
    size = f"{100 * abs(residual.relative):.2g} % {'more' if residual.relative > 0 else 'less'}"
    what = metric(row.metric).label
    return _capital(f"{who} has {size} {what} than {against} for {place(comparison, row)}.")


def _speaker(comparison: Comparison, name: str) -> str:
    """The method of a column, in words."""
    column = comparison.columns[name]
    whose = f" of {_SPEAKERS[column.source.method]}" if column.source is not None else ""
    return f"{_SPEAKERS[column.method]}{whose}"


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


def _cautions(comparison: Comparison) -> list[str]:
    few = [
        f"{column.result.run['replicates']} of {_SPEAKERS[column.method]}"
        for column in comparison.columns.values()
        if column.result is not None
        and column.method in ("simulate", "emulate")
        and column.result.run["replicates"] < _FEW
    ]
    said = [f"Caution: few replicates ({', '.join(few)})."] if few else []
    emulated = comparison.columns.get("emulate")
    if emulated is not None and emulated.result is not None and emulated.result.unreliable:
        runs = emulated.result.tables["fidelity"].num_rows
        reliable = runs - len(emulated.result.unreliable)
        said.append(f"{reliable} of {runs} runs of Linux are reliable.")
    return said
