"""A comparison as text, for a terminal or a page."""

from collections.abc import Sequence

from ackclock.comparison.explanation import Explanation, numbers_of, written_residual
from ackclock.comparison.table import Cell, Comparison, Row
from ackclock.metrics import metric
from ackclock.table import number, short, written

__all__ = [
    "answer_cells", "cells", "explanation_cells", "note", "place", "spare_columns", "title", "unexplained_cells",
]  # fmt: skip

Shown = tuple[list[str], list[list[str]]]

#: In the place of an explanation's number.
UNEXPLAINED = "[?]"


def cells(comparison: Comparison, name: str, listed: Sequence[Explanation]) -> Shown:
    """Head and cells of the table of one metric.

    Args:
        comparison: Whose.
        name: The metric's.
        listed: The explanations to which residuals refer by number.
    """
    what = metric(name)
    rows = [row for row in comparison.rows if row.metric == name]
    swept = _swept(comparison, rows)
    held = {column: comparison.reference_for(column) for column in comparison.columns}
    held = {column: against for column, against in held.items() if any(column in row.residuals for row in rows)}
    shown = [column for column in comparison.columns if any(row.cells[column].is_known for row in rows)]
    subject = "hop" if rows and not rows[0].control and name != "fairness" else "flow"
    controls = any(row.control not in ("", row.subject) for row in rows)  # a flow may be called as its control
    labels = {column: comparison.columns[column].label for column in comparison.columns}
    head = [*short(swept), subject, *(["control"] if controls else []), *(labels[column] for column in shown)]
    head += [f"{labels[column]} − {labels[str(against)]}" for column, against in held.items()]
    table = []
    for row in rows:
        line = [str(comparison.points[row.point]["assignments"][path]) for path in swept] + [row.subject]
        line += [row.control] if controls else []
        line += [_number(row.cells[column], name) for column in shown]
        line += [_residual(row, column, listed, what.shown_per_unit) for column in held]
        table.append(line)
    for name, told in _FIDELITY.items():
        words = [told(comparison, row) for row in rows]
        if any(words):
            head.append(name)
            table = [[*line, word or "–"] for line, word in zip(table, words, strict=True)]
    return head, table


def spare_columns(head: Sequence[str]) -> list[str]:
    """What of the head of `cells` a narrow terminal goes without, the first of them first."""
    measured = [name for name in head if name.startswith("measure of")]
    return [*reversed(_FIDELITY), "control", *sorted(measured, key=lambda name: "−" not in name)]


def title(name: str) -> str:
    """The metric and its shown unit."""
    what = metric(name)
    label = f"{what.label[0].upper()}{what.label[1:]}"
    return f"{label} ({what.shown_unit})" if what.shown_unit else label


def note(comparison: Comparison, name: str) -> str:
    """What the metric is, and why ways that answered do not know it."""
    why = dict.fromkeys(
        f"{comparison.columns[column].label} ({cell.why})"
        for row in comparison.rows
        for column, cell in row.cells.items()
        if row.metric == name and not cell.is_known and comparison.columns[column].result is not None
    )
    unknown = f" Not known everywhere of {'; of '.join(why)}." if why else ""
    return f"{metric(name).summary}{unknown}"


def answer_cells(comparison: Comparison) -> Shown:
    """Head and cells of how each way answered, or why it did not."""
    rows = []
    for name, column in comparison.columns.items():
        against = comparison.reference_for(name)
        if column.result is None:
            rows.append([column.label, "no answer", "–", column.why])
            continue
        held = comparison.columns[against].label if against is not None else "– (the reference)"
        partial = "cut off; " if column.result.partial else ""
        rows.append([column.label, _size(comparison, name), held, partial + column.why])
    return ["way", "answered", "held against", "note"], rows


def explanation_cells(comparison: Comparison, listed: Sequence[Explanation]) -> Shown:
    """Head and cells of all explanations, case by case."""
    rows = []
    for one in listed:
        labels = [comparison.columns[name].label for name in (one.column, one.reference)]
        for case in one.cases:
            where = f"{metric(case.row.metric).label}, {place(comparison, case.row)}"
            rows.append([f"[{one.number}]", " − ".join(labels), one.cause.name, where, case.words])
    return ["", "residual", "cause", "of", "how it shows"], rows


def unexplained_cells(comparison: Comparison) -> Shown:
    """Head and cells of the residuals that exceed their interval and have no known cause."""
    rows = []
    for row in comparison.rows:
        for column, residual in row.residuals.items():
            if residual.is_unexplained:
                labels = [comparison.columns[name].label for name in (column, residual.reference)]
                size = written_residual(residual, metric(row.metric).shown_per_unit)
                rows.append([" − ".join(labels), metric(row.metric).label, place(comparison, row), size])
    return ["residual", "metric", "of", "size"], rows


def place(comparison: Comparison, row: Row) -> str:
    """Which point and flow a row is of, in words."""
    assigned = comparison.points[row.point]["assignments"]
    words = [str(value) for value in assigned.values() if str(value) != row.control]
    subject = row.subject if row.control in ("", row.subject) else f"{row.subject} ({row.control})"
    return ", ".join([subject, *words])


def _swept(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """The swept parameters that the row does not say otherwise."""
    paths = list(comparison.points[0]["assignments"])
    points = comparison.points
    return [path for path in paths if not all(points[row.point]["assignments"][path] == row.control for row in rows)]


def _number(cell: Cell, name: str) -> str:
    if cell.prediction is not None:
        return f"{number(cell.interval.mean, metric(name).shown_per_unit)} {cell.prediction.model.label}"
    return written(cell.interval, name)


def _residual(row: Row, column: str, listed: Sequence[Explanation], shown_per_unit: float) -> str:
    residual = row.residuals.get(column)
    if residual is None:
        return "–"
    marks = "".join(f"[{one}]" for one in numbers_of(listed, column, residual))
    if residual.is_unexplained:
        marks = UNEXPLAINED
    return f"{written_residual(residual, shown_per_unit)} {marks}".rstrip()


def _verdict(_comparison: Comparison, row: Row) -> str:
    """Whether the model applies, or what is violated."""
    told = row.cells.get("predict")
    return told.fidelity if told is not None else ""


def _trusted(comparison: Comparison, row: Row) -> str:
    """How many emulated runs are to be trusted; captures of them are as good as they are."""
    column = comparison.columns.get("emulate")
    return column.fidelity(row.point) if column is not None else ""


# How far a row can be trusted, in columns of their own.
_FIDELITY = {"model": _verdict, "emulated": _trusted}


def _size(comparison: Comparison, name: str) -> str:
    """How much a way answered."""
    result = comparison.columns[name].result
    if result is None:
        return "–"
    points = f"{len(result.points)} of {len(comparison.points)} points"
    if name == "predict":
        return points
    return f"{points}, {result.run['replicates']} replicate{'' if result.run['replicates'] == 1 else 's'}"
