"""Runs the cells of a grid, what is evaluated and its references on the same seeds, and judges."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ackclock import engine
from ackclock.evaluation.campaign import Campaign
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.criteria import (
    Array,
    Criterion,
    Grade,
    Judgement,
    Measured,
    Quantity,
    graded,
    shown,
)
from ackclock.evaluation.kept import KeptMetrics, Metrics
from ackclock.evaluation.suite import Setup
from ackclock.evaluation.verdict import Verdict
from ackclock.metrics import by_replicate
from ackclock.metrics.tables import mean_of_known
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario

Record = dict[str, Any]

#: Runs of one call of the engine: their tables are in memory together, and an interrupt loses them.
RUNS_AT_ONCE = 240

# The worst grade first.
_ORDER = (Grade.FAR, Grade.MISSED, Grade.UNSURE, Grade.HOLDS, Grade.UNKNOWN)
#: The verdict on a run whose worst criterion has a grade.
VERDICTS = {
    Grade.FAR: Verdict.FAIL,
    Grade.MISSED: Verdict.CONCERN,
    Grade.UNSURE: Verdict.PASS,
    Grade.HOLDS: Verdict.PASS,
    Grade.UNKNOWN: Verdict.NOT,
}


def order(grade: str) -> int:
    """Returns the rank of a grade: 0 for the worst."""
    return _ORDER.index(Grade(grade))


def grid_cells(cell: Cell, grid: Mapping[str, tuple[Any, ...]]) -> list[Cell]:
    """Returns a cell for each combination of the values of a grid."""
    if not grid:
        return [cell]
    tree = {**cell.scenario().tree, "sweep": {path: list(values) for path, values in grid.items()}}
    return [
        replace(cell, assignments={**cell.assignments, **assignments})
        for assignments, _ in engine.expand(tree)
    ]


@dataclass(frozen=True)
class Cells:
    """The cells of a run of a case, with the control that is evaluated in the place of X.

    Attributes:
        cells: The cells.
        references: The controls that they are compared with, by name.
        kept: Metrics of references that were simulated before; None to simulate them again.
        campaign: The campaign whose sweeps run the cells; None to simulate them here.
        name: Their name in a campaign.
    """

    cells: tuple[Cell, ...]
    references: Mapping[str, Candidate]
    kept: KeptMetrics | None = None
    campaign: Campaign | None = None
    name: str = ""

    @property
    def setup(self) -> Setup:
        """The run of the case."""
        return self.cells[0].setup

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The metrics that its criteria read, each once."""
        every = [each for criterion in self.setup.criteria for each in criterion.quantities]
        return list({quantity.key: quantity for quantity in every}.values())

    @property
    def runs(self) -> int:
        """Number of simulations."""
        return len(self.cells) * self.cells[0].replicates * (1 + len(self.references))

    def measure(self, progress: Callable[[int], None]) -> list[Measured]:
        """Simulates every cell; `progress` takes a number of simulations that have ended."""
        values: list[dict[str, dict[str, Array]]] = [{} for _ in self.cells]
        own = self.cells[0].candidate
        trees = [reference.tree for reference in self.references.values()]
        for control, candidate in {"": own, **self.references}.items():
            if control and candidate.tree == own.tree:
                values = [{**of_cell, control: of_cell[""]} for of_cell in values]
                progress(self.runs // (1 + len(self.references)))
                continue
            for first, some in self._chunks():
                as_control = [replace(cell, candidate=candidate) for cell in some]
                kept = self.kept if candidate.tree in trees else None
                made = self._metrics(as_control, control, kept, progress)
                for offset, measured in enumerate(made):
                    values[first + offset][control] = measured
        return [
            Measured(cell.replicates, of_cell, cell.values)
            for cell, of_cell in zip(self.cells, values, strict=True)
        ]

    def _metrics(
        self,
        cells: Sequence[Cell],
        control: str,
        kept: KeptMetrics | None,
        progress: Callable[[int], None],
    ) -> Metrics:
        """Returns the metrics of cells, unless they are kept from a run or a sweep."""
        scenario = together(cells)
        made = kept.read(scenario, self.quantities) if kept is not None else None
        if made is None and self.campaign is not None:
            name = f"{self.name}-{control or 'x'}"
            made = self.campaign.metrics(name, scenario, self.quantities, progress)
        else:
            made = _simulated(cells, self.quantities) if made is None else made
            progress(len(cells) * cells[0].replicates)
        if kept is not None:
            kept.write(scenario, self.quantities, made)
        return made

    def _chunks(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        """Returns the cells of one call of the engine; those of a sweep are one."""
        size = max(RUNS_AT_ONCE // self.cells[0].replicates, 1)
        size = size if self.campaign is None else len(self.cells)
        for first in range(0, len(self.cells), size):
            yield first, self.cells[first : first + size]


def _simulated(cells: Sequence[Cell], quantities: Sequence[Quantity]) -> Metrics:
    """Returns the metrics of each cell by key: a value for each replicate."""
    result = simulate(together(cells))
    values_of: Metrics = [{} for _ in cells]
    for quantity in quantities:
        for (point, subject), values in by_replicate(result, quantity.metric).items():
            if subject == quantity.subject or not quantity.subject:
                row = [values.get(number, math.nan) for number in range(cells[0].replicates)]
                values_of[point][quantity.key] = np.array(row, float)
    return values_of


def together(cells: Sequence[Cell]) -> Scenario:
    """Returns one scenario whose sweep has the cells of a grid as points."""
    (first, *_) = cells
    if not first.assignments:
        return first.scenario()
    # Fields that depend on the grid, such as a length in round trips, are swept with it.
    trees = [cell.scenario().tree for cell in cells]
    paths = [*first.assignments, "duration"]
    every = [
        [*cell.assignments.values(), tree["duration"]]
        for cell, tree in zip(cells, trees, strict=True)
    ]
    return Scenario({**trees[0], "sweep": {", ".join(paths): every}})


def label(assignments: Mapping[str, Any]) -> str:
    """Returns a cell in words: `buffer 0.5, 8 of x`."""
    words = dict.fromkeys(_in_words(path, value) for path, value in assignments.items())
    return ", ".join(words) or "the only cell"


def _in_words(path: str, value: Any) -> str:
    *owners, name = path.split(".")
    if isinstance(value, dict) and "kind" in value:
        others = [_in_words(field, each) for field, each in value.items() if field != "kind"]
        value = f"{value['kind']} ({', '.join(others)})" if others else value["kind"]
    elif isinstance(value, dict):
        value = json.dumps(value)
    if isinstance(value, bool):
        value = "on" if value else "off"
    if name == "count":
        return f"{value} of {owners[-1]}"
    if name == "kind":  # of a flow's control, or of an element
        return f"{owners[1] if owners[0] == 'flows' else owners[-1]} {value}"
    return f"{name.replace('_', ' ')} {value}"


def judged(cells: Cells, measured: Sequence[Measured]) -> tuple[Verdict, str, list[Record]]:
    """Returns the verdict on a run of a case, its reason, and a record for each criterion."""
    kind = cells.cells[0].candidate.kind
    every = [[criterion.judge(each) for each in measured] for criterion in cells.setup.criteria]
    decides = [not criterion.is_reported for criterion in cells.setup.criteria]
    deciding = [row for row, is_deciding in zip(every, decides, strict=True) if is_deciding]
    flat = iter(graded([judgement for judgements in deciding for judgement in judgements]))
    grades = [
        [next(flat) if is_deciding else judgement.grade for judgement in judgements]
        for judgements, is_deciding in zip(every, decides, strict=True)
    ]
    records = [
        _record(cells, measured, criterion, judgements, of_criterion)
        for criterion, judgements, of_criterion in zip(
            cells.setup.criteria, every, grades, strict=True
        )
    ]
    if not records:
        return Verdict.NOT, "it has no criterion", []
    judging = [record for record in records if not record["reported"]]
    if not judging:
        return Verdict.NOT, f"reported, and decides nothing: {records[0]['found']}", records
    worst = min(judging, key=lambda record: order(record["grade"]))
    verdict = VERDICTS[Grade(worst["grade"])]
    reason = str(worst["found"])
    if verdict in (Verdict.CONCERN, Verdict.FAIL) and kind in cells.setup.limits:
        return Verdict.KNOWN, f"{cells.setup.limits[kind]} {reason}", records
    return verdict, reason, records


def _record(
    cells: Cells,
    measured: Sequence[Measured],
    criterion: Criterion,
    judgements: Sequence[Judgement],
    grades: Sequence[Grade],
) -> Record:
    """Returns the record of a criterion with all its cells."""
    place = min(
        range(len(grades)),
        key=lambda number: (_ORDER.index(grades[number]), -_or_less(judgements[number].beyond)),
    )
    rows = []
    for cell, judgement, grade, of_cell in zip(
        cells.cells, judgements, grades, measured, strict=True
    ):
        rows.append(
            {
                "cell": label(cell.assignments),
                "assignments": dict(cell.assignments),
                "grade": grade.value,
                **_numbers(judgement.values, judgement.interval),
                "bound": mean_of_known(judgement.bound),
                "chance": judgement.chance,
                "references": {
                    name: _numbers(of_cell.metric(name, criterion.quantity), None)
                    for name in cells.references
                },
            }
        )
    metric = criterion.quantity.metric
    record = {
        "says": criterion.says,
        "metric": metric.name,
        "label": criterion.quantity.label,
        "subject": criterion.quantity.subject,
        "unit": metric.unit,
        "shown_unit": metric.shown_unit,
        "shown_per_unit": metric.shown_per_unit,
        "side": "least" if criterion.is_least else "most",
        "reported": criterion.is_reported,
        "bound": [amount.words for amount in criterion.bounds],
        "grade": grades[place].value,
        "worst": place,
        "cells": rows,
    }
    reference_too = [
        name
        for name, reference in cells.references.items()
        if reference.kind != cells.cells[0].candidate.kind
        and criterion.judge_reference(measured[place], name).grade is Grade.MISSED
    ]
    return record | {"found": _words(record, criterion, reference_too)}


def _or_less(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _numbers(values: Array, interval: tuple[float, float] | None) -> Record:
    numbers: Record = {"mean": mean_of_known(values), "values": [float(value) for value in values]}
    if interval is not None:
        numbers |= {"low": interval[0], "high": interval[1]}
    return numbers


def _words(record: Record, criterion: Criterion, reference_too: Sequence[str]) -> str:
    """Returns a criterion in a sentence: the number, its interval, the worst cell, the bound."""
    row = record["cells"][record["worst"]]
    if record["grade"] == Grade.UNKNOWN:
        return f"{record['label']}: unknown in every cell"
    show = criterion.quantity.shown
    count = len(record["cells"])
    where = f" in the worst of {count} cells ({row['cell']})" if count > 1 else ""
    number = f"{record['label']} {with_interval(row, record)}"
    others = "".join(
        f"; {name} {show(numbers['mean'])}" for name, numbers in row["references"].items()
    )
    bound = f"our bound: at {record['side']} {show(row['bound'])}"
    unsure = "; more seeds would decide" if record["grade"] == Grade.UNSURE else ""
    too = f"; {' and '.join(reference_too)} too" if reference_too else ""
    return f"{number}{where}{others}; {bound}{too}{unsure}"


def with_interval(cell: Record, criterion: Record) -> str:
    """Returns the mean of a cell, with its interval unless all seeds agree."""
    mean, low, high = (
        shown(cell[name], criterion["shown_per_unit"], criterion["shown_unit"])
        for name in ("mean", "low", "high")
    )
    if low == high:
        return low
    bare = low.removesuffix(criterion["shown_unit"]).strip()
    return f"{mean} ({bare} to {high})"
