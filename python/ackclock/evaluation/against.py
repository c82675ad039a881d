"""An evaluation against another: what got better or worse, beyond chance and beyond a trifle."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.evaluation.criteria import (
    Array,
    beyond_chance,
    chance_of_difference,
    chance_of_more,
)
from ackclock.evaluation.verdict import ORDER, Verdict
from ackclock.metrics.tables import mean_of_known
from ackclock.result.manifest import read_sealed

Record = dict[str, Any]

#: Smallest relative difference that matters. Ours.
TRIFLE = 0.02

#: Share of comparisons of equal controls that show anything, at most. Ours: continuous integration
#: should not cry wolf.
LEVEL = 0.01

# Quantiles of the normal distribution: two-sided 5 %, and a power of 80 %.
_Z = 1.96 + 0.84


class Direction(StrEnum):
    """The direction of a change."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "within chance"
    """Not beyond chance, or by less than what matters."""


@dataclass(frozen=True)
class Change:
    """The change of a metric in one cell.

    Attributes:
        case: Name of the case.
        says: The criterion.
        metric: Name of its metric.
        cell: The cell, in words.
        before: Mean before.
        now: Mean now.
        relative: Change as a share of the mean before, or of the bound if that is larger; positive
            is worse.
        direction: The direction.
        seeds: Number of seeds that would show a change of this size; 0 if unknown.
    """

    case: str
    says: str
    metric: str
    cell: str
    before: float
    now: float
    relative: float
    direction: Direction
    seeds: int

    @property
    def record(self) -> Record:
        """It as plain data."""
        return asdict(self) | {"direction": self.direction.value}


def read(path: Path) -> Record:
    """Returns an evaluation from its folder or from `evaluation.json`.

    Raises:
        InputError: It is none, or damaged.
    """
    file = path / "evaluation.json" if path.is_dir() else path
    try:
        record = read_sealed(file)
    except (OSError, ValueError) as error:
        raise InputError("file", "--against", f"{file}: {error}") from None
    if "cases" not in record:
        raise InputError("file", "--against", f"{file} holds no whole evaluation")
    return record


def reference_of(evaluation: Record, name: str) -> Record:
    """Returns an evaluation with the values of a reference control in place of its own."""
    copy: Record = json.loads(json.dumps(evaluation))
    for _, _, criterion in _criteria(copy):
        for cell in criterion["cells"]:
            cell |= cell["references"][name]
    return copy


def changes(now: Record, before: Record) -> list[Change]:
    """Returns the change of every cell that both have, the worst first.

    Evaluations with the same seeds are compared seed by seed. All cells together are judged by the
    rule of Holm (1979).
    """
    paired = now["seeds"] == before["seeds"]
    earlier = {key: criterion for key, _, criterion in _criteria(before)}
    pairs = []
    for key, case, criterion in _criteria(now):
        cells = {_place(cell): cell for cell in earlier.get(key, {"cells": []})["cells"]}
        for cell in criterion["cells"]:
            if _place(cell) in cells:
                pairs.append((case, criterion, cell, cells[_place(cell)]))
    compared = [
        _compared(criterion, own, other, paired=paired) for _, criterion, own, other in pairs
    ]
    directions = _directions(compared)
    every = [
        Change(
            case,
            criterion["says"],
            criterion["metric"],
            cell["cell"],
            other["mean"],
            cell["mean"],
            each.relative,
            direction,
            each.seeds,
        )
        for (case, criterion, cell, other), each, direction in zip(
            pairs, compared, directions, strict=True
        )
    ]
    return sorted(every, key=lambda change: -change.relative)


def verdicts(now: Record, before: Record) -> list[tuple[str, str, str, Direction]]:
    """Returns case, verdict before, verdict now and direction of every verdict that changed."""
    earlier = {(case["id"], case["path"]["name"]): case["verdict"] for case in before["cases"]}
    changed = []
    for case in now["cases"]:
        was, is_ = earlier.get((case["id"], case["path"]["name"])), case["verdict"]
        if was is not None and was != is_:
            worse = ORDER.index(Verdict(is_)) < ORDER.index(Verdict(was))
            direction = Direction.WORSE if worse else Direction.BETTER
            changed.append((case["id"], was, is_, direction))
    return changed


@dataclass(frozen=True)
class _Compared:
    """The difference of a cell.

    Attributes:
        relative: As in `Change`.
        worse: Probability of a change this much beyond a trifle, by chance.
        better: The same of the other direction.
        seeds: As in `Change`.
    """

    relative: float
    worse: float
    better: float
    seeds: int


def _criteria(evaluation: Record) -> Iterator[tuple[tuple[str, ...], str, Record]]:
    """Returns the key, the case and the record of every criterion."""
    for case in evaluation["cases"]:
        for run in case["runs"]:
            for criterion in run["criteria"]:
                key = (case["id"], case["path"]["name"], run["name"], criterion["says"])
                yield key, case["id"], criterion


def _place(cell: Record) -> str:
    """Returns what a cell differs in from others: two may have the same words."""
    return json.dumps(cell["assignments"], sort_keys=True)


def _compared(criterion: Record, own: Record, other: Record, *, paired: bool) -> _Compared:
    sign = 1.0 if criterion["side"] == "most" else -1.0
    now, before = (sign * _numbers(cell["values"]) for cell in (own, other))
    sizes = (mean_of_known(before), mean_of_known(_numbers([own["bound"]])))
    scale = max((abs(size) for size in sizes if abs(size) > 0), default=math.nan)
    if not scale > 0 or np.isnan(now).all():
        return _Compared(0.0, 1.0, 1.0, 0)
    if paired and now.size == before.size:
        differences = (now - before) / scale
        differences = differences[~np.isnan(differences)]
        mean, spread = (
            float(differences.mean()),
            float(np.std(differences, ddof=1) if differences.size > 1 else 0.0),
        )
        return _Compared(
            mean,
            chance_of_more(differences - TRIFLE),
            chance_of_more(-differences - TRIFLE),
            _seeds(mean, spread),
        )
    now, before = (values[~np.isnan(values)] / scale for values in (now, before))
    if not now.size or not before.size:
        return _Compared(0.0, 1.0, 1.0, 0)
    spread = math.sqrt(
        sum(np.var(values, ddof=1) if values.size > 1 else 0.0 for values in (now, before))
    )
    mean = float(now.mean() - before.mean())
    return _Compared(
        mean,
        chance_of_difference(now - TRIFLE, before),
        chance_of_difference(before - TRIFLE, now),
        _seeds(mean, spread),
    )


def _seeds(mean: float, spread: float) -> int:
    """Returns the number of seeds that show a mean with 95 % confidence and a power of 80 %."""
    return max(math.ceil((_Z * spread / mean) ** 2), 2) if mean and spread else 0


def _numbers(values: Sequence[Any]) -> Array:
    return np.array([math.nan if value is None else value for value in values], float)


def _directions(compared: Sequence[_Compared]) -> list[Direction]:
    """Returns the direction of each change that is beyond chance, whichever of the two it is."""
    directions = [Direction.SAME] * len(compared)
    for place in beyond_chance([2 * min(each.worse, each.better) for each in compared], LEVEL):
        worse = compared[place].worse <= compared[place].better
        directions[place] = Direction.WORSE if worse else Direction.BETTER
    return directions


def record(now: Record, name: str, before: Record) -> Record:
    """Returns the comparison with an evaluation as plain data: what changed, in words and cells."""
    every, of_verdicts = changes(now, before), verdicts(now, before)
    count = {
        direction: sum(change.direction is direction for change in every) for direction in Direction
    }
    parts = [f"{count[direction]} {direction.value}" for direction in Direction]
    changed = f" Verdicts that changed: {len(of_verdicts)}." if of_verdicts else ""
    worse = count[Direction.WORSE] + sum(entry[3] is Direction.WORSE for entry in of_verdicts)
    better = count[Direction.BETTER] + sum(entry[3] is Direction.BETTER for entry in of_verdicts)
    return {
        "name": name,
        "worse": worse,
        "beyond": worse + better,
        "summary": (
            f"Against {name}, {len(every)} cells: {', '.join(parts)} "
            f"(by more than {100 * TRIFLE:g} %, Holm at {100 * LEVEL:g} %).{changed}"
        ),
        "verdicts": [
            {"case": case, "before": was, "now": is_, "direction": direction.value}
            for case, was, is_, direction in of_verdicts
        ],
        "cells": [change.record for change in every],
    }
