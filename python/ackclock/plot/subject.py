"""The tidy table of the flows or the hop that a figure of a sweep shows."""

import math

import pyarrow as pa
import pyarrow.compute as pc

from ackclock.metrics import METRICS, summarise
from ackclock.metrics.frame import SUBJECT, frame, swept
from ackclock.metrics.metric import unknown_subject
from ackclock.plot.panels import UNSETTLED
from ackclock.result.result import Result
from ackclock.table import capital
from ackclock.validity.stationarity import judge


def subject_table(result: Result, metric: str, subject: str | None) -> tuple[pa.Table, str]:
    """Returns a metric of flows or of one hop by point, and the title of a figure of it.

    The table is that of `ackclock.metrics.frame`, with a column that says where the metric has not
    settled.

    Args:
        result: The result.
        metric: Name of the metric.
        subject: The flow or hop; by default all flows, or the bottleneck for a metric of hops.

    Raises:
        InputError: There is no such subject.
    """
    table = frame(result, [metric])
    valid = table.filter(pc.is_valid(table[metric]))
    if subject is None:
        busiest = bottleneck(result)
        subject = busiest if busiest in valid[SUBJECT].to_pylist() else None
    elif subject not in (subjects := table[SUBJECT].unique().to_pylist()):
        raise unknown_subject([METRICS[metric]], subject, subjects, "--subject")
    table = valid if subject is None else table.filter(pc.equal(table[SUBJECT], subject))
    judged = judge(result)
    rows = table.select(["point", SUBJECT]).to_pylist()
    marks = [judged.marks(metric, row["point"], row[SUBJECT]) for row in rows]
    table = table.append_column(metric + UNSETTLED, pa.array(marks, pa.bool_()))
    label = METRICS[metric].label
    whose = f" at {subject}" if subject else ""
    title = f"{capital(label)}{whose}: {result.run['name']}, {result.averaging}"
    return table, title


def points_table(result: Result) -> pa.Table:
    """Returns the swept values of each point."""
    columns = swept(result.points)
    arrays = [pa.array(quantity.values) for quantity in columns]
    fields = [
        pa.field(quantity.name, array.type, metadata={"path": quantity.path, "unit": quantity.unit})
        for quantity, array in zip(columns, arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def bottleneck(result: Result) -> str | None:
    """Returns the hop on the data's route that is busiest on average over the points.

    None if hops are not observed, or their utilisation is unknown.
    """
    on_route = {
        name
        for point in result.points
        if point["scenario"] is not None
        for flow in point["scenario"]["flows"]
        for name in flow["route"]
    }
    busy: dict[str, list[float]] = {}
    for summary in summarise(result, METRICS["utilisation"]):
        if summary.subject in on_route and not math.isnan(summary.interval.mean):
            busy.setdefault(summary.subject, []).append(summary.interval.mean)
    means = {name: sum(values) / len(values) for name, values in busy.items()}
    return max(means, key=lambda name: means[name], default=None)
