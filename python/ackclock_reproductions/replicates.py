"""Replicates of what an experiment ran: values, means with intervals, quotients of pairs; as curves and tables."""

from collections.abc import Sequence

import numpy as np

from ackclock import metrics, plot
from ackclock.metrics import Interval, Metric, by_replicate, interval
from ackclock.reproduction import Table
from ackclock.result import Result
from ackclock.table import written_interval

#: Our numbers: by what tells rows apart, and by column.
Rows = dict[tuple[str, ...], dict[str, Interval]]


def of_replicates(result: Result, what: str | Metric, subject: str, point: int = 0) -> list[float]:
    """A metric, or that of a name, of a flow or hop at a point, of each replicate, in the unit it is shown in."""
    if isinstance(what, str):
        what = metrics.metric(what)
    return [
        value * what.shown_per_unit for value in by_replicate(result, what)[point, subject].values()
    ]


def means(result: Result, name: str, subject: str) -> list[Interval]:
    """The same at every point, as mean and interval."""
    return [
        interval(of_replicates(result, name, subject, point)) for point in range(len(result.points))
    ]


def quotient(above: Sequence[float], below: Sequence[float]) -> Interval:
    """The mean over replicates of one thing over another, of the same run or of two: each replicate is used once."""
    return interval(np.array(above) / np.array(below))


def curve(
    label: str, x: Sequence[float], values: Sequence[Interval], drawn: str = "line"
) -> plot.Curve:
    """Means with their intervals."""
    return plot.Curve(
        label,
        x,
        [one.mean for one in values],
        drawn,
        half_widths=[one.half_width for one in values],
    )


def measured(title: str, keys: tuple[str, ...], rows: Rows) -> Table:
    """A table of our numbers with their intervals; the columns are those of the rows, in order of appearance."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = [
        (*key, *(written_interval(row[name]) if name in row else "–" for name in columns))
        for key, row in rows.items()
    ]
    return Table(f"{title}: means of replicates ± 95 % confidence", (*keys, *columns), tuple(cells))
