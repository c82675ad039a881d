"""Executes runs of one method: some replicates of some points, as one result."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ackclock import engine, units
from ackclock.errors import LackingError
from ackclock.metrics import Metric, Value
from ackclock.result.columns import table_of
from ackclock.result.result import Result
from ackclock.run.description import describe
from ackclock.run.host import HOST_COMMAND, loader
from ackclock.scenario import Point
from ackclock.sweeps.plan import Key, Plan


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


class Simulated:
    """The simulations that have ended so far, of runs that one process simulates in turn.

    Attributes:
        runs: Their points, numbered from 0, and replicates.
    """

    def __init__(self, asked: Runs) -> None:
        """Begins with none.

        Args:
            asked: The runs that are simulated.
        """
        self.runs: list[Key] = []
        self._asked = asked
        self._tables: dict[str, list[pa.Table]] = {}

    def add(self, runs: list[Key], tables: dict[str, engine.Columns]) -> None:
        """Adds runs that have ended."""
        self.runs += runs
        for name, columns in tables.items():
            self._tables.setdefault(name, []).append(table_of(columns))

    def result(self) -> Result:
        """Returns the runs as one result."""
        return _result(
            "simulate",
            self._asked,
            {
                name: pa.concat_tables(parts).unify_dictionaries()
                for name, parts in self._tables.items()
            },
        )


#: Hears of the simulations that have ended, ten times a second while others go on.
Watch = Callable[[Simulated], None]


class MetricValue(NamedTuple):
    """The value of a metric, and the model that predicted it; empty if none did."""

    value: Value
    model: str = ""


def execute(method: str, plan: Plan, runs: Runs, memory: int | None, watch: Watch) -> Result:
    """Executes runs of a method.

    Args:
        method: One of `METHODS`.
        plan: The sweep.
        runs: The runs.
        memory: Bytes that a simulation may use; None for no limit.
        watch: Hears of simulations.

    Raises:
        ScenarioError: The method refuses a point.
        LackingError: The memory does not suffice, this machine cannot emulate, or a run failed.
        KeyboardInterrupt: It was interrupted.
    """
    if method == "simulate":
        return _simulate(plan, runs, memory, watch)
    return _predict(plan, runs) if method == "predict" else _emulate(plan, runs)


def _predict(plan: Plan, runs: Runs) -> Result:
    from ackclock.capture.predictions import prediction_table  # Slow to import, as models are.
    from ackclock.models import chosen, predictions

    resolved = runs.resolved
    answers = predictions(resolved, chosen(plan.models))
    return _result("predict", runs, {"predictions": prediction_table(answers)})


def _simulate(plan: Plan, runs: Runs, memory: int | None, watch: Watch) -> Result:
    so_far = Simulated(runs)
    outcome = engine.simulate(
        [point.scenario.tree for point in runs.points],
        plan.base.folder,
        threads=1,
        memory=memory,
        packets=False,
        pcap_folder=None,
        finished=runs.finished,
        take=so_far.add,
        progress=lambda _share: watch(so_far),
    )
    _refuse_interrupted(outcome)
    so_far.add(outcome["keys"], outcome["tables"])
    return so_far.result()


def _emulate(plan: Plan, runs: Runs) -> Result:
    with tempfile.TemporaryDirectory(prefix="ackclock-") as records:
        outcome = engine.emulate(
            runs.resolved,
            plan.base.folder.resolve(),
            Path(records),
            HOST_COMMAND,
            loader(),
            device="automatic",
            pcap=False,
            side_by_side=1,
            finished=runs.finished,
            progress=None,
            take=lambda _name, _columns: None,
        )
    if outcome["failure"] is not None:
        raise LackingError("failed", "", outcome["failure"])
    _refuse_interrupted(outcome)
    tables = {name: table_of(columns) for name, columns in outcome["tables"].items()}
    return _result("emulate", runs, tables)


def _refuse_interrupted(outcome: Mapping[str, Any]) -> None:
    if not outcome["complete"]:
        raise KeyboardInterrupt


def _result(method: str, runs: Runs, tables: dict[str, pa.Table]) -> Result:
    run = describe(method, runs.points[0].scenario, runs.points, runs.resolved)
    return Result(run, tables)


def least_s(method: str, plan: Plan, assignments: Sequence[Mapping[str, Any]]) -> float:
    """Returns the time that a run of each of these points takes on any machine, in seconds."""
    if method != "emulate":
        return 0.0
    trees = [plan.base.replace(dict(assigned)).resolve().tree for assigned in assignments]
    return math.fsum(units.seconds(tree["duration"]) for tree in trees)


def values(metric: Metric, result: Result) -> list[MetricValue]:
    """Returns the metric of each run and flow or hop.

    A prediction is that of the model that fits best, as in a comparison.
    """
    if result.run["method"] != "predict":
        return [MetricValue(value) for value in metric.values(result)]
    from ackclock.models.prediction import best

    rows: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in result.tables["predictions"].to_pylist():
        row |= {name: dict(row[name] or ()) for name in ("inputs", "outputs")}
        rows.setdefault((row["point"], row["flow"]), []).append(row)
    predicted = []
    for (point, flow), answers in rows.items():
        [described] = [
            flow_tree
            for flow_tree in result.points[point]["scenario"]["flows"]
            if flow_tree["name"] == flow
        ]
        answer = best(answers, metric.name, described)
        if answer is not None:
            predicted.append(MetricValue(Value(point, 0, flow, answer.value), answer.model.name))
    return predicted
