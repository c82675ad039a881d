"""Any results beside each other: each number, its difference from the reference, and chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ackclock.comparison import matching
from ackclock.comparison.differences import WITHIN, gap, standing
from ackclock.errors import InputError
from ackclock.metrics import (
    ALL_FLOWS,
    FLOWS,
    HOPS,
    METRICS,
    Interval,
    Metric,
    by_replicate,
    interval,
    metric,
)
from ackclock.result.flows import is_controlled, rivals
from ackclock.result.result import Result
from ackclock.validity.stationarity import Stationarity, judge

#: Metrics that are shown unasked, in the order of tables.
USUAL = (
    "goodput",
    "utilisation",
    "rtt",
    "rtt_p99",
    "retransmissions",
    "loss_rate",
    "queueing_delay",
    "completion_time",
    "fairness",
)

# Of the hops on the way of data, those are shown unasked that are busy for this share of the time
# that the busiest is, in any result. Chosen here.
_BUSY = 0.5

# Methods whose replicates have the draws of their seed.
_DRAWING = ("simulate", "emulate", "measure")

_Values = Mapping[tuple[int, str], Mapping[int, float]]


class Named(NamedTuple):
    """A result and its name beside others."""

    name: str
    result: Result


class Cell(NamedTuple):
    """The number of one result.

    Attributes:
        interval: Mean over replicates and 95 % interval, in the metric's unit; NaN if unknown.
        values: Values that count, by replicate.
        is_marked: True if it is a mean over flows that have not settled.
    """

    interval: Interval
    values: Mapping[int, float]
    is_marked: bool = False

    @property
    def is_known(self) -> bool:
        """True if there is a number."""
        return not math.isnan(self.interval.mean)


class Difference(NamedTuple):
    """A result less the reference.

    Attributes:
        absolute: With its 95 % interval, in the metric's unit.
        relative: The same over the reference's mean; infinite if that is zero.
        standing: How it stands to chance, from `ackclock.comparison.differences`.
        is_paired: True if replicates were compared one by one.
    """

    absolute: Interval
    relative: Interval
    standing: str
    is_paired: bool

    @property
    def is_beyond_chance(self) -> bool:
        """True if the interval leaves out zero."""
        half = self.absolute.half_width
        return self.standing != WITHIN and not math.isnan(half) and abs(self.absolute.mean) > half


class Row(NamedTuple):
    """A metric of one point and one flow or hop, in every result.

    Attributes:
        metric: Name of the metric.
        point: Index of the point in the reference.
        subject: Name of the flow or hop in the reference, or `all flows`.
        cells: In the order of the results.
        differences: In the same order; None for the reference, and where a number is unknown.
    """

    metric: str
    point: int
    subject: str
    cells: tuple[Cell, ...]
    differences: tuple[Difference | None, ...]


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Results beside each other. The first is the reference.

    Attributes:
        results: At least two.
        metrics: Names of the metrics to show; empty for the usual ones.

    Raises:
        InputError: Two of them have nothing in common, or one has predictions, without replicates.
    """

    results: tuple[Named, ...]
    metrics: tuple[str, ...] = ()
    _values: dict[tuple[int, str], _Values] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Refuses what cannot be compared."""
        for name, result in self.results:
            if "flows" not in result.tables:
                words = "holds predictions; ackclock compare SCENARIO sets them beside runs"
                raise InputError("unsupported", name, words)
        for number, (name, _) in enumerate(self.results[1:], 1):
            pairs = self.flows(number)
            if not pairs.names:
                own, theirs = (", ".join(names) or "none" for names in (pairs.alone, pairs.others))
                words = (
                    f"has other flows than {self.reference.name} ({theirs} and {own}); give them "
                    "the same names or the same number"
                )
                raise InputError("contradiction", name, words)

    def __repr__(self) -> str:
        return f"SideBySide({', '.join(name for name, _ in self.results)})"

    @property
    def reference(self) -> Named:
        """The result that the others are compared with."""
        return self.results[0]

    @property
    def names(self) -> list[str]:
        """The names of the results."""
        return [name for name, _ in self.results]

    @property
    def run(self) -> dict[str, Any]:
        """The run as figures read it: name, number of replicates, controls with looks."""
        run = self.reference.result.run
        counts = [int(result.run["replicates"]) for _, result in self.results]
        name = " and ".join(self.names) if len(self.names) == 2 else ", ".join(self.names)
        return {"name": name, "replicates": min(counts), "controls": run.get("controls", [])}

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the reference."""
        return self.reference.result.points

    @cached_property
    def _same(self) -> list[dict[int, int]]:
        """For each result, the index of its points by that in the reference."""
        every = []
        for name, result in self.results:
            try:
                every.append(matching.points(self.reference.result, result))
            except InputError as error:
                raise error.for_field(name) from None
        return every

    def own_point(self, number: int, point: int) -> int | None:
        """Returns the index of a point of the reference in a result; None if it lacks it."""
        return self._same[number].get(point)

    def flows(self, number: int, point: int | None = None) -> matching.Matched:
        """Returns the flows of the reference that a result has, at a point or the first one."""
        own, their = next(iter(self._same[number].items()))
        if point is not None:
            own, their = point, self._same[number][point]
        return matching.matched(
            matching.flow_names(self.reference.result, own),
            matching.flow_names(self.results[number].result, their),
        )

    def is_paired(self, number: int) -> bool:
        """Returns true if the replicates of a result have the draws of the reference's.

        Seeds, what they vary, and the numbers of replicates are then equal.
        """
        return (
            len({_draws(result) for result in (self.reference.result, self._result(number))}) == 1
        )

    def changes(self, number: int) -> list[matching.Change]:
        """Returns what differs between the reference and a result in what was asked for."""
        return matching.changes(
            self.reference.result, self._result(number), self._same[number]
        )  # fmt: skip

    def _result(self, number: int) -> Result:
        return self.results[number].result

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all metrics to show, by metric and then point."""
        names = self.metrics or USUAL
        return [
            row
            for name in names
            for row in self.rows_of(name)
            if self.metrics or self._is_usual(metric(name), row)
        ]

    def rows_of(self, name: str) -> list[Row]:
        """Returns every row of a metric in which any result has a number.

        Raises:
            InputError: There is no such metric.
        """
        keys = dict.fromkeys(self._by_key(0, name))
        rows = [self._row(metric(name), point, subject) for point, subject in keys]
        return [row for row in rows if any(cell.is_known for cell in row.cells)]

    def _is_usual(self, record: Metric, row: Row) -> bool:
        scenario = self.points[row.point]["scenario"]
        if record.subjects is HOPS:
            return row.subject in self._busy.get(row.point, ())
        if record.subjects is ALL_FLOWS and scenario is not None:
            return rivals(flow for flow in scenario["flows"] if is_controlled(flow)) > 1
        return True

    @cached_property
    def _busy(self) -> dict[int, set[str]]:
        """The hops on the way of data that are busy, by point."""
        by_point: dict[int, set[str]] = {}
        for row in self.rows_of("utilisation"):
            scenario = self.points[row.point]["scenario"] or {"flows": []}
            if any(row.subject in flow["route"] for flow in scenario["flows"]):
                by_point.setdefault(row.point, set()).add(row.subject)
        shares = {(row.point, row.subject): row.cells for row in self.rows_of("utilisation")}

        def busy(point: int, hop: str, number: int) -> float:
            mean = shares[point, hop][number].interval.mean
            return 0.0 if math.isnan(mean) else mean

        kept: dict[int, set[str]] = {}
        for point, hops in by_point.items():
            for number in range(len(self.results)):
                most = max(busy(point, hop, number) for hop in hops)
                kept.setdefault(point, set()).update(
                    hop for hop in hops if busy(point, hop, number) >= _BUSY * most > 0
                )
        return kept

    def _by_key(self, number: int, name: str) -> _Values:
        key = (number, name)
        if key not in self._values:
            self._values[key] = by_replicate(self._result(number), metric(name))
        return self._values[key]

    def _row(self, record: Metric, point: int, subject: str) -> Row:
        cells = tuple(
            self._cell(number, record, point, subject) for number in range(len(self.results))
        )
        differences = tuple(
            self._difference(number, cells[number], cells[0]) if number else None
            for number in range(len(cells))
        )
        return Row(record.name, point, subject, cells, differences)

    def _cell(self, number: int, record: Metric, point: int, subject: str) -> Cell:
        unknown = Cell(Interval(math.nan, math.nan, 0), {})
        own = self.own_point(number, point)
        if own is None:
            return unknown
        named = self._subject(number, record, point, own, subject)
        values = self._by_key(number, record.name).get((own, named), {})
        if not values:
            return unknown
        mean = interval(list(values.values()))
        marked = self._judged(number).marks(record.name, own, named)
        return Cell(mean, values, is_marked=marked and not math.isnan(mean.mean))

    def _subject(self, number: int, record: Metric, point: int, own: int, subject: str) -> str:
        """Returns the name of a flow or hop of the reference in a result; empty if it lacks it."""
        if record.subjects is FLOWS:
            return self.flows(number, point).names.get(subject, "")
        here = [name for index, name in self._by_key(0, record.name) if index == point]
        there = [name for index, name in self._by_key(number, record.name) if index == own]
        return matching.matched(here, there).names.get(subject, "")

    def _difference(self, number: int, cell: Cell, other: Cell) -> Difference | None:
        if not cell.is_known or not other.is_known:
            return None
        paired = self.is_paired(number)
        less = gap(cell.values, other.values, paired=paired)
        if math.isnan(less.mean):  # No replicate has both numbers.
            paired, less = False, gap(cell.values, other.values, paired=False)
        return Difference(less, _relative(less, other), standing(less, other.interval.mean), paired)

    def _judged(self, number: int) -> Stationarity:
        if number not in self._verdicts:
            self._verdicts[number] = judge(self._result(number))
        return self._verdicts[number]

    @cached_property
    def _verdicts(self) -> dict[int, Stationarity]:
        return {}

    def unsettled(self, number: int) -> str:
        """Returns the warning about flows of a result that have not settled; else empty."""
        return self._judged(number).warning

    @property
    def notes(self) -> list[str]:
        """Lines about what is not compared, and about names that were matched by order."""
        lines = []
        for number, (name, _) in enumerate(self.results[1:], 1):
            pairs, reference = self.flows(number), self.reference.name
            if pairs.renamed:
                lines.append(f"flows matched by order: {', '.join(pairs.renamed)} of {name}")
            for missing, owner in ((pairs.alone, reference), (pairs.others, name)):
                if missing:
                    lines.append(f"only {owner} has {', '.join(missing)}")
            lines += _points_left(self.reference, self.results[number], self._same[number])
        return list(dict.fromkeys(lines))


def _points_left(reference: Named, other: Named, same: Mapping[int, int]) -> list[str]:
    counts = len(reference.result.points), len(other.result.points)
    return [
        f"{count - len(same)} of {count} points are in {name} alone"
        for (name, _), count in zip((reference, other), counts, strict=True)
        if count > len(same)
    ]


def _draws(result: Result) -> tuple[Any, ...]:
    """Returns what decides the draws of a result's replicates; its own for unknown draws."""
    run = result.run
    scenarios = [point["scenario"] for point in result.points]
    if run["method"] not in _DRAWING or run.get("seed") is None or None in scenarios:
        return (id(result),)
    varied = sorted({str(scenario.get("vary")) for scenario in scenarios})
    return (run["seed"], run["replicates"], *varied)


def _relative(less: Interval, other: Cell) -> Interval:
    mean = abs(other.interval.mean)
    if mean == 0:
        size = 0.0 if less.mean == 0 else math.copysign(math.inf, less.mean)
        return Interval(size, math.nan, less.replicates)
    return Interval(less.mean / mean, less.half_width / mean, less.replicates)


def beside(
    results: Mapping[str, Result] | Sequence[Result],
    *metrics: str,
    reference: str | None = None,
) -> SideBySide:
    """Sets results beside each other.

    Args:
        results: By name, or in a list; then their folders or scenarios name them.
        metrics: Names of metrics; none for the usual ones.
        reference: Name of the result that the others are compared with; None for the first.

    Raises:
        InputError: There is no such metric or result, or two of them have nothing in common.
    """
    if isinstance(results, Mapping):
        named = [Named(name, result) for name, result in results.items()]
    else:
        folders = [result.folder for result in results]
        if None in folders:
            labels = [f"{number}" for number in range(1, len(results) + 1)]
        else:
            labels = names_of([folder for folder in folders if folder is not None])
        named = [Named(label, result) for label, result in zip(labels, results, strict=True)]
    if len(named) < 2:
        raise InputError("missing", "", "give two results or more")
    for name in metrics:
        if name not in METRICS:
            raise InputError.unknown("", "metric", name, METRICS)
    first = reference if reference is not None else named[0].name
    if first not in [name for name, _ in named]:
        raise InputError.unknown("reference", "result", first, [name for name, _ in named])
    named.sort(key=lambda entry: entry.name != first)
    return SideBySide(tuple(named), tuple(dict.fromkeys(metrics)))


def names_of(folders: Sequence[Path]) -> list[str]:
    """Returns the shortest names that tell folders apart: the parts of paths that differ.

    Raises:
        InputError: A folder is given twice.
    """
    whole = [folder.absolute().parts for folder in folders]
    for number, parts in enumerate(whole):
        if parts in whole[:number]:
            raise InputError("contradiction", f"{folders[number]}", "is given twice")
    behind = 0  # Parts at the end that all have in common.
    while all(len(parts) > behind + 1 for parts in whole) and (
        len({parts[-1 - behind] for parts in whole}) == 1
    ):
        behind += 1
    ended = [parts[: len(parts) - behind] for parts in whole]
    length = 1
    while len({parts[-length:] for parts in ended}) < len(ended):
        length += 1
    return ["/".join(parts[-length:]) for parts in ended]
