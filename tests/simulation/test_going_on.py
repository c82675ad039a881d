"""A simulation that was stopped continues after its finished runs, with the same result."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from ackclock import Result, load
from ackclock.cli import cli
from ackclock.run import simulation
from ackclock.run.finished import FOLDER, FinishedRuns

from ..refusals import check_refusal

FIRST = Path(__file__).parents[2] / "examples" / "first.toml"

LASTING = ("--set", "duration=100 s", "--set", "sample_interval=1 s", "--threads", "1")
# Long enough that some runs are kept before all have ended, on any machine.
LONG = ("--replicates", "3000", *LASTING)
SHORT = ("--replicates", "2", "--set", "duration=2 s")
FEW = ("--replicates", "5", "--set", "duration=4 s", "--set", "sample_interval=1 s")
#: Runs of six points with five replicates each.
RUNS = 6 * 5

Ended = Callable[[int, tuple[str, ...]], int]

#: Simulates as the command does, and ends by a signal in the second ten runs, on any machine.
ENDED_EARLY = """\
import os, sys
from ackclock import engine
from ackclock.cli import main

number, sys.argv = int(sys.argv[1]), ["ackclock", "simulate", *sys.argv[2:]]
simulate = engine.simulate
runs = [(point, replicate) for point in range(6) for replicate in range(5)]

def end(_):
    os.kill(os.getpid(), number)

def simulate_some(*where, finished, take, progress, **options):
    first = simulate(*where, finished=runs[10:], take=None, progress=None, **options)
    take(first["keys"], first["tables"])
    others = runs[:10] + runs[20:]
    return simulate(*where, finished=others, take=take, progress=end, **options) | {
        "complete": False
    }

engine.simulate = simulate_some
main()
"""


def started(number: int, command: list[str]) -> subprocess.Popen:
    """Starts a command that heeds a signal.

    Signals may be ignored where tests run (nohup), and child processes inherit that.
    """
    heeded = partial(signal.signal, number, signal.SIG_DFL) if number != signal.SIGKILL else None
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=heeded
    )


def ended_early(number: int, *arguments: str) -> int:
    """Simulates 10 to 20 of all runs, and returns the exit code."""
    command = [sys.executable, "-c", ENDED_EARLY, str(int(number)), *arguments]
    return started(number, command).wait()


@pytest.fixture
def ended(scenario_file: Path) -> Ended:
    """Returns a function that stops `simulate` once some runs are kept, and returns the exit code.

    It starts the command in a process of its own and sends it a signal.
    """

    def end(number: int, arguments: tuple[str, ...]) -> int:
        command = [sys.executable, "-m", "ackclock", "simulate", str(scenario_file)]
        child = started(number, [*command, "-o", "run", *arguments])
        try:
            while not list(Path("run").glob(f"{FOLDER}/*.json")) and child.poll() is None:
                time.sleep(0.05)
            child.send_signal(number)
            return child.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()

    return end


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Watches the next simulation; the list gets the number of runs that were kept before it."""
    simulate, kept_runs = simulation.simulate, []

    def watching(scenario, *, kept, **options):
        kept_runs.append(len(kept.keys))
        return simulate(scenario, kept=kept, **options)

    monkeypatch.setattr(simulation, "simulate", watching)
    return kept_runs


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130), ("SIGKILL", -9)]
)
def test_whatever_ends_it_finished_runs_are_kept(ended: Ended, name: str, code: int) -> None:
    assert ended(getattr(signal, name), LONG) == code
    kept = list(Path("run").glob(f"{FOLDER}/*.json"))
    assert kept
    if name == "SIGKILL":
        assert not (Path("run") / "run.json").exists()
    else:
        result = Result.load("run")
        assert result.partial
        assert result.tables["flows"].num_rows > 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
def test_the_same_command_goes_on_and_the_result_is_as_if_made_at_once(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    arguments = (str(scenario_file), *FEW)
    assert ended_early(getattr(signal, name), *arguments, "-o", "run") == code
    with monkeypatch.context() as patch:
        kept_runs = watched(patch)
        again = CliRunner().invoke(cli, ["simulate", *arguments, "-o", "run"])
    assert again.exit_code == 0, again.output
    assert 10 <= kept_runs[0] <= 20
    assert not list(Path("run").glob(f"{FOLDER}*")), "what was kept goes when the result is whole"
    whole = CliRunner().invoke(cli, ["simulate", *arguments, "-o", "whole"])
    assert whole.exit_code == 0
    resumed, other = Result.load("run"), Result.load("whole")
    for table in ("flows", "samples", "hops", "events"):
        assert resumed.tables[table].equals(other.tables[table])


@pytest.mark.long
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
def test_captures_go_on_too(scenario_file: Path, name: str, code: int) -> None:
    arguments = (str(scenario_file), *FEW, "--pcap")
    assert ended_early(getattr(signal, name), *arguments, "-o", "run") == code
    kept = {path.name for path in Path(f"run/{FOLDER}/pcap").iterdir()}
    assert 10 * 2 <= len(kept) <= 20 * 2
    for folder in ("run", "whole"):
        outcome = CliRunner().invoke(cli, ["simulate", *arguments, "-o", folder])
        assert outcome.exit_code == 0, outcome.output
    captures = [
        {path.name: path.read_bytes() for path in Path(folder, "pcap").iterdir()}
        for folder in ("run", "whole")
    ]
    assert len(captures[0]) == RUNS * 2
    assert captures[0] == captures[1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
def test_tables_of_packets_go_on_too_and_come_run_by_run(
    scenario_file: Path, name: str, code: int
) -> None:
    arguments = (str(scenario_file), *FEW, "--packets")
    assert ended_early(getattr(signal, name), *arguments, "--threads", "2", "-o", "run") == code
    assert 10 <= len(list(Path("run", FOLDER).glob("*/packets-*"))) <= 20
    for folder, threads in (("run", 2), ("whole", 1)):
        several = ("--threads", str(threads), "-o", folder)
        outcome = CliRunner().invoke(cli, ["simulate", *arguments, *several])
        assert outcome.exit_code == 0, outcome.output
    files = [Path(folder, "packets.parquet").read_bytes() for folder in ("run", "whole")]
    assert files[0] == files[1]


@pytest.mark.slow
def test_more_rows_of_packets_than_a_chunk_has_are_those_of_memory(tmp_path: Path) -> None:
    scenario = load(FIRST).replace({"duration": "60 s", "replicates": 2})
    kept = FinishedRuns(tmp_path, "any")
    streamed = simulation.simulate(scenario, packets=True, kept=kept)
    rows = streamed.tables["packets"]
    assert rows.num_rows > 2 * 65_536
    assert rows.equals(simulation.simulate(scenario, packets=True).tables["packets"])
    kept.close()


def simulate(*arguments: object) -> object:
    return CliRunner().invoke(cli, ["simulate", "leaky.toml", *SHORT, *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_another_result_is_replaced_only_by_force() -> None:
    assert simulate("-o", "run").exit_code == 0
    before = (Path("run") / "run.json").read_bytes()
    check_refusal(simulate("-o", "run", "--seed", 7), "file", "run", "--force")
    assert (Path("run") / "run.json").read_bytes() == before
    forced = simulate("-o", "run", "--seed", 7, "--force")
    assert forced.exit_code == 0
    assert forced.stderr.splitlines()[0] == "replaces the result in run"
    assert Result.load("run").run["seed"] == "7"


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_the_default_folder_is_replaced_and_that_is_said() -> None:
    assert "replaces" not in simulate().stderr
    assert simulate("--seed", 7).stderr.splitlines()[0] == "replaces the result in out/leaky"
    assert Result.load("out/leaky").run["seed"] == "7"


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_a_whole_result_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = simulate("-o", "run")
    with monkeypatch.context() as patch:
        patch.setattr(simulation, "simulate", lambda *_, **__: pytest.fail("was run"))
        again = simulate("-o", "run")
    assert again.exit_code == 0
    assert first.stdout.startswith(again.stdout), "but for the time it took"
    assert simulate("-o", "run", "--packets").exit_code == 0, "the same with a table more"
    assert "packets" in Result.load("run").tables
