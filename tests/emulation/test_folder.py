"""The folder of an emulation: usable at any time.

An earlier result is kept until there will surely be a new one.
"""

import errno
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import LackingError, Result, Scenario, ScenarioError, emulate, replay, simulate
from ackclock.errors import InputError
from ackclock.result import spool
from ackclock.result.run_json import read_run

from ..refusals import refused
from .pretended import Pretended, tcp_info


@pytest.fixture
def pipe(leaky_pipe: Scenario) -> Scenario:
    """One point, two replicates, quick."""
    return leaky_pipe.expand()[1].scenario.replace({"duration": "2 s", "replicates": 2})


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.usefixtures("pretended")
def test_everything_is_in_one_folder(pipe: Scenario, tmp_path: Path) -> None:
    result = emulate(pipe, tmp_path / "deep" / "run")
    assert sorted(contents(tmp_path)) == [
        *(
            f"deep/run/{name}.parquet"
            for name in ("counters", "events", "fidelity", "flows", "hops", "lateness")
        ),
        *(f"deep/run/pcap/point-0-replicate-{replicate}-to-senders.pcap" for replicate in (0, 1)),
        *(f"deep/run/record/point-0-replicate-{replicate}.ackrec" for replicate in (0, 1)),
        "deep/run/run.json",
        *(f"deep/run/{name}.parquet" for name in ("samples", "settings", "tcp_info")),
    ]
    assert result.run["method"] == "emulate"
    assert not result.partial
    assert result.run["machine"] == {
        "kernel": "Linux 6.0", "device": "tun", "priority": "SCHED_FIFO", "processors": 2,
    }  # fmt: skip
    assert result.run["folder"] == str(pipe.folder.resolve())
    assert result.tables["flows"].equals(simulate(pipe).tables["flows"])
    assert result.tables["tcp_info"]["time_s"].to_pylist() == [0.01, 0.02]
    assert result.tables["tcp_info"]["ssthresh_segments"].null_count == 2
    assert result.tables["events"].num_rows == 0


def test_what_is_run_is_what_run_json_says(
    pretended: Pretended, pipe: Scenario, tmp_path: Path
) -> None:
    result = emulate(pipe, tmp_path / "run", device="packet_socket", pcap=False)
    trees = [point["scenario"] for point in result.points]
    for call in ("prepare_emulation", "emulate"):
        assert [json.loads(tree) for tree in pretended.asked[call]["points"]] == trees
        assert pretended.asked[call]["device"] == "packet_socket"
    assert pretended.asked["emulate"]["pcap"] is False
    assert not (tmp_path / "run" / "pcap").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "pieces"), [(2, 100), (3, 100), (100, 2), (7, 2)])
def test_a_table_that_comes_in_many_pieces(
    pretended: Pretended,
    pipe: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    pieces: int,
) -> None:
    monkeypatch.setattr(spool, "_ROWS", rows)
    monkeypatch.setattr(spool, "_PIECES", pieces)
    pretended.blocks = [
        [tcp_info(0.1 * number, flow) for flow in ("main", f"other-{number}")]
        for number in range(5)
    ]
    table = emulate(pipe, tmp_path / "run").tables["tcp_info"]
    assert table["time_s"].to_pylist() == [
        row["time_s"] for block in pretended.blocks for row in block
    ]
    assert table["flow"].to_pylist() == [row["flow"] for block in pretended.blocks for row in block]


def test_without_tcp_there_is_no_tcp_info(
    pretended: Pretended, pipe: Scenario, tmp_path: Path
) -> None:
    pretended.blocks = []
    assert "tcp_info" not in emulate(pipe, tmp_path / "run").tables


@pytest.mark.parametrize("reason", ["lacking", "scenario", "foreign"])
def test_an_earlier_result_is_kept_unless_there_will_be_a_new_one(
    pretended: Pretended, pipe: Scenario, tmp_path: Path, reason: str
) -> None:
    folder = simulate(pipe).save(tmp_path / "run")
    if reason == "lacking":
        pretended.lacking = "no namespaces; run as root"
    elif reason == "scenario":
        pipe = pipe.replace({"hops.wired.delay": "35"})
    else:
        (folder / "thesis.tex").write_text("years of work")
    before = contents(tmp_path)
    kinds = {"lacking": LackingError, "scenario": ScenarioError, "foreign": InputError}
    with pytest.raises(kinds[reason]):
        emulate(pipe, folder)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("pretended")
def test_a_result_is_replaced_whole(pipe: Scenario, tmp_path: Path) -> None:
    emulate(pipe.replace(replicates=3), tmp_path / "run")
    with refused("file", str(tmp_path / "run"), "replace=True"):
        emulate(pipe, tmp_path / "run", pcap=False)
    assert len(list((tmp_path / "run" / "record").iterdir())) == 3
    emulate(pipe, tmp_path / "run", pcap=False, replace=True)
    names = {path.relative_to(tmp_path / "run").parts[0] for path in (tmp_path / "run").rglob("*")}
    assert "pcap" not in names
    assert len(list((tmp_path / "run" / "record").iterdir())) == 2
    assert (
        simulate(pipe).save(tmp_path / "run", replace=True).exists()
    )  # records are ours, and are replaced


KILLED = """\
import os, signal
from pathlib import Path
from ackclock import emulate, load
from tests.emulation.pretended import Pretended
import pyarrow.parquet
import pytest

def end(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

with pytest.MonkeyPatch.context() as patch:
    pretended = Pretended().take_the_place(patch)
    if {midway}:
        pretended.midway = end
    else:
        patch.setattr("ackclock.result.writer.Path.replace", end)
    emulate(load("leaky.toml").replace({{"duration": "2 s"}}), "run")
"""


@pytest.fixture
def killed(
    scenario_file: Path,
    run_python: Callable[..., subprocess.CompletedProcess],
    request: pytest.FixtureRequest,
) -> Path:
    """Returns a folder whose run was killed: midway, or before its very last step."""
    root = str(Path(__file__).resolve().parents[2])
    outcome = run_python(
        "-c", KILLED.format(midway=request.param), env=os.environ | {"PYTHONPATH": root}
    )
    assert outcome.returncode == -signal.SIGKILL, outcome.stderr
    assert sorted(path.name for path in Path().iterdir()) == [scenario_file.name, "run"]
    return Path("run")


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True], indirect=True)
def test_a_run_that_is_killed_leaves_what_replay_needs_and_nothing_else(
    killed: Path, pretended: Pretended
) -> None:
    names = {path.relative_to(killed).parts[0] for path in killed.rglob("*")}
    assert names == {"run.json", "record", "pcap"}
    assert json.loads((killed / "run.json").read_text())["partial"] is True
    with refused("file", "run", "flows", "ackclock replay run"):
        Result.load(killed)
    runs = replay(killed)
    assert len(runs) == 18
    assert [json.loads(tree) for tree in pretended.asked["replay"]["points"]] == [
        point["scenario"] for point in json.loads((killed / "run.json").read_text())["points"]
    ]
    assert pretended.asked["replay"]["folder"] == str(Path.cwd())


@pytest.mark.long
@pytest.mark.parametrize("killed", [False], indirect=True)
@pytest.mark.usefixtures("pretended")
def test_tables_that_no_manifest_knows_are_not_trusted(killed: Path) -> None:
    assert (killed / "flows.parquet").exists()
    with refused("file", "run", "flows", "ackclock replay run"):
        Result.load(killed)
    emulate(Scenario(read_run(killed)["scenario"]), killed, replace=True)  # all files are ours
    assert not Result.load(killed).partial


@pytest.mark.usefixtures("pretended")
def test_ctrl_c_while_tables_are_written(
    pipe: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.parquet.write_table", interrupt)
    with pytest.raises(KeyboardInterrupt, match="ackclock replay"):
        emulate(pipe, tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "pcap",
        "record",
        "run.json",
    ]


def test_a_full_disk_leaves_the_record(
    pretended: Pretended, pipe: Scenario, tmp_path: Path
) -> None:
    def full(_folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pretended.midway = full
    with pytest.raises(OSError, match="No space left"):
        emulate(pipe, tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "pcap",
        "record",
        "run.json",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("name", ["machine", "folder", "points"])
def test_a_description_that_lacks_something_says_what(
    pipe: Scenario, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "run"
    run = emulate(pipe, folder).run
    (folder / "run.json").write_text(
        json.dumps({key: value for key, value in run.items() if key != name})
    )
    for read in (Result.load, replay):
        with refused("file", str(folder / "run.json"), name, "ackclock emulate"):
            read(folder)


def test_replay_wants_an_emulation(pipe: Scenario, tmp_path: Path) -> None:
    with refused("file", str(tmp_path / "run"), "simulate"):
        replay(simulate(pipe).save(tmp_path / "run"))
    with refused("file", str(tmp_path)):
        replay(tmp_path)
