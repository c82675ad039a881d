"""Executes batches of runs: in a process of its own, or wherever a place calls `execute`.

A run that is refused, panics or needs too much memory becomes a failure, and the others of its
batch go on. A run that takes too long ends the process: native code cannot be interrupted
otherwise.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ackclock.errors import InputError, LackingError
from ackclock.metrics import Value
from ackclock.result import Result
from ackclock.run import address
from ackclock.run.memory import free_bytes
from ackclock.scenario import Point, Scenario
from ackclock.stationarity import judge
from ackclock.sweeps import methods
from ackclock.sweeps.methods import Runs
from ackclock.sweeps.plan import Batch, Key, Plan

__all__ = ["TOO_LONG", "Failure", "Report", "execute"]

#: Exit code of a process that ended itself because a run took too long.
TOO_LONG = 86

# A batch may take this many times its expected duration, and the limit of one run in addition.
_PATIENCE = 3.0


class Failure(NamedTuple):
    """The reason why a run gave no result.

    Attributes:
        code: A code of `ackclock.errors.CODES`.
        message: One line.
    """

    code: str
    message: str


@dataclass(frozen=True)
class Report:
    """The results of a batch.

    Attributes:
        method: The method of its runs.
        seconds: CPU time of each run.
        elapsed_s: Time that all of them took together.
        failures: Runs without a result.
        unreliable: Unreliable emulations, with the reason.
        tables: Tables by name; `metrics` has a row for each run, metric and subject.
    """

    method: str
    seconds: dict[Key, float]
    elapsed_s: float = 0.0
    failures: dict[Key, Failure] = field(default_factory=dict)
    unreliable: dict[Key, str] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)


def execute(plan: Plan, batch: Batch, share_of_memory: float = 1.0) -> Report:
    """Executes a batch.

    Args:
        plan: The sweep.
        batch: Its runs.
        share_of_memory: Share of the free memory that the batch may use.

    Raises:
        InputError: This machine has another engine than the sweep was begun with.
    """
    if address.engine() != plan.engine:
        raise InputError(
            "contradiction", "", "a worker has another engine than the sweep was begun with; "
            "install the same build of ackclock everywhere",
        )  # fmt: skip
    free = free_bytes()
    memory = None if free is None else int(free * share_of_memory)
    chosen = [batch.assignments[point] for point, _ in batch.runs]
    least_s = methods.least_s(batch.method, plan, chosen)
    began = time.monotonic()
    with _ended_after(least_s + batch.run_limit_s + _PATIENCE * batch.expected_s):
        try:
            report = _together(plan, batch, batch.runs, memory)
        except KeyboardInterrupt:
            raise
        except BaseException:  # A panic of the engine is not an Exception.
            report = _joined([_alone(plan, batch, run, memory) for run in batch.runs])
    return replace(report, elapsed_s=time.monotonic() - began)


def _alone(plan: Plan, batch: Batch, run: Key, memory: int | None) -> Report:
    began = time.process_time()
    try:
        return _together(plan, batch, (run,), memory)
    except KeyboardInterrupt:
        raise
    except (InputError, LackingError) as error:
        failure = Failure(error.code, " ".join(str(error).split()))
    except BaseException as error:
        failure = Failure("internal", " ".join(f"internal error: {error}".split()))
    spent = {run: time.process_time() - began}
    return Report(batch.method, spent, failures={run: failure})


def _together(plan: Plan, batch: Batch, runs: tuple[Key, ...], memory: int | None) -> Report:
    """Executes runs as one result."""
    began = time.process_time()
    wanted: dict[int, set[int]] = {}
    for point, replicate in runs:
        wanted.setdefault(point, set()).add(replicate)
    numbers = list(wanted)
    points = [
        Point(
            batch.assignments[point],
            Scenario(
                plan.tree(point, batch.assignments[point], max(wanted[point]) + 1),
                Path(plan.folder),
            ),
        )
        for point in numbers
    ]
    left_out = [
        (position, replicate)
        for position, point in enumerate(numbers)
        for replicate in range(max(wanted[point]))
        if replicate not in wanted[point]
    ]
    result = methods.execute(batch.method, plan, Runs(points, left_out), memory)
    kept = ("predictions",) if batch.method == "predict" else plan.keep
    tables = {name: result.tables[name] for name in kept if name in result.tables}
    tables["metrics"] = _metrics(plan, result)
    tables = {name: _numbered(table, numbers) for name, table in tables.items()}
    each = (time.process_time() - began) / len(runs)
    unreliable = {
        (numbers[row["point"]], row["replicate"]): row["verdict"]
        for row in (result.tables["fidelity"].to_pylist() if result.unreliable else ())
        if not row["reliable"]
    }
    return Report(batch.method, dict.fromkeys(runs, each), unreliable=unreliable, tables=tables)


def _metrics(plan: Plan, result: Result) -> pa.Table:
    """Returns the metrics of all runs: one row for each run, metric and subject."""
    kinds = {one.metric.name: one.metric for one in plan.asked}
    is_unsettled = _judged(result)
    rows = [
        (name, *told.value, told.model or None, is_unsettled(name, told.value))
        for name, kind in kinds.items()
        for told in methods.values(kind, result)
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
    at = table.column_names.index("point")
    points = np.asarray(numbers, np.int64)[table["point"].to_numpy()]
    return table.set_column(at, "point", pa.array(points))


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


@contextlib.contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Ends the process if the body takes longer."""
    timer = threading.Timer(seconds, os._exit, (TOO_LONG,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _WithoutPandas:
    """Lets imports of pandas fail.

    Arrow imports it, if there is one, for its first array. That takes as long as a hundred short
    runs, and a worker has no use for it.
    """

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ImportError(f"a worker does without {name}")


def serve(channel: "Connection[Any, Any]") -> None:
    """Executes batches that arrive on a channel, until the other end closes.

    The first message is the plan as JSON and the share of memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The driver decides what an interrupt means.
    sys.meta_path.insert(0, _WithoutPandas())
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        tree, share = channel.recv()
        plan = Plan.from_json(tree)
        while True:
            batch = channel.recv()
            try:
                answer: Report | Exception = execute(plan, batch, share)
            except InputError as error:
                answer = error
            channel.send(answer)


if __name__ == "__main__":
    from ackclock.sweeps import worker

    # By its package's name, so that what it sends can be read where it arrives.
    worker.serve(Connection(int(sys.argv[1])))
