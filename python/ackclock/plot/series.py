"""Code shared by figures of one replicate over time: chosen flows, their series, axes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ackclock import units
from ackclock.capture.connections import largest
from ackclock.errors import InputError
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, between, inside
from ackclock.plot.flows import Described, described
from ackclock.plot.kind import check_numbers
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series, Values
from ackclock.plot.style import line_styles, method_style
from ackclock.plot.trace import OverTime
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import assigned

#: More lines hide each other.
MOST_LINES = 8

#: What is this many times above a curve is left out beside it, as it would flatten all else.
FAR = 4

_NOT_RUN = "not run: interrupted before"

#: The fields of a view on which figures of one replicate depend.
TAKES = ("point", "replicate", "span")


class Line(NamedTuple):
    """The samples of one flow instance, or of one hop.

    Attributes:
        label: Its name in the legend.
        style: The name of its look.
        rows: The columns of its samples.
        mss_bytes: Payload of a full segment.
        flow: Name of the flow.
        instance: Index of the instance.
    """

    label: str
    style: str
    rows: Columns
    mss_bytes: float = 1.0
    flow: str = ""
    instance: int = 0

    def traces(self, figure: OverTime, main: str) -> list[Series]:
        """Returns the curves of a figure that it has.

        Args:
            figure: The figure, without rates.
            main: The look of the curve that the figure is about.
        """
        values = {
            trace: self.rows[trace.column]
            * trace.scale
            / (self.mss_bytes if trace.per_segment else 1.0)
            for trace in figure.traces
            if trace.column in self.rows
        }
        [curve] = [drawn for trace, drawn in values.items() if not trace.part]
        return [
            self.series(
                near(drawn, curve) if trace.is_near else drawn,
                trace.label, trace.part or main, trace.form,
            )
            for trace, drawn in values.items()
            if not trace.part or not np.isnan(drawn).all()
        ]  # fmt: skip

    def series(
        self, values: Values, label: str = "", part: str = "", form: str = "line",
        time: Values | None = None,
    ) -> Series:  # fmt: skip
        """Returns values of it over time: the curve that the figure is about, or a part beside."""
        x = self.rows["time_s"] if time is None else time
        return Series(
            self.style, np.asarray(x, float), np.asarray(values, float), form, label, self.label,
            part,
        )  # fmt: skip


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

    def rows(self, table: str, **wanted: Any) -> pa.Table:
        """Returns its rows of a table in which the columns have the `wanted` values.

        Raises:
            ValueError: The result has no such table; one line.
        """
        if table not in self.result.tables:
            raise InputError(
                "no-data",
                "",
                f'this result has no table "{table}"; ackclock simulate and emulate write it',
            )
        return self.result.rows(table, point=self.point, replicate=self.replicate, **wanted)

    def lines(self, *names: str) -> list[Line]:
        """Returns the first instance of each flow, then the second, up to `MOST_LINES` in all.

        Args:
            names: Columns of `samples`. An instance without a value in any column but `time_s` is
                left out, such as UDP for `cwnd`, and so is one that has sent nothing.
        """
        return list(self._lines(names))

    def figure(
        self, name: str, title: str, y: Axis, panels: Sequence[Panel], summary: str, *,
        of_flows: bool = True,
    ) -> FigureSpec:  # fmt: skip
        """Returns a figure of it over time.

        Args:
            name: Name of the kind.
            title: What it shows.
            y: The vertical axis.
            panels: The panels; a curve without a look beside others gets that of the method.
            summary: Sentences about it.
            of_flows: True if lines are flows; the legend then says how many flows are not drawn.
        """
        result, shown = self.result, described(self.result, self.point)
        ends = between(self.span, shown.start_s, max(shown.end_s, shown.start_s + 1e-9))
        has_hops = self.method != "measure" and not result.is_session
        was_run = self.rows("hops" if has_hops else "flows").num_rows > 0
        absent = "nothing happened" if was_run or result.is_session else _NOT_RUN
        left_out = (_left_out(shown) if of_flows else None) or ""
        return FigureSpec(
            name, title, Axis("time", "s", ends=ends, is_dense=True), y,
            tuple(replace(panel, shade=self._warmup) for panel in panels),
            self._where(shown.name), summary, left_out=left_out, absent=absent,
        )  # fmt: skip

    @property
    def main(self) -> str:
        """The look of the curve that a figure is about, beside those of other methods."""
        return method_style(self.method)

    @property
    def _warmup(self) -> tuple[float, float] | None:
        """The part of the time that is in no average; None if there is none."""
        scenario = self.result.points[self.point]["scenario"]
        end_s = units.seconds(scenario["warmup"]) if scenario else 0.0
        return (0.0, end_s) if end_s > 0 else None

    def _where(self, name: str) -> str:
        result, point = self.result, self.result.points[self.point]
        where = ", ".join([name, *assigned(point["assignments"])])
        where += f", replicate {self.replicate}" if point["scenario"] else ""
        where += " (unreliable)" if (self.point, self.replicate) in result.unreliable else ""
        return where + (" (interrupted run)" if result.partial else "")

    def _lines(self, names: tuple[str, ...]) -> Iterator[Line]:
        flows = described(self.result, self.point).flows
        sent = ("sent_packets",) if self.method in ("simulate", "emulate") else ()
        series = [
            (whose, rows)
            for whose, rows in grouped(self._samples(), ("flow", "instance"), (*names, *sent))
            if not all(np.isnan(rows[name]).all() for name in names if name != "time_s")
            and all(rows[name].any() for name in sent)
        ]
        order = list(flows)
        series.sort(key=lambda entry: (entry[0][1], order.index(entry[0][0])))
        chosen = sorted(series[:MOST_LINES], key=lambda entry: order.index(entry[0][0]))
        controls = [flows[name].control for (name, _), _ in chosen]
        styles = line_styles(self.result.run, controls)
        for ((name, instance), rows), style in zip(chosen, styles, strict=True):
            flow = flows[name]
            label = name if flow.instances == 1 else f"{name}/{instance}"
            label += f" ({control_label(flow.control)})" if flow.control else ""
            shown = inside(self.span, rows["time_s"])
            own = {column: rows[column][shown] for column in names}
            yield Line(label, style, own, flow.mss_bytes, name, instance)

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
    return bool(samples[name].null_count < samples.num_rows)


def near(values: Values, curve: Values) -> Values:
    """Returns values without those far above a curve."""
    most = FAR * np.nanmax(curve, initial=0.0)
    return np.where(values <= most, values, np.nan)


def _left_out(shown: Described) -> str | None:
    """Returns a note on the number of flows drawn; None if all are."""
    instances = [flow.instances for flow in shown.flows.values()]
    counts = [number for number in instances if number is not None]
    if len(counts) < len(instances):
        return f"{MOST_LINES} flows at most; others arrive"
    return f"{MOST_LINES} of {sum(counts)} flows" if sum(counts) > MOST_LINES else None
