"""The loop of a sweep: the schedule says what is next, a place runs it, the store keeps it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ackclock.sweeps.places import Open, Place
from ackclock.sweeps.plan import Batch, Key, Plan
from ackclock.sweeps.schedule import Schedule
from ackclock.sweeps.store import WHOLE, Lock, Shard, Store
from ackclock.sweeps.worker import Failure, Report

__all__ = ["RUN_LIMIT_S", "Progress", "go_on", "progress", "restored"]

#: Longest duration of one run, unless a sweep says otherwise. A guess: runs of a sweep are short.
RUN_LIMIT_S = 600.0


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep.

    Attributes:
        wanted: Number of runs that are known to be needed.
        ended: Number of them that have ended.
        failed: Number of them that failed.
        narrow: Number of points whose interval is narrow enough.
        at_limit: Number of points whose interval is wide after the most replicates.
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
    run_limit_s: float = RUN_LIMIT_S,
) -> Progress:
    """Runs what is left of a sweep, or of a shard of it.

    Args:
        store: The folder of the sweep.
        place: Where to run.
        shard: The points that this process looks after.
        tell: Takes the progress after each batch.
        run_limit_s: Longest duration of one run; a longer one is a failure.

    Raises:
        InputError: Another process runs the sweep, or a worker has another engine.
        KeyboardInterrupt: It was interrupted; batches that had ended are kept.
    """
    with store.locked(shard) as lock:
        schedule = restored(store, shard)
        tell(progress(schedule))
        if schedule.ended < schedule.wanted:
            opened = place(store.plan)
            try:
                _loop(store, schedule, opened, shard, lock, tell, run_limit_s)
            finally:
                opened.close()
    return progress(schedule)


def restored(store: Store, shard: Shard = WHOLE) -> Schedule:
    """Returns the schedule of a sweep, with what is already in its folder."""
    plan = store.plan
    points = [point for point in range(store.points.num_rows) if shard.has(point)]
    schedule = Schedule(points, plan.least, plan.precision)
    runs = store.runs()
    keys = zip(runs["point"].to_pylist(), runs["replicate"].to_pylist(), strict=True)
    asked = [one.metric.name for one in plan.asked]
    values = [] if plan.precision is None else _rows(plan, store.values(asked).to_pylist())
    schedule.restore(
        (key for key in keys if shard.has(key[0])), (row for row in values if shard.has(row[0]))
    )
    schedule.failed = sum(
        failure is not None and shard.has(point)
        for failure, point in zip(
            runs["failure"].to_pylist(), runs["point"].to_pylist(), strict=True
        )
    )
    return schedule


def _loop(
    store: Store,
    schedule: Schedule,
    place: Place,
    shard: Shard,
    lock: Lock,
    tell: Callable[[Progress], None],
    run_limit_s: float,
) -> None:
    under_way = 0
    lost_alone: set[Key] = set()
    while True:
        while under_way < place.capacity:
            runs = schedule.take(place.capacity)
            if not runs:
                break
            place.submit(_batch(store, schedule, runs, run_limit_s))
            under_way += 1
        if not under_way:
            return
        batch, answer = place.completed()
        under_way -= 1
        if isinstance(answer, Report):
            _keep(store, schedule, answer, shard)
        elif len(batch.runs) > 1 or (answer.again and batch.runs[0] not in lost_alone):
            lost_alone |= set(batch.runs) if len(batch.runs) == 1 else set()
            schedule.give_back(batch.runs)
        else:
            failure = Failure(answer.code, answer.message)
            _keep(store, schedule, Report({batch.runs[0]: 0.0}, {batch.runs[0]: failure}), shard)
        lock.touch()
        tell(progress(schedule))


def _batch(store: Store, schedule: Schedule, runs: list[Key], run_limit_s: float) -> Batch:
    points = store.plan.points
    assignments = {point: points[point] for point in dict.fromkeys(point for point, _ in runs)}
    return Batch(tuple(runs), assignments, schedule.run_s * len(runs), run_limit_s)


def _keep(store: Store, schedule: Schedule, report: Report, shard: Shard) -> None:
    store.write(report, shard)
    rows = []
    if store.plan.precision is not None and "metrics" in report.tables:
        rows = list(_rows(store.plan, report.tables["metrics"].to_pylist()))
    schedule.report(list(report.seconds), len(report.failures), sum(report.seconds.values()), rows)


def _rows(plan: Plan, rows: list[dict[str, object]]) -> Iterator[tuple[int, int, str, str, float]]:
    """Yields the values that decide about replicates."""
    wanted = {(one.metric.name, one.subject) for one in plan.asked}
    for row in rows:
        metric, subject = str(row["metric"]), str(row["subject"])
        if (metric, None) in wanted or (metric, subject) in wanted:
            value = float("nan") if row["value"] is None else float(str(row["value"]))
            yield int(str(row["point"])), int(str(row["replicate"])), metric, subject, value


def progress(schedule: Schedule) -> Progress:
    """Returns how far a schedule is."""
    return Progress(
        schedule.wanted, schedule.ended, schedule.failed, schedule.narrow, schedule.at_limit
    )
