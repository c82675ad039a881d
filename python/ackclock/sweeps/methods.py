"""Executes runs of one method: some replicates of some points, as one result."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ackclock import engine, units
from ackclock.errors import LackingError
from ackclock.metrics import Metric, Value
from ackclock.result import Result
from ackclock.result.columns import table_of
from ackclock.run.description import describe
from ackclock.run.host import HOST_COMMAND
from ackclock.scenario import Point
from ackclock.sweeps.plan import Key, Plan

__all__ = ["Runs", "Told", "execute", "least_s", "values"]


@dataclass(frozen=True)
class Runs:
    """Runs of some points, numbered from 0.

    Attributes:
        points: The points, each with replicates up to its last run.
        finished: Point and replicate of those that are left out.
    """

    points: list[Point]
    finished: list[Key]

    @cached_property
    def resolved(self) -> list[engine.Tree]:
        """The scenario of each point with all defaults."""
        return [point.scenario.resolve().tree for point in self.points]


class Told(NamedTuple):
    """The value of a metric, and the model that told it; empty if none did."""

    value: Value
    model: str = ""


def execute(method: str, plan: Plan, runs: Runs, memory: int | None) -> Result:
    """Executes runs of a method.

    Args:
        method: One of `METHODS`.
        plan: The sweep.
        runs: The runs.
        memory: Bytes that a simulation may use; None for no limit.

    Raises:
        ScenarioError: The method refuses a point.
        LackingError: The memory does not suffice, this machine cannot emulate, or a run failed.
        KeyboardInterrupt: It was interrupted.
    """
    return _EXECUTED[method](plan, runs, memory)


def _predict(plan: Plan, runs: Runs, _memory: int | None) -> Result:
    from ackclock.capture.predictions import prediction_table  # Slow to import, as models are.
    from ackclock.models import chosen, predictions

    resolved = runs.resolved
    answers = predictions(resolved, chosen(plan.models))
    run = describe("predict", runs.points[0].scenario, runs.points, resolved)
    return Result(run, {"predictions": prediction_table(answers)})


def _simulate(plan: Plan, runs: Runs, memory: int | None) -> Result:
    outcome = engine.simulate(
        [point.scenario.tree for point in runs.points],
        plan.base.folder,
        threads=1,
        memory=memory,
        packets=False,
        pcap_folder=None,
        finished=runs.finished,
        take=None,
        progress=None,
    )
    return _complete("simulate", runs, outcome)


def _emulate(plan: Plan, runs: Runs, _memory: int | None) -> Result:
    with tempfile.TemporaryDirectory(prefix="ackclock-") as records:
        outcome = engine.emulate(
            runs.resolved,
            plan.base.folder.resolve(),
            Path(records),
            HOST_COMMAND,
            device="automatic",
            pcap=False,
            side_by_side=1,
            finished=runs.finished,
            progress=None,
            take=lambda _name, _columns: None,
        )
    if outcome["failure"] is not None:
        raise LackingError("failed", "", outcome["failure"])
    return _complete("emulate", runs, outcome)


def _complete(method: str, runs: Runs, outcome: dict[str, Any]) -> Result:
    """Returns the result of what the engine gave, unless it was interrupted."""
    if not outcome["complete"]:
        raise KeyboardInterrupt
    tables = {name: table_of(columns) for name, columns in outcome["tables"].items()}
    run = describe(method, runs.points[0].scenario, runs.points, runs.resolved)
    return Result(run, tables)


_EXECUTED: dict[str, Callable[[Plan, Runs, int | None], Result]] = {
    "predict": _predict,
    "simulate": _simulate,
    "emulate": _emulate,
}


def least_s(method: str, plan: Plan, assignments: Sequence[Mapping[str, Any]]) -> float:
    """Returns the time that a run of each of these points takes on any machine, in seconds."""
    if method != "emulate":
        return 0.0
    trees = [plan.base.replace(dict(one)).resolve().tree for one in assignments]
    return math.fsum(units.seconds(tree["duration"]) for tree in trees)


def values(metric: Metric, result: Result) -> list[Told]:
    """Returns the metric of each run and flow or hop.

    A prediction is that of the model that fits best, as in a comparison.
    """
    if result.run["method"] != "predict":
        return [Told(value) for value in metric.values(result)]
    from ackclock.models.told import best

    rows: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in result.tables["predictions"].to_pylist():
        row |= {name: dict(row[name] or ()) for name in ("inputs", "outputs")}
        rows.setdefault((row["point"], row["flow"]), []).append(row)
    found = []
    for (point, flow), answers in rows.items():
        [described] = [
            one for one in result.points[point]["scenario"]["flows"] if one["name"] == flow
        ]
        told = best(answers, metric.name, described)
        if told is not None:
            found.append(Told(Value(point, 0, flow, told.value), told.model.name))
    return found
