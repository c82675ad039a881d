"""Searches for the path on which a candidate does worst beside CUBIC, by the search of sweeps."""

import contextlib
import math
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.evaluation.candidate import Candidate
from ackclock.judgement.field import Assignments, Category
from ackclock.judgement.measures import Measure
from ackclock.judgement.references import CUBIC, with_solo
from ackclock.judgement.runs import Bench, InProcess, Task
from ackclock.run.simulation import cores
from ackclock.sweeps.search.optimiser import OPTIMISERS, Spent

# Generations of the search, and seeds of each path. Ours: a few hundred runs.
_GENERATIONS, _SEEDS = 6, 2


def prepare() -> None:
    """Imports what the search needs."""
    for name in ("scipy.optimize", "scipy.stats"):
        import_module(name)


def search(
    bench: Bench, category: Category, start: Assignments, measure: Measure, seed: int,
    until: float, tell: Callable[[str], None],
) -> list[tuple[Category, Assignments, float, Measure]]:  # fmt: skip
    """Returns paths around another on which a candidate does worse still, the worst first.

    Args:
        bench: Where the candidate runs.
        category: The category of the path.
        start: The path.
        measure: The measure by which it does worst there.
        seed: The seed.
        until: The moment by which it ends.
        tell: Takes what is going on.
    """
    around = category.around(start)
    beside = InProcess(Candidate.read(CUBIC), cores())
    paths_found: list[tuple[Category, Assignments, float, Measure]] = []
    generation = 0

    def evaluate(positions: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal generation
        if generation == _GENERATIONS or time.monotonic() > until:
            raise Spent
        generation += 1
        tell(f"adversary, generation {generation}")
        paths = []
        for row in positions:
            path: dict[str, Any] = {}
            for parameter, position in zip(around.parameters, row, strict=True):
                path |= parameter.assignments(parameter.over.value_at(float(position)))
            paths.append(path)
        beyond = _beyond(bench, beside, around, tuple(paths), measure, seed)
        paths_found.extend(
            (category, path, float(value), measure)
            for path, value in zip(paths, beyond, strict=True)
            if value > 0
        )
        return -beyond

    with contextlib.suppress(Spent):
        OPTIMISERS["evolution"](evaluate, len(around.parameters), seed)
    # The search may come back to a path.
    by_path = {str(each[1]): each for each in paths_found}
    return sorted(by_path.values(), key=lambda each: -each[2])[:2]


def _beyond(
    bench: Bench, beside: InProcess, category: Category, paths: tuple[Assignments, ...],
    measure: Measure, seed: int,
) -> NDArray[np.float64]:  # fmt: skip
    """Returns by how much a candidate is worse than CUBIC on each path."""
    task = Task(category.name, category, paths, seed, _SEEDS)
    solo = Task(category.name, category, paths, seed, _SEEDS, solo=True)
    alone = dict(_run(beside, solo)) if category.has_solo else {}
    values = [
        measure.by_path(with_solo(_run(where, task), alone), category.name).mean(axis=1)
        for where in (bench, beside)
    ]
    return np.nan_to_num(measure.worse(*values), nan=-math.inf)


def _run(where: Bench, task: Task) -> dict[str, Any]:
    return {each.key: answer for each, answer in where.run([task], math.inf)}
