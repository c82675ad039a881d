"""Executes batches of runs: in a process of its own, or wherever a place calls `execute`.

A run that is refused, panics or needs too much memory becomes a failure, and the others of its
batch go on. A run that takes too long ends the process. If it is a simulation, the process first
reports those that have ended, and the one that did not.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ackclock import stacks
from ackclock.errors import InputError, LackingError
from ackclock.metrics import Value
from ackclock.result.result import Result
from ackclock.run import address
from ackclock.run.memory import free_bytes
from ackclock.scenario import Point, Scenario
from ackclock.sweeps import methods
from ackclock.sweeps.methods import Runs, Simulated
from ackclock.sweeps.plan import Batch, Key, Plan
from ackclock.sweeps.time_limit import TimeLimit
from ackclock.validity.stationarity import judge

# A batch may take this many times its expected duration, and the limit of one run in addition.
_PATIENCE = 3.0

# The engine tells of simulations that have ended within this time.
_TOLD_WITHIN_S = 1.5


class Failure(NamedTuple):
    """The reason why a run gave no result.

    Attributes:
        code: A code of `ackclock.errors.CODES`.
        message: One line.
    """

    code: str
    message: str


def too_long(limit_s: float) -> Failure:
    """Returns the failure of a run that took longer than it may."""
    return Failure("failed", f"took longer than {limit_s:.3g} s; --time-limit allows more")


@dataclass(frozen=True)
class Report:
    """The results of a batch.

    Attributes:
        method: The method of its runs.
        seconds: CPU time of each run.
        elapsed_s: Time that all of them took together; 0 if unknown.
        is_last: True if the process ended itself thereafter. Then runs of the batch may be missing.
        failures: Runs without a result.
        unreliable: Unreliable emulations, with the reason.
        tables: Tables by name; `metrics` has a row for each run, metric and subject.
    """

    method: str
    seconds: dict[Key, float]
    elapsed_s: float = 0.0
    is_last: bool = False
    failures: dict[Key, Failure] = field(default_factory=dict)
    unreliable: dict[Key, str] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)


def execute(
    plan: Plan,
    batch: Batch,
    share_of_memory: float = 1.0,
    last_words: Callable[[Report], None] = lambda _report: None,
) -> Report:
    """Executes a batch.

    Args:
        plan: The sweep.
        batch: Its runs.
        share_of_memory: Share of the free memory that the batch may use.
        last_words: Takes the report of a process that ends because a simulation takes too long.

    Raises:
        InputError: This machine has another engine than the sweep was begun with, or other stacks.
    """
    if address.engine() != plan.engine:
        raise InputError(
            "contradiction", "", "a worker has another engine than the sweep was begun with; "
            "install the same build of ackclock everywhere",
        )  # fmt: skip
    plan.check_stacks()
    free = free_bytes()
    memory = None if free is None else int(free * share_of_memory)
    began = time.monotonic()
    with _Overseer(plan, batch, last_words) as overseer:
        try:
            report = _Part(plan, batch, batch.runs).execute(memory, overseer)
        except KeyboardInterrupt:
            raise
        except BaseException:  # A panic of the engine is not an Exception.
            report = _joined([_alone(plan, batch, run, memory, overseer) for run in batch.runs])
    return replace(report, elapsed_s=time.monotonic() - began)


class _Overseer(TimeLimit):
    """Ends the process if a batch takes too long, or one of its simulations does."""

    def __init__(self, plan: Plan, batch: Batch, last_words: Callable[[Report], None]) -> None:
        chosen = [batch.assignments[point] for point, _ in batch.runs]
        least_s = methods.least_s(batch.method, plan, chosen)
        self._limit_s = batch.run_limit_s
        self._whole_s = least_s + batch.run_limit_s + _PATIENCE * batch.expected_s
        self._report_to = last_words
        self._part: _Part | None = None
        self._so_far: Simulated | None = None
        self._ended = 0
        super().__init__(self._whole_s, self._tell)

    def hear(self, part: "_Part", so_far: Simulated) -> None:
        """Hears of simulations; whenever some have ended, the next may take the limit of one."""
        if self._so_far is not so_far or self._ended != len(so_far.runs):
            self._part, self._so_far, self._ended = part, so_far, len(so_far.runs)
            self.count_anew(self._limit_s + _TOLD_WITHIN_S)

    def hear_the_end(self) -> None:
        """Hears that the simulations have ended."""
        self._part = self._so_far = None
        self.count_anew(self._whole_s)

    def _tell(self) -> None:
        if self._part is not None and self._so_far is not None:
            self._report_to(self._part.cut_short(self._so_far))


@dataclass(frozen=True)
class _Part:
    """Runs of a batch that are executed as one result.

    Attributes:
        plan: The sweep.
        batch: The batch.
        runs: Point and replicate of each run, with the sweep's numbers.
    """

    plan: Plan
    batch: Batch
    runs: tuple[Key, ...]

    @cached_property
    def _replicates(self) -> dict[int, set[int]]:
        """The replicates of each point; the result numbers the points in this order."""
        wanted: dict[int, set[int]] = {}
        for point, replicate in self.runs:
            wanted.setdefault(point, set()).add(replicate)
        return wanted

    def execute(self, memory: int | None, overseer: _Overseer) -> Report:
        """Executes the runs."""
        began = time.process_time()
        result = methods.execute(
            self.batch.method, self.plan, self._asked(), memory, partial(overseer.hear, self)
        )
        overseer.hear_the_end()
        return self._report(result, self.runs, began)

    def cut_short(self, so_far: Simulated) -> Report:
        """Reports simulations that have ended, and the next one as a failure."""
        numbers = list(self._replicates)
        ended = {(numbers[point], replicate) for point, replicate in so_far.runs}
        hanging = next(
            (point, replicate)
            for point, replicates in self._replicates.items()
            for replicate in sorted(replicates)
            if (point, replicate) not in ended
        )
        failure = {hanging: too_long(self.batch.run_limit_s)}
        report = Report(self.batch.method, {hanging: 0.0}, failures=failure)
        if ended:
            report = _joined([self._report(so_far.result(), tuple(ended)), report])
        return replace(report, is_last=True)

    def _asked(self) -> Runs:
        points, left_out = [], []
        for position, (point, replicates) in enumerate(self._replicates.items()):
            assignments = self.batch.assignments[point]
            tree = self.plan.tree(point, assignments, max(replicates) + 1)
            points.append(Point(assignments, Scenario(tree, Path(self.plan.folder))))
            left_out += [
                (position, replicate)
                for replicate in range(max(replicates))
                if replicate not in replicates
            ]
        return Runs(points, left_out)

    def _report(self, result: Result, runs: tuple[Key, ...], began: float | None = None) -> Report:
        """Reports runs; `began` is the CPU time before them, None if it is not known."""
        numbers = list(self._replicates)
        kept = ("predictions",) if self.batch.method == "predict" else self.plan.keep
        tables = {name: result.tables[name] for name in kept if name in result.tables}
        tables["metrics"] = _metrics(self.plan, result)
        tables = {name: _numbered(table, numbers) for name, table in tables.items()}
        unreliable = {
            (numbers[row["point"]], row["replicate"]): row["verdict"]
            for row in (result.tables["fidelity"].to_pylist() if result.unreliable else ())
            if not row["reliable"]
        }
        spent = 0.0 if began is None else time.process_time() - began
        each = dict.fromkeys(runs, spent / len(runs))
        return Report(self.batch.method, each, unreliable=unreliable, tables=tables)


def _alone(plan: Plan, batch: Batch, run: Key, memory: int | None, overseer: _Overseer) -> Report:
    began = time.process_time()
    try:
        return _Part(plan, batch, (run,)).execute(memory, overseer)
    except KeyboardInterrupt:
        raise
    except (InputError, LackingError) as error:
        failure = Failure(error.code, " ".join(str(error).split()))
    except BaseException as error:
        failure = Failure("internal", " ".join(f"internal error: {error}".split()))
    overseer.hear_the_end()
    spent = {run: time.process_time() - began}
    return Report(batch.method, spent, failures={run: failure})


def _metrics(plan: Plan, result: Result) -> pa.Table:
    """Returns the metrics of all runs: one row for each run, metric and subject."""
    kinds = {asked.metric.name: asked.metric for asked in plan.asked}
    is_unsettled = _judged(result)
    rows = [
        (name, *row.value, row.model or None, is_unsettled(name, row.value))
        for name, kind in kinds.items()
        for row in methods.values(kind, result)
    ]
    names, points, replicates, subjects, values, models, unsettled = (
        zip(*rows, strict=True) if rows else ((),) * 7
    )
    return pa.table(
        {
            "point": pa.array(points, pa.int64()),
            "replicate": pa.array(replicates, pa.int64()),
            "metric": pa.array(names, pa.string()),
            "subject": pa.array(subjects, pa.string()),
            "value": pa.array(values, pa.float64(), from_pandas=True),
            "model": pa.array(models, pa.string()),
            "unsettled": pa.array(unsettled, pa.bool_()),
        }
    )


def _judged(result: Result) -> Callable[[str, Value], bool]:
    """Returns what says whether a run was too short for a metric to have settled.

    Only the first replicate of a point is judged: others are as long, and judging takes as long as
    the metrics do.
    """
    needed = ("flows", "samples", "events")
    first = {name: result.rows(name, replicate=0) for name in needed if name in result.tables}
    if not first or not first["flows"].num_rows:
        return lambda _metric, _value: False
    verdicts = judge(Result(result.run, first))
    return lambda metric, value: (
        value.replicate == 0 and verdicts.marks(metric, value.point, value.subject)
    )


def _numbered(table: pa.Table, numbers: list[int]) -> pa.Table:
    """Returns a table with the sweep's numbers of the points in place of the batch's."""
    index = table.column_names.index("point")
    points = np.asarray(numbers, np.int64)[table["point"].to_numpy()]
    return table.set_column(index, "point", pa.array(points))


def _joined(reports: list[Report]) -> Report:
    tables: dict[str, list[pa.Table]] = {}
    for report in reports:
        for name, table in report.tables.items():
            tables.setdefault(name, []).append(table)
    return Report(
        reports[0].method,
        {run: each for report in reports for run, each in report.seconds.items()},
        failures={run: failure for report in reports for run, failure in report.failures.items()},
        unreliable={run: why for report in reports for run, why in report.unreliable.items()},
        tables={name: pa.concat_tables(some).unify_dictionaries() for name, some in tables.items()},
    )


def serve(channel: "Connection[Any, Any]") -> None:
    """Executes batches that arrive on a channel, until the other end closes.

    The first message is the plan as JSON, the share of memory, and the stacks to bring.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The driver decides what an interrupt means.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        tree, share, brought = channel.recv()
        plan = Plan.from_json(tree)
        stacks.bring_again(brought)
        while True:
            batch = channel.recv()
            try:
                answer: Report | Exception = execute(plan, batch, share, channel.send)
            except InputError as error:
                answer = error
            channel.send(answer)


if __name__ == "__main__":
    from ackclock.sweeps import worker

    # By its package's name, so that what it sends can be read where it arrives.
    worker.serve(Connection(int(sys.argv[1])))
