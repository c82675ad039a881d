#!/usr/bin/env python3
"""Measures what a sweep costs beside one call of `simulate`, and writes a section of BENCHMARKS.md.

    make .venv/.release && .venv/bin/python benches/sweeps.py

The sections are "Sweeps" and "The files of a sweep". For the first, 2,000 runs of
`examples/first.toml` are simulated for 10 s: in one call, by processes here, and by a Dask cluster
of two processes if Dask is installed. CPU time counts, of this process and of its children. Of
several repeats the fastest counts, because disturbances only make a run slower.

The files are those of 1,000 batches of 20 runs each. They are written as a sweep writes them, and
then read as `status`, `resume` and `show` do.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import section

from ackclock import load, simulate
from ackclock.sweeps import driver, where
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.store import WHOLE, Store
from ackclock.sweeps.worker import Report, execute

RUNS = 2_000
REPEATS = 3
BATCHES = 1_000
TABLES = ("runs", "metrics", "flows")
SHORT = {"duration": "10 s", "warmup": "2 s"}
BUFFER = "hops.bottleneck.queue.limit=20..80 packets"
START = "flows.download.start=0..1 s"

PLANNING = f"""
import re, time
from ackclock import load
from ackclock.sweeps.plan import Plan
before = time.process_time()
plan = Plan.make(
    load("examples/first.toml"), design="sobol:16384",
    vary=["{BUFFER}", "hops.bottleneck.delay=1..100 ms log", "hops.return.delay=1..100 ms log"],
)
points = plan.points
# Not ru_maxrss, which begins with what the process had that started this one.
used = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
print(time.process_time() - before, used / 1e3)
"""


def spent_s() -> float:
    """Returns the CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fastest(*works: Callable[[], object]) -> list[float]:
    """Returns the CPU seconds of the fastest of some repeats of each work, done in turn.

    So a disturbance that lasts slows all of them.
    """
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, of_work in zip(works, taken, strict=True):
            before = spent_s()
            work()
            of_work.append(spent_s() - before)
    return [min(of_work) for of_work in taken]


def at_once() -> None:
    """Simulates all runs in one call."""
    simulate(load("examples/first.toml").replace({**SHORT, "replicates": RUNS}))


def swept(place: str) -> None:
    """Sweeps all runs: 100 points of 20 replicates."""
    scenario = load("examples/first.toml").replace(SHORT)
    plan = Plan.make(scenario, vary=[START], design="grid:100", replicates=(RUNS // 100,) * 2)
    folder = Path(tempfile.mkdtemp(prefix="ackclock-bench-"))
    try:
        go_on = where.parse(place, plan)
        done = go_on(Store.begin(folder / "s", plan), WHOLE, lambda _: None, None)
        if (done.ended, done.failed) != (RUNS, 0):
            raise RuntimeError(done)
    finally:
        shutil.rmtree(folder)


def on_dask() -> tuple[float, float, float]:
    """Returns CPU seconds on a Dask cluster of two processes: all, scheduler and client, driver."""
    from distributed import Client, LocalCluster

    writing_s = 0.0
    write = Store.write

    def timed(*arguments: object) -> None:
        nonlocal writing_s
        before = time.thread_time()
        write(*arguments)  # type: ignore[arg-type]
        writing_s += time.thread_time() - before

    with (
        unittest.mock.patch.object(Store, "write", timed),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        workers = client.run(time.process_time)
        before = time.process_time()
        swept(f"dask:{cluster.scheduler_address}")
        ours = time.process_time() - before
        ended = client.run(time.process_time)
    every = ours + sum(ended[worker] - workers[worker] for worker in workers)
    return every, ours - writing_s, writing_s


def of_files(batches: int = BATCHES) -> str:
    """Returns what it costs to write and to check the files of a sweep, as text."""
    scenario = load("examples/first.toml").replace({"duration": "1 s", "warmup": "100 ms"})
    plan = Plan.make(scenario, vary=[START], design=f"grid:{batches}", replicates=(20, 20))
    first = execute(plan, Batch(tuple((0, run) for run in range(20)), {0: plan.points[0]}))
    folder = Path(tempfile.mkdtemp(prefix="ackclock-bench-", dir="."))
    try:
        store, began, before = Store.begin(folder, plan), time.perf_counter(), time.process_time()
        with driver.Writing(store, WHOLE) as writing:
            for point in range(batches):
                writing.add(of_point(first, point))
        each = [time.process_time() - before, time.perf_counter() - began]
        rows = [f"| write and sync a batch | {each[0] / batches * 1e3:.2f} ms | "
                f"{each[1] / batches * 1e3:.1f} ms |"]  # fmt: skip
        for words, work in {
            "look at manifests and sizes (`status`)": lambda: Store(folder).survey(),
            "compare all digests (`resume`)": lambda: Store(folder).survey(TABLES),
            "compare digests of `metrics` (`show`)": lambda: Store(folder).survey(["metrics"]),
            "read `metrics` (`show`)": lambda: Store(folder).values(["goodput"]),
        }.items():
            taken = []
            for _ in range(REPEATS):
                began, before = time.perf_counter(), time.process_time()
                work()
                taken.append((time.process_time() - before, time.perf_counter() - began))
            best = min(taken)
            rows.append(f"| {words} | {best[0] / batches * 1e3:.2f} ms | "
                        f"{best[1] / batches * 1e3:.1f} ms |")  # fmt: skip
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet")) / batches / 1e3
    finally:
        shutil.rmtree(folder)
    head = ["| for a batch | CPU time | time |", "|---|---:|---:|"]
    return "\n".join(
        [f"Load average {os.getloadavg()[0]:.1f}. A batch has {size:.0f} kB.", "", *head, *rows]
    )


def of_point(report: Report, point: int) -> Report:
    """Returns a report as if it were of another point."""
    tables = {
        name: table.set_column(0, "point", pa.array([point] * table.num_rows, pa.int64()))
        for name, table in report.tables.items()
    }
    seconds = {(point, replicate): spent for (_, replicate), spent in report.seconds.items()}
    return replace(report, seconds=seconds, tables=tables)


def main() -> None:
    """Measures and writes the sections."""
    section.write("BENCHMARKS.md", "files of sweeps", of_files())
    began = os.getloadavg()[0]
    once, here = fastest(at_once, lambda: swept("here"))
    out = subprocess.run(
        [sys.executable, "-c", PLANNING], capture_output=True, text=True, check=True
    )
    planned_s, megabytes = map(float, out.stdout.split())
    rows = [
        f"| one call of `simulate` | {once / RUNS * 1e3:.2f} ms | 1.00 |",
        f"| `sweep`, processes here | {here / RUNS * 1e3:.2f} ms | {here / once:.2f} |",
    ]
    try:
        every, scheduler, driver = min(on_dask() for _ in range(REPEATS))
        rows.append(f"| `sweep`, Dask | {every / RUNS * 1e3:.2f} ms | {every / once:.2f} |")
        note = (
            f"Scheduler and client of Dask take {100 * scheduler / every:.0f} % of the time, "
            f"and the driver {100 * driver / every:.0f} % to write the dataset."
        )
    except ImportError:
        note = "Dask was not installed."
    table = ["| 2,000 runs of 10 s | CPU time per run | to one call |", "|---|---:|---:|", *rows]
    planning = f"Planning 16,384 points takes {planned_s:.2f} s, and {megabytes:.0f} MB in all."
    text = "\n".join([f"Load average {began:.1f}.", "", *table, "", note, planning])
    section.write("BENCHMARKS.md", "sweeps", text)
    print(text)


if __name__ == "__main__":
    main()
