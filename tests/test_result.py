import errno
import json
import math
import os
from pathlib import Path

import pytest

from ackclock import Result, Scenario, simulate
from ackclock.comparison.each_method import COMPARISON
from ackclock.reproduction.runner import GALLERY
from ackclock.result import folder
from ackclock.result.folder import RESULT, Contents, refuse_foreign_folder, staged, write_whole

from .refusals import refused


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_saved_result_comes_back(result: Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "deep" / "run")
    loaded = Result.load(folder)
    assert loaded.run == result.run
    assert loaded.tables.keys() == result.tables.keys()
    assert result.tables.keys() == {"flows", "samples", "hops", "events", "counters"}
    for name, table in result.tables.items():
        assert loaded.tables[name].equals(table), name
    assert [path.name for path in folder.parent.iterdir()] == ["run"]  # nothing else is left


@pytest.mark.slow
def test_two_runs_are_the_same_bytes(leaky_pipe: Scenario, result: Result, tmp_path: Path) -> None:
    first = contents(result.save(tmp_path / "first"))
    assert contents(simulate(leaky_pipe).save(tmp_path / "second")) == first


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_number_of_threads_changes_nothing(
    leaky_pipe: Scenario, result: Result, tmp_path: Path, threads: int
) -> None:
    first = contents(result.save(tmp_path / "first"))
    assert contents(simulate(leaky_pipe, threads=threads).save(tmp_path / "second")) == first


def test_another_seed_changes_the_run(leaky_pipe: Scenario, result: Result) -> None:
    other = simulate(leaky_pipe.replace(seed=2))
    assert not other.tables["flows"].equals(result.tables["flows"])


def test_replicates_differ_and_do_not_depend_on_their_number(
    leaky_pipe: Scenario, result: Result
) -> None:
    fewer = simulate(leaky_pipe.replace(replicates=2)).tables["flows"].to_pylist()
    rows = result.tables["flows"].to_pylist()
    assert fewer == [row for row in rows if row["replicate"] < 2]
    lossy = [row["goodput_bit_per_s"] for row in rows if row["point"] == 1]
    assert len(set(lossy)) == 3


def test_what_run_json_says(result: Result, leaky_pipe: Scenario, tmp_path: Path) -> None:
    run = json.loads((result.save(tmp_path / "run") / "run.json").read_text())
    assert run["method"] == "simulate"
    assert run["seed"] == "1"  # text, so that no reader rounds it
    assert run["replicates"] == 3
    assert run["partial"] is False
    assert set(run["versions"]) == {"ackclock"}
    assert [entry["name"] for entry in run["controls"]][:2] == ["reno", "cubic"]
    assert run["scenario"] == leaky_pipe.tree
    assert [point["assignments"] for point in run["points"]] == [
        point.assignments for point in leaky_pipe.expand()
    ]
    assert run["points"][0]["scenario"] == leaky_pipe.expand()[0].scenario.resolve().tree
    host = os.uname().nodename
    assert host not in json.dumps(run)


def test_seeds_of_64_bits_survive(leaky_pipe: Scenario) -> None:
    seed = 2**64 - 1
    alone = leaky_pipe.expand()[0].scenario.replace(seed=str(seed), replicates=1, duration="2 s")
    assert simulate(alone).run["seed"] == str(seed)


def test_one_replicate_is_warned_of(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[0].scenario.replace(replicates=1, duration="2 s")
    assert any("one replicate" in warning for warning in simulate(alone).run["warnings"])


def test_what_is_unknown_is_null(result: Result) -> None:
    flows = result.tables["flows"]
    assert flows["completion_time_s"].null_count == flows.num_rows  # bulk never ends
    for table in result.tables.values():
        for name in table.column_names:
            if str(table[name].type) == "double":
                assert not any(
                    math.isnan(value) for value in table[name].to_pylist() if value is not None
                ), name


def test_times_lie_within_the_run(result: Result) -> None:
    for name in ("samples", "hops", "events"):
        times = result.tables[name]["time_s"].to_pylist()
        assert all(0 <= time <= 5 for time in times), name


def test_a_result_is_replaced_whole(result: Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    (folder / "figures").mkdir()
    (folder / "figures" / "cwnd.svg").write_text("stale")
    before = contents(folder)
    smaller = Result(result.run, {"flows": result.tables["flows"]})
    with refused("file", str(folder), "replace=True"):
        smaller.save(folder)
    assert contents(folder) == before
    smaller.save(folder, replace=True)
    assert sorted(contents(folder)) == ["flows.parquet", "run.json"]


@pytest.mark.parametrize("name", ["thesis.tex", "figures/mine.txt", "data/flows.parquet"])
def test_what_is_not_ours_is_never_overwritten(result: Result, tmp_path: Path, name: str) -> None:
    folder = result.save(tmp_path / "run")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("years of work")
    before = contents(folder)
    with refused("file", str(folder)):
        result.save(folder, replace=True)
    assert contents(folder) == before


def test_a_folder_that_is_no_result_is_refused(result: Result, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with refused("file", str(tmp_path)):
        result.save(tmp_path)
    with refused("file", str(tmp_path / "notes.txt")):
        result.save(tmp_path / "notes.txt")


def test_an_empty_folder_is_fine(result: Result, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert Result.load(result.save(tmp_path / "run")).run == result.run


def test_a_write_that_fails_leaves_the_old_result(result: Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    before = contents(folder)
    with pytest.raises(ValueError, match="Out of range float"):
        Result({**result.run, "seed": math.nan}, result.tables).save(folder, replace=True)
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    "text",
    ["{", "{}", '{"schema": 99}', "[]"],
)
def test_a_folder_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with refused("file", str(tmp_path / "run.json")):
        Result.load(tmp_path)


def test_a_missing_or_damaged_table_says_so(result: Result, tmp_path: Path) -> None:
    with refused("file", str(tmp_path / "nowhere")):
        Result.load(tmp_path / "nowhere")
    folder = result.save(tmp_path / "run")
    (folder / "flows.parquet").write_bytes(b"junk")
    with refused("file", str(folder / "flows.parquet"), "ackclock simulate"):
        Result.load(folder)


def test_a_table_that_is_cut_foreign_or_flipped_is_named_when_it_is_read(
    leaky_pipe: Scenario, tmp_path: Path
) -> None:
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=1, duration="2 s")
    folder = simulate(alone, packets=True).save(tmp_path / "run")
    path = folder / "packets.parquet"
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    foreign = (folder / "flows.parquet").read_bytes()
    for damaged in (b"", whole[:middle], flipped, foreign):
        path.write_bytes(damaged)
        loaded = Result.load(folder)
        with refused("file", str(path), "run ackclock simulate again"):
            loaded.tables["packets"]
        with refused("file", str(path), "run ackclock simulate again"):
            loaded.rows("packets", point=0)


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "guess"},
        {"replicates": "five"},
        {"points": 5},
        {"points": [3]},
        {"points": [{"assignments": {}, "scenario": "x"}]},
    ],
)
def test_a_damaged_run_is_one_line(
    result: Result, tmp_path: Path, changed: dict[str, object]
) -> None:
    folder = result.save(tmp_path / "run")
    (folder / "run.json").write_text(json.dumps(result.run | changed))
    with refused("file", str(folder / "run.json"), "again"):
        Result.load(folder)


def test_packets_and_captures_on_request(leaky_pipe: Scenario, tmp_path: Path) -> None:
    (tmp_path / "pcap").mkdir()
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=2, duration="2 s")
    kept = simulate(alone, packets=True, pcap=tmp_path / "pcap")
    packets = kept.tables["packets"]
    assert packets.num_rows > 0
    assert {"time_s", "event", "hop", "flow", "sequence", "size_bytes"} <= set(packets.column_names)
    captures = list((tmp_path / "pcap").glob("*.pcap"))
    assert len(captures) == 4  # for each run, one at the senders and one at the receivers
    assert all(path.stat().st_size > 24 for path in captures)  # more than the file's header
    folder = kept.save(tmp_path / "run", {"pcap": tmp_path / "pcap"})
    assert {path.name for path in captures} == {path.name for path in (folder / "pcap").iterdir()}
    kept.save(folder, replace=True)  # captures are ours, and are replaced


@pytest.mark.parametrize("contents", [RESULT, GALLERY, COMPARISON], ids=lambda kind: kind.noun)
def test_what_a_kill_leaves_is_in_nobodys_way(contents: Contents, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def killed(_path: Path, _target: Path) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(Killed):
            write_whole(tmp_path / contents.mark, "{}")
    assert len(list(tmp_path.iterdir())) == 1
    refuse_foreign_folder(tmp_path, contents)
    staging = staged(tmp_path / "simulate")
    (staging.__enter__() / "flows.parquet").touch()  # and never exited
    refuse_foreign_folder(tmp_path, contents)
    (tmp_path / ".thesis.txt").touch()
    with refused("file", str(tmp_path)):
        refuse_foreign_folder(tmp_path, contents)


@pytest.mark.slow
def test_progress_rises_to_one(leaky_pipe: Scenario) -> None:
    shares: list[float] = []
    simulate(leaky_pipe.replace(duration="60 s"), progress=shares.append)
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)


def test_a_large_table_is_read_when_it_is_asked_for(leaky_pipe: Scenario, tmp_path: Path) -> None:
    alone = leaky_pipe.expand()[1].scenario.replace(replicates=2, duration="2 s")
    folder = simulate(alone, packets=True).save(tmp_path / "run")
    loaded = Result.load(folder)
    assert "packets" in loaded.tables
    assert loaded.tables["packets"].num_rows > loaded.tables["flows"].num_rows
    (folder / "packets.parquet").write_bytes(b"junk")
    assert Result.load(folder).tables["flows"].equals(loaded.tables["flows"])
    (folder / "flows.parquet").write_bytes(b"junk")
    with refused("file", str(folder / "flows.parquet"), "ackclock simulate"):
        Result.load(folder)


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    def write() -> None:
        with folder.whole(tmp_path / "full") as aside:
            aside.write_text("begun", encoding="utf-8")
            raise OSError(errno.ENOSPC, "Error writing bytes to file")

    with pytest.raises(OSError, match="full") as caught:
        write()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "full"))
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, folder.naming(tmp_path):
        (tmp_path / "source").read_bytes()
    assert caught.value.filename == str(tmp_path / "source")
