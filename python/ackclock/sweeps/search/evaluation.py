"""Evaluates scenarios of a search, and keeps what they came to.

Each evaluated scenario is a line of a file that only grows, with its own digest. A search is a
function of its seed, so an interrupted one asks for the same scenarios again, and finds them there.
"""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.result import manifest
from ackclock.sweeps.places import Place
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.search.objective import Measure, Objective
from ackclock.sweeps.worker import Report

# Runs of a batch: a search waits for the slowest of a generation.
_RUNS = 8


@dataclass
class Evaluator:
    """Runs scenarios and keeps the values of the objective.

    Attributes:
        plan: The base scenario, and the metrics that are computed.
        objective: What is computed of them.
        place: Where runs execute.
        file: Keeps a line for each evaluated scenario.
        budget: Runs that may still execute or be taken from the file.
        run_limit_s: Longest duration of one run.
        tell: Takes the number of runs that are left, after each batch.
        runs: Number of runs that were used.
    """

    plan: Plan
    objective: Objective
    place: Place
    file: Path
    budget: int
    run_limit_s: float
    tell: Callable[[int], None]
    runs: int = 0
    _evaluated: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.exists():
            content = self.file.read_bytes()
            if content and not content.endswith(b"\n"):  # The next line is not to join a cut one.
                self.file.write_bytes(content + b"\n")
            for line in content.splitlines():
                with contextlib.suppress(ValueError):  # A line may be cut short, or damaged.
                    written = json.loads(line)
                    entry = manifest.unsealed(written) if isinstance(written, dict) else None
                    if entry is not None:
                        self._evaluated[entry["key"]] = [
                            float("nan") if value is None else value for value in entry["values"]
                        ]

    def values(
        self, scenarios: Sequence[dict[str, Any]], replicates: int, *, bounded: bool = True
    ) -> list[list[float]]:
        """Returns the objective of each replicate of scenarios, each given by its assignments.

        Args:
            scenarios: Assignments to the base scenario.
            replicates: Number of runs of each.
            bounded: True if the runs count against the budget, which must suffice.
        """
        keys = [_key(assigned, replicates) for assigned in scenarios]
        count = len(set(keys)) * replicates
        if bounded:
            self.budget -= count
        self.runs += count
        missing = {
            key: assigned
            for key, assigned in zip(keys, scenarios, strict=True)
            if key not in self._evaluated
        }
        if missing:
            self._run(missing, replicates)
        return [self._evaluated[key] for key in keys]

    def _run(self, missing: dict[str, dict[str, Any]], replicates: int) -> None:
        scenarios = list(missing.values())
        runs = [
            (point, replicate) for point in range(len(scenarios)) for replicate in range(replicates)
        ]
        waiting = [tuple(runs[start : start + _RUNS]) for start in range(0, len(runs), _RUNS)]
        measured: dict[tuple[int, int], dict[Measure, float]] = {}
        under_way = 0
        while waiting or under_way:
            while waiting and under_way < self.place.capacity:
                batch = waiting.pop()
                chosen = {point: scenarios[point] for point, _ in batch}
                self.place.submit(Batch(batch, chosen, 0.0, self.run_limit_s))
                under_way += 1
            done, answer = self.place.completed()
            under_way -= 1
            if isinstance(answer, Report):
                _note(measured, answer)
            elif len(done.runs) > 1:
                waiting += [(run,) for run in done.runs]
            self.tell(self.budget)
        with self.file.open("a", encoding="utf-8") as file:
            for point, (key, assignments) in enumerate(missing.items()):
                values = [
                    self.objective.value(measured.get((point, replicate), {}))
                    for replicate in range(replicates)
                ]
                self._evaluated[key] = values
                finite = [value if value == value else None for value in values]
                line = {"key": key, "assignments": assignments, "values": finite}
                file.write(f"{json.dumps(manifest.sealed(line), ensure_ascii=False)}\n")


def _note(measured: dict[tuple[int, int], dict[Measure, float]], report: Report) -> None:
    if "metrics" in report.tables:
        for row in report.tables["metrics"].to_pylist():
            if row["value"] is not None:
                run = measured.setdefault((row["point"], row["replicate"]), {})
                run[row["metric"], row["subject"]] = row["value"]


def _key(assignments: dict[str, Any], replicates: int) -> str:
    return json.dumps([assignments, replicates], sort_keys=True, ensure_ascii=False)
