"""The short answer of a comparison: a table of marked numbers, and sentences about it."""

import math
from collections.abc import Mapping, Sequence

from ackclock.comparison.column import Column as ComparedColumn
from ackclock.comparison.differences import EXCEEDS, SLIGHT, UNSURE
from ackclock.comparison.explanation import Explanation
from ackclock.comparison.rendering import identify, place, title
from ackclock.comparison.table import Comparison, Residual, Row
from ackclock.metrics import in_shown_unit, metric
from ackclock.table import Cell as Shown
from ackclock.table import Column, Table, Written, assigned, capital, number, table, text
from ackclock.validity.stationarity import NOTE, starred

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
    for column, described in comparison.columns.items():
        if any(row.cells[column].is_known for row in rows):
            columns.append(
                (_head(described, comparison.linux), [_marked(row, column) for row in rows])
            )
    cells = zip(*(cells for _, cells in columns), strict=True)
    return table(title(name), (column for column, _ in columns), cells, keys=keys)


def _head(column: ComparedColumn, linux: str) -> Column:
    """The head of a method. A narrow terminal first leaves out captures of a simulated run."""
    if column.source is None:
        answers = f"Linux {linux}" if linux and column.method == "emulate" else ""
        return Column(column.method, answers or _ANSWERS[column.method], numeric=True)
    spare = 0 if column.source.method == "simulate" else 1
    return Column(column.method, f"of {column.source.method}", spare, numeric=True)


def legend(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Returns a line for each mark in the tables of these metrics."""
    rows = [row for row in comparison.rows if row.metric in names]
    marks = {differing(row, column) for row in rows for column in row.cells}
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
    return [*findings(comparison, names), *cautions(comparison)]


def findings(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Returns the range of the reference, and how far the other methods are from it."""
    rows = _about(comparison, names)
    sentences = (
        [_range(comparison, rows), _shares(comparison, rows)]
        if comparison.reference is not None
        else []
    )
    for name in sorted(comparison.columns, key=lambda key: key == "predict"):  # Models last.
        column = comparison.columns[name]
        if column.source is not None:  # A capture shows its own run.
            continue
        row = largest(comparison, names, name)
        if row is not None:
            sentences.append(_difference(comparison, row, name))
        else:
            sentences.append(_agreement(comparison, rows, name))
    return [sentence for sentence in sentences if sentence]


def largest(comparison: Comparison, names: Sequence[str], column: str) -> Row | None:
    """Returns the row of a method's largest difference in these metrics; None if there is none.

    Only differences that exceed their interval count. The goodput comes before other metrics.
    """
    rows = [
        row
        for row in _about(comparison, names)
        if differing(row, column) and not math.isnan(row.residuals[column].relative)
    ]
    return max(rows, key=lambda row: abs(row.residuals[column].relative), default=None)


def _about(comparison: Comparison, names: Sequence[str]) -> list[Row]:
    rows = [row for row in comparison.rows if row.metric in names]
    return [row for row in rows if row.metric == "goodput"] or rows


def causes(
    comparison: Comparison, listed: Sequence[Explanation], names: Sequence[str]
) -> list[str]:
    """Returns a line for each cause that shows in these metrics, with the number of its cases."""
    lines = []
    for explanation in listed:
        count = sum(case.row.metric in names for case in explanation.cases)
        if count:
            who, against = (
                speaker(comparison, name) for name in (explanation.column, explanation.reference)
            )
            times = f"{count} difference{'' if count == 1 else 's'}"
            lines.append(f"{capital(who)} and {against}: {explanation.cause.sentence} ({times})")
    return lines


def differing(row: Row, column: str) -> str:
    """Returns the mark of a number: `DIFFERS`, `OUTSIDE`, or empty within its interval."""
    residual = row.residuals.get(column)
    if residual is None or residual.standing != EXCEEDS:
        return ""
    return OUTSIDE if row.cells[column].prediction is not None else DIFFERS


def _marked(row: Row, column: str) -> Shown:
    cell = row.cells[column]
    interval = in_shown_unit(cell.interval, row.metric)
    if interval is None or not cell.is_known:
        return None
    return Written(
        interval, f"{text(starred(interval, cell.is_marked))} {differing(row, column):1}"
    )


def _range(comparison: Comparison, rows: Sequence[Row]) -> str:
    """The ends of the reference's goodput, or the only one."""
    if not rows or rows[0].metric != "goodput":
        return ""
    reference = str(comparison.reference)
    known_rows = [row for row in rows if row.cells[reference].is_known]
    if not known_rows:
        return ""
    ends = [
        end(known_rows, key=lambda row: row.cells[reference].interval.mean) for end in (max, min)
    ]
    scale, unit = metric("goodput").shown_per_unit, metric("goodput").shown_unit
    most, least = (
        f"{number(row.cells[reference].interval.mean, scale)} {unit} ({place(comparison, row)})"
        for row in ends
    )
    who = speaker(comparison, reference)
    if len(known_rows) == 1:
        mean = text(in_shown_unit(known_rows[0].cells[reference].interval, "goodput"))
        return capital(
            f"{who} has a goodput of {mean} {unit} for {place(comparison, known_rows[0])}."
        )
    return capital(f"{who} has a goodput of {most} down to {least}.")


def _shares(comparison: Comparison, rows: Sequence[Row]) -> str:
    """Says which share of their common link each flow takes, with its interval.

    With several points it is the one where the shares of the reference differ most. Goodput counts
    payload: shares do not add up to the utilisation.
    """
    if not rows or rows[0].metric != "goodput":
        return ""
    reference = str(comparison.reference)
    capacities = comparison.columns[reference].values(metric("capacity"))
    by_point: dict[int, list[tuple[str, float, float]]] = {}
    for row in rows:
        cell = row.cells[reference]
        capacity = _bottleneck_bit_per_s(comparison, row, capacities)
        if cell.is_known and math.isfinite(capacity):
            mean, half = cell.interval.mean / capacity, cell.interval.half_width / capacity
            by_point.setdefault(row.point, []).append((row.subject, mean, half))

    def apart(flows: list[tuple[str, float, float]]) -> float:
        return max(mean for _, mean, _ in flows) - min(mean for _, mean, _ in flows)

    if not by_point:
        return ""
    point = max(by_point, key=lambda index: apart(by_point[index]))
    words = [f"{name} {_share(mean, half)}" for name, mean, half in by_point[point]]
    assigned_here = assigned(comparison.points[point]["assignments"])
    where = f" ({', '.join(assigned_here)})" if len(by_point) > 1 and assigned_here else ""
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    who = speaker(comparison, reference)
    return capital(f"in {who}{where} the goodput is this share of the link: {listed}.")


def _bottleneck_bit_per_s(
    comparison: Comparison, row: Row, capacities: Mapping[tuple[int, str], Mapping[int, float]]
) -> float:
    """Returns the least mean capacity of the hops of a flow's data; infinite if none is known."""
    flows = comparison.points[row.point]["scenario"]["flows"]
    route: list[str] = next((flow["route"] for flow in flows if flow["name"] == row.subject), [])
    each = [list(capacities.get((row.point, hop), {}).values()) for hop in route]
    means = [sum(values) / len(values) for values in each if values]
    return min((mean for mean in means if mean > 0), default=math.inf)


def _share(mean: float, half: float) -> str:
    """Formats a share of a link with its 95 % interval, such as `31.2 ± 0.8 %`."""
    mean, half = 100 * mean, 100 * half
    if not half > 0:
        return f"{mean:.3g} %"
    digits = 0 if half >= 10 else 1 if half >= 0.1 else 2
    return f"{mean:.{digits}f} ± {half:.{digits}f} %"


def _difference(comparison: Comparison, row: Row, column: str) -> str:
    cell, residual = row.cells[column], row.residuals[column]
    who = cell.prediction.model.label if cell.prediction else speaker(comparison, column)
    against = speaker(comparison, residual.reference)
    size = f"{_percent(residual)} {'more' if residual.relative > 0 else 'less'}"
    label = metric(row.metric).label
    return capital(f"{who} has {size} {label} than {against} for {place(comparison, row)}.")


def _percent(residual: Residual) -> str:
    """The size of a relative difference with its 95 % interval, such as `21 ± 7 %`."""
    size, gap = 100 * abs(residual.relative), residual.difference
    half = size * gap.half_width / abs(gap.mean)
    if not half > 0:
        return f"{size:.2g} %"
    digits = 0 if half >= 1 else 1
    return f"{size:.{digits}f} ± {half:.{digits}f} %"


def _agreement(comparison: Comparison, rows: Sequence[Row], column: str) -> str:
    """Says that no difference exceeds its interval, or 1 %, if all compared have an interval."""
    against = comparison.reference_for(column)
    standings = {row.residuals[column].standing for row in rows if column in row.residuals}
    if against is None or not standings or UNSURE in standings:
        return ""
    most = "less than 1 % or " if SLIGHT in standings else ""
    who, whose = speaker(comparison, column), speaker(comparison, against)
    label = metric(rows[0].metric).label
    return capital(f"{who} and {whose} differ in {label} by {most}no more than the 95 % interval.")


def speaker(comparison: Comparison, name: str) -> str:
    """Returns the method of a column, in words: `Linux`, `the measurement of Linux`."""
    column = comparison.columns[name]
    whose = f" of {_SPEAKERS[column.source.method]}" if column.source is not None else ""
    return f"{_SPEAKERS[column.method]}{whose}"


def cautions(comparison: Comparison) -> list[str]:
    """Returns sentences about Linux's control, few or identical replicates, unreliable runs."""
    few = [
        f"{column.result.counted} of {_SPEAKERS[column.method]}"
        for column in comparison.columns.values()
        if column.result is not None
        and column.method in ("simulate", "emulate")
        and column.result.replicates[0] < _FEW
    ]
    sentences = [f"Linux ran its {comparison.linux} instead."] if comparison.linux else []
    emulated = comparison.columns.get("emulate")
    if emulated is not None and emulated.result is None:
        sentences = [f"Linux has no answer: {emulated.why}."]
    sentences += [f"Caution: few replicates ({', '.join(few)})."] if few else []
    sentences += [
        f"Nothing random affects {_SPEAKERS[column.method]}: its replicates are identical."
        for column in comparison.columns.values()
        if column.result is not None and len(column.result.identical) == len(column.result.points)
    ]
    reliable, runs = reliability(comparison)
    return (
        [*sentences, f"{reliable} of {runs} runs of Linux are reliable."]
        if reliable < runs
        else sentences
    )


def reliability(comparison: Comparison) -> tuple[int, int]:
    """Returns how many emulated runs are reliable, and how many there are."""
    emulated = comparison.columns.get("emulate")
    if emulated is None or emulated.result is None:
        return 0, 0
    runs = emulated.result.tables["fidelity"].num_rows
    return runs - len(emulated.result.unreliable), runs
