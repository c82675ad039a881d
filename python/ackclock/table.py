"""Tables that people read, and how numbers, intervals and swept values are written in them.

A `Table` is data: typed cells in named columns. `ackclock.cli.output` prints it on a terminal, the
template `report/table.html.jinja` writes it into a page, and `to_json` and `to_csv` give it to
programs.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ackclock.metrics import Interval, metric
from ackclock.result import Result

Rows = list[dict[str, Any]]

Value = str | int | float | Interval | None


class Written(NamedTuple):
    """A value with a text of its own.

    Attributes:
        value: The value for programs.
        text: The text for people.
    """

    value: Value
    text: str


#: None is unknown; numbers and intervals are in the unit of their column.
Cell = Value | Written


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: The name at its head; empty for none.
        unit: The unit of its numbers, written after the name.
        spare: When a terminal is too narrow, columns are left out by ascending `spare`; None for a
            column that stays.
        numeric: Whether it is aligned on the right; None if its cells are to decide.
    """

    name: str
    unit: str = ""
    spare: int | None = None
    numeric: bool | None = None

    @property
    def head(self) -> str:
        """Name and unit."""
        return f"{self.name} {self.unit}".strip()


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Attributes:
        title: The words above it.
        columns: The columns, from the left.
        rows: One cell for each column.
        note: What a reader has to know of it, for pages; may be empty.
        keys: How many columns tell the rows apart. If positive, what is too wide for a terminal
            goes on below, beside these columns again.
        together: How many of the other columns then stay side by side.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    keys: int = 0
    together: int = 1

    @property
    def head(self) -> list[str]:
        """Name and unit of each column."""
        return [column.head for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The cells as people read them, row by row."""
        return [[text(cell) for cell in row] for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """For each column whether it is aligned on the right: by default if all its cells begin as numbers."""
        texts = self.texts
        return [
            bool(texts) and all(row[at][:1] in "0123456789–-+∞" for row in texts if row[at])
            if column.numeric is None
            else column.numeric
            for at, column in enumerate(self.columns)
        ]

    def select(self, positions: Iterable[int]) -> "Table":
        """The table with some of its columns, in that order."""
        chosen = list(positions)
        rows = tuple(tuple(row[at] for at in chosen) for row in self.rows)
        return Table(
            self.title,
            tuple(self.columns[at] for at in chosen),
            rows,
            self.note,
            self.keys,
            self.together,
        )

    def to_json(self) -> list[dict[str, Any]]:
        """A record for each row: the head of each column to its value as plain data."""
        return [
            {
                column.head: plain(_value(cell))
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]

    def to_csv(self) -> str:
        """Comma-separated values under a line of heads; an interval takes three columns: mean, low and high."""
        columns: list[list[Any]] = []
        for at, head in enumerate(self.head):
            values = [_value(row[at]) for row in self.rows]
            if any(isinstance(value, Interval) for value in values):
                columns.append([head, *(plain(getattr(value, "mean", value)) for value in values)])
                for end in ("low", "high"):
                    columns.append(
                        [f"{head} {end}", *(plain(getattr(value, end, None)) for value in values)]
                    )
            else:
                columns.append([head, *map(plain, values)])
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(zip(*columns, strict=True))
        return file.getvalue()


def table(
    title: str, columns: Iterable[Column | str], rows: Iterable[Iterable[Cell]], note: str = "", *, keys: int = 0,
    together: int = 1,
) -> Table:  # fmt: skip
    """Makes a table; a column that is a text is its name. The other arguments are fields of `Table`."""
    named = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    return Table(title, named, tuple(tuple(row) for row in rows), note, keys, together)


def text(cell: Cell) -> str:
    """A cell as people read it: about four digits of a number, two of an interval's half width, a dash for unknown."""
    match cell:
        case Written():
            return cell.text
        case Interval():
            return written_interval(cell)
        case float():
            return number(cell)
        case None:
            return "–"
        case _:
            return str(cell)


def _value(cell: Cell) -> Value:
    return cell.value if isinstance(cell, Written) else cell


def scaled(value: float | None, scale: float) -> float | None:
    """A number in another unit; None stays unknown."""
    return None if value is None else value * scale


def in_shown_unit(interval: Interval | None, name: str) -> Interval | None:
    """An interval of a metric in the unit in which tables show it."""
    if interval is None:
        return None
    scale = metric(name).shown_per_unit
    return Interval(interval.mean * scale, interval.half_width * scale, interval.replicates)


def plain(value: Any) -> Any:
    """For JSON: intervals as `{"mean", "low", "high", "replicates"}`, unknown numbers as None, NumPy's as Python's."""
    if isinstance(value, Interval):
        return {
            "mean": plain(value.mean),
            "low": plain(value.low),
            "high": plain(value.high),
            "replicates": value.replicates,
        }
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def json_text(value: Any) -> str:
    """What is `plain` as text of several lines, the last of them ended."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def named(flow: str, instances: int | None) -> str:
    """A flow and how many instances it has; None if they arrive."""
    if instances is None:
        return f"{flow} (arriving)"
    return flow if instances == 1 else f"{flow} ×{instances}"


def swept_paths(rows: Rows) -> list[str]:
    """The swept parameters that the row does not say otherwise: a swept control stands in the column of controls."""
    paths = list(rows[0]["assignments"]) if rows else []
    return [
        path
        for path in paths
        if not all(row["assignments"][path] == row.get("control") for row in rows)
    ]


def assigned(assignments: Mapping[str, Any]) -> list[str]:
    """The swept values of a point, each with its name."""
    return [
        f"{name} {value}"
        for name, value in zip(short(assignments), assignments.values(), strict=True)
    ]


def short(paths: Iterable[str]) -> list[str]:
    """The shortest endings of paths that tell them apart, at least the name of the field."""
    paths = list(paths)
    ended = []
    for path in paths:
        parts = path.split(".")
        fewest = 2 if parts[-1] == "kind" else 1
        for count in range(fewest, len(parts) + 1):
            ending = ".".join(parts[-count:])
            if sum(other.endswith(ending) for other in paths) == 1:
                break
        ended.append(ending)
    return ended


def written_interval(interval: Interval) -> str:
    """`5.21 ± 0.13`, or without what is not known of it."""
    if math.isnan(interval.mean):
        return "–"
    if math.isnan(interval.half_width):
        return number(interval.mean)
    if interval.half_width == 0:
        return f"{number(interval.mean)} ± 0"
    # Two digits of what is uncertain, at most four of what is known.
    digits = min(_digits(interval.mean), _digits(interval.half_width, 2))
    return f"{fixed(interval.mean, digits)} ± {interval.half_width:.{digits}f}"


def number(value: float | None, scale: float = 1) -> str:
    """A number with about four digits, a dash for unknown."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return fixed(value * scale, _digits(value * scale))


def fixed(value: float, digits: int, *, sign: bool = False) -> str:
    """A number with that many decimal places, with `sign` also a plus; zero has no sign."""
    words = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return words.lstrip("+-") if float(words) == 0 else words


def _digits(value: float, significant: int = 4) -> int:
    """Decimal places that show so many digits."""
    return 0 if value == 0 else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))


def averaging(result: Result) -> str:
    """What the numbers of a result are, for titles."""
    count, unreliable = result.run["replicates"], len(result.unreliable)
    one = "one replicate" if result.run["scenario"] else "one session"
    words = (
        f"means of {count} replicates ± 95 % confidence"
        if count > 1
        else f"{one}, no confidence interval"
    )
    if unreliable:
        runs = f"{unreliable} unreliable run{'' if unreliable == 1 else 's'}"
        words += f", {runs} {'left out' if result.left_out else 'taken in'}"
    return f"interrupted, of what was run: {words}" if result.partial else words
