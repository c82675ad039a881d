"""A sweep knows what it holds: damage is named, nothing averages over it, and resume heals it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.sweeps.plan import Plan
from ackclock.sweeps.store import Store
from ackclock.sweeps.sweep import Sweep

from ..damage import cut, flip, shorten
from ..refusals import check_refusal, refused
from .conftest import InThisProcess
from .small import ackclock, answer, contents, scenario, written

pytestmark = pytest.mark.slow

TABLES = ("runs", "metrics", "flows")


def make_a_batch_of_each_run(patch: pytest.MonkeyPatch) -> None:
    """Lets the number of batches not depend on the speed of the machine."""
    patch.setattr("ackclock.sweeps.schedule.AIM_S", 0.0)
    patch.setattr("ackclock.sweeps.schedule._LEAST_S", 0.0)
    patch.setattr("ackclock.sweeps.schedule._TASKS_PER_S", float("inf"))


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three batches or more, which tests copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ackclock.sweeps.places.here.Here", InThisProcess)
        make_a_batch_of_each_run(patch)
        folder = tmp_path_factory.mktemp("undamaged")
        answer("sweep", "run", written(folder), "-o", folder / "s", "--metric", "goodput")
    assert len(list((folder / "s/batches").iterdir())) >= 3
    return folder / "s"


@pytest.fixture
def copied(undamaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, here as `s`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ackclock.sweeps.places.here.Here", InThisProcess)
    shutil.copytree(undamaged, "s")
    return Path("s")


def files(table: str) -> list[Path]:
    return sorted(Path("s", table).iterdir())


def exchange(path: Path, other: Path) -> None:
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


def rename(path: Path) -> None:
    """Gives a file the name of a batch that is not there."""
    path.rename(path.with_name(f"0-of-1-{'0' * 32}{path.suffix}"))


#: Damage to a file of a table.
TO_A_FILE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "foreign": lambda path: path.write_bytes(b"PAR1, or so it seems: a note of somebody PAR1"),
    "flipped in the data": lambda path: flip(path, 0.2),
    "flipped in the footer": lambda path: flip(path, 0.9),
    "flipped at the end": lambda path: flip(path, 1.0),
    "renamed": rename,
    "of another batch": lambda path: shutil.copy(files(path.parent.name)[-1], path),
    "exchanged": lambda path: exchange(path, files(path.parent.name)[-1]),
    "an old version": shorten,
}

#: Damage to a manifest.
TO_A_MANIFEST: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "foreign": lambda path: path.write_text("{}"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda path: path.write_text("[]"),
    "of another batch": lambda path: shutil.copy(files("batches")[-1], path),
    "exchanged": lambda path: exchange(path, files("batches")[-1]),
    "renamed": rename,
}


def check_named(file: str) -> None:
    """Every reader names the file, or one beside it that is as damaged; none gives numbers."""
    status = ackclock("sweep", "status", "s")
    assert status.exit_code == 2, status.stdout
    [line] = status.stderr.splitlines()
    assert "ackclock sweep resume s" in line
    assert file in status.stdout
    state = json.loads(ackclock("sweep", "status", "s", "--json").stdout)
    assert state["damaged"]
    for command in (("sweep", "show", "s"), ("sweep", "show", "s", "-o", "x.csv"), ("report", "s")):
        check_refusal(ackclock(*command), "file", "s", "ackclock sweep resume s")
    for read in (lambda: Sweep.load("s").frame("goodput"), lambda: Sweep.load("s").failures):
        with refused("file", "s", "ackclock sweep resume s"):
            read()


def check_healed(undamaged: Path) -> None:
    """After `resume` the sweep is as it was: row for row."""
    healed = ackclock("sweep", "resume", "s")
    assert healed.exit_code == 0, healed.stderr
    assert ackclock("sweep", "status", "s").exit_code == 0
    assert contents(Path("s")) == contents(undamaged)
    shown = [ackclock("sweep", "show", folder, "--json") for folder in ("s", undamaged)]
    assert shown[0].stdout == shown[1].stdout
    assert shown[0].stderr == ""
    assert Store(Path("s")).survey(TABLES).unfinished == []


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("damage", TO_A_FILE)
def test_a_damaged_file_is_named_and_healed(
    copied: Path, undamaged: Path, table: str, damage: str
) -> None:
    path = files(table)[0]
    TO_A_FILE[damage](path)
    # What keeps its size is noticed by who reads the file.
    if path.exists() and path.stat().st_size == (undamaged / table / path.name).stat().st_size:
        with refused("file", "s", f"{table}/{path.name} is not the file that was written"):
            Store(copied).dataset(table)
    else:
        check_named(f"{table}/")
    healed = ackclock("sweep", "resume", "s")
    assert f"{table}/" in healed.stderr
    check_healed(undamaged)


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("damage", TO_A_MANIFEST)
def test_a_damaged_manifest_is_named_and_healed(undamaged: Path, damage: str) -> None:
    TO_A_MANIFEST[damage](files("batches")[0])
    check_named("batches/")
    check_healed(undamaged)


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("place", [eighth / 7 for eighth in range(8)])
def test_a_flipped_bit_of_a_manifest_is_noticed(undamaged: Path, place: float) -> None:
    flip(files("batches")[0], place)
    check_named("batches/")
    check_healed(undamaged)


@pytest.mark.parametrize("lost", ["batches", *TABLES])
def test_a_whole_folder_that_is_missing_is_made_again(
    copied: Path, undamaged: Path, lost: str
) -> None:
    shutil.rmtree(copied / lost)
    if lost == "batches":  # As if nothing had been run; files without a manifest count nowhere.
        assert answer("sweep", "status", "s")["runs"]["ended"] == 0
    else:
        check_named(f"{lost}/")
    check_healed(undamaged)


@pytest.mark.usefixtures("copied")
def test_a_batch_without_manifest_counts_nowhere(undamaged: Path) -> None:
    lost = files("batches")[0]
    runs = json.loads(lost.read_text())["points"]
    lost.unlink()
    assert answer("sweep", "status", "s")["runs"]["ended"] == 12 - len(runs)
    shown = ackclock("sweep", "show", "s")
    assert f"s: {12 - len(runs)} of 12 runs so far" in shown.stderr
    check_healed(undamaged)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ["copy", f"0-of-1-{'a' * 32}"])
def test_a_copied_file_counts_nowhere(copied: Path, undamaged: Path, table: str, name: str) -> None:
    shutil.copy(files(table)[0], copied / table / f"{name}.parquet")
    if name == "copy":
        check_named(f"{table}/copy.parquet")
    else:  # As a batch that has not ended.
        assert answer("sweep", "status", "s")["runs"]["ended"] == 12
        assert len(json.loads(ackclock("sweep", "show", "s", "--json").stdout)) == 4
    check_healed(undamaged)


def test_a_copied_batch_counts_once(copied: Path, undamaged: Path) -> None:
    name = files("batches")[0].stem
    for table in ("batches", *TABLES):
        [path] = (copied / table).glob(f"{name}.*")
        shutil.copy(path, path.with_name(f"0-of-1-{'b' * 32}{path.suffix}"))
    check_named("batches/0-of-1-bbb")
    check_healed(undamaged)


@pytest.mark.usefixtures("in_this_process")
def test_batches_of_another_folder_are_not_counted_twice(copied: Path, undamaged: Path) -> None:
    # The same plan in another division, whose manifests are all right in themselves.
    plan = Store(copied).plan
    for shard in ("1/2", "2/2"):
        Store.begin(Path("other"), plan)
        answer("sweep", "resume", "other", "--shard", shard)
    for table in ("batches", *TABLES):
        for path in Path("other", table).iterdir():
            shutil.copy(path, copied / table)
    check_named("batches/")
    check_healed(undamaged)


@pytest.mark.usefixtures("in_this_process")
def test_a_batch_of_another_sweep_is_removed(copied: Path, undamaged: Path) -> None:
    answer("sweep", "run", written(Path()), "-o", "other", "--metric", "rtt")
    name = min(Path("other/batches").iterdir()).stem
    for table in ("batches", *TABLES):
        [path] = Path("other", table).glob(f"{name}.*")
        shutil.copy(path, copied / table)
    check_named(f"batches/{name}.json")
    check_healed(undamaged)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "foreign", "flipped in the data"])
def test_damaged_points_are_never_read_and_written_again(
    copied: Path, undamaged: Path, damage: str
) -> None:
    TO_A_FILE[damage](copied / "points.parquet")
    shown = [ackclock("sweep", "show", folder, "--json").stdout for folder in ("s", undamaged)]
    assert shown[0] == shown[1]
    check_healed(undamaged)
    points = [folder / "points.parquet" for folder in (copied, undamaged)]
    assert points[0].read_bytes() == points[1].read_bytes()


@pytest.mark.parametrize("damage", ["empty", "cut", "foreign", "flipped in the data"])
def test_a_damaged_plan_is_named_and_the_same_command_goes_on(
    copied: Path, undamaged: Path, damage: str
) -> None:
    TO_A_FILE[damage](copied / "sweep.json")
    for command in ("status", "show", "resume"):
        check_refusal(ackclock("sweep", command, "s"), "file", "s/sweep.json")
    before = {path: path.stat().st_mtime_ns for path in files("batches")}
    answer("sweep", "run", undamaged.parent / "small.toml", "-o", "s", "--metric", "goodput")
    assert {path: path.stat().st_mtime_ns for path in files("batches")} == before
    assert (copied / "sweep.json").read_bytes() == (undamaged / "sweep.json").read_bytes()
    check_healed(undamaged)


def test_a_missing_plan_is_named(copied: Path) -> None:
    (copied / "sweep.json").unlink()
    for command in ("status", "show", "resume"):
        check_refusal(ackclock("sweep", command, "s"), "file", "s", "sweep")


@pytest.mark.usefixtures("in_this_process")
def test_shards_heal_their_own_batches_and_those_of_other_divisions(tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    plan = Plan.make(scenario(), metrics=["goodput"])
    for folder in ("s", "whole"):
        for shard in ("1/2", "2/2"):
            Store.begin(Path(folder), plan)
            answer("sweep", "resume", folder, "--shard", shard)
    spoiled = [next(Path("s/flows").glob(f"{number}-of-2-*")) for number in range(2)]
    for path in spoiled:
        cut(path)
    # The first leaves the batch of the second alone: its process may be writing.
    answer("sweep", "resume", "s", "--shard", "1/2")
    assert [harm.file for harm in Store(Path("s")).survey().damage] == [
        spoiled[1].relative_to("s").as_posix()
    ]
    # Another division removes it; each shard runs its points of it again.
    for shard in ("1/3", "2/3", "3/3"):
        answer("sweep", "resume", "s", "--shard", shard)
    assert contents(Path("s")) == contents(Path("whole"))


def test_a_batch_that_is_being_removed_is_no_damage(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(copied)
    kept = store.survey().whole[0]
    problem = type(kept.files["flows"]).problem

    def vanishing(entry: object, path: Path, **options: bool) -> str:
        if path.stem == kept.name:  # Another process takes it away as soon as it is looked at.
            (copied / "batches" / f"{kept.name}.json").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        return problem(entry, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(kept.files["flows"]), "problem", vanishing)
    survey = store.survey()
    assert survey.damage == []
    assert kept.name not in {other.name for other in survey.whole}


def test_an_error_while_a_batch_is_written_ends_the_sweep_and_loses_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_this_process: type[InThisProcess],
    undamaged: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write, written_batches = Store._write_manifest, 0

    def full(store: Store, kept: object) -> None:
        nonlocal written_batches
        written_batches += 1
        if written_batches == 3:
            raise OSError(28, "No space left on device", "s")
        write(store, kept)  # type: ignore[arg-type]

    make_a_batch_of_each_run(monkeypatch)
    monkeypatch.setattr(Store, "_write_manifest", full)
    outcome = ackclock("sweep", "run", written(Path()), "-o", "s", "--metric", "goodput")
    assert outcome.exit_code == 3
    assert len(outcome.stderr.splitlines()) == 1
    monkeypatch.setattr(Store, "_write_manifest", write)
    assert Store(Path("s")).survey(TABLES).damage == []
    assert Store(Path("s")).survey().unfinished
    check_healed(undamaged)
    assert in_this_process.capacity == 1
