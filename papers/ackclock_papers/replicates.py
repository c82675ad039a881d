"""Values, means, intervals and ratios over replicates, as curves and tables."""

from collections.abc import Sequence

import numpy as np

from ackclock import Result, metrics, plot
from ackclock.metrics import Interval, Metric, by_replicate, interval
from ackclock.reproduction import Table
from ackclock.table import written_interval

#: Our numbers: by the keys of the row, then by column.
Rows = dict[tuple[str, ...], dict[str, Interval]]


def of_replicates(
    result: Result, metric: str | Metric, subject: str, point: int = 0
) -> list[float]:
    """Returns a metric of a flow or hop at one point, by replicate and in its display unit."""
    if isinstance(metric, str):
        metric = metrics.metric(metric)
    return [
        value * metric.shown_per_unit
        for value in by_replicate(result, metric)[point, subject].values()
    ]


def means(result: Result, name: str, subject: str) -> list[Interval]:
    """Returns the mean and interval of a metric at each point."""
    return [
        interval(of_replicates(result, name, subject, point)) for point in range(len(result.points))
    ]


def quotient(above: Sequence[float], below: Sequence[float]) -> Interval:
    """Returns the mean ratio of two series of replicates, of one run or of two.

    Each replicate is used once.
    """
    return interval(np.array(above) / np.array(below))


def curve(
    label: str, x: Sequence[float], values: Sequence[Interval], drawn: str = "line"
) -> plot.Curve:
    """Returns a curve of means with their intervals."""
    return plot.Curve(
        label,
        x,
        [value.mean for value in values],
        drawn,
        half_widths=[value.half_width for value in values],
    )


def measured(title: str, keys: tuple[str, ...], rows: Rows) -> Table:
    """Returns a table of our numbers with their intervals.

    The columns are those of the rows, in order of appearance.
    """
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = [
        (*key, *(written_interval(row[name]) if name in row else "–" for name in columns))
        for key, row in rows.items()
    ]
    return Table(f"{title}: means of replicates ± 95 % confidence", (*keys, *columns), tuple(cells))
