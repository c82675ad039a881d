"""Predictions of a metric: the model that fits a flow best, and why there may be none."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ackclock.elements.facts import mss_bytes
from ackclock.models import Accuracy, Model, model

Row = dict[str, Any]


class Prediction(NamedTuple):
    """The number of one model.

    Attributes:
        value: In the metric's unit.
        model: Record of the model.
        violated: Names of the assumptions that the flow violates.
        note: How it violates them.
        inputs: Inputs of the model by name, in its units.
        accuracy: The error band of the number, if no assumption is violated.
    """

    value: float
    model: Model
    violated: tuple[str, ...]
    note: str
    inputs: Mapping[str, float]
    accuracy: Accuracy


def best(rows: Iterable[Row], metric: str, flow: Row) -> Prediction | None:
    """Returns the prediction of the model that fits a flow best; None if none applies.

    It is the model whose assumptions the flow violates least. Ties go to the smaller error band,
    then to fewer assumptions, then to the first in the list of models.

    Args:
        rows: Rows of the table `predictions` about one flow of one point.
        metric: Name of the metric.
        flow: The flow, as in the resolved scenario.
    """
    answers = [answer for row in rows if (answer := _prediction(row, metric, flow)) is not None]
    return min(
        answers,
        key=lambda prediction: (
            len(prediction.violated),
            prediction.accuracy.within,
            len(prediction.model.assumptions),
        ),
        default=None,
    )


def why_none(rows: Iterable[Row], metric: str) -> str:
    """Returns why no model has a number."""
    asked = [row for row in rows if predicts(model(row["model"]), metric)]
    if not asked:
        return "no model asked predicts it"
    return "; ".join(f"{row['label']}: {row['note']}" for row in asked)


def predicts(record: Model, metric: str) -> bool:
    """Returns true if a model gives the metric for flows to which it applies."""
    return metric == "goodput" or any(output.metric == metric for output in record.outputs)


def _prediction(row: Row, metric: str, flow: Row) -> Prediction | None:
    record = model(row["model"])
    if row["verdict"] == "does not apply":
        return None
    output = None
    if metric == "goodput":
        value = row["goodput_bit_per_s"]
    else:
        output = next((entry for entry in record.outputs if entry.metric == metric), None)
        if output is None:
            return None
        value = row["outputs"][output.name] * (mss_bytes(flow) if output.unit == "segments" else 1)
    accuracy = record.accuracy_of(output.name if output else record.goodput)
    assert accuracy, "each output that is compared with a flow has one"
    return Prediction(value, record, tuple(row["violated"]), row["note"], row["inputs"], accuracy)
