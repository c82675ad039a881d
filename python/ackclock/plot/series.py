"""Code shared by figures of one replicate over time: chosen flows, style, axes and legends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.capture.connections import largest
from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, between, entitle, inside, looks
from ackclock.plot.figure import check_numbers
from ackclock.plot.flows import Described, described
from ackclock.plot.style import Style, line_styles
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import assigned

__all__ = [
    "MOST_ASIDES",
    "MOST_LINES",
    "TAKES",
    "Line",
    "Replicate",
    "draw_line",
    "is_known",
    "with_looks",
]

#: More lines hide each other.
MOST_LINES = 8

#: With more lines, their additional curves (ssthresh, single measurements) would hide them and are
#: left out.
MOST_ASIDES = 2

#: The fields of a view on which figures of one replicate depend.
TAKES = ("point", "replicate", "span")


def with_looks(figure: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorates a figure to be drawn in ackclock's style."""

    @wraps(figure)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with looks():
            return figure(*arguments, **options)

    return drawn


class Line(NamedTuple):
    """The series of one flow instance, or of one hop.

    Attributes:
        label: The name in the legend.
        looks: The line's style.
        mss_bytes: Payload of a full segment.
        rows: The columns of its samples.
    """

    label: str
    looks: Style
    mss_bytes: float
    rows: Columns


@dataclass(frozen=True)
class Replicate:
    """One replicate of one point, as figures show it.

    Raises:
        InputError: The result has no such point or replicate.

    Attributes:
        result: The result that holds it.
        point: Index of the point.
        replicate: Index of the replicate.
        span: Start and end of the time shown, in seconds; None for all.
    """

    result: Result
    point: int
    replicate: int
    span: Span | None

    def __post_init__(self) -> None:
        check_numbers(self.result, point=self.point, replicate=self.replicate)

    @property
    def method(self) -> str:
        """The method of the result."""
        return str(self.result.run["method"])

    def rows(self, table: str) -> pa.Table:
        """Returns its rows of a table.

        Raises:
            ValueError: The result has no such table; one line.
        """
        if table not in self.result.tables:
            raise InputError(
                "no-data",
                "",
                f'this result has no table "{table}"; ackclock simulate and emulate write it',
            )
        return self.result.rows(table, point=self.point, replicate=self.replicate)

    def lines(self, *names: str) -> list[Line]:
        """Returns the first instance of each flow, then the second, up to `MOST_LINES` in all.

        Args:
            names: Columns of `samples`. An instance without a value in any column but `time_s` is
                left out, such as UDP for `cwnd`.
        """
        return list(self._lines(names))

    def finish(
        self, figure: Figure, rows: list[Axes], what: str, *, of_flows: bool = True
    ) -> Figure:
        """Sets the title, the time axis and the legends of a figure.

        Args:
            figure: The figure.
            rows: Its axes, from above.
            what: First words of the title.
            of_flows: True if lines are flows; the legend then says how many flows are not drawn.
        """
        result, shown = self.result, described(self.result, self.point)
        entitle(rows[0], self._title(what, shown.name))
        rows[-1].set_xlabel("time (s)")
        rows[-1].set_xlim(
            *between(self.span, shown.start_s, max(shown.end_s, shown.start_s + 1e-9))
        )
        has_hops = self.method != "measure" and not result.is_session
        was_run = self.rows("hops" if has_hops else "flows").num_rows > 0
        left_out = _left_out(shown) if of_flows else None
        for axes in rows:
            axes.set_ylim(bottom=0)
            handles, labels = axes.get_legend_handles_labels()
            if handles:
                axes.legend(
                    handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8,
                    title=left_out, title_fontsize=8, alignment="left",
                )  # fmt: skip
            else:
                words = (
                    "nothing happened"
                    if was_run or result.is_session
                    else "not run: interrupted before"
                )
                axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center")
        return figure

    def _title(self, what: str, name: str) -> str:
        result, point = self.result, self.result.points[self.point]
        title = ", ".join([f"{what}: {name}", *assigned(point["assignments"])])
        title += f", replicate {self.replicate}" if point["scenario"] else ""
        title += " (unreliable)" if (self.point, self.replicate) in result.unreliable else ""
        return title + (" (interrupted run)" if result.partial else "")

    def _lines(self, names: tuple[str, ...]) -> Iterator[Line]:
        flows = described(self.result, self.point).flows
        series = [
            (whose, rows)
            for whose, rows in grouped(self._samples(), ("flow", "instance"), names)
            if not all(np.isnan(rows[name]).all() for name in names if name != "time_s")
        ]
        order = list(flows)
        series.sort(key=lambda entry: (entry[0][1], order.index(entry[0][0])))
        chosen = sorted(series[:MOST_LINES], key=lambda entry: order.index(entry[0][0]))
        controls = [flows[name].control for (name, _), _ in chosen]
        styles = line_styles(self.result.run, controls)
        alone = {"linestyle": "-"} if len(chosen) == 1 else {}  # needs no dashes
        for ((name, instance), rows), looked in zip(chosen, styles, strict=True):
            flow = flows[name]
            label = name if flow.instances == 1 else f"{name}/{instance}"
            label += f" ({control_label(flow.control)})" if flow.control else ""
            shown = inside(self.span, rows["time_s"])
            yield Line(
                label,
                looked._replace(**alone),
                flow.mss_bytes,
                {name: rows[name][shown] for name in names},
            )

    def _samples(self) -> pa.Table:
        """Returns all samples; for a capture, only those of the largest connections."""
        if self.method != "measure":
            return self.rows("samples")
        where = {"point": self.point, "replicate": self.replicate}
        shown = largest(self.result, MOST_LINES, ("flow", "instance"), **where)
        parts = [self.result.rows("samples", **where, **keys) for keys in shown]
        return pa.concat_tables(parts) if parts else self.rows("samples")


def is_known(result: Result, name: str, point: int) -> bool:
    """Returns True if any sample of a point has a value in a column."""
    samples = result.rows("samples", point=point)
    return name in samples.column_names and samples[name].null_count < samples.num_rows


def draw_line(axes: Axes, time: NDArray[Any], values: NDArray[Any], line: Line, label: str) -> None:
    """Draws values over time in a line's style, with about fifteen markers."""
    axes.plot(
        time, values, color=line.looks.color, linestyle=line.looks.linestyle,
        marker=line.looks.marker, markevery=(time.size // 40, max(1, time.size // 15)), label=label,
    )  # fmt: skip


def _left_out(shown: Described) -> str | None:
    """Returns a note on the number of flows drawn; None if all are."""
    instances = [flow.instances for flow in shown.flows.values()]
    known = [number for number in instances if number is not None]
    if len(known) < len(instances):
        return f"{MOST_LINES} flows at most; others arrive"
    return f"{MOST_LINES} of {sum(known)} flows" if sum(known) > MOST_LINES else None
