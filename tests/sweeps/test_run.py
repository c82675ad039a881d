import contextlib
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from ackclock import simulate, sweep
from ackclock.metrics import metric
from ackclock.sweeps import driver, places
from ackclock.sweeps.places.here import Here
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.schedule import Schedule
from ackclock.sweeps.store import Shard, Store
from ackclock.sweeps.worker import Failure, Report, execute

from ..patience import PATIENCE_S
from ..refusals import check_refusal, refused
from .conftest import InThisProcess
from .small import BUFFER, SCENARIO, ackclock, answer, contents, in_order, scenario, written


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_scenarios_own_sweep_gives_the_rows_of_simulate(small: Path) -> None:
    state = answer("sweep", "run", small, "-o", "s", "--keep", "flows,hops,samples,events")
    assert state["runs"] == {"wanted": 12, "ended": 12, "failed": 0}
    assert state["points"] == 4
    result = simulate(scenario())
    store = Store(Path("s"))
    swept = ["flows_a_transport_control_kind", "hops_b_queue_limit_packets"]
    assert store.swept == swept
    for name in ("flows", "hops", "samples", "events"):
        stored = store.dataset(name).to_table()
        assert stored.column_names[2:6] == [*swept, "method", "reliable"]
        keys = [("point", "ascending"), ("replicate", "ascending")]
        # Rows of a run keep their order: the sort is stable.
        same = stored.sort_by(keys).drop_columns([*swept, "method", "reliable"])
        want = result.tables[name].sort_by(keys)
        assert plain(same) == plain(want), name
    flows = store.dataset("flows").to_table(filter=pa.compute.field("point") == 3)
    assert set(flows[swept[0]].to_pylist()) == {"cubic"}
    assert set(flows[swept[1]].to_pylist()) == {20.0}
    for name in ("goodput", "utilisation", "queueing_delay", "rtt", "loss_rate"):
        want = {(value.point, value.replicate, value.subject): value.value
                for value in metric(name).values(result)}  # fmt: skip
        values = {
            (row["point"], row["replicate"], row["subject"]): row["value"]
            for row in store.values([name]).to_pylist()
        }
        assert values == pytest.approx(want, rel=1e-12), name


def plain(table: pa.Table) -> list[dict[str, object]]:
    return [{name: str(value) for name, value in row.items()} for row in table.to_pylist()]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_what_is_varied_comes_in_addition_to_the_files_sweep(small: Path) -> None:
    state = answer(
        "sweep", "run", small, "--vary", "hops.b.delay,hops.r.delay=1,10,20 ms",
        "--vary", BUFFER, "--design", "grid:2", "--replicates", 1, "-o", "s",
    )  # fmt: skip
    # The buffer is no longer swept by the file: 2 controls × 3 delays × 2 buffers.
    assert state["points"] == state["runs"]["ended"] == 12
    points = Store(Path("s")).points
    assert points.column_names == [
        "point", "flows_a_transport_control_kind", "hops_b_delay_ms", "hops_r_delay_ms",
        "hops_b_queue_limit_packets",
    ]  # fmt: skip
    assert points["hops_b_delay_ms"] == points["hops_r_delay_ms"]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_the_same_command_and_resume_go_on(small: Path) -> None:
    command = ("sweep", "run", small, "-o", "s")
    answer(*command)
    before = contents(Path("s"))
    files = {path: path.stat().st_mtime_ns for path in Path("s").rglob("*.parquet")}
    answer(*command)
    answer("sweep", "resume", "s")
    assert {path: path.stat().st_mtime_ns for path in Path("s").rglob("*.parquet")} == files
    # A batch that was lost is run again, and gives the same rows.
    lost = min(Path("s/batches").iterdir())
    lost.unlink()
    missing = answer("sweep", "status", "s")["runs"]
    assert missing["ended"] < missing["wanted"]
    answer("sweep", "resume", "s")
    assert contents(Path("s")) == before


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("output", "folder"), [((), "out/small-sweep"), (("-o", "s"), "s")], ids=["default", "asked"]
)
def test_another_sweep_in_the_folder_is_not_replaced_unasked(
    small: Path, output: tuple[str, ...], folder: str
) -> None:
    answer("sweep", "run", small, *output, "--replicates", 1)
    check_refusal(ackclock("sweep", "run", small, *output), "file", folder, "sweep", "--force")
    answer("sweep", "run", small, *output, "--force")
    assert len(contents(Path(folder))["runs"]) == 12


@pytest.mark.long
def test_results_do_not_depend_on_processes_or_shards(
    small: Path, request: pytest.FixtureRequest
) -> None:
    answer("sweep", "run", small, "-o", "one", "--on", "here:2")
    plan = Store(Path("one")).plan
    request.getfixturevalue("in_this_process")
    for number in range(3):
        Store.begin(Path("three"), plan)
        answer("sweep", "resume", "three", "--shard", f"{number + 1}/3")
    assert contents(Path("one")) == contents(Path("three"))
    assert {Shard(number, 3).has(7) for number in range(3)} == {True, False}


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_points_share_random_numbers_unless_told_otherwise(small: Path) -> None:
    varied = ("--vary", "hops.b.queue.limit=20,21 packets", "--replicates", 2)
    starts = {}
    for name, options in (("shared", ()), ("own", ("--independent",))):
        answer("sweep", "run", small, *varied, *options, "-o", name)
        rows = in_order(Store(Path(name)).dataset("flows").to_table())
        starts[name] = [row["start_s"] for row in rows]
    assert starts["shared"][:2] == starts["shared"][2:4]
    assert len(set(starts["own"])) == len(starts["own"]) == 8


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_replicates_come_until_the_interval_is_narrow(small: Path) -> None:
    state = answer(
        "sweep", "run", small, "--metric", "goodput", "--metric", "queueing_delay(b)",
        "--until", "±2 %", "--replicates", "3..7", "-o", "s",
    )  # fmt: skip
    assert state["narrow_points"] + state["points_at_limit"] == 4
    rows = json.loads(ackclock("sweep", "show", "s", "--y", "goodput", "--json").stdout)
    precision = Store(Path("s")).plan.precision
    assert precision is not None
    assert precision.looks == [3, 5, 7]
    for row in rows:
        assert row["replicates"] in precision.looks
        assert row["goodput_half_width"] <= 0.02 * row["goodput"] or row["replicates"] == 7
    # Whatever parts are lost, a sweep goes on to the same end.
    before = contents(Path("s"))
    for path in sorted(Path("s/batches").iterdir())[::2]:
        path.unlink()
    assert answer("sweep", "resume", "s")["narrow_points"] == state["narrow_points"]
    assert contents(Path("s")) == before


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_flow_named_as_a_formula_is_text_in_csv_files(small: Path) -> None:
    named = SCENARIO.partition("[sweep]")[0].replace('name = "a"', 'name = "@SUM(1)"')
    small.write_text(named, encoding="utf-8")
    answer("simulate", small, "-o", "run")
    answer("sweep", "run", small, "--vary", "seed=1,2", "-o", "s")
    for command in (("table", "run", "goodput"), ("sweep", "show", "s", "--y", "goodput")):
        assert ackclock(*command, "-o", "x.csv").exit_code == 0
        rows = list(csv.DictReader(Path("x.csv").read_text(encoding="utf-8").splitlines()))
        assert {row["subject"] for row in rows} == {"'@SUM(1)"}
        [shown, *_] = json.loads(ackclock(*command, "--json").stdout)
        assert shown["subject"] == "@SUM(1)"
        assert float(rows[0]["goodput"]) == shown["goodput"]
        Path("x.csv").unlink()


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_is_drawn_as_lines_or_as_a_heat_map(small: Path) -> None:
    ran = ("sweep", "run", small, "-o", "s", "--replicates", "2", "--metric", "queueing_delay(b)",
           "--vary", "hops.b.delay=5,20 ms")  # fmt: skip
    assert ackclock(*ran).exit_code == 0
    shown = ("sweep", "show", "s", "--x", "hops.b.queue.limit", "--title", "none")
    assert ackclock(*shown, "-o", "lines.svg").exit_code == 0
    drawn = ackclock(*shown, "--by", "hops.b.delay", "--width", "text", "-o", "map.svg")
    assert drawn.exit_code == 0, drawn.stderr
    picture = Path("map.svg").read_text(encoding="utf-8")
    [width] = re.findall(r'<svg [^>]*width="([0-9.]+)pt"', picture)
    assert float(width) == pytest.approx(7.0 * 72, rel=0.05)
    means = {row["queueing_delay"] for row in json.loads(ackclock(*shown, "--json").stdout)}
    assert len(means) == 8, "two controls, buffers and delays"
    check_refusal(ackclock(*shown, "-o", "/proc/x.csv"), "file", "/proc/x.csv")
    refused = ackclock(*shown, "--by", "hops.b.queue.limit", "-o", "no.svg")
    assert refused.exit_code == 2
    assert not Path("no.svg").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_value_that_no_point_can_have_is_refused_at_once(small: Path) -> None:
    outcome = ackclock(
        "sweep", "run", small, "--vary", "flows.a.transport.mss=1000,100000 bytes", "-o", "s",
    )  # fmt: skip
    check_refusal(outcome, "out-of-range", "flows.a.transport.mss", "100000")
    # A warm-up of 3 s does not fit into any of the durations.
    longer = ("sweep", "run", small, "--vary", "warmup=0.5..3 s", "--vary")
    outcome = ackclock(*longer, "duration=1,2 s", "-o", "s")
    check_refusal(outcome, "contradiction", "warmup", "3 s")
    assert not Path("s").exists()
    outcome = ackclock(
        *longer, "duration=1,9 s", "--design", "grid:2", "--method", "predict", "-o", "s"
    )
    assert "failed" in outcome.stderr


@pytest.mark.parametrize("paths", [("hops.b.delay", "hops.b.delay"), ("seed,seed",)], ids=str)
def test_a_path_that_is_varied_twice_is_refused(small: Path, paths: tuple[str, ...]) -> None:
    given = [word for path in paths for word in ("--vary", f"{path}=1,2")]
    outcome = ackclock("sweep", "run", small, *given, "-o", "s")
    check_refusal(outcome, "contradiction", "--vary", paths[0].partition(",")[0])
    with refused("contradiction", "vary"):
        sweep(scenario(), "s", vary={"seed,seed": "1,2"})
    with refused("unknown-name", "metrics"):
        sweep(scenario(), "s", metrics=["goodput(nobody)"])
    assert not Path("s").exists()


@pytest.mark.parametrize(
    "wanted", ["utilisation(a)", "goodput(b)", "fairness(a)", "packet_delay_p99(a)", "rtt(aa)"]
)
def test_a_subject_that_a_metric_does_not_have_is_refused_at_once(small: Path, wanted: str) -> None:
    outcome = ackclock("sweep", "run", small, "-o", "s", "--metric", wanted)
    name, subject = wanted.rstrip(")").split("(")
    check_refusal(outcome, "unknown-name", "--metric", name, subject)
    assert not Path("s").exists()


@pytest.mark.usefixtures("in_this_process")
def test_a_metric_is_of_any_of_its_subjects(small: Path) -> None:
    recording = (small, "--set", "hops.b.packet_delays=true", "--replicates", 1, "-o", "s")
    wanted = ("fairness(all flows)", "packet_delay_p99(b/a)", "utilisation(r)")
    answer("sweep", "run", *recording, *(word for name in wanted for word in ("--metric", name)))
    for name in wanted:
        [subject] = {row["subject"] for row in answer("sweep", "show", "s", "--y", name)}
        assert subject == name.rstrip(")").split("(")[1]
    check_refusal(
        ackclock("sweep", "show", "s", "--y", "utilisation(a)"), "unknown-name", "s", "utilisation"
    )


def test_a_shard_that_is_not_one_is_refused_before_anything_is_written(small: Path) -> None:
    outcome = ackclock("sweep", "run", small, "-o", "s", "--shard", "4/3")
    check_refusal(outcome, "out-of-range", "--shard", "4/3")
    assert not Path("s").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_failing_point_is_isolated_named_and_run_again(small: Path) -> None:
    # A warm-up of 2 s does not fit into 1 s.
    outcome = ackclock(
        "sweep", "run", small, "--vary", "duration=1,3 s", "--vary", "warmup=0.5,2 s",
        "--replicates", 2, "-o", "s", "--json",
    )  # fmt: skip
    assert outcome.exit_code == 4
    state = json.loads(outcome.stdout)
    assert state["runs"] == {"wanted": 32, "ended": 32, "failed": 8}
    assert {(row["duration_s"], row["warmup_s"]) for row in state["failures"]} == {(1, 2)}
    assert {row["failure"] for row in state["failures"]} == {"contradiction"}
    status = ackclock("sweep", "status", "s").stdout
    assert "failed runs" in status
    assert "warmup" in status
    assert contents(Path("s"))["flows"]
    first = state["failures"][0]["point"]
    again = ackclock("sweep", "retry", "s", "--point", first, "--json")
    assert again.exit_code == 4
    assert json.loads(again.stdout)["runs"] == state["runs"]
    fine = next(row["point"] for row in Store(Path("s")).runs().to_pylist() if not row["failure"])
    check_refusal(ackclock("sweep", "retry", "s", "--point", fine), "no-data", "s")


def breaking(plan: Plan, _method: str) -> places.Place:
    """This machine, with workers of which point 40 kills and point 221 never ends."""
    return Here(plan, 2, [sys.executable, str(Path(__file__).with_name("breaking.py"))])


@pytest.mark.real_time
@pytest.mark.usefixtures("small", "in_this_process")
def test_a_point_that_aborts_and_one_that_hangs_cost_themselves_only() -> None:
    plan = Plan.make(
        scenario().replace({"sweep": {}, "replicates": 1, "duration": "600 ms"}),
        vary=["flows.a.start=0..100 ms"], design="grid:300", metrics=["goodput"],
    )  # fmt: skip
    store = Store.begin(Path("s"), plan)
    # Some thousand times what a run takes: on a busy machine no other run lasts as long.
    done = driver.go_on(store, breaking, run_limit_s=10.0)
    failed = {row["point"]: row["message"] for row in store.runs().to_pylist() if row["failure"]}
    assert set(failed) == {40, 221}
    assert "SIGABRT" in failed[40]
    assert failed[221] == "took longer than 10 s; --time-limit allows more"
    assert (done.ended, done.failed) == (300, 2)
    assert store.dataset("flows").count_rows() == 298
    # Alone, and in a process that does not break, both are fine.
    assert answer("sweep", "retry", "s", "--failed")["runs"] == {
        "wanted": 300, "ended": 300, "failed": 0,
    }  # fmt: skip


@pytest.mark.real_time
@pytest.mark.usefixtures("small")
def test_a_simulation_that_does_not_end_costs_its_time_limit_once() -> None:
    plan = Plan.make(
        scenario().replace({"sweep": {}, "replicates": 30, "sample_interval": "1000 s"}),
        vary=["duration=600 ms,1000000 s,700 ms"], metrics=["goodput"],
    )  # fmt: skip
    runs = tuple((point, replicate) for point in range(3) for replicate in range(30))
    batch = Batch(runs, plan.points, 1, 4.0)  # what ends takes milliseconds
    place = Here(plan, 1)
    with contextlib.closing(place):
        place.submit(batch)
        _, answer = place.completed()
        assert isinstance(answer, Report)
        # Simulations run in turn: those before it are reported, those after it are not.
        assert answer.is_last
        assert set(answer.seconds) == {*((0, replicate) for replicate in range(30)), (1, 0)}
        assert answer.failures == {
            (1, 0): Failure("failed", "took longer than 4 s; --time-limit allows more")
        }
        rows = answer.tables["flows"].select(["point", "replicate"]).to_pylist()
        assert {(row["point"], row["replicate"]) for row in rows} == {
            (0, replicate) for replicate in range(30)
        }
        # The place goes on with another process.
        place.submit(batch._replace(runs=((2, 0),)))
        _, answer = place.completed()
        assert isinstance(answer, Report)
        assert (set(answer.seconds), answer.is_last, answer.failures) == ({(2, 0)}, False, {})


class CutShort:
    """A place whose first process ends itself after a report of the first run."""

    capacity = 1

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.batches: list[Batch] = []

    def submit(self, batch: Batch) -> None:
        self.batches.append(batch)

    def completed(self) -> tuple[Batch, Report]:
        batch = self.batches[-1]
        if len(self.batches) > 1:
            return batch, execute(self.plan, batch)
        [run, *_] = batch.runs
        failures = {run: Failure("failed", "took longer than 2 s")}
        return batch, Report("simulate", {run: 0.0}, is_last=True, failures=failures)

    def close(self) -> None:
        pass


@pytest.mark.usefixtures("small")
def test_what_is_left_of_a_batch_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "_size", lambda _schedule, _places: 4)
    plan = Plan.make(scenario().replace({"sweep": {}, "replicates": 9}), metrics=["goodput"])
    place = CutShort(plan)
    store = Store.begin(Path("s"), plan)
    done = driver.go_on(store, lambda _plan, _method: place)
    assert (done.ended, done.failed) == (9, 1)
    assert sorted(row["replicate"] for row in store.runs().to_pylist()) == list(range(9))


@pytest.mark.usefixtures("in_this_process")
def test_two_processes_do_not_run_one_sweep(small: Path) -> None:
    answer("sweep", "run", small, "-o", "s", "--replicates", 1)
    store = Store(Path("s"))
    with store.locked(), refused("contradiction", "s", "in use"), store.locked():
        pass
    with store.locked(Shard(0, 2)):
        with store.locked(Shard(1, 2)):
            pass
        for other in (Shard(0, 2), Shard(), Shard(1, 3)):
            with refused("contradiction", "s"), store.locked(other):
                pass
    # A lock of another machine that has been silent is left over; a fresh one is not.
    lock = Path("s/lock-0-of-1")
    lock.write_text("elsewhere process 1 since yesterday")
    with refused("contradiction", "s", "elsewhere"), store.locked():
        pass
    os.utime(lock, (time.time() - 700,) * 2)
    with store.locked():
        pass
    assert not list(Path("s").glob("lock-*"))


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_worker_with_another_engine_is_refused() -> None:
    Store.begin(Path("s"), replace(Plan.make(scenario()), engine="another"))
    outcome = ackclock("sweep", "resume", "s", "--on", "here:1")
    check_refusal(outcome, "contradiction", "", "another engine")


@pytest.mark.long
@pytest.mark.parametrize(
    ("signals", "code"), [([signal.SIGINT], 130), ([signal.SIGTERM], 143)], ids=str
)
def test_an_interrupted_sweep_says_how_to_go_on(
    small: Path, signals: list[signal.Signals], code: int
) -> None:
    process = sweeping(small, "here:1")
    wait_for_batches(Path("s"), 3, process)
    for sent in signals:
        process.send_signal(sent)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, stderr
    [line] = stderr.decode().splitlines()[-1:]
    assert "ackclock sweep resume s" in line
    assert not list(Path("s").glob("lock-*"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("in_this_process")
def test_whatever_is_killed_the_dataset_ends_the_same(small: Path) -> None:
    answer("sweep", "run", small, "--replicates", 40, "-o", "whole")
    chance = random.Random(1)
    seen: dict[str, int] = {}
    # A sweep that loses a worker goes on to its end, so that comes last.
    for victim in (*["driver"] * 6, "worker"):
        process = sweeping(small, "here:2")
        batches = len(list(Path("s/batches").glob("*.json")))
        wait_for_batches(Path("s"), batches + chance.randint(0, 2), process)
        time.sleep(chance.random() / 10)  # A moment within a batch, or while it is written.
        killed = [process.pid] if victim == "driver" else children(process.pid)[:1]
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (0, -signal.SIGKILL), stderr
        if Path("s/sweep.json").exists():
            assert Store(Path("s")).survey(["runs", "metrics", "flows"]).damage == []
        # A whole batch is never written again.
        for path in Path("s/batches").glob("*.json"):
            assert seen.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
    answer("sweep", "resume", "s")
    assert contents(Path("s")) == contents(Path("whole"))


class Killed(BaseException):
    """A kill: nobody tidies up."""


@pytest.mark.slow
@pytest.mark.parametrize("instant", range(1, 14))
@pytest.mark.usefixtures("small", "in_this_process")
def test_a_kill_before_anything_is_on_the_disk_loses_a_batch_at_most(
    monkeypatch: pytest.MonkeyPatch, instant: int
) -> None:
    """The plan and each file of a batch are synced, and so is the folder of each."""
    plan = Plan.make(scenario(), metrics=["goodput"], replicates=(1, 1))
    sync, calls = os.fsync, 0

    def killing(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls >= instant:
            raise Killed
        sync(descriptor)

    def run(folder: str) -> None:
        driver.go_on(Store.begin(Path(folder), plan), InThisProcess)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killing)
        with pytest.raises(Killed):
            run("s")
    if Path("s/sweep.json").exists():
        assert Store(Path("s")).survey(["runs", "metrics", "flows"]).damage == []
    run("s")
    run("whole")
    assert contents(Path("s")) == contents(Path("whole"))
    assert not list(Path("s").glob(".ackclock-*"))


def sweeping(scenario_file: Path, place: str) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable, "-m", "ackclock", "sweep", "run", str(scenario_file), "-o", "s",
        "--replicates", "40", "--on", place,
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_batches(folder: Path, count: int, process: "subprocess.Popen[bytes]") -> None:
    ends = time.monotonic() + PATIENCE_S
    while len(list((folder / "batches").glob("*.json"))) < count and process.poll() is None:
        assert time.monotonic() < ends
        time.sleep(0.002)


def children(process: int) -> list[int]:
    file = Path(f"/proc/{process}/task/{process}/children")
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []
