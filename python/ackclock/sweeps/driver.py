"""The loop of a sweep: the schedule says what is next, a place runs it, the store keeps it."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from ackclock.sweeps.batches import Kept
from ackclock.sweeps.places import Open, Place
from ackclock.sweeps.plan import Batch, Key, Plan
from ackclock.sweeps.schedule import Schedule
from ackclock.sweeps.store import WHOLE, Shard, Store
from ackclock.sweeps.worker import Failure, Report

# Batches that are written at once. Each waits for the disk; so many keep up with a scheduler of
# tasks on a disk that takes 40 ms for a batch.
_WRITERS = 8

#: Point, replicate, metric, subject and value.
Value = tuple[int, int, str, str, float]


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep.

    Attributes:
        wanted: Number of runs that are known to be needed.
        ended: Number of them that have ended.
        failed: Number of them that failed.
        narrow: Number of intervals that are narrow enough, one for each point and method.
        at_limit: Number of intervals that are wide after the most replicates.
    """

    wanted: int
    ended: int
    failed: int
    narrow: int
    at_limit: int

    @property
    def share(self) -> float:
        """Share of the known runs that have ended."""
        return self.ended / self.wanted if self.wanted else 1.0


def go_on(
    store: Store,
    place: Open,
    shard: Shard = WHOLE,
    tell: Callable[[Progress], None] = lambda _progress: None,
    run_limit_s: float | None = None,
) -> Progress:
    """Runs what is left of a sweep, or of a shard of it.

    Args:
        store: The folder of the sweep.
        place: Where to run; opened once for each method, the cheapest first.
        shard: The points that this process looks after.
        tell: Takes the progress after each batch.
        run_limit_s: Longest duration of one run; a longer one is a failure. None for the one that
            follows from the runs that have ended. An emulation lasts so much longer than asked.

    Raises:
        InputError: Another process runs the sweep, or a worker has another engine.
        KeyboardInterrupt: It was interrupted; batches that had ended are kept.
    """
    with store.locked(shard) as lock:
        schedules = restored(store, shard)
        tell(progress(schedules))
        for method, schedule in schedules.items():
            if schedule.ended < schedule.wanted:
                opened = place(store.plan, method)
                with contextlib.closing(opened), Writing(store, shard) as writing:
                    for _ in _batches(writing, method, schedule, opened, run_limit_s):
                        lock.touch()
                        tell(progress(schedules))
    return progress(schedules)


def restored(store: Store, shard: Shard = WHOLE) -> dict[str, Schedule]:
    """Returns the schedule of each method, with what is already in the sweep's folder.

    Damaged batches are left out.
    """
    whole = store.survey().whole
    return {
        method: _restored(store, method, [kept for kept in whole if kept.method == method], shard)
        for method in store.plan.methods
    }


def _restored(store: Store, method: str, batches: list[Kept], shard: Shard) -> Schedule:
    """Returns the schedule of a method, with the batches of its runs that have ended."""
    plan = store.plan
    least, precision = plan.wanted_of(method)
    points = [point for point in range(store.points.num_rows) if shard.has(point)]
    schedule = Schedule(points, least, precision)
    values: Iterator[Value] = iter(())
    if precision is not None:
        values = _values(plan, store.values([asked.metric.name for asked in plan.asked], method))
    schedule.restore(
        (run for kept in batches for run in kept.runs if shard.has(run[0])),
        (value for value in values if shard.has(value[0])),
    )
    schedule.failed = sum(
        shard.has(kept.points[place]) for kept in batches for place in kept.failed
    )
    return schedule


def _batches(
    writing: "Writing",
    method: str,
    schedule: Schedule,
    place: Place,
    run_limit_s: float | None,
) -> Iterator[None]:
    """Runs what is left of a schedule; yields after each batch."""
    under_way = 0
    lost_alone: set[Key] = set()
    while True:
        while under_way < place.capacity:
            runs = schedule.take(place.capacity)
            if not runs:
                break
            place.submit(_batch(writing.store, method, schedule, runs, run_limit_s))
            under_way += 1
        if not under_way:
            return
        batch, answer = place.completed()
        under_way -= 1
        if isinstance(answer, Report):
            _keep(writing, schedule, answer)
            schedule.give_back([run for run in batch.runs if run not in answer.seconds])
        elif len(batch.runs) > 1 or (answer.again and batch.runs[0] not in lost_alone):
            lost_alone |= set(batch.runs) if len(batch.runs) == 1 else set()
            schedule.give_back(batch.runs)
        else:
            [run] = batch.runs
            failure = Failure(answer.code, answer.message)
            _keep(writing, schedule, Report(method, {run: 0.0}, failures={run: failure}))
        yield


def _batch(
    store: Store, method: str, schedule: Schedule, runs: list[Key], run_limit_s: float | None
) -> Batch:
    points = store.plan.points
    assignments = {point: points[point] for point in dict.fromkeys(point for point, _ in runs)}
    limit_s = schedule.run_limit_s if run_limit_s is None else run_limit_s
    return Batch(tuple(runs), assignments, schedule.run_s * len(runs), limit_s, method)


class Writing:
    """Writes batches beside the loop, as each waits for the disk several times.

    Attributes:
        store: The folder of the sweep.
    """

    def __init__(self, store: Store, shard: Shard) -> None:
        self.store = store
        self._shard = shard
        self._pool = ThreadPoolExecutor(_WRITERS)
        self._begun: deque[Future[None]] = deque()

    def add(self, report: Report) -> None:
        """Begins to write what came of a batch. Raises the error of an earlier one, if any."""
        self._begun.append(self._pool.submit(self.store.write, report, self._shard))
        while self._begun[0].done() or len(self._begun) > 2 * _WRITERS:
            self._begun.popleft().result()
            if not self._begun:
                return

    def __enter__(self) -> "Writing":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """Waits until everything is written."""
        self._pool.shutdown()
        if kind is None:
            for begun in self._begun:
                begun.result()


def _keep(writing: Writing, schedule: Schedule, report: Report) -> None:
    writing.add(report)
    store = writing.store
    values: Iterator[Value] = iter(())
    if store.plan.precision is not None and "metrics" in report.tables:
        values = (
            value
            for value in _values(store.plan, report.tables["metrics"])
            if value[:2] not in report.unreliable
        )
    schedule.report(list(report.seconds), len(report.failures), report.elapsed_s, values)


def _values(plan: Plan, metrics: pa.Table) -> Iterator[Value]:
    """Yields the values that decide about replicates."""
    wanted = {(asked.metric.name, asked.subject) for asked in plan.asked}
    for row in metrics.to_pylist():
        metric, subject = row["metric"], row["subject"]
        if (metric, None) in wanted or (metric, subject) in wanted:
            value = float("nan") if row["value"] is None else row["value"]
            yield row["point"], row["replicate"], metric, subject, value


def progress(schedules: Mapping[str, Schedule]) -> Progress:
    """Returns how far the schedules of all methods are together."""
    every = schedules.values()
    return Progress(
        wanted=sum(schedule.wanted for schedule in every),
        ended=sum(schedule.ended for schedule in every),
        failed=sum(schedule.failed for schedule in every),
        narrow=sum(schedule.narrow for schedule in every),
        at_limit=sum(schedule.at_limit for schedule in every),
    )
