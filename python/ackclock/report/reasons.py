"""Reasons why methods differ: causes with their evidence and the differences that they explain."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ackclock.comparison import EXCEEDS, Comparison, Residual, Row, answer
from ackclock.comparison.explanation import Explanation, written_residual
from ackclock.comparison.rendering import place
from ackclock.metrics import metric
from ackclock.report.section import Bar, Group, Reason
from ackclock.table import capital

LEAD = (
    "Differences that exceed their 95 % interval, the largest first, with the causes for which "
    "the runs give evidence. A cause may contribute: its evidence is there, and its sign, and its "
    "size where known, fit. That is not proof."
)

# Differences shown for each cause; the table has all.
_MOST_BARS = 4

# Differences beyond this are cut off on the axis, in percent.
_FAR = 150.0


class Axis(NamedTuple):
    """The axis of a group's bars, in percent."""

    low: float
    high: float

    def position(self, percent: float) -> float:
        """Returns a position from 0 to 100, cut off at the ends."""
        share = (percent - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


def groups(comparison: Comparison, listed: Sequence[Explanation]) -> list[Group]:
    """Returns the differences of each method, in the order of the explanations."""
    unexplained = {
        column: [row for row in comparison.rows if _is_unexplained(row, column)]
        for column in comparison.columns
    }
    columns = list(dict.fromkeys(explanation.column for explanation in listed))
    columns += [name for name, rows in unexplained.items() if rows and name not in columns]
    return [
        _group(
            comparison,
            name,
            [explanation for explanation in listed if explanation.column == name],
            unexplained[name],
        )
        for name in columns
    ]


def _is_unexplained(row: Row, column: str) -> bool:
    return column in row.residuals and row.residuals[column].is_unexplained


def _group(
    comparison: Comparison, column: str, listed: Sequence[Explanation], unexplained: Sequence[Row]
) -> Group:
    differing = [
        row
        for row in comparison.rows
        if column in row.residuals and row.residuals[column].standing == EXCEEDS
    ]
    shown = [case.row for explanation in listed for case in explanation.cases] + list(unexplained)
    axis = _axis([row.residuals[column] for row in shown])
    reasons = [_reason(comparison, explanation, axis) for explanation in listed]
    if unexplained:
        bars = [_bar(comparison, row, column, axis) for row in _by_size(unexplained, column)]
        title = "No known cause shows"
        evidence = "More replicates would tell whether these differences remain."
        reasons.append(Reason("?", title, evidence, bars, 0))
    count = len(differing)
    reference = str(comparison.reference_for(column))
    who, against = (answer.speaker(comparison, name) for name in (column, reference))
    explained = count - len(unexplained)
    note = f"{count} difference{'' if count == 1 else 's'}, {explained} explained"
    if not count:
        note = "differences without an interval"
    title = f"{capital(who)} against {against}"
    return Group(title, note, column, axis.position(0), reasons)


def _axis(residuals: Sequence[Residual]) -> Axis:
    return axis_of([end for residual in residuals for end in _ends(residual)])


def axis_of(ends: Sequence[float]) -> Axis:
    """Returns an axis on which these ends of intervals have room, in percent."""
    finite = [max(-_FAR, min(_FAR, end)) for end in ends if not math.isnan(end)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    room = 0.08 * (high - low or 1)
    return Axis(low - room, high + room)


def _ends(residual: Residual) -> tuple[float, float]:
    size = 100 * residual.relative
    gap = residual.difference
    half = 0.0 if math.isnan(gap.half_width) or not gap.mean else gap.half_width / abs(gap.mean)
    return size - half * abs(size), size + half * abs(size)


def _by_size(rows: Sequence[Row], column: str) -> list[Row]:
    def size(row: Row) -> float:
        relative = row.residuals[column].relative
        return math.inf if math.isnan(relative) else abs(relative)

    return sorted(rows, key=size, reverse=True)


def _reason(comparison: Comparison, explanation: Explanation, axis: Axis) -> Reason:
    words = {id(case.row): case.words for case in explanation.cases}
    rows = _by_size([case.row for case in explanation.cases], explanation.column)
    evidence = list(dict.fromkeys(words[id(row)] for row in rows))[:2]
    bars = [_bar(comparison, row, explanation.column, axis) for row in rows[:_MOST_BARS]]
    title = explanation.cause.sentence.rstrip(".")
    return Reason(str(explanation.number), title, "; ".join(evidence), bars, len(rows) - len(bars))


def _bar(comparison: Comparison, row: Row, column: str, axis: Axis) -> Bar:
    residual = row.residuals[column]
    label = f"{metric(row.metric).label}, {place(comparison, row)}"
    text = written_residual(residual, metric(row.metric).shown_per_unit).replace("-", "−")
    if math.isnan(residual.relative):
        return Bar(label, text)
    low, high = _ends(residual)
    return Bar(
        label, text, axis.position(100 * residual.relative), axis.position(low), axis.position(high)
    )
