"""What models say of a metric: the one that fits a flow best, and why there may be none."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ackclock import units
from ackclock.metrics import Metric
from ackclock.models import Model, model

__all__ = ["Prediction", "best", "told_by", "why_none"]

Row = dict[str, Any]


class Prediction(NamedTuple):
    """One model's number.

    Attributes:
        value: In the metric's unit.
        model: Its record.
        violated: Names of the assumptions that the flow violates.
        note: How it violates them.
        inputs: What the model was given, by name, in its units.
    """

    value: float
    model: Model
    violated: tuple[str, ...]
    note: str
    inputs: Mapping[str, float]


def best(rows: Iterable[Row], what: Metric, flow: Row) -> Prediction | None:
    """Of the rows of the table `predictions` about one flow of one point the number of the model that fits best.

    That is the one of which the flow violates the fewest assumptions; of several the one that takes
    the least for granted; of several the first in the list of models.
    """
    found = [said for row in rows if (said := _said(row, what, flow)) is not None]
    return min(found, key=lambda one: (len(one.violated), len(one.model.assumptions)), default=None)


def why_none(rows: Iterable[Row], what: Metric) -> str:
    """Why no model has a number for it."""
    asked = [row for row in rows if told_by(model(row["model"]), what)]
    if not asked:
        return "none of the chosen models gives it"
    return "; ".join(f"{row['label']}: {row['note']}" for row in asked)


def told_by(record: Model, what: Metric) -> bool:
    """Whether a model tells the metric of the flows to which it applies."""
    return what.name == "goodput" or any(output.metric == what.name for output in record.outputs)


def _said(row: Row, what: Metric, flow: Row) -> Prediction | None:
    record = model(row["model"])
    if row["verdict"] == "does not apply":
        return None
    if what.name == "goodput":
        value = row["goodput_bit_per_s"]
    else:
        output = next((one for one in record.outputs if one.metric == what.name), None)
        if output is None:
            return None
        value = row["outputs"][output.name] * (_mss_bytes(flow) if output.unit == "segments" else 1)
    return Prediction(value, record, tuple(row["violated"]), row["note"], row["inputs"])


def _mss_bytes(flow: Row) -> float:
    return units.data_bytes(flow["transport"]["mss"])
