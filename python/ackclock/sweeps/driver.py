"""The loop of a sweep: the schedule says what is next, a place runs it, the store keeps it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ackclock.sweeps.places import Open, Place
from ackclock.sweeps.plan import Batch, Key, Plan
from ackclock.sweeps.schedule import Schedule
from ackclock.sweeps.store import WHOLE, Shard, Store
from ackclock.sweeps.worker import Failure, Report

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
                try:
                    for _ in _batches(store, method, schedule, opened, shard, run_limit_s):
                        lock.touch()
                        tell(progress(schedules))
                finally:
                    opened.close()
    return progress(schedules)


def restored(store: Store, shard: Shard = WHOLE) -> dict[str, Schedule]:
    """Returns the schedule of each method, with what is already in the sweep's folder."""
    runs = store.runs()
    return {
        method: _restored(store, method, runs.filter(pc.equal(runs["method"], method)), shard)
        for method in store.plan.methods
    }


def _restored(store: Store, method: str, runs: pa.Table, shard: Shard) -> Schedule:
    """Returns the schedule of a method, whose runs have ended."""
    plan = store.plan
    least, precision = plan.wanted_of(method)
    points = [point for point in range(store.points.num_rows) if shard.has(point)]
    schedule = Schedule(points, least, precision)
    rows = zip(*(runs[name].to_pylist() for name in ("point", "replicate", "failure")), strict=True)
    ended = [row for row in rows if shard.has(row[0])]
    values: Iterator[Value] = iter(())
    if precision is not None:
        values = _values(plan, store.values([asked.metric.name for asked in plan.asked], method))
    schedule.restore(
        ((point, replicate) for point, replicate, _ in ended),
        (value for value in values if shard.has(value[0])),
    )
    schedule.failed = sum(failure is not None for *_, failure in ended)
    return schedule


def _batches(
    store: Store,
    method: str,
    schedule: Schedule,
    place: Place,
    shard: Shard,
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
            place.submit(_batch(store, method, schedule, runs, run_limit_s))
            under_way += 1
        if not under_way:
            return
        batch, answer = place.completed()
        under_way -= 1
        if isinstance(answer, Report):
            _keep(store, schedule, answer, shard)
            schedule.give_back([run for run in batch.runs if run not in answer.seconds])
        elif len(batch.runs) > 1 or (answer.again and batch.runs[0] not in lost_alone):
            lost_alone |= set(batch.runs) if len(batch.runs) == 1 else set()
            schedule.give_back(batch.runs)
        else:
            [run] = batch.runs
            failure = Failure(answer.code, answer.message)
            _keep(store, schedule, Report(method, {run: 0.0}, failures={run: failure}), shard)
        yield


def _batch(
    store: Store, method: str, schedule: Schedule, runs: list[Key], run_limit_s: float | None
) -> Batch:
    points = store.plan.points
    assignments = {point: points[point] for point in dict.fromkeys(point for point, _ in runs)}
    limit_s = schedule.run_limit_s if run_limit_s is None else run_limit_s
    return Batch(tuple(runs), assignments, schedule.run_s * len(runs), limit_s, method)


def _keep(store: Store, schedule: Schedule, report: Report, shard: Shard) -> None:
    store.write(report, shard)
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
