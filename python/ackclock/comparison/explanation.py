"""Explanations of differences, gathered: each cause once per method, with its cases."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ackclock.comparison.causes import Cause, cause
from ackclock.comparison.differences import EXCEEDS, SLIGHT, UNSURE, WITHIN
from ackclock.comparison.table import Comparison, Residual, Row
from ackclock.metrics import Interval
from ackclock.table import fixed

# The order of the methods whose differences are explained.
_ORDER = ("emulate", "simulate", "predict", "measure")


class Case(NamedTuple):
    """One difference that a cause explains.

    Attributes:
        row: The metric, point and flow.
        words: How the cause shows here.
    """

    row: Row
    words: str


class Explanation(NamedTuple):
    """A cause that shows in the differences of a method.

    Attributes:
        number: Number by which tables refer to it, from 1.
        column: Name of the method's column.
        reference: Name of the reference column.
        cause: Record of the cause.
        cases: The differences that it explains.
    """

    number: int
    column: str
    reference: str
    cause: Cause
    cases: tuple[Case, ...]


def explanations(comparison: Comparison) -> list[Explanation]:
    """Returns every cause of differences that exceed their interval.

    Those of a method are together: first what the path does, then by the largest difference. Tables
    refer to them
    by their number in this order.
    """
    cases_by_cause: dict[tuple[str, str], list[Case]] = {}
    references: dict[str, str] = {}
    for row in comparison.rows:
        for column, residual in row.residuals.items():
            references[column] = residual.reference
            for finding in residual.findings:
                cases_by_cause.setdefault((column, finding.cause), []).append(
                    Case(row, finding.words)
                )

    def weight(entry: tuple[tuple[str, str], list[Case]]) -> tuple[int, bool, float]:
        """Linux first, then models, then captures; the path first, then the largest difference."""
        (column, name), cases = entry
        sizes = (abs(case.row.residuals[column].relative) for case in cases)
        shares = [size for size in sizes if not math.isnan(size)]
        method = _ORDER.index(column.partition("-")[0])
        return method, not cause(name).is_of_path, -max(shares, default=math.inf)

    return [
        Explanation(number, column, references[column], cause(name), tuple(cases))
        for number, ((column, name), cases) in enumerate(
            sorted(cases_by_cause.items(), key=weight), 1
        )
    ]


def numbers_of(listed: Sequence[Explanation], column: str, residual: Residual) -> list[int]:
    """Returns the numbers of the explanations of a difference."""
    names = [finding.cause for finding in residual.findings]
    return [
        explanation.number
        for explanation in listed
        if explanation.column == column and explanation.cause.name in names
    ]


def tally(comparison: Comparison) -> str:
    """Returns a sentence that counts the differences of each kind."""
    residuals = [residual for row in comparison.rows for residual in row.residuals.values()]
    if not residuals:
        return "There is nothing to compare: fewer than two methods have a number."
    counts = {
        kind: sum(residual.standing == kind for residual in residuals)
        for kind in (WITHIN, SLIGHT, EXCEEDS, UNSURE)
    }
    unexplained = sum(residual.is_unexplained for residual in residuals)
    kinds = {
        "within": counts[WITHIN],
        "outside but below 1 %": counts[SLIGHT],
        "outside and explained": counts[EXCEEDS] - unexplained,
        "outside and unexplained": unexplained,
        "with no interval": counts[UNSURE],
    }
    counted = ", ".join(f"{count} {where}" for where, count in kinds.items() if count)
    chance = round(0.05 * (len(residuals) - counts[UNSURE]))
    more = f" By chance alone about {chance} would be outside." if chance else ""
    return f"Of {len(residuals)} differences, by their 95 % intervals: {counted}.{more}"


def written_residual(residual: Residual, shown_per_unit: float) -> str:
    """Formats as `+5.3 ± 2.1 %`, or in the shown unit where the reference is zero."""
    gap = residual.difference
    if math.isnan(residual.relative):
        return _signed(gap, shown_per_unit)
    scale = residual.relative / gap.mean * 100 if gap.mean else 0.0
    return _signed(Interval(gap.mean, gap.half_width, gap.replicates), abs(scale), " %")


def _signed(gap: Interval, scale: float, unit: str = "") -> str:
    half = gap.half_width * scale
    digits = 0 if not half < 10 or abs(gap.mean * scale) >= 100 else 1
    words = fixed(gap.mean * scale, digits, sign=True)
    return f"{words}{unit}" if math.isnan(half) else f"{words} ± {half:.{digits}f}{unit}"
