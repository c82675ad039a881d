"""The record that describes a metric."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from ackclock.errors import InputError, suggestion
from ackclock.metrics.subjects import Subjects
from ackclock.result.result import Result


class Value(NamedTuple):
    """The value of one replicate.

    Attributes:
        point: Index of the point.
        replicate: Index of the replicate.
        subject: What the value is about, one of the metric's subjects.
        value: In the metric's unit; NaN if unknown.
    """

    point: int
    replicate: int
    subject: str
    value: float


@dataclass(frozen=True)
class Metric:
    """The record of one metric.

    Attributes:
        name: Name on the command line.
        label: Label on an axis.
        summary: Definition, in one or two sentences.
        unit: Unit of its values; empty for a plain number.
        shown_unit: Unit on an axis.
        shown_per_unit: Number of shown units in one unit.
        subjects: What its values are about.
        values: Computes one value for each point, replicate and subject, in that order.
        settles: True if it is a mean of a steady state, for which a run may be too short.
    """

    name: str
    label: str
    summary: str
    unit: str
    shown_unit: str
    shown_per_unit: float
    subjects: Subjects
    values: Callable[[Result], list[Value]]
    settles: bool = True


def unknown_subject(
    metrics: Collection[Metric], subject: str, subjects: Collection[str], field: str
) -> InputError:
    """Returns the error about a subject that none of some metrics has; `subjects` are theirs."""
    names = " or ".join(metric.name for metric in metrics)
    nouns = " or ".join(dict.fromkeys(metric.subjects.nouns for metric in metrics))
    remedy = suggestion(subject, subjects) if subjects else "here are none"
    return InputError(
        "unknown-name", field, f'there is no {names} of "{subject}", only of {nouns}; {remedy}',
        subject,
    )  # fmt: skip
