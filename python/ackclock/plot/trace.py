"""Figures over time as data: the columns that they show, and in which unit.

Files of this folder fill them from results, lab pages from the tables of a run (`summary.js`).
"""

from typing import NamedTuple

from ackclock.plot.spec import Axis


class Trace(NamedTuple):
    """A curve of each flow or hop.

    Attributes:
        column: Its column in the table of the figure.
        label: What it is; empty for what the figure is about.
        part: Its look beside the main curve, as in `spec.Series`; empty for the main curve.
        form: How it is drawn, as in `spec.Series`.
        scale: What values are multiplied by.
        per_segment: True if they are then divided by the payload of a full segment, in bytes.
        is_near: True if values far above the main curve are left out.
        is_rate: True if the column counts, and the curve is its growth per second.
    """

    column: str
    label: str = ""
    part: str = ""
    form: str = "line"
    scale: float = 1.0
    per_segment: bool = False
    is_near: bool = False
    is_rate: bool = False


class OverTime(NamedTuple):
    """A figure over time.

    Attributes:
        name: Name of its kind.
        title: What it shows.
        table: `samples`, with curves of flows, or `hops`.
        y: Vertical axis.
        traces: The curves of each flow or hop.
        absent: Why a page has none.
    """

    name: str
    title: str
    table: str
    y: Axis
    traces: tuple[Trace, ...]
    absent: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it shows."""
        return tuple(trace.column for trace in self.traces)
