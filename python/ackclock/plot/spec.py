"""One description of a figure, as data: what it shows, not how it is drawn.

Files of this folder make it of results. `drawing.py` draws it with matplotlib, `report/live.py` and
`figures.js` in a page. A lab page makes the data for `figures.js` of its own tables, by `trace.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]

#: Parts that stand beside the main curve of their group.
ASIDES = frozenset({"limit", "raw"})


def values_of(numbers: ArrayLike) -> Values:
    """Returns numbers as an array; NaN is unknown."""
    return np.atleast_1d(np.asarray(numbers, float))


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        label: What it measures.
        unit: Unit of its numbers; empty for none.
        scale: `linear`, `log`, or `symlog`, which is linear up to the first tick above zero.
        ends: Where it begins and ends; None for around what is drawn.
        ticks: Positions that are named, with their names; none for round numbers.
        is_choice: True if its ticks are names and not quantities.
        begin: Where a linear axis begins; None for below what is drawn.
        above: A second scale on the other side: its label, and its value at 1.
        is_dense: True if curves run along it, as along time, rather than values stand on it.
    """

    label: str = ""
    unit: str = ""
    scale: str = "linear"
    ends: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    is_choice: bool = False
    begin: float | None = None
    above: tuple[str, float] | None = None
    is_dense: bool = False

    @property
    def words(self) -> str:
        """Label with unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Series:
    """Values that are drawn alike.

    Attributes:
        style: Name of its look (`style.look`) among all series of the figure.
        x: Horizontal values.
        y: Vertical values; NaN is unknown.
        form: How it is drawn. Lines, steps that hold until the next value, and points (means) are
            joined: `line`, `steps`, `points`. Others are not: `marks`, `dots`. Uprights go from
            `low` (`bars`), from zero (`columns`), or stand at the bottom (`ticks`). `boxes`.
        label: What it is; empty for what the figure is about.
        group: Flow, hop or line that it belongs to; empty for all.
        part: Its look beside the others of its group, as a name of `style.look`.
        low: Lower ends of bars, or of boxes' whiskers.
        high: Upper ends of boxes' whiskers.
        half: Half widths of intervals round y.
        inner: Lower and upper ends of boxes, or least and greatest x of a line.
        unsettled: True for means that have not settled.
        runs: Values of single runs at each x.
        notes: Words about each value.
        doubts: True for values whose model does not quite apply.
        is_off: True if it is not shown at first, where it can be switched on.
    """

    style: str
    x: Values
    y: Values
    form: str = "line"
    label: str = ""
    group: str = ""
    part: str = ""
    low: Values | None = None
    high: Values | None = None
    half: Values | None = None
    inner: tuple[Values, Values] | None = None
    unsettled: NDArray[np.bool_] | None = None
    runs: Sequence[Sequence[float]] = ()
    notes: Sequence[str] = ()
    doubts: Sequence[bool] = ()
    is_off: bool = False

    @property
    def is_known(self) -> bool:
        """True if any value is known."""
        return bool(np.isfinite(self.y).any())

    @property
    def name(self) -> str:
        """Its name among all series of the figure."""
        if self.part == "timeout":
            return self.label
        if self.part.startswith("reference"):
            return f"{self.label} ({self.group})" if self.group else self.label
        return " ".join(filter(None, (self.group, self.label)))


class Band(NamedTuple):
    """A part of the horizontal axis: its ends, the name of its look, and what it is."""

    begin: float
    end: float
    style: str
    name: str


class Event(NamedTuple):
    """A value of the horizontal axis with a name; its look is that of a style."""

    x: float
    text: str
    style: str = "limit"


class Limit(NamedTuple):
    """A value of the vertical axis with a name, for a group or all; its look is that of a style."""

    y: float
    text: str
    style: str = "limit"
    group: str = ""


class Residual(NamedTuple):
    """A difference of two values at one x.

    Attributes:
        x: Where they are.
        ends: The values.
        text: What it is, one string for each line.
        needs: Looks of the series that have the values.
        group: Their group.
    """

    x: float
    ends: tuple[float, float]
    text: Sequence[str]
    needs: Sequence[str]
    group: str = ""


@dataclass(frozen=True)
class Panel:
    """A pair of axes with what they show.

    Attributes:
        series: What is drawn, in the order of the legend.
        title: What it is about; empty if the figure says it.
        column: Title of its column, in the first row of a grid.
        row: Title of its row, in the last column of a grid.
        y: Vertical axis of its own; None for that of the figure.
        bands: Parts of the horizontal axis.
        events: Named values of the horizontal axis.
        limits: Named values of the vertical axis.
        shade: A part of the horizontal axis that is in no average.
        residual: A difference between two values.
    """

    series: tuple[Series, ...]
    title: str = ""
    column: str = ""
    row: str = ""
    y: Axis | None = None
    bands: tuple[Band, ...] = ()
    events: tuple[Event, ...] = ()
    limits: tuple[Limit, ...] = ()
    shade: tuple[float, float] | None = None
    residual: Residual | None = None


@dataclass(frozen=True)
class FigureSpec:
    """A figure.

    Attributes:
        name: Name of its kind.
        title: What it shows.
        where: Of which result, point and replicate.
        summary: Sentences about it.
        x: Horizontal axis of all panels.
        y: Vertical axis of all panels without one of their own.
        panels: Panels with common horizontal axes.
        columns: Panels beside each other in a grid, whose panels have common axes; 0 for panels
            below each other.
        left_out: Says what is not drawn, as the heading of the legend.
        strip: Heading of the names of bands, which are then a strip of their own.
        absent: Why there is nothing to see; empty if there is.
        height_in: Height of a panel on paper, in inches; 0 for the usual one.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    panels: tuple[Panel, ...]
    where: str = ""
    summary: str = ""
    columns: int = 0
    left_out: str = ""
    strip: str = ""
    absent: str = ""
    height_in: float = 0.0

    @property
    def series(self) -> Iterator[Series]:
        """The series of all panels."""
        return chain.from_iterable(panel.series for panel in self.panels)

    @property
    def groups(self) -> list[str]:
        """The groups in their order."""
        return [name for name in dict.fromkeys(series.group for series in self.series) if name]

    @property
    def heading(self) -> str:
        """Title with the place."""
        return f"{self.title}: {self.where}" if self.where else self.title

    def apart(self) -> "FigureSpec":
        """Returns the figure with a panel for each group of its only panel.

        Series without a group are in all of them. A series then looks as its part does, and the
        same parts of all groups look the same.
        """
        if len(self.panels) != 1 or not self.groups:
            return self
        [whole] = self.panels
        panels = []
        for group in self.groups:
            members = [
                replace(series, style=series.part or series.style, group="")
                for series in whole.series
                if series.group in (group, "")
            ]
            limits = tuple(limit for limit in whole.limits if limit.group in (group, ""))
            residual = whole.residual if whole.residual and whole.residual.group == group else None
            panels.append(
                replace(
                    whole, title=group, series=tuple(members), limits=limits, residual=residual
                )
            )  # fmt: skip
        return replace(self, panels=tuple(panels))


class Cell(NamedTuple):
    """A cell.

    Attributes:
        value: Its number.
        text: The number as text, with a star if it has not settled.
        half: Half width of its interval as text; empty if it rounds to zero.
        share: Its place on the scale, 0 to 1.
    """

    value: float
    text: str
    half: str
    share: float


class CellPanel(NamedTuple):
    """Cells by row and column; None where nothing is known. Titles are those of a `Panel`."""

    cells: list[list[Cell | None]]
    title: str
    column: str
    row: str


@dataclass(frozen=True)
class HeatMap:
    """A heat map.

    Attributes:
        title: What it shows of which subject.
        metric: Label of the metric, with its unit.
        x: Horizontal axis; its ticks are the columns.
        y: Vertical axis; its ticks are the rows, from below.
        panels: The cells.
        columns: Panels beside each other.
        ends: Least and greatest number.
        is_log: True if the scale of colours is logarithmic.
        unsettled: True if a star marks means that have not settled.
    """

    title: str
    metric: str
    x: Axis
    y: Axis
    panels: list[CellPanel]
    columns: int
    ends: tuple[float, float]
    is_log: bool
    unsettled: bool


#: Every description of a figure.
Spec = FigureSpec | HeatMap
