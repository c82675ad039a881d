"""The schedule, and the model of a cluster of a thousand processors."""

import heapq
from typing import NamedTuple

import pytest

from ackclock.sweeps.plan import RUN_LIMIT_S, Key
from ackclock.sweeps.precision import Precision
from ackclock.sweeps.schedule import AIM_S, Schedule


def drained(schedule: Schedule, places: int = 1) -> list[list[Key]]:
    batches = []
    while runs := schedule.take(places):
        batches.append(runs)
        schedule.report(runs, 0, 0.01 * len(runs))
    return batches


def test_every_run_is_taken_once() -> None:
    schedule = Schedule(range(10), 30)
    batches = drained(schedule)
    runs = [run for batch in batches for run in batch]
    assert sorted(runs) == [(point, replicate) for point in range(10) for replicate in range(30)]
    assert len(runs) == len(set(runs)) == schedule.ended == schedule.wanted
    assert len(batches[0]) == 1  # Nobody knows yet how long a run takes.
    # A batch of the end is not below a quarter of a second.
    assert max(map(len, batches)) * 0.01 <= AIM_S
    assert all(len(batch) >= 25 for batch in batches[1:-1])


def test_what_an_earlier_process_ran_is_left_out() -> None:
    schedule = Schedule(range(4), 3)
    done = [(0, 0), (0, 1), (0, 2), (2, 1)]
    schedule.restore(done, [])
    runs = [run for batch in drained(schedule) for run in batch]
    everything = {(point, replicate) for point in range(4) for replicate in range(3)}
    assert sorted(runs) == sorted(everything - set(done))


def test_a_lost_run_is_taken_though_later_ones_of_its_point_have_ended() -> None:
    """Four have ended and three are known to be needed, but the sweep is not complete."""
    schedule = Schedule([0], 3, Precision(0.01, least=3, most=5))
    done = [(0, replicate) for replicate in (0, 2, 3, 4)]
    schedule.restore(done, [(*key, "goodput", "a", float(key[1])) for key in done])
    assert schedule.ended < schedule.wanted
    assert schedule.take(1) == [(0, 1)]
    schedule.report([(0, 1)], 0, 0.01, [(0, 1, "goodput", "a", 1.0)])
    assert schedule.take(1) == []
    assert (schedule.ended, schedule.wanted, schedule.at_limit) == (5, 5, 1)


def test_a_lost_batch_comes_again_in_pieces() -> None:
    schedule = Schedule(range(1000), 1)
    [first] = schedule.take(1)
    schedule.report([first], 0, 0.001)
    lost = schedule.take(1)
    assert len(lost) > 100
    schedule.give_back(lost)
    pieces = []
    while sum(map(len, pieces)) < len(lost):
        pieces.append(schedule.take(1))
    assert [run for piece in pieces for run in piece] == lost
    assert 32 <= len(pieces) <= 64


def test_the_limit_of_a_run_follows_from_the_slowest_so_far() -> None:
    schedule = Schedule(range(10), 3)
    assert schedule.run_limit_s == RUN_LIMIT_S  # Nothing is known yet.
    runs = schedule.take(1)
    schedule.report(runs, 0, 0.002 * len(runs))
    assert schedule.run_limit_s == 5.0  # The machine may have been busy with something else.
    runs = schedule.take(1)
    schedule.report(runs, 0, 3.0 * len(runs))
    assert schedule.run_limit_s == 30.0
    runs = schedule.take(1)
    schedule.report(runs, 0, 0.002 * len(runs))
    assert schedule.run_limit_s == 30.0  # Slow points may come again.


def test_the_widest_interval_is_first() -> None:
    goal = Precision(0.01, least=2, most=3)
    schedule = Schedule([0, 1, 2], 2, goal)
    runs = [run for _ in range(6) for run in schedule.take(1)[:1]]
    spread = {0: 0.1, 1: 0.3, 2: 0.2}
    for run in runs:
        value = 1 + spread[run[0]] * (run[1] - 0.5)
        schedule.report([run], 0, 100.0, [(*run, "goodput", "a", value)])
    assert [schedule.take(1) for _ in range(3)] == [[(1, 2)], [(2, 2)], [(0, 2)]]


class Cluster(NamedTuple):
    """A model of a cluster, with a clock of its own."""

    processors: int
    tasks_per_s: float


def utilisation(cluster: Cluster, run_s: float, runs: int) -> float:
    """Share of processor time in which runs execute, from the first task to the last result."""
    schedule = Schedule(range(runs), 1)
    idle = [0.0] * cluster.processors
    ends: list[tuple[float, list[Key]]] = []
    now = 0.0
    while True:
        while len(ends) < 2 * cluster.processors:
            batch = schedule.take(2 * cluster.processors)
            if not batch:
                break
            # One scheduler hands out one task after the other.
            now += 1 / cluster.tasks_per_s
            begins = max(now, heapq.heappop(idle))
            finishes = begins + run_s * len(batch)
            heapq.heappush(idle, finishes)
            heapq.heappush(ends, (finishes, batch))
        if not ends:
            break
        finished, batch = heapq.heappop(ends)
        now = max(now, finished)
        schedule.report(batch, 0, run_s * len(batch))
    return runs * run_s / (cluster.processors * max(idle))


# Runs that keep the cluster busy for five minutes, and for sixty runs of each processor. A shorter
# sweep cannot: tasks are handed out at 200 a second, and at the end processors wait for the last.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("run_s", "runs"), [(0.05, 6_000_000), (1.0, 300_000), (30.0, 60_000)])
def test_a_thousand_processors_are_busy(run_s: float, runs: int) -> None:
    assert utilisation(Cluster(1000, 200), run_s, runs) >= 0.95


@pytest.mark.slow
def test_single_runs_would_starve_a_thousand_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model can fail: with one run a task, 200 tasks/s of 1 s feed 200 processors."""
    monkeypatch.setattr("ackclock.sweeps.schedule._MOST_RUNS", 1)
    assert utilisation(Cluster(1000, 200), 1.0, 100_000) == pytest.approx(0.2, abs=0.01)
