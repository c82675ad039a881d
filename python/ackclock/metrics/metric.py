"""The record that describes a metric."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ackclock.result.result import Result


class Value(NamedTuple):
    """The value of one replicate.

    Attributes:
        point: Index of the point.
        replicate: Index of the replicate.
        subject: Name of the flow or hop.
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
        values: Computes one value for each point, replicate and subject, in that order.
    """

    name: str
    label: str
    summary: str
    unit: str
    shown_unit: str
    shown_per_unit: float
    values: Callable[[Result], list[Value]]
