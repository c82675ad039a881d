"""What a metric says of itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ackclock.result import Result


class Value(NamedTuple):
    """One replicate's value.

    Attributes:
        point: Index of the point.
        replicate: Which replicate.
        subject: The flow's or the hop's name.
        value: In the metric's unit; not a number if unknown.
    """

    point: int
    replicate: int
    subject: str
    value: float


@dataclass(frozen=True)
class Metric:
    """The record of one metric.

    Attributes:
        name: As on the command line.
        label: As on an axis.
        summary: What it is, in one sentence.
        unit: Of its values, empty for a plain number.
        shown_unit: As on an axis.
        shown_per_unit: How many shown units one unit is.
        values: One value for each point, replicate and subject, in that order.
    """

    name: str
    label: str
    summary: str
    unit: str
    shown_unit: str
    shown_per_unit: float
    values: Callable[[Result], list[Value]]
