"""Results beside each other as tables, sentences and plain data."""

import math
from collections.abc import Sequence
from typing import Any

from ackclock.comparison.bounds import Judged, sentence
from ackclock.comparison.matching import Change
from ackclock.comparison.side_by_side import Difference, Row, SideBySide
from ackclock.metrics import Interval, in_shown_unit, metric
from ackclock.table import (
    Cell,
    Column,
    Table,
    Written,
    as_written,
    brief,
    capital,
    fixed,
    short,
    swept_paths,
    table,
)
from ackclock.validity.stationarity import NOTE, starred

#: Mark of a difference whose interval leaves out zero.
BEYOND = "≠"
#: Its meaning.
BEYOND_MEANS = f"{BEYOND} beyond chance: the 95 % interval of the difference leaves out zero"

# Methods in titles.
_NOUNS = {
    "simulate": "simulation",
    "emulate": "emulation",
    "measure": "measurement",
    "send": "session",
    "receive": "session",
}
# Names longer than this are cut in heads on a terminal.
_LONGEST = 22


def title(side: SideBySide) -> str:
    """Returns what is compared: `a and b: 2 simulations of 5 runs, paired by seed`."""
    each = [
        f"{_NOUNS[result.run['method']]} of {_runs(result.counted)}" for _, result in side.results
    ]
    kinds = dict.fromkeys(each)
    if len(kinds) == 1:
        method, _, runs = each[0].partition(" of ")
        words = f"{len(each)} {method}s of {runs}"
    else:
        words = ", ".join(each)
    names = side.names
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed}: {words}; {pairing(side)}"


def _runs(counted: str) -> str:
    return f"{counted} run{'' if counted == '1' else 's'}"


def pairing(side: SideBySide) -> str:
    """Returns how differences have their intervals: `paired by seed`, or `not paired`."""
    paired = {side.is_paired(number) for number in range(1, len(side.results))}
    if paired == {True}:
        return "paired by seed"
    if paired == {False}:
        return "not paired (Welch)"
    which = [
        name
        for number, (name, _) in enumerate(side.results)
        if number and not side.is_paired(number)
    ]
    return f"paired by seed, but {', '.join(which)} (Welch)"


def number_table(
    side: SideBySide, rows: Sequence[Row], *, absolute: bool = True, whole: bool = False
) -> Table:
    """Returns the table of numbers and differences: a row for each metric, point and subject.

    Args:
        side: The results.
        rows: The rows.
        absolute: True to have differences in the metric's unit, too, not only in percent.
        whole: True for a page, which has room for whole names.
    """
    swept = _swept(side, rows)
    columns: list[tuple[Column, list[Cell]]] = [
        (Column("metric", numeric=False), [_labelled(row, whole=whole) for row in rows])
    ]
    for ending, path in zip(short(swept), swept, strict=True):
        cells: list[Cell] = [
            as_written(side.points[row.point]["assignments"][path]) for row in rows
        ]
        columns.append((Column(ending), cells))
    columns.append((Column("of", numeric=False), [row.subject for row in rows]))
    keys = len(columns) + 1  # With the reference.
    for number, name in enumerate(side.names):
        head = name if whole or len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"
        numbers = [_number(row, number) for row in rows]
        columns.append((Column(head, numeric=True), numbers))
        if number:
            relative: list[Cell] = [_relative(row, number) for row in rows]
            label = "difference" if len(side.names) == 2 else f"{head} less {side.names[0]}"
            if absolute:
                sizes: list[Cell] = [_absolute(row, number) for row in rows]
                columns.append((Column(label, numeric=True), sizes))
            columns.append((Column("in %", numeric=True), relative))
    cells_of_rows = zip(*(cells for _, cells in columns), strict=True)
    note = "; ".join(legend(rows))
    heads = (column for column, _ in columns)
    together = 3 if absolute else 2
    return table(
        "Differences", heads, cells_of_rows, f"{capital(note)}.", keys=keys, together=together
    )


def _swept(side: SideBySide, rows: Sequence[Row]) -> list[str]:
    entries = [
        {"assignments": side.points[row.point]["assignments"], "control": ""} for row in rows
    ]
    return swept_paths(entries)


def _labelled(row: Row, *, whole: bool) -> str:
    """Returns a metric with its unit; on a terminal without "mean", as all numbers are means."""
    record = metric(row.metric)
    label = record.label if whole else record.label.removeprefix("mean ")
    return f"{label} {record.shown_unit}".strip()


def _number(row: Row, number: int) -> Cell:
    cell = row.cells[number]
    if not cell.is_known:
        return None
    return brief(starred(in_shown_unit(cell.interval, row.metric), cell.is_marked))


def _absolute(row: Row, number: int) -> Cell:
    difference = row.differences[number]
    if difference is None:
        return None
    less = in_shown_unit(difference.absolute, row.metric)
    assert less is not None
    return Written(less, signed(less))


def _relative(row: Row, number: int) -> Cell:
    difference = row.differences[number]
    if difference is None:
        return None
    mark = f" {BEYOND}" if difference.is_beyond_chance else "  "
    return Written(difference.relative, f"{percent(difference)}{mark}")


def percent(difference: Difference) -> str:
    """Returns a relative difference with its interval, without its unit: `-3.1 ± 0.4`."""
    relative = difference.relative
    if math.isinf(relative.mean):
        return "∞" if relative.mean > 0 else "-∞"
    size = 100 * relative.mean
    places = 1 if abs(size) >= 10 else 2
    return signed(Interval(size, 100 * relative.half_width, relative.replicates), places)


def signed(less: Interval, most: int = 6) -> str:
    """Returns a difference with its sign and interval, to at most so many decimal places."""
    if math.isnan(less.mean):
        return "–"
    if less.mean == 0 and not less.half_width > 0:
        return "0"
    scale = less.half_width if less.half_width > 0 else abs(less.mean)
    digits = max(0, min(most, 1 - math.floor(math.log10(scale)))) if scale > 0 else 0
    mean = fixed(less.mean, digits, sign=True)
    if not less.half_width > 0:
        return mean
    if float(mean) == 0 and float(f"{less.half_width:.{digits}f}") == 0:
        return "0"
    return f"{mean} ± {less.half_width:.{digits}f}"


def legend(rows: Sequence[Row]) -> list[str]:
    """Returns the meaning of numbers and marks."""
    lines = ["means over replicates ± 95 % interval"]
    differences = [entry for row in rows for entry in row.differences if entry is not None]
    if any(difference.is_beyond_chance for difference in differences):
        lines.append(BEYOND_MEANS)
    if any(cell.is_marked for row in rows for cell in row.cells):
        lines.append(NOTE)
    if any(math.isnan(difference.absolute.half_width) for difference in differences):
        lines.append("without an interval nothing can be said: fewer than two replicates")
    return lines


def changes_table(side: SideBySide) -> Table:
    """Returns the table of what differs from the reference in what was asked for."""
    every = [
        {change.path: change for change in side.changes(number)}
        for number in range(1, len(side.results))
    ]
    reference = side.names[0]
    rows: list[list[Cell]] = []
    for path in dict.fromkeys(path for changes in every for path in changes):
        before = next(changes[path].before for changes in every if path in changes)
        now = [changes[path].now if path in changes else before for changes in every]
        rows.append([path, before, *now])
    heads = [Column("", numeric=False)]
    heads += [Column(name, numeric=False) for name in (reference, *side.names[1:])]
    return table("What differs", heads, rows)


def sentences(side: SideBySide, rows: Sequence[Row]) -> list[str]:
    """Returns the answer: the largest difference of goodput, and how many are beyond chance."""
    lines = []
    for number in range(1, len(side.results)):
        lines += _about(side, rows, number)
    return lines


def _about(side: SideBySide, rows: Sequence[Row], number: int) -> list[str]:
    name, reference = side.names[number], side.names[0]
    compared = [
        (row, difference) for row in rows if (difference := row.differences[number]) is not None
    ]
    if not compared:
        return [f"{name} and {reference} have no number in common."]
    if all(entry.absolute.mean == 0 for _, entry in compared):
        return [f"{name} and {reference} have the same numbers."]
    beyond = [(row, entry) for row, entry in compared if entry.is_beyond_chance]
    if all(math.isnan(entry.absolute.half_width) for _, entry in compared):
        words = "fewer than two replicates have no interval, so that any of it may be chance"
        return [f"{name} and {reference}: {words}."]
    if not beyond:
        count = f"all {len(compared)} differences" if len(compared) > 1 else "the difference"
        return [f"{name} and {reference} do not differ beyond chance: {count} may be chance."]
    of_goodput = [pair for pair in beyond if pair[0].metric == "goodput"]
    row, entry = max(of_goodput or beyond, key=lambda pair: abs(pair[1].relative.mean))
    where = place(side, row)
    label = metric(row.metric).label
    if math.isfinite(entry.relative.mean):
        size = f"{percent(entry).lstrip('+-')} %"
    else:
        less = in_shown_unit(entry.absolute, row.metric)
        size = f"{signed(less).lstrip('+-')} {metric(row.metric).shown_unit}" if less else ""
    more = "more" if entry.absolute.mean > 0 else "less"
    verb = "is" if len(beyond) == 1 else "are"
    times = f"{len(beyond)} of {len(compared)} differences {verb} beyond chance"
    lines = [f"{name} has {size} {more} {label} than {reference} ({where}).", f"{times}."]
    expected = round(0.05 * len(compared))
    if expected:
        lines[-1] = f"{times}; of so many, about {expected} would seem so by chance alone."
    return lines


def place(side: SideBySide, row: Row) -> str:
    """Returns flow or hop and point of a row, in words."""
    values = side.points[row.point]["assignments"].values()
    return ", ".join([row.subject, *map(as_written, values)])


def plain(side: SideBySide, rows: Sequence[Row], entries: Sequence[Judged]) -> dict[str, Any]:
    """Returns results, changes, rows and judged bounds as plain data."""
    return {
        "reference": side.names[0],
        "results": [_plain_result(side, number) for number in range(len(side.results))],
        "changes": {
            side.names[number]: [_plain_change(change) for change in side.changes(number)]
            for number in range(1, len(side.results))
        },
        "notes": side.notes,
        "rows": [_plain_row(side, row) for row in rows],
        "bounds": [
            {
                "bound": entry.bound.text,
                "result": entry.name,
                "metric": entry.row.metric,
                "point": entry.row.point,
                "subject": entry.row.subject,
                "fails": entry.fails,
                "words": sentence(entry),
            }
            for entry in entries
        ],
    }


def _plain_result(side: SideBySide, number: int) -> dict[str, Any]:
    name, result = side.results[number]
    run = result.run
    return {
        "name": name,
        "folder": None if result.folder is None else str(result.folder),
        "method": run["method"],
        "scenario": run["name"],
        "seed": run.get("seed"),
        "replicates": run["replicates"],
        "versions": run.get("versions", {}),
        "paired": side.is_paired(number) if number else None,
    }


def _plain_change(change: Change) -> dict[str, str]:
    return {"path": change.path, "before": change.before, "now": change.now}


def _plain_row(side: SideBySide, row: Row) -> dict[str, Any]:
    values = []
    for name, cell, difference in zip(side.names, row.cells, row.differences, strict=True):
        entry: dict[str, Any] = {"result": name, "unsettled": cell.is_marked}
        entry["value"] = cell.interval if cell.is_known else None
        if difference is not None:
            entry |= {
                "difference": difference.absolute,
                "relative": difference.relative,
                "standing": difference.standing,
                "beyond_chance": difference.is_beyond_chance,
                "paired": difference.is_paired,
            }
        values.append(entry)
    return {
        "metric": row.metric,
        "unit": metric(row.metric).unit,
        "point": row.point,
        "assignments": side.points[row.point]["assignments"],
        "subject": row.subject,
        "values": values,
    }


def bound_table(side: SideBySide, entries: Sequence[Judged]) -> Table:
    """Returns the table of judged bounds."""
    rows = [
        ["✗ fails" if entry.fails else "✓ holds", entry.bound.text, place(side, entry.row),
         entry.name, "unknown" if entry.difference is None else _sized(entry)]
        for entry in entries
    ]  # fmt: skip
    note = (
        "A bound is missed if the mean difference is beyond it and the 95 % interval leaves out "
        "zero."
    )
    return table("Bounds", ["", "bound", "of", "result", "difference"], rows, note)


def _sized(entry: Judged) -> str:
    difference = entry.difference
    assert difference is not None
    if entry.bound.is_relative:
        return f"{percent(difference)} %"
    less = in_shown_unit(difference.absolute, entry.row.metric)
    assert less is not None
    return f"{signed(less)} {metric(entry.row.metric).shown_unit}"
