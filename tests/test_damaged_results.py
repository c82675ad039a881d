"""A result knows what it holds: what is missing or damaged is named, and made again by a cache."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import Result, Scenario, simulate
from ackclock.result.folder import ADDRESS, staged
from ackclock.run import cache
from ackclock.run.finished import FOLDER, FinishedRuns, is_kept

from .damage import cut, flip, shorten
from .in_process import ackclock
from .refusals import check_refusal, refused

pytestmark = pytest.mark.slow


def exchange(path: Path) -> None:
    other = path.with_name("hops.parquet" if path.stem != "hops" else "flows.parquet")
    shutil.copy(other, path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "foreign": lambda path: path.write_bytes(b"PAR1 a note of somebody PAR1"),
    "flipped in the data": lambda path: flip(path, 0.2),
    "flipped in the footer": lambda path: flip(path, 0.9),
    "another version": shorten,
    "another table": exchange,
}


def named(damage: str, table: str) -> tuple[str, str]:
    """Returns the field of the error about a table of `run`, and words in it."""
    return ("run", f"{table}.parquet") if damage == "missing" else (f"run/{table}.parquet", "")


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory, leaky_pipe: Scenario) -> Path:
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=2, duration="2 s")
    folder = tmp_path_factory.mktemp("undamaged") / "run"
    cache.Simulation(alone, packets=True).run(folder, lambda _share: None)
    return folder


@pytest.fixture
def run(undamaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(undamaged, "run")
    return Path("run")


@pytest.mark.parametrize("table", ["flows", "samples", "hops", "events"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_table_is_named_by_every_reader(run: Path, table: str, damage: str) -> None:
    DAMAGE[damage](run / f"{table}.parquet")
    field, words = named(damage, table)
    for command in (("table", "run", "goodput"), ("report", "run"), ("plot", "run")):
        check_refusal(ackclock(*command), "file", field, words, "ackclock simulate")
    with refused("file", field, words):
        Result.load(run)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_table_that_is_read_on_demand_is_compared_then(run: Path, damage: str) -> None:
    result = Result.load(run)
    DAMAGE[damage](run / "packets.parquet")
    for read in (
        lambda: result.tables["packets"],
        lambda: result.rows("packets", replicate=0),
        lambda: Result.load(run).tables["packets"],
    ):
        with refused("file", *named(damage, "packets"), "ackclock simulate"):
            read()


@pytest.mark.parametrize("place", [eighth / 7 for eighth in range(8)])
def test_a_flipped_bit_of_run_json_is_noticed(run: Path, place: float) -> None:
    flip(run / "run.json", place)
    check_refusal(ackclock("table", "run", "goodput"), "file", "run/run.json", "again")


@pytest.mark.parametrize("damage", ["empty", "cut"])
def test_a_damaged_description_is_named(run: Path, damage: str) -> None:
    DAMAGE[damage](run / "run.json")
    check_refusal(ackclock("table", "run", "goodput"), "file", "run/run.json", "again")


def test_the_description_of_another_result_is_noticed(run: Path, leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=2, duration="2 s", seed="7")
    simulate(alone).save("other")
    shutil.copy("other/run.json", run)
    check_refusal(ackclock("table", "run", "goodput"), "file", "run/flows.parquet")


def test_a_table_beside_a_result_is_not_of_it(run: Path) -> None:
    shutil.copy(run / "flows.parquet", run / "copy.parquet")
    assert "copy" not in Result.load(run).tables


@pytest.mark.parametrize("table", ["flows", "packets"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_result_is_simulated_again(
    tmp_path: Path, leaky_pipe: Scenario, undamaged: Path, table: str, damage: str
) -> None:
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=2, duration="2 s")
    asked = cache.Simulation(alone, packets=True)
    shutil.copytree(undamaged, tmp_path / "run")
    assert asked.complete_result(tmp_path / "run") is not None
    DAMAGE[damage](tmp_path / f"run/{table}.parquet")
    assert asked.complete_result(tmp_path / "run") is None
    asked.run(tmp_path / "run", lambda _share: None)
    for name in ("run.json", f"{table}.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (undamaged / name).read_bytes()


@pytest.mark.parametrize(
    ("spoilt", "damage"),
    [
        *(("000001/flows.parquet", name) for name in DAMAGE if name != "another table"),
        *(("000001.json", name) for name in ("missing", "empty", "cut", "flipped in the data")),
    ],
)
def test_damaged_finished_runs_are_run_again(
    tmp_path: Path, undamaged: Path, spoilt: str, damage: str
) -> None:
    tables = dict(Result.load(undamaged).tables)
    kept = FinishedRuns(tmp_path, "made of this")
    for replicate in range(3):
        kept.keep([(0, replicate)], tables)
    DAMAGE[damage](tmp_path / FOLDER / spoilt)
    again = FinishedRuns(tmp_path, "made of this")
    assert again.keys == [(0, 0), (0, 2)]
    assert [set(batch) for batch in again.tables()] == [set(tables), set(tables)]
    again.keep([(0, 1)], tables)
    assert FinishedRuns(tmp_path, "made of this").keys == [(0, 0), (0, 2), (0, 1)]


def test_a_finished_run_counts_once(tmp_path: Path, undamaged: Path) -> None:
    kept = FinishedRuns(tmp_path, "made of this")
    kept.keep([(0, 0)], dict(Result.load(undamaged).tables))
    shutil.copytree(tmp_path / FOLDER / "000000", tmp_path / FOLDER / "000001")
    shutil.copy(tmp_path / FOLDER / "000000.json", tmp_path / FOLDER / "000001.json")
    assert FinishedRuns(tmp_path, "made of this").keys == [(0, 0)]


def test_files_are_on_the_disk_before_they_have_their_names(
    tmp_path: Path, undamaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of calls: every file and its folder, the name of the folder, the folder above."""

    order: list[str] = []
    sync, rename = os.fsync, Path.rename

    def syncing(descriptor: int) -> None:
        order.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def renaming(path: Path, target: Path) -> Path:
        order.append(f"-> {Path(target).name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "rename", renaming)
    with staged(tmp_path / "run") as staging:
        for file in undamaged.iterdir():
            shutil.copy(file, staging)
    named = order.index("-> run")
    assert {path.name for path in undamaged.iterdir()} <= set(order[:named])
    assert order[named + 1 :] == [tmp_path.name]
    described = json.loads((tmp_path / "run/run.json").read_text())["files"]
    assert set(described) == {path.stem for path in (tmp_path / "run").glob("*.parquet")}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"another address"])
def test_runs_with_a_damaged_address_are_made_again(tmp_path: Path, content: bytes) -> None:
    FinishedRuns(tmp_path, "made of this").begin()
    assert is_kept(tmp_path, "made of this")
    (tmp_path / FOLDER / ADDRESS).write_bytes(content)
    assert not is_kept(tmp_path, "made of this")
    assert FinishedRuns(tmp_path, "made of this").keys == []


def test_a_result_with_a_damaged_address_is_another_one(scenario_file: Path) -> None:
    command = ("simulate", scenario_file, "-o", "run", "--set", "duration=2s", "--json")
    first = ackclock(*command)
    assert first.exit_code == 0, first.stderr
    Path("run", ADDRESS).write_bytes(b"\xff\xfe\x00")
    refusal = ackclock(*command)
    assert (refusal.exit_code, len(refusal.stderr.splitlines())) == (2, 1), refusal.stderr
    again = ackclock(*command, "--force")
    assert (again.exit_code, again.stdout) == (0, first.stdout), again.stderr
