"""Tables of metrics for people, with an asterisk at each mean that has not settled."""

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ackclock.metrics import METRICS, Interval
from ackclock.metrics.frame import HALF_WIDTH, SUBJECT, swept
from ackclock.result.result import Result
from ackclock.table import Cell, Column, Table, Written, scaled, short, table
from ackclock.validity.stationarity import NOTE, judge, starred


def metric_table(result: Result, metrics: Sequence[str], frame: pa.Table) -> Table:
    """Returns metrics in the units of tables, beside the swept values as they were written.

    Args:
        result: The result.
        metrics: Names of the metrics.
        frame: The tidy table of them (`Result.frame`), by point or by replicate.

    Returns:
        A row for each of the frame's. By point, metrics are intervals. The note says what an
        asterisk means, if there is one.
    """
    judged = judge(result)
    columns = swept(result.points)
    names = short(column.path for column in columns)
    by_replicate = "replicate" in frame.schema.names
    chosen = [METRICS[name] for name in dict.fromkeys(metrics)]
    marked = False
    cells: list[list[Cell]] = []
    for row in frame.to_pylist():
        line: list[Cell] = [_plain(row[column.name]) for column in columns]
        line += [row["replicate"]] if by_replicate else []
        line.append(row[SUBJECT])
        for metric in chosen:
            mean = scaled(row[metric.name], metric.shown_per_unit)
            if by_replicate or mean is None:
                line.append(mean)
                continue
            half = scaled(row[metric.name + HALF_WIDTH], metric.shown_per_unit)
            interval = Interval(mean, math.nan if half is None else half, result.run["replicates"])
            star = judged.marks(metric.name, row["point"], row[SUBJECT])
            marked = marked or star
            line.append(starred(interval, star))
        cells.append(line)
    head: list[Column | str] = [
        *(Column(name, column.unit) for name, column in zip(names, columns, strict=True)),
        *(["replicate"] if by_replicate else []),
        "subject",
        *(Column(metric.label, metric.shown_unit) for metric in chosen),
    ]
    return table(f"{result.run['name']}: {result.averaging}", head, cells, NOTE if marked else "")


def _plain(value: Any) -> Cell:
    """Returns a swept value as it was written: 0.25 rather than 0.2500."""
    return Written(value, f"{value:g}") if isinstance(value, float) else value
