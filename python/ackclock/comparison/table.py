"""Methods side by side: numbers, differences and explanations for each metric and subject."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ackclock import notebook
from ackclock.comparison.causes import Evidence, Finding, findings
from ackclock.comparison.column import Column, reference_of
from ackclock.comparison.differences import EXCEEDS, gap, standing
from ackclock.comparison.observed import Observations, Topic
from ackclock.metrics import Interval, Metric, interval, metric
from ackclock.models.prediction import Prediction, why_none

# Compared metrics, in the order of tables: those whose differences causes can explain.
# `ackclock table FOLDER/METHOD` shows any other.
COMPARED = (
    "goodput",
    "rtt",
    "rtt_p99",
    "retransmissions",
    "loss_rate",
    "cwnd",
    "queueing_delay",
    "completion_time",
    "fairness",
)

# Metrics that a method cannot know, and why.
_UNKNOWN = {
    (
        "emulate",
        "rtt_p99",
    ): "the kernel reports only smoothed round-trip times; measured captures have them all",
    ("measure", "queueing_delay"): "a capture shows packets, not queues",
}


class Cell(NamedTuple):
    """The number of one method.

    Attributes:
        interval: Mean over replicates and 95 % interval, in the metric's unit; NaN if unknown.
        values: Values that count, by replicate; empty for a model, which has no randomness.
        why: Reason why it is unknown; empty if it is known.
        fidelity: Reliability in a few words; empty if the number is computed.
        prediction: The model and its verdict; None for other methods.
        is_marked: True if it is a mean over flows that have not settled.
    """

    interval: Interval
    values: Mapping[int, float]
    why: str = ""
    fidelity: str = ""
    prediction: Prediction | None = None
    is_marked: bool = False

    @property
    def is_known(self) -> bool:
        """True if there is a number."""
        return not math.isnan(self.interval.mean)


class Residual(NamedTuple):
    """Difference of a method from its reference.

    Attributes:
        reference: Name of the reference column.
        difference: Method minus reference with its 95 % interval, in the metric's unit.
        relative: Difference over the reference's mean; NaN if that is zero.
        standing: `WITHIN`, `EXCEEDS`, `SLIGHT` or `UNSURE`.
        findings: Causes that explain it; empty if none does, or if there is nothing to explain.
    """

    reference: str
    difference: Interval
    relative: float
    standing: str
    findings: tuple[Finding, ...]

    @property
    def is_unexplained(self) -> bool:
        """True if it exceeds its interval and no cause is known."""
        return self.standing == EXCEEDS and not self.findings


class Row(NamedTuple):
    """One metric of one point and subject, from every method.

    Attributes:
        metric: Name of the metric.
        point: Index of the point.
        subject: Name of the flow or hop, or `all flows`.
        control: The flow's congestion control; empty if the subject is not a flow.
        cells: By column name.
        residuals: By column name; without references, and without columns where a number is
            unknown.
    """

    metric: str
    point: int
    subject: str
    control: str
    cells: Mapping[str, Cell]
    residuals: Mapping[str, Residual]


@dataclass(frozen=True, repr=False)
class Comparison:
    """One scenario answered by each method that was asked for.

    Attributes:
        run: Contents of `comparison.json`: `name`, `seed`, `replicates`, `versions`, `partial`, the
            `scenario` as given, `linux` if Linux ran another control, and `points`, each with its
            `assignments` and resolved `scenario`.
        columns: By name, in the order of tables; includes those without an answer.
    """

    run: Mapping[str, Any]
    columns: Mapping[str, Column]

    def __repr__(self) -> str:
        return f"Comparison({self.run['name']}: {', '.join(self.columns)})"

    @property
    def points(self) -> list[dict[str, Any]]:
        """The `assignments` and resolved `scenario` of each point."""
        points: list[dict[str, Any]] = self.run["points"]
        return points

    @property
    def partial(self) -> bool:
        """True if it was interrupted, so that methods, points or replicates are missing."""
        return bool(self.run["partial"])

    @property
    def reference(self) -> str | None:
        """The column that the others are compared with.

        Measured captures are compared with the run that they were captured from instead.
        """
        return reference_of(self.columns)

    @property
    def linux(self) -> str:
        """The control of the kernel that Linux ran in place of the scenario's; empty for none."""
        return str(self.run.get("linux") or "")

    @property
    def metrics(self) -> list[str]:
        """The metrics that any method has, in order."""
        compared = {row.metric for row in self.rows}
        return [name for name in COMPARED if name in compared]

    @cached_property
    def rows(self) -> list[Row]:
        """Every row in which a method has a number, by metric and then point.

        Hops where nothing waits are left out.
        """
        observations = Observations(self.columns, self.points)
        return [
            self._row(metric(name), topic, observations)
            for name in COMPARED
            for topic in observations.topics(name)
            if observations.matters(name, topic)
        ]

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the answer, each method's goodput, and the folders."""
        # The answer is made of rows of this table.
        from ackclock.comparison import answer

        named = ["goodput"] if "goodput" in self.metrics else self.metrics[:1]
        folders = {
            column.result.folder.parent
            for column in self.columns.values()
            if column.result is not None and column.result.folder is not None
        }
        lines = [
            *answer.sentences(self, named),
            *(f"folder {folder}" for folder in sorted(folders)),
        ]
        title = f"Comparison {self.run['name']}"
        if not named:
            return notebook.block(title, lines)
        shown = answer.marked_table(self, named[0])
        return notebook.block(f"{title}: {shown.title}", lines, shown)

    def reference_for(self, name: str) -> str | None:
        """Returns the column that a column is compared with; None for the reference itself."""
        source = self.columns[name].source
        if source is not None:
            return source.name
        return None if name == self.reference else self.reference

    def _row(self, metric: Metric, topic: Topic, observations: Observations) -> Row:
        cells = {
            name: _cell(column, metric, topic, observations)
            for name, column in self.columns.items()
        }
        residuals = {}
        for name in cells:
            against = self.reference_for(name)
            if against in cells and cells[name].is_known and cells[against].is_known:
                residuals[name] = self._residual(metric, topic, name, against, cells, observations)
        return Row(metric.name, topic.point, topic.subject, topic.control, cells, residuals)

    def _residual(
        self,
        metric: Metric,
        topic: Topic,
        name: str,
        against: str,
        cells: Mapping[str, Cell],
        observations: Observations,
    ) -> Residual:
        cell, other = cells[name], cells[against]
        column, reference = self.columns[name], self.columns[against]
        less = _gap(cell, other)
        stands = standing(less, other.interval.mean)
        evidence = Evidence(
            metric=metric.name, method=column.method, reference=reference.method, difference=less,
            reference_mean=other.interval.mean,
            replicates=(cell.interval.replicates, other.interval.replicates), flow=topic.flow,
            path=topic.path, duration_s=topic.duration_s, prediction=cell.prediction,
            **observations.of_both(column, reference, topic),
        )  # fmt: skip
        # A difference within its interval, or without one, may be chance, which has no cause.
        shown = findings(evidence) if stands == EXCEEDS else ()
        return Residual(against, less, evidence.relative, stands, shown)


def _cell(column: Column, metric: Metric, topic: Topic, observations: Observations) -> Cell:
    unknown = Interval(math.nan, math.nan, 0)
    if column.result is None:
        return Cell(unknown, {}, column.why)
    if column.own_number(topic.point) is None:
        return Cell(unknown, {}, column.why or "this point was not run")
    if column.method == "predict":
        prediction = observations.prediction(column, metric, topic)
        if prediction is None:
            asked = observations.predictions(column, topic)
            return Cell(
                unknown,
                {},
                why_none(asked, metric.name) if topic.is_flow else "models apply to flows",
            )
        verdict = (
            f"violated: {', '.join(prediction.violated)}"
            if prediction.violated
            else f"applies, {prediction.accuracy.words}"
        )
        return Cell(Interval(prediction.value, math.nan, 0), {}, "", verdict, prediction)
    values = observations.values(column, metric).get((topic.point, topic.subject), {})
    mean = interval(list(values.values()))
    why, marked = (
        _why_unknown(column, metric, topic, mean),
        column.marks(metric.name, topic.point, topic.subject),
    )
    return Cell(mean, values, why, column.fidelity(topic.point), is_marked=marked and not why)


def _why_unknown(column: Column, metric: Metric, topic: Topic, mean: Interval) -> str:
    if not math.isnan(mean.mean):
        return ""
    runs = column.fidelity_rows(topic.point)
    if runs and not column.averages_unreliable and not any(row["reliable"] for row in runs):
        return "none of its runs is reliable"
    return _UNKNOWN.get((column.method, metric.name), f"{column.label} does not report it")


def _gap(cell: Cell, other: Cell) -> Interval:
    """Returns method minus reference with its interval.

    A model has no randomness, so the reference's own Student-t interval is that of the difference.
    A replicate has the same random losses, delays and starts whatever runs it, so replicates are
    compared one by one.
    """
    if cell.prediction is not None or other.prediction is not None:
        exact = cell if cell.prediction is not None else other
        spread = other if exact is cell else cell
        half_width = 0.0 if spread.prediction is not None else spread.interval.half_width
        return Interval(
            cell.interval.mean - other.interval.mean, half_width, spread.interval.replicates
        )
    return gap(cell.values, other.values, paired=True)
