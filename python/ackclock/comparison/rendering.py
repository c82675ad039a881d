"""Comparisons as tables with differences, explanations and verdicts, for a page."""

from collections.abc import Sequence

from ackclock.comparison.explanation import Explanation, numbers_of, written_residual
from ackclock.comparison.table import Cell, Comparison, Row
from ackclock.metrics import in_shown_unit, metric
from ackclock.result.labels import control_label
from ackclock.table import Cell as Shown
from ackclock.table import Column, Table, Written, capital, number, short, swept_paths, table
from ackclock.validity.stationarity import NOTE, starred

_Columns = list[tuple[Column, list[Shown]]]

# Reason why a model's number is missing, on a page, where those of all models would be too long.
_NO_MODEL = "no model that applies gives it; ackclock predict says why"

#: Stands in place of the number of an explanation.
UNEXPLAINED = "[?]"


def metric_table(comparison: Comparison, name: str, listed: Sequence[Explanation]) -> Table:
    """Returns the table of one metric: the number and the difference of each method.

    Args:
        comparison: The comparison.
        name: Name of the metric.
        listed: Explanations to which differences refer by number.
    """
    rows = [row for row in comparison.rows if row.metric == name]
    columns = identify(comparison, rows)
    for column, described in comparison.columns.items():
        if any(row.cells[column].is_known for row in rows):
            columns.append(
                (Column(described.label), [_number(row.cells[column], name) for row in rows])
            )
    for column, described in comparison.columns.items():
        if any(column in row.residuals for row in rows):
            reference = comparison.columns[str(comparison.reference_for(column))]
            label = f"{described.label} − {reference.label}"
            columns.append((Column(label), [_residual(row, column, listed) for row in rows]))
    for doubt, notes in _FIDELITY:
        words = [notes(comparison, row) for row in rows]
        if any(words):
            columns.append((doubt, [word or None for word in words]))
    cells = zip(*(cells for _, cells in columns), strict=True)
    return table(title(name), (column for column, _ in columns), cells, note(comparison, name))


def identify(comparison: Comparison, rows: Sequence[Row]) -> _Columns:
    """Returns the columns that identify a row: swept values, flow or hop, control."""
    points = comparison.points
    swept = _swept(comparison, rows)
    columns: _Columns = [
        (Column(ending), [str(points[row.point]["assignments"][path]) for row in rows])
        for ending, path in zip(short(swept), swept, strict=True)
    ]
    of_hops = rows and not rows[0].control and rows[0].metric != "fairness"
    subject = "hop" if of_hops else "flow"
    columns.append((Column(subject), [row.subject for row in rows]))
    if any(
        row.control not in ("", row.subject) for row in rows
    ):  # A flow may be named after its control.
        named: list[Shown] = [Written(row.control, control_label(row.control)) for row in rows]
        columns.append((Column("control", spare=0), named))
    return columns


def title(name: str) -> str:
    """Returns the metric with its shown unit."""
    record = metric(name)
    label = capital(record.label)
    return f"{label} ({record.shown_unit})" if record.shown_unit else label


def note(comparison: Comparison, name: str) -> str:
    """Returns the definition of the metric, and why a method that answered has no number."""
    why = dict.fromkeys(
        f"{comparison.columns[column].label} ({_NO_MODEL if column == 'predict' else cell.why})"
        for row in comparison.rows
        for column, cell in row.cells.items()
        if row.metric == name
        and not cell.is_known
        and comparison.columns[column].result is not None
    )
    unknown = f" Not known everywhere from {'; from '.join(why)}." if why else ""
    marked = any(
        cell.is_marked
        for row in comparison.rows
        if row.metric == name
        for cell in row.cells.values()
    )
    return f"{metric(name).summary}{unknown}{f' {NOTE}.' if marked else ''}"


def answer_table(comparison: Comparison) -> Table:
    """Returns the table of how each method answered, or why it did not."""
    rows = []
    for name, column in comparison.columns.items():
        against = comparison.reference_for(name)
        if column.result is None:
            rows.append([column.label, "no answer", None, column.why])
            continue
        held = comparison.columns[against].label if against is not None else "– (the reference)"
        partial = "cut off; " if column.result.partial else ""
        rows.append([column.label, _size(comparison, name), held, partial + column.why])
    note = "Each answer is a result folder beside this page."
    columns = ("method", Column("answered", numeric=False), "compared with", "note")
    return table("Answers by method", columns, rows, note)


def explanation_table(comparison: Comparison, listed: Sequence[Explanation]) -> Table:
    """Returns the table of all explanations, case by case."""
    rows = []
    for explanation in listed:
        labels = [
            comparison.columns[name].label for name in (explanation.column, explanation.reference)
        ]
        for case in explanation.cases:
            where = f"{metric(case.row.metric).label}, {place(comparison, case.row)}"
            rows.append(
                [
                    f"[{explanation.number}]",
                    " − ".join(labels),
                    explanation.cause.name,
                    where,
                    case.words,
                ]
            )
    head = ["", "difference", "cause", "where", "evidence"]
    return table("Case by case", head, rows, "The evidence of each cause, for each difference.")


def unexplained_table(comparison: Comparison) -> Table:
    """Returns the table of the differences that exceed their interval and have no known cause."""
    rows = []
    for row in comparison.rows:
        for column, residual in row.residuals.items():
            if residual.is_unexplained:
                labels = [comparison.columns[name].label for name in (column, residual.reference)]
                size = written_residual(residual, metric(row.metric).shown_per_unit)
                rows.append(
                    [" − ".join(labels), metric(row.metric).label, place(comparison, row), size]
                )
    note = "These differences exceed their interval, and no known cause explains them."
    return table("Unexplained differences", ["difference", "metric", "where", "size"], rows, note)


def place(comparison: Comparison, row: Row) -> str:
    """Returns the point and flow of a row, in words."""
    assigned = comparison.points[row.point]["assignments"]
    words = dict.fromkeys(str(value) for value in assigned.values() if str(value) != row.control)
    control = "" if row.control in ("", row.subject) else f" ({control_label(row.control)})"
    return ", ".join([f"{row.subject}{control}", *words])


def _swept(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """Returns the swept parameters that the row does not show otherwise."""
    points = comparison.points
    return swept_paths(
        [{"assignments": points[row.point]["assignments"], "control": row.control} for row in rows]
    )


def _number(cell: Cell, name: str) -> Shown:
    interval = in_shown_unit(cell.interval, name)
    if cell.prediction is None or interval is None:
        return starred(interval, cell.is_marked)
    return Written(interval, f"{number(interval.mean)} {cell.prediction.model.label}")


def _residual(row: Row, column: str, listed: Sequence[Explanation]) -> Shown:
    residual = row.residuals.get(column)
    if residual is None:
        return None
    marks = "".join(f"[{explanation}]" for explanation in numbers_of(listed, column, residual))
    if residual.is_unexplained:
        marks = UNEXPLAINED
    shown_per_unit = metric(row.metric).shown_per_unit
    return Written(
        residual.relative, f"{written_residual(residual, shown_per_unit)} {marks}".rstrip()
    )


def _verdict(_comparison: Comparison, row: Row) -> str:
    """Returns "applies", or the assumptions that are violated."""
    prediction = row.cells.get("predict")
    return prediction.fidelity if prediction is not None else ""


def _reliable(comparison: Comparison, row: Row) -> str:
    """Returns how many emulated runs are reliable; their captures are as reliable as they are."""
    column = comparison.columns.get("emulate")
    return column.fidelity(row.point) if column is not None else ""


# Reliability of a row, in columns of its own.
_FIDELITY = ((Column("model"), _verdict), (Column("emulated"), _reliable))


def _size(comparison: Comparison, name: str) -> str:
    """Returns how many points and replicates a method answered."""
    result = comparison.columns[name].result
    if result is None:
        return "–"
    points = f"{len(result.points)} of {len(comparison.points)} points"
    if name == "predict":
        return points
    return f"{points}, {result.counted} replicate{'' if result.replicates[1] == 1 else 's'}"
