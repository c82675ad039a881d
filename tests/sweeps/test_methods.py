"""The same sweep by models, by the engine and on the kernel."""

import json
from pathlib import Path

import pytest

from ackclock import predict
from ackclock.metrics import by_replicate, metric
from ackclock.models.prediction import best
from ackclock.sweeps import driver, summary
from ackclock.sweeps.plan import Batch, Plan, asked
from ackclock.sweeps.store import Store
from ackclock.sweeps.sweep import Sweep
from ackclock.sweeps.worker import execute

from ..emulation.pretended import LATE, Pretended
from ..refusals import check_refusal, refused
from .conftest import InThisProcess
from .small import ackclock, answer, contents, in_order, scenario, written


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_predictions_are_those_of_predict(small: Path) -> None:
    state = answer("sweep", "run", small, "--method", "predict", "--models", "all", "-o", "s")
    # One number has no replicates.
    assert state["runs"] == {"wanted": 4, "ended": 4, "failed": 0}
    predicted = predict(scenario(), "all")
    predictions = Sweep.load("s").table("predictions").to_table()
    same = predictions.drop_columns(["method", "reliable", *Store(Path("s")).swept])
    keys = [("point", "ascending"), ("flow", "ascending"), ("model", "ascending")]
    want = predicted.tables["predictions"]
    assert same.sort_by(keys).to_pylist() == want.sort_by(keys).to_pylist()
    frame = Sweep.load("s").frame("goodput").to_pylist()
    assert {row["flows_a_transport_control_kind"] for row in frame} == {"reno", "cubic"}
    assert len(frame) == 4
    for row in frame:
        point = predicted.points[row["point"]]["scenario"]
        rows = [
            prediction for prediction in want.to_pylist() if prediction["point"] == row["point"]
        ]
        of_best = best(rows, "goodput", point["flows"][0])
        assert of_best is not None
        assert (row["goodput"], row["model"]) == (of_best.value, of_best.model.name)
        assert (row["method"], row["replicates"], row["goodput_half_width"]) == ("predict", 1, None)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_another_method_beside_it_changes_no_number(small: Path) -> None:
    answer("sweep", "run", small, "-o", "alone")
    state = answer("sweep", "run", small, "--method", "simulate,predict", "-o", "both")
    assert state["runs"]["ended"] == 12 + 4
    alone, both = contents(Path("alone")), contents(Path("both"))
    for name in ("runs", "metrics", "flows"):
        assert [row for row in both[name] if row["method"] == "simulate"] == alone[name]
    shown = answer("sweep", "show", "both", "--where", "method=simulate")
    assert [
        {**row, "model": None, "violated": None} for row in answer("sweep", "show", "alone")
    ] == shown


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_the_method_is_a_dimension(small: Path) -> None:
    answer("sweep", "run", small, "--method", "predict,simulate", "-o", "s")
    table = ackclock("sweep", "show", "s", "--x", "queue.limit").stdout
    assert "method" in table
    assert "predict" in table
    assert "simulate" in table
    for arguments in ([], ["--by", "control.kind"]):
        outcome = ackclock("sweep", "show", "s", "--x", "queue.limit", *arguments, "-o", "f.svg")
        assert outcome.exit_code == 0, outcome.stderr
        assert "simulate" in Path("f.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_methods_go_on_after_an_interrupt_and_run_nothing_twice(small: Path) -> None:
    def stop(now: driver.Progress) -> None:
        if now.ended > 6:
            raise KeyboardInterrupt

    plan = Plan.make(scenario(), methods=("simulate", "predict"))
    assert plan.methods == ("predict", "simulate")  # The cheapest first.
    with pytest.raises(KeyboardInterrupt):
        driver.go_on(Store.begin(Path("s"), plan), InThisProcess, tell=stop)
    kept = in_order(Store(Path("s")).runs())
    done = driver.go_on(Store(Path("s")), InThisProcess)
    assert done.ended == done.wanted == 16
    assert all(row in in_order(Store(Path("s")).runs()) for row in kept)
    driver.go_on(Store.begin(Path("t"), plan), InThisProcess)
    assert contents(Path("s")) == contents(Path("t"))
    assert small.exists()


@pytest.mark.slow
def test_unreliable_emulations_are_marked_and_in_no_average(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Replicate 1 of every point is late, whatever number the point has in its batch.
    late = dict.fromkeys(((point, 1) for point in range(4)), LATE)
    pretended = Pretended(verdicts=late).take_the_place(monkeypatch)
    plan = Plan.make(scenario(), methods=("emulate",), metrics=["goodput"])
    store = Store.begin(Path("s"), plan)
    done = driver.go_on(store, InThisProcess)
    assert (done.ended, done.failed) == (12, 0)
    runs = store.runs().to_pylist()
    assert {row["replicate"] for row in runs if not row["reliable"]} == {1}
    assert {row["message"] for row in runs if not row["reliable"]} == {LATE}
    rows = summary.frame(store, asked("goodput")).to_pylist()
    assert [row["replicates"] for row in rows] == [2] * 4
    # They are kept, and every table says which they are.
    flows = store.dataset("flows").to_table().to_pylist()
    assert {row["replicate"] for row in flows if not row["reliable"]} == {1}
    # A batch has the record of no more than its own runs, and no captures.
    assert pretended.asked["emulate"]["pcap"] is False
    status = ackclock("sweep", "status", "s")
    assert "unreliable runs" in status.stdout
    assert "7 ms late" in " ".join(status.stdout.split())
    resumed = ackclock("sweep", "resume", "s")
    assert resumed.exit_code == 4
    assert "4 runs left out of averages" in resumed.stderr
    assert small.exists()


def test_a_failed_emulation_is_a_failure_of_its_run(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pretended(failure="the host has ended").take_the_place(monkeypatch)
    store = Store.begin(Path("s"), Plan.make(scenario(), methods=("emulate",), replicates=(1, 1)))
    done = driver.go_on(store, InThisProcess)
    assert (done.ended, done.failed) == (4, 4)
    assert {row["message"] for row in store.runs().to_pylist()} == {"the host has ended"}
    assert small.exists()


@pytest.mark.real_time
@pytest.mark.usefixtures("emulation")
def test_linux_is_swept(small: Path) -> None:
    outcome = ackclock(
        "sweep", "run", small, "--method", "emulate,simulate", "--replicates", 1, "-o", "s",
        "--side-by-side", 2, "--on", "here:1", "--json",
    )  # fmt: skip
    assert outcome.exit_code in (0, 4), outcome.stderr  # A busy machine makes runs unreliable.
    assert json.loads(outcome.stdout)["runs"] == {"wanted": 8, "ended": 8, "failed": 0}
    flows = Sweep.load("s").table("flows").to_table().to_pylist()
    assert sorted(row["method"] for row in flows) == ["emulate"] * 4 + ["simulate"] * 4
    assert all(row["goodput_bit_per_s"] > 0 for row in flows)


@pytest.mark.parametrize("names", ["emulatte", "", "predict,", "measure"])
def test_what_is_no_method_is_refused(small: Path, names: str) -> None:
    outcome = ackclock("sweep", "run", small, "--method", names, "-o", "s")
    check_refusal(outcome, "unknown-name", "--method")
    assert not Path("s").exists()


def test_emulations_stay_on_this_machine(small: Path) -> None:
    outcome = ackclock("sweep", "run", small, "--method", "emulate", "--on", "slurm:max=2")
    check_refusal(outcome, "unsupported", "--on")
    outcome = ackclock("sweep", "run", small, "--method", "emulate", "--on", "dask:tcp://x:1")
    check_refusal(outcome, "unsupported", "--on")
    assert not Path("out").exists()


def test_a_machine_that_cannot_emulate_is_told_before_anything_is_written(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pretended(lacking="no network namespaces").take_the_place(monkeypatch)
    outcome = ackclock("sweep", "run", small, "--method", "predict,emulate", "-o", "s")
    assert outcome.exit_code == 3
    assert "no network namespaces" in outcome.stderr
    assert not Path("s").exists()


def test_a_metric_that_no_model_predicts_has_no_rows() -> None:
    plan = Plan.make(scenario(), methods=("predict",), metrics=["goodput", "utilisation"])
    batch = Batch(((0, 0),), {0: plan.points[0]}, method="predict")
    metrics = execute(plan, batch).tables["metrics"].to_pylist()
    assert {row["metric"] for row in metrics} == {"goodput"}


def test_metrics_of_a_simulation_are_those_of_its_result() -> None:
    from ackclock import simulate

    plan = Plan.make(scenario(), metrics=["goodput"])
    batch = Batch(((1, 0), (1, 2)), {1: plan.points[1]})
    rows = execute(plan, batch).tables["metrics"].to_pylist()
    want = by_replicate(simulate(scenario()), metric("goodput"))[1, "a"]
    assert {row["replicate"]: row["value"] for row in rows} == {0: want[0], 2: want[2]}
    with refused("unknown-name", "--method"):
        Plan.make(scenario(), methods=())


@pytest.mark.usefixtures("in_this_process")
def test_runs_that_are_too_short_are_marked_as_those_of_simulate(small: Path) -> None:
    from ackclock import simulate
    from ackclock.validity.stationarity import judge

    answer("sweep", "run", small, "--replicates", 1, "-o", "s")
    verdicts = judge(simulate(scenario().replace({"replicates": 1})))
    rows = Sweep.load("s").frame("goodput").to_pylist()
    marks = [row["goodput_unsettled"] for row in rows]
    assert marks == [verdicts.marks("goodput", point, "a") for point in range(4)]
    assert any(marks)  # Two seconds have not five congestion epochs.
    shown = ackclock("sweep", "show", "s", "--y", "goodput").stdout
    assert "*" in shown
    assert "has not settled" in shown
