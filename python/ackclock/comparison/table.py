"""Ways side by side: for each metric, point and flow (or hop) every way's number, residual and what explains it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ackclock.comparison.causes import Evidence, Finding, findings
from ackclock.comparison.causes.cause import NOTICEABLE
from ackclock.comparison.causes.trust import TOO_FEW_REPLICATES
from ackclock.comparison.column import Column, reference_of
from ackclock.comparison.observed import Observations, Topic
from ackclock.comparison.predicted import Prediction, why_none
from ackclock.metrics import Interval, Metric, difference, interval, metric

__all__ = [
    "COMPARED",
    "EXCEEDS",
    "SLIGHT",
    "UNSURE",
    "WITHIN",
    "Cell",
    "Comparison",
    "Residual",
    "Row",
]

# The metrics that are compared, in the order of tables.
COMPARED = (
    "goodput", "rtt", "rtt_p99", "retransmissions", "loss_rate", "cwnd", "queueing_delay",
    "completion_time", "fairness",
)  # fmt: skip

# What a residual can be. A slight one (`NOTICEABLE`) stands out where numbers hardly spread; no
# cause is looked for.
WITHIN, EXCEEDS, UNSURE = "within its interval", "exceeds its interval", "no interval"
SLIGHT = "exceeds its interval, less than 1 %"

# Numbers that differ by less, relatively, are equal: they were summed in another order.
_EQUAL = 1e-9

# What a way never knows, and why.
_UNKNOWN = {
    (
        "emulate",
        "rtt_p99",
    ): "the kernel tells smoothed round-trip times only; the measure of its captures has them all",
    ("measure", "queueing_delay"): "a capture shows packets, not queues",
}


class Cell(NamedTuple):
    """One way's number.

    Attributes:
        interval: Mean over replicates and 95 % interval, in the metric's unit; not a number if it
            is not known.
        values: By replicate, those that count; empty for a model, in which there is no chance.
        why: Why it is not known; empty if it is.
        fidelity: How far it can be trusted, in a few words; empty for what is computed.
        prediction: The model and its verdict; None of other ways.
        is_marked: Whether it is a mean of flows that have not settled.
    """

    interval: Interval
    values: Mapping[int, float]
    why: str = ""
    fidelity: str = ""
    prediction: Prediction | None = None
    is_marked: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.interval.mean)


class Residual(NamedTuple):
    """How far a way is from its reference.

    Attributes:
        reference: The reference column's name.
        difference: Way less reference and its 95 % interval, in the metric's unit.
        relative: Over the reference's mean; not a number if that is zero.
        standing: `WITHIN`, `EXCEEDS`, `SLIGHT` or `UNSURE`.
        findings: What explains it; empty if nothing does, or if there is nothing to explain.
    """

    reference: str
    difference: Interval
    relative: float
    standing: str
    findings: tuple[Finding, ...]

    @property
    def is_unexplained(self) -> bool:
        """Whether it exceeds its interval and no cause is known."""
        return self.standing == EXCEEDS and not self.findings


class Row(NamedTuple):
    """One metric of one point and flow or hop, every way.

    Attributes:
        metric: The metric's name.
        point: Index of the point.
        subject: The flow's or the hop's name, or `all flows`.
        control: The flow's congestion control; empty of what is no flow.
        cells: By the column's name.
        residuals: By the column's name; none of a reference, nor where one of both numbers is not
            known.
    """

    metric: str
    point: int
    subject: str
    control: str
    cells: Mapping[str, Cell]
    residuals: Mapping[str, Residual]


@dataclass(frozen=True)
class Comparison:
    """One scenario answered every way that was asked for.

    Attributes:
        run: What `comparison.json` says of it: `name`, `seed`, `replicates`, `versions`, `partial`,
            the `scenario` as it was given, and `points`, each with its `assignments` and resolved
            `scenario`.
        columns: By name, in the order of tables; those without an answer too.
    """

    run: Mapping[str, Any]
    columns: Mapping[str, Column]

    @property
    def points(self) -> list[dict[str, Any]]:
        """Each point's `assignments` and resolved `scenario`."""
        points: list[dict[str, Any]] = self.run["points"]
        return points

    @property
    def partial(self) -> bool:
        """Whether it was interrupted, so that ways, points or replicates are missing."""
        return bool(self.run["partial"])

    @property
    def reference(self) -> str | None:
        """The column that the others are held against; what is measured is held against the run it was captured of."""
        return reference_of(self.columns)

    @property
    def metrics(self) -> list[str]:
        """Those that any way knows, in order."""
        known = {row.metric for row in self.rows}
        return [name for name in COMPARED if name in known]

    @cached_property
    def rows(self) -> list[Row]:
        """Metric by metric, point by point: every row in which any way knows a number, of hops where anything waits."""
        observations = Observations(self.columns, self.points)
        return [
            self._row(metric(name), topic, observations)
            for name in COMPARED
            for topic in observations.topics(name)
            if observations.matters(name, topic)
        ]

    def reference_for(self, name: str) -> str | None:
        """What a column is held against; None for the reference itself."""
        source = self.columns[name].source
        if source is not None:
            return source.name
        return None if name == self.reference else self.reference

    def _row(self, what: Metric, topic: Topic, observations: Observations) -> Row:
        cells = {
            name: _cell(column, what, topic, observations) for name, column in self.columns.items()
        }
        residuals = {}
        for name in cells:
            against = self.reference_for(name)
            if against in cells and cells[name].is_known and cells[against].is_known:
                residuals[name] = self._residual(what, topic, name, against, cells, observations)
        return Row(what.name, topic.point, topic.subject, topic.control, cells, residuals)

    def _residual(
        self,
        what: Metric,
        topic: Topic,
        name: str,
        against: str,
        cells: Mapping[str, Cell],
        observations: Observations,
    ) -> Residual:
        cell, other = cells[name], cells[against]
        column, reference = self.columns[name], self.columns[against]
        gap = _gap(cell, other, paired=column.source is reference)
        standing = _standing(gap, other.interval.mean)
        evidence = Evidence(
            metric=what.name, method=column.method, reference=reference.method, difference=gap,
            reference_mean=other.interval.mean,
            replicates=(cell.interval.replicates, other.interval.replicates), flow=topic.flow,
            path=topic.path, duration_s=topic.duration_s, prediction=cell.prediction,
            **observations.of_both(column, reference, topic),
        )  # fmt: skip
        found = findings(evidence)
        if standing != EXCEEDS:
            found = tuple(one for one in found if one.cause == TOO_FEW_REPLICATES.name)
        return Residual(against, gap, evidence.relative, standing, found)


def _cell(column: Column, what: Metric, topic: Topic, observations: Observations) -> Cell:
    unknown = Interval(math.nan, math.nan, 0)
    if column.result is None:
        return Cell(unknown, {}, column.why)
    if column.own_number(topic.point) is None:
        return Cell(unknown, {}, column.why or "this point was not run")
    if column.method == "predict":
        said = observations.prediction(column, what, topic)
        if said is None:
            asked = observations.predictions(column, topic)
            return Cell(
                unknown, {}, why_none(asked, what) if topic.is_flow else "models are about flows"
            )
        verdict = f"violated: {', '.join(said.violated)}" if said.violated else "applies"
        return Cell(Interval(said.value, math.nan, 0), {}, "", verdict, said)
    values = observations.values(column, what).get((topic.point, topic.subject), {})
    found = interval(list(values.values()))
    why, marked = (
        _why_unknown(column, what, topic, found),
        column.marks(what.name, topic.point, topic.subject),
    )
    return Cell(found, values, why, column.fidelity(topic.point), is_marked=marked and not why)


def _why_unknown(column: Column, what: Metric, topic: Topic, found: Interval) -> str:
    if not math.isnan(found.mean):
        return ""
    runs = column.fidelity_rows(topic.point)
    if runs and not column.averages_unreliable and not any(row["reliable"] for row in runs):
        return "none of its runs is reliable"
    return _UNKNOWN.get((column.method, what.name), f"{column.label} does not tell it")


def _gap(cell: Cell, other: Cell, *, paired: bool) -> Interval:
    """Way less reference.

    A model has no chance in it, so that the reference's own Student-t interval is the difference's.
    What was captured and measured is of the same runs, so that it is taken run by run. Of other
    ways it is Welch's.
    """
    if cell.prediction is not None or other.prediction is not None:
        exact = cell if cell.prediction is not None else other
        spread = other if exact is cell else cell
        half_width = 0.0 if spread.prediction is not None else spread.interval.half_width
        return Interval(
            cell.interval.mean - other.interval.mean, half_width, spread.interval.replicates
        )
    if paired:
        both = [replicate for replicate in cell.values if replicate in other.values]
        return interval([cell.values[replicate] - other.values[replicate] for replicate in both])
    return difference(list(cell.values.values()), list(other.values.values()))


def _standing(gap: Interval, mean: float) -> str:
    if abs(gap.mean) <= _EQUAL * abs(mean):
        return WITHIN
    if math.isnan(gap.half_width):
        return UNSURE
    if abs(gap.mean) <= gap.half_width:
        return WITHIN
    return SLIGHT if abs(gap.mean) < NOTICEABLE * abs(mean) else EXCEEDS
