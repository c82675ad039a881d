"""Tidy tables of metrics: one row per point and flow or hop, swept values as columns of numbers.

They are Arrow tables, which pandas (`table.to_pandas()`) and polars (`polars.from_arrow(table)`)
take as they are.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from ackclock import units
from ackclock.errors import InputError
from ackclock.metrics import METRICS, by_replicate, interval, metric
from ackclock.metrics.metric import unknown_subject
from ackclock.result.result import Result
from ackclock.table import as_written

#: Column with the name of the flow or hop that a row is about.
SUBJECT = "subject"

#: Ending of the column with the half width of a metric's 95 % confidence interval.
HALF_WIDTH = "_half_width"

# Words for units in names of columns.
_UNIT_WORDS = {"%": "percent", "µs": "us"}


class Swept(NamedTuple):
    """A swept path as a column.

    Attributes:
        path: Path in the scenario.
        name: Name of the column: the path with `_` for other characters, and the unit.
        unit: Unit of its numbers as people write it; empty for none and for text.
        values: A number or a text for each point.
    """

    path: str
    name: str
    unit: str
    values: list[Any]


def swept(points: list[dict[str, Any]]) -> list[Swept]:
    """Returns the swept paths of a result's points as columns, in the order of the sweep.

    Quantities are numbers in the unit in which they are written. If units differ, they are in the
    base unit. What is not a number at every point is text.
    """
    paths = list(points[0]["assignments"]) if points else []
    return [_swept(path, [point["assignments"].get(path) for point in points]) for path in paths]


def _swept(path: str, written: list[Any]) -> Swept:
    name = re.sub(r"\W+", "_", path)
    if all(isinstance(value, bool) for value in written):
        return Swept(path, name, "", written)
    try:
        read = [units.parse(text) for text in written]
    except ValueError:
        return Swept(path, name, "", [as_written(value) for value in written])
    if len({quantity.base for quantity in read}) > 1:
        return Swept(path, name, "", [as_written(value) for value in written])
    written_units = {quantity.unit for quantity in read}
    if len(written_units) == 1:
        unit, values = read[0].unit, [quantity.number for quantity in read]
    else:
        unit, values = read[0].base, [quantity.amount for quantity in read]
    if not unit:
        plain = all(isinstance(value, int | float) for value in written)
        return Swept(path, name, "", written if plain else [quantity.amount for quantity in read])
    words = _UNIT_WORDS.get(unit, unit).replace("/", "_per_")
    return Swept(path, f"{name}_{words}", unit, values)


def frame(
    result: Result, names: Iterable[str], *, subject: str | None = None, by: str = "point"
) -> pa.Table:
    """Returns metrics as a tidy table.

    Args:
        result: The result.
        names: Names of metrics (`ackclock.metrics.METRICS`).
        subject: One of the subjects of the metrics; None for all.
        by: `point` for means over replicates, `replicate` for the value of each replicate.

    Returns:
        Columns `point`; one for each swept path, such as `hops_b_queue_limit_BDP`; `replicate`, if
        asked for; `subject`; and one for each metric, in the metric's unit. By point, the column
        `METRIC_half_width` has the half width of the 95 % Student-t interval over replicates. What
        is unknown is null. A metric of hops is null in rows of flows, and the other way round. The
        metadata of a swept column has its `path` and `unit`.

    Raises:
        InputError: There is no such metric, subject or `by`.
    """
    chosen = [metric(name) for name in dict.fromkeys(names)]
    if not chosen:
        raise InputError("missing", "", f"name a metric; choose from {', '.join(METRICS)}")
    if by not in ("point", "replicate"):
        raise InputError("unknown-name", "by", f'unknown choice "{by}"; choose point or replicate')
    by_metric = [by_replicate(result, record) for record in chosen]
    keys = sorted(
        dict.fromkeys(key for values in by_metric for key in values), key=lambda key: key[0]
    )
    subjects = list(dict.fromkeys(name for _, name in keys))
    if subject is not None:
        if subject not in subjects:
            raise unknown_subject(chosen, subject, subjects, "subject")
        keys = [key for key in keys if key[1] == subject]
    # Point and subject of each row, and its replicate if there is a row for each.
    rows: list[tuple[tuple[int, str], int | None]] = [(key, None) for key in keys]
    if by == "replicate":
        count = range(int(result.run["replicates"]))
        present = {
            key: {replicate for values in by_metric for replicate in values.get(key, {})}
            for key in keys
        }
        rows = [
            (key, replicate) for key in keys for replicate in count if replicate in present[key]
        ]
    columns: dict[str, pa.Array] = {"point": pa.array([key[0] for key, _ in rows], pa.int64())}
    about: dict[str, dict[str, str]] = {}
    for variable in swept(result.points):
        columns[variable.name] = pa.array([variable.values[key[0]] for key, _ in rows])
        about[variable.name] = {"path": variable.path, "unit": variable.unit}
    if by == "replicate":
        columns["replicate"] = pa.array([replicate for _, replicate in rows], pa.int64())
    columns[SUBJECT] = pa.array([key[1] for key, _ in rows], pa.string())
    for record, values in zip(chosen, by_metric, strict=True):
        if by == "replicate":
            each = [values.get(key, {}).get(replicate or 0) for key, replicate in rows]
            columns[record.name] = _numbers(each)
        else:
            intervals = {key: interval(list(values.get(key, {}).values())) for key in keys}
            columns[record.name] = _numbers([intervals[key].mean for key in keys])
            columns[record.name + HALF_WIDTH] = _numbers(
                [intervals[key].half_width for key in keys]
            )
    return pa.table(
        columns,
        schema=pa.schema(
            [
                pa.field(name, array.type, metadata=about.get(name))
                for name, array in columns.items()
            ]
        ),
    )


def _numbers(values: list[float | None]) -> pa.Array:
    """Returns a column of numbers; unknown ones are null."""
    return pa.array(values, pa.float64(), from_pandas=True)
