import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ackclock.sweeps import driver, slurm, where
from ackclock.sweeps.plan import Plan
from ackclock.sweeps.store import Shard, Store

from ..refusals import check_refusal, error_of, refused
from .conftest import InThisProcess
from .small import ackclock, answer, contents, scenario, written


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@pytest.fixture
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dask is not installed: places.dask")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def run(plan: Plan, folder: str, place: Any) -> driver.Progress:
    return driver.go_on(Store.begin(Path(folder), plan), place)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_dask_gives_the_dataset_of_this_machine(client: Any) -> None:
    from ackclock.sweeps.places.dask import Cluster

    plan = Plan.make(scenario())
    here = run(plan, "here", InThisProcess)
    dask = run(plan, "dask", lambda plan, _: Cluster(plan, client))
    assert here == dask
    assert contents(Path("here")) == contents(Path("dask"))


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_dask_is_reached_by_its_address(client: Any) -> None:
    plan = Plan.make(scenario(), replicates=(1, 1))
    go_on = where.parse(f"dask:{client.scheduler.address}", plan)
    store = Store.begin(Path("s"), plan)
    assert go_on(store, Shard(), lambda _: None, 600.0).ended == 4


@pytest.mark.slow
def test_failures_are_alike_on_dask(client: Any, small: Path) -> None:
    from ackclock.sweeps.places.dask import Cluster

    plan = Plan.make(scenario(), vary=["duration=1,3 s", "warmup=0.5,2 s"], replicates=(1, 1))
    done = run(plan, "s", lambda plan, _: Cluster(plan, client))
    assert (done.ended, done.failed) == (16, 4)
    assert small.exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("in_this_process")
def test_jobs_of_slurm_run_shards(small: Path) -> None:
    """Without Slurm: submitit runs the jobs on this machine."""
    pytest.importorskip("submitit", reason="submitit is not installed: sweeps.slurm")
    answer("sweep", "run", small, "-o", "here")
    with contextlib.suppress(ResourceWarning):
        state = answer("sweep", "run", small, "-o", "jobs", "--on", "slurm:cluster=local,max=2")
    assert state["runs"]["ended"] == 12
    assert contents(Path("jobs")) == contents(Path("here"))
    shards = {path.name.partition("-of-")[0] for path in Path("jobs/runs").glob("*.parquet")}
    assert shards == {"0", "1"}


def test_options_of_slurm() -> None:
    assert slurm.parse("partition=short,max=200, time=60") == {
        "partition": "short", "max": "200", "time": "60",
    }  # fmt: skip
    assert slurm.parse("") == {}
    for text, code in (("part=x", "unknown-field"), ("max", "unknown-field"),
                       ("max=0", "out-of-range"), ("time=1h", "out-of-range")):  # fmt: skip
        with refused(code, "--on"):
            slurm.parse(text)


@pytest.mark.parametrize("place", ["hear", "here:0", "here:x", "dask", "dask:"])
def test_what_is_no_place_is_refused_before_anything_is_written(small: Path, place: str) -> None:
    outcome = ackclock("sweep", "run", small, "-o", "s", "--on", place)
    check_refusal(outcome, "unknown-name", "--on", place)
    assert not Path("s").exists()


def test_a_place_that_is_not_there_is_named(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for place, package in (("dask:tcp://127.0.0.1:1", "distributed"), ("slurm:", "submitit")):
        monkeypatch.setitem(sys.modules, package, None)
        outcome = ackclock("sweep", "run", small, "-o", "s", "--on", place)
        assert outcome.exit_code == 3
        assert (error_of(outcome).code, error_of(outcome).field) == ("lacking", "--on")
        monkeypatch.undo()
        monkeypatch.chdir(small.parent)
        monkeypatch.setenv("PATH", "")
    if "submitit" in sys.modules:
        outcome = ackclock("sweep", "run", small, "-o", "s", "--on", "slurm:max=2")
        assert outcome.exit_code == 3
        assert "sbatch" in outcome.stderr
