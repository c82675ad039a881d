"""Small multiples: which swept values are axes, lines, columns and rows of panels.

A tidy table (`ackclock.metrics.frame`) has a column for each swept path. Those with more than one
value are the dimensions of a sweep, and so are the flows if there are several. A figure gives each
of them a place.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ackclock.errors import InputError, suggestion
from ackclock.metrics import METRICS
from ackclock.metrics.frame import HALF_WIDTH
from ackclock.plot.scales import short_numbers
from ackclock.plot.spec import Axis, Panel, Series
from ackclock.result.labels import value_label
from ackclock.table import short

#: Panels that a page can hold; more are too small to read.
MOST_PANELS = 24

#: Ending of the column that says for which rows a metric has not settled.
UNSETTLED = "_unsettled"

#: Columns of a tidy table that are not swept.
_OTHER_COLUMNS = frozenset({"point", "replicate", "replicates", "identical", "model", "violated"})

# Units at the end of a column's name, as people write them.
_UNITS = {
    "percent": "%", "bit_per_s": "bit/s", "kbit_per_s": "kbit/s", "Mbit_per_s": "Mbit/s",
    "Gbit_per_s": "Gbit/s", "packets_per_s": "packets/s", "BDP": "BDP", "RTT": "RTT",
    "packets": "packets", "packet": "packets", "segments": "segments", "bytes": "bytes",
    "kB": "kB", "MB": "MB", "ns": "ns", "us": "µs", "ms": "ms", "s": "s", "min": "min", "h": "h",
}  # fmt: skip


@dataclass(frozen=True)
class Dimension:
    """A swept column with more than one value.

    Attributes:
        column: Name of the column.
        path: Path in the scenario; the column's name if the table does not tell.
        label: Short name for an axis, without the unit.
        unit: Unit of its numbers; empty for none and for text.
        values: Its values: numbers ascending, text in the order of the table.
    """

    column: str
    path: str
    label: str
    unit: str
    values: tuple[Any, ...]

    @property
    def is_number(self) -> bool:
        """True if its values are numbers."""
        return all(isinstance(value, int | float) for value in self.values)

    @property
    def axis_name(self) -> str:
        """Label of an axis, without the unit.

        The field of an element has the element's name before it: in print, a "limit" could be that
        of anything.
        """
        parts = self.path.split(".")
        is_of_element = len(parts) > 3 and self.label == parts[-1]
        ends = ".".join(names_of_path(self.path)[-2:])
        return words_of_path(ends if is_of_element else self.label)

    def value_text(self, value: Any) -> str:
        """Returns a value as a tick label."""
        if not isinstance(value, float):
            return value_label(self.path, value)
        if not self.is_number:
            return f"{value:g}"
        return short_numbers(self.values)[self.values.index(value)]

    def panel_title(self, value: Any) -> str:
        """Returns a value as the title of a panel: text alone, a number with name and unit."""
        if not self.is_number:
            return value_label(self.path, value)
        return f"{words_of_path(self.label)} {self.value_text(value)} {self.unit}".rstrip()


def names_of_path(path: str) -> list[str]:
    """Returns the names in a path, without lists and positions in them.

    Of `hops.wireless.impairments.0.probability` these are hops, wireless and probability.
    """
    parts = path.split(".")
    following = [*parts[1:], ""]
    names = [
        part
        for part, after in zip(parts, following, strict=True)
        if not (part.isdecimal() or after.isdecimal())
    ]
    return names or parts


def words_of_path(path: str) -> str:
    """Returns a path in a scenario as words of an axis, such as "buffer" for `values.buffer`."""
    parts = names_of_path(path)
    if len(parts) > 1 and parts[0] in ("values", "hops", "flows"):
        parts = parts[1:]
    return " ".join(parts).replace("_", " ")


def dimensions(table: pa.Table) -> list[Dimension]:
    """Returns the swept columns with more than one value, in the order of the table.

    Of columns whose values determine each other, such as two delays swept together, only the first
    counts.
    """
    columns: list[tuple[str, str, str, tuple[Any, ...]]] = []
    kept: list[list[Any]] = []
    for field in table.schema:
        if field.name in _OTHER_COLUMNS or _is_metric(field.name):
            continue
        values = table[field.name].to_pylist()
        distinct = list(dict.fromkeys(values))
        if len(distinct) < 2 or any(_determine(values, other) for other in kept):
            continue
        if all(isinstance(value, int | float) for value in distinct):
            distinct.sort()
        kept.append(values)
        columns.append((field.name, *_named(field), tuple(distinct)))
    labels = short(path for _, path, *_ in columns)
    return [
        Dimension(column, path, label, unit, values)
        for label, (column, path, unit, values) in zip(labels, columns, strict=True)
    ]


def _is_metric(name: str) -> bool:
    base = name.removesuffix(HALF_WIDTH).removesuffix(UNSETTLED)
    return base in METRICS or name.endswith((HALF_WIDTH, UNSETTLED))


def _determine(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """True if each value goes with one other value, and the other way round."""
    pairs = set(zip(values, others, strict=True))
    return len(pairs) == len(set(values)) == len(set(others))


def _named(field: pa.Field) -> tuple[str, str]:
    """Returns the path and the unit of a swept column."""
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    if "path" in metadata:
        return metadata["path"], metadata.get("unit", "")
    for words, unit in sorted(_UNITS.items(), key=lambda words_and_unit: -len(words_and_unit[0])):
        if field.name.endswith(f"_{words}"):
            return field.name.removesuffix(f"_{words}").replace("_", "."), unit
    return field.name.replace("_", "."), ""


def dimension(candidates: Sequence[Dimension], name: str, option: str) -> Dimension:
    """Returns the dimension with a path, column or label.

    Raises:
        InputError: There is none, with the option that asked for it.
    """
    plain = re.sub(r"\W+", "_", name)
    for candidate in candidates:
        if name in (candidate.path, candidate.column, candidate.label) or plain == candidate.column:
            return candidate
    paths = [candidate.path for candidate in candidates]
    raise InputError(
        "unknown-name", option, f'"{name}" is not swept; {suggestion(name, paths)}', name
    )


@dataclass(frozen=True)
class Grid:
    """The places of dimensions that are neither axis nor line.

    Attributes:
        columns: Dimension whose values are columns of panels; None for one column.
        rows: Dimensions whose combinations are rows of panels.
    """

    columns: Dimension | None
    rows: tuple[Dimension, ...]

    @property
    def column_values(self) -> list[dict[str, Any]]:
        """The swept values of each column of panels, by name of the column of the table."""
        if self.columns is None:
            return [{}]
        return [{self.columns.column: value} for value in self.columns.values]

    def title(self, values: dict[str, Any]) -> str:
        """Returns the title of the panel with these swept values."""
        by_column = {
            swept.column: swept for swept in (self.columns, *self.rows) if swept is not None
        }
        return ", ".join(by_column[name].panel_title(value) for name, value in values.items())

    @property
    def row_values(self) -> list[dict[str, Any]]:
        """The swept values of each row of panels."""
        rows: list[dict[str, Any]] = [{}]
        for swept in self.rows:
            rows = [{**row, swept.column: value} for row in rows for value in swept.values]
        return rows

    @property
    def values(self) -> list[dict[str, Any]]:
        """The swept values of each panel, row by row."""
        return [{**row, **column} for row in self.row_values for column in self.column_values]

    def panels(self, series: Callable[[dict[str, Any]], Sequence[Series]]) -> tuple[Panel, ...]:
        """Returns the panels row by row; `series` makes those of swept values."""
        return tuple(
            Panel(
                tuple(series(values)), self.title(values),
                self.columns.panel_title(values[self.columns.column]) if self.columns else "",
                "\n".join(swept.panel_title(values[swept.column]) for swept in self.rows),
            )
            for values in self.values
        )  # fmt: skip


def grid(others: Iterable[Dimension]) -> Grid:
    """Returns the panels for some dimensions: the first is the columns, the others are the rows.

    Raises:
        InputError: There are more than `MOST_PANELS` panels.
    """
    placed = list(others)
    made = Grid(placed[0] if placed else None, tuple(placed[1:]))
    if len(made.values) > MOST_PANELS:
        names = ", ".join(f"{swept.path} ({len(swept.values)})" for swept in placed)
        raise InputError(
            "out-of-range",
            "",
            f"needs {len(made.values)} panels for {names}; the most is {MOST_PANELS}; "
            "choose --x and --y so that fewer are left, or run a smaller sweep",
        )
    return made


def selected(rows: list[dict[str, Any]], values: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows with these swept values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def known_rows(table: pa.Table, metric: str) -> list[dict[str, Any]]:
    """Returns the rows of a table with a value of the metric."""
    if metric not in table.schema.names:
        raise InputError("no-data", "", f'has no column "{metric}"')
    rows: list[dict[str, Any]] = table.to_pylist()
    with_value = [row for row in rows if row[metric] is not None]
    if not with_value:
        raise InputError("no-data", "", f"knows no {metric_label(metric)} of any point")
    return with_value


def metric_label(metric: str) -> str:
    """Returns the label of a metric with its unit; a name that is not a metric stays itself."""
    return metric_axis(metric).words


def metric_axis(metric: str) -> Axis:
    """Returns an axis of a metric in its shown unit."""
    if metric not in METRICS:
        return Axis(metric)
    definition = METRICS[metric]
    return Axis(definition.label, definition.shown_unit)
