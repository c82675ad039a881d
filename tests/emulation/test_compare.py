"""`ackclock compare` with a stand-in for the machine: output, kept files and exit codes."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from ackclock import Result, load, plot
from ackclock.capture import measurement
from ackclock.comparison import each_method
from ackclock.run import address, simulation

from ..in_process import ackclock
from ..refusals import check, check_refusal, error_of, refused
from .pretended import LATE, Pretended, names_of

LOSS = "hops.wireless.impairments.0.probability"
QUICK = (
    "--replicates",
    "2",
    "--set",
    "duration=2 s",
    "--set",
    f'sweep={{"{LOSS}" = ["0.5 %", "5 %"]}}',
)
FOLDER = Path("out/leaky-compared")


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A stand-in for `measure`: it returns the tables of the captured run, without its hops.

    The list records its arguments.
    """
    asked = []

    def measure(
        source: Path,
        folder: Path,
        *,
        estimators: tuple,
        replace: bool,
        progress: Callable[[dict], None],
    ) -> Result:
        assert not estimators
        asked.append((source.name, folder.name))
        assert list((source / "pcap").iterdir())
        progress({"fraction": None})
        progress({"fraction": 1.0})
        run = Result.load(source)
        tables = {name: run.tables[name] for name in ("flows", "samples")}
        # Tables that a capture has, but no comparison reads.
        nothing = pa.array([], pa.int64())
        for name in ("connections", "limit_periods", "rtt_histogram"):
            tables[name] = pa.table(dict.fromkeys(names_of(name), nothing))
        tables |= dict.fromkeys(("estimates", "predictions"), pa.table({"point": nothing}))
        Result(run.run | {"method": "measure", "source": str(source), "captures": []}, tables).save(
            folder, replace=replace
        )
        return Result.load(folder)

    monkeypatch.setattr(measurement, "measure", measure)
    return asked


def simulations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Counts the simulations."""
    asked: list[object] = []
    genuine = simulation.simulate

    def simulate(*arguments: object, **options: object) -> Result:
        asked.append(arguments)
        return genuine(*arguments, **options)

    monkeypatch.setattr(simulation, "simulate", simulate)
    return asked


@pytest.mark.slow
def test_emulated_side_by_side(scenario_file: Path, pretended: Pretended, measuring: list) -> None:
    outcome = ackclock(
        "compare", scenario_file, *QUICK, "--side-by-side", "3", "--methods", "emulate,measure"
    )
    assert all(words in outcome.stderr for words in ("4 runs", "3 side by side", "4 s"))
    assert pretended.asked["emulate"]["side_by_side"] == 3
    assert measuring == [("emulate", "measure-emulate")]


@pytest.mark.slow
def test_tables_and_a_folder(scenario_file: Path, pretended: Pretended, measuring: list) -> None:
    outcome = ackclock("compare", scenario_file, *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    assert all(words in outcome.stderr for words in ("4 runs", "8 s"))
    assert "Goodput (Mbit/s)\n" in outcome.stdout
    assert "Tail RTT" not in outcome.stdout
    assert "of emulate" in outcome.stdout
    assert f"ackclock report {FOLDER}" in outcome.stdout
    assert outcome.stdout.rstrip().endswith(f"tables  {FOLDER}")
    names = ["emulate", "measure-emulate", "measure-simulate", "predict", "simulate"]
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(
        ["comparison.json", "comparison.parquet", *names]
    )
    assert [Result.load(FOLDER / name).run["method"] for name in names] == [
        "emulate", "measure", "measure", "predict", "simulate",
    ]  # fmt: skip
    assert measuring == [("simulate", "measure-simulate"), ("emulate", "measure-emulate")]
    assert pretended.asked["emulate"]["pcap"] is True


@pytest.mark.slow
@pytest.mark.usefixtures("pretended", "measuring")
def test_the_same_as_json_as_a_table_and_in_python(scenario_file: Path) -> None:
    answer = json.loads(ackclock("compare", scenario_file, *QUICK, "--json").stdout)
    assert (answer["folder"], answer["partial"], answer["reference"]) == (
        str(FOLDER),
        False,
        "simulate",
    )
    methods = answer["methods"]
    assert [(each["name"], each["answered"], each["reference"]) for each in methods] == [
        ("predict", True, "simulate"), ("simulate", True, None),
        ("measure-simulate", True, "simulate"), ("emulate", True, "simulate"),
        ("measure-emulate", True, "emulate"),
    ]  # fmt: skip
    assert parquet.read_table(FOLDER / "comparison.parquet").to_pylist() == answer["rows"]
    kept = json.loads((FOLDER / "comparison.json").read_text())
    assert kept["explanations"] == answer["explanations"]
    goodput = {
        row["method"]: row
        for row in answer["rows"]
        if (row["metric"], row["point"]) == ("goodput", 0)
    }
    # The stand-in's emulation is the engine's simulation.
    assert goodput["emulate"]["residual"] == goodput["measure-simulate"]["residual"] == 0
    assert goodput["emulate"]["standing"] == "within its interval"
    comparison = each_method.load(FOLDER)
    row = comparison.rows[0]
    assert row.cells["simulate"].interval.mean == goodput["simulate"]["mean"]
    assert [
        row["mean"]
        for row in answer["rows"]
        if (row["metric"], row["method"]) == ("rtt_p99", "emulate")
    ]


@pytest.mark.long
def test_captures_that_hold_nothing_leave_nulls(scenario_file: Path, pretended: Pretended) -> None:
    outcome = ackclock("compare", scenario_file, *QUICK)  # real measurement of made-up captures
    assert outcome.exit_code == 0
    [line] = [
        line for line in outcome.stderr.splitlines() if line.startswith("measure of emulate: ")
    ]
    assert "-to-senders.pcap" in line or "no capture" in line
    comparison = each_method.load(FOLDER)
    assert comparison.columns["measure-emulate"].result is None
    retransmitted = [row for row in comparison.rows if row.metric == "retransmissions"]
    assert {row.residuals["measure-simulate"].difference.mean for row in retransmitted} == {0}
    assert pretended.asked["emulate"]


@pytest.mark.slow
def test_a_machine_that_cannot_emulate_leaves_nulls(
    scenario_file: Path, pretended: Pretended, measuring: list
) -> None:
    pretended.lacking = "user namespaces are disabled (unshare: EPERM); run as root"
    outcome = ackclock("compare", scenario_file, *QUICK, "--json")
    assert outcome.exit_code == 0
    lines = outcome.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines if ": " in line][1:] == [
        "emulate",
        "measure of emulate",
    ]
    done = [line.split(" done ")[0].strip() for line in lines if " done " in line]
    assert done == ["predict", "simulate", "measure simulate"]
    rows = [row for row in json.loads(outcome.stdout)["rows"] if row["method"] == "emulate"]
    assert rows
    assert all((row["mean"], row["why_unknown"]) == (None, pretended.lacking) for row in rows)
    assert [source for source, _ in measuring] == ["simulate"]
    assert not (FOLDER / "emulate").exists()


def test_nothing_but_what_this_machine_cannot_is_exit_code_3(
    scenario_file: Path, pretended: Pretended
) -> None:
    pretended.lacking = "no namespaces; run as root"
    outcome = ackclock("compare", scenario_file, *QUICK, "--methods", "emulate")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    check(error_of(outcome), "lacking", "", pretended.lacking)
    assert not FOLDER.exists()


@pytest.mark.slow
def test_unreliable_runs_are_exit_code_4(scenario_file: Path, pretended: Pretended) -> None:
    pretended.verdicts = {(1, 0): LATE, (1, 1): LATE}
    chosen = ("--methods", "simulate,emulate")
    outcome = ackclock("compare", scenario_file, *QUICK, *chosen)
    assert outcome.exit_code == 4
    assert all(
        words in outcome.stderr.splitlines()[-1]
        for words in ("2 of 4 emulated runs", "--unreliable")
    )
    assert "2 of 4 runs of Linux are reliable." in " ".join(outcome.stdout.split())
    answered = [row for row in each_method.load(FOLDER).rows if row.cells["emulate"].is_known]
    assert {row.point for row in answered} == {0}
    taken_in = ackclock("compare", scenario_file, *QUICK, *chosen, "--unreliable")
    assert taken_in.exit_code == 4
    assert "--unreliable" not in taken_in.stderr
    answered = [
        row
        for row in each_method.load(FOLDER, averages_unreliable=True).rows
        if row.cells["emulate"].is_known
    ]
    assert {row.point for row in answered} == {0, 1}


@pytest.mark.slow
def test_a_failed_run_is_exit_code_4(scenario_file: Path, pretended: Pretended) -> None:
    pretended.failure, pretended.complete = "the receivers' host ended", False
    outcome = ackclock("compare", scenario_file, *QUICK)
    assert outcome.exit_code == 4
    assert each_method.load(FOLDER).columns["simulate"].result is not None


@pytest.mark.slow
def test_real_time_is_limited_and_announced(scenario_file: Path, pretended: Pretended) -> None:
    chosen = (
        "--methods",
        "simulate,emulate",
        "--replicates",
        3,
        "--set",
        f'sweep={{"{LOSS}" = ["0 %", "1 %", "2 %"]}}',
    )
    outcome = ackclock("compare", scenario_file, *chosen, "--real-time", "11 s")
    assert outcome.exit_code == 0
    [announced] = [line for line in outcome.stderr.splitlines() if "in real time" in line]
    assert all(words in announced for words in ("2 runs", "10 s", "1 of 3 points"))
    asked = [json.loads(tree) for tree in pretended.asked["emulate"]["points"]]
    assert [tree["hops"][1]["impairments"][0]["probability"] for tree in asked] == ["0 %", "2 %"]
    goodput = [row for row in each_method.load(FOLDER).rows if row.metric == "goodput"]
    assert [row.cells["emulate"].is_known for row in goodput] == [True, False, True]
    assert goodput[1].cells["emulate"].why.startswith("left out to stay within 11 s")
    assert {row.residuals["emulate"].standing for row in (goodput[0], goodput[2])} <= {
        "no interval", "within its interval",
    }  # fmt: skip
    nothing = ackclock("compare", scenario_file, *chosen, "--real-time", "1 s", "-o", "other")
    assert nothing.exit_code == 0
    assert "a run of 5 s is longer than 1 s" in nothing.stderr


@pytest.mark.slow
def test_what_is_there_is_used_again(
    scenario_file: Path, pretended: Pretended, measuring: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = simulations(monkeypatch)
    first = ackclock("compare", scenario_file, *QUICK)
    files = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    pretended.asked.clear()
    again = ackclock("compare", scenario_file, *QUICK)
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert (len(simulated), len(measuring), "emulate" in pretended.asked) == (1, 2, False)
    assert f"emulate: taken from {FOLDER / 'emulate'}" in again.stderr
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == files
    # Another seed or another number of replicates is another run.
    other = ("compare", scenario_file, *QUICK, "--seed", 2)
    check_refusal(ackclock(*other), "file", str(FOLDER), "--force")
    ackclock(*other, "--force")
    assert (len(simulated), len(measuring), "emulate" in pretended.asked) == (2, 4, True)
    # What was damaged, or replaced by another command, is made again.
    (FOLDER / "simulate/flows.parquet").unlink()
    ackclock("compare", scenario_file, *QUICK, "--seed", 2)
    assert len(simulated) == 3
    ackclock("simulate", scenario_file, *QUICK, "--seed", 3, "--force", "-o", FOLDER / "simulate")
    ackclock("compare", scenario_file, *QUICK, "--seed", 2)
    assert len(simulated) == 5
    assert Result.load(FOLDER / "simulate").run["seed"] == "2"


@pytest.mark.long
def test_another_build_emulates_no_second_time(
    scenario_file: Path, pretended: Pretended, measuring: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = simulations(monkeypatch)
    ackclock("compare", scenario_file, *QUICK)
    pretended.asked.clear()
    monkeypatch.setattr(address, "engine", lambda: "another build")
    monkeypatch.setattr(address, "package", lambda *_name: "another build")
    assert "emulate: taken from" in ackclock("compare", scenario_file, *QUICK).stderr
    assert (len(simulated), len(measuring), "emulate" in pretended.asked) == (2, 4, False)
    # Another device carries packets differently.
    ackclock("compare", scenario_file, *QUICK, "--device", "tun")
    assert pretended.asked["emulate"]["device"] == "tun"


@pytest.mark.slow
def test_an_interrupted_command_goes_on(
    scenario_file: Path, pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = simulations(monkeypatch)
    pretended.complete = False
    cut = ackclock("compare", scenario_file, *QUICK)
    assert cut.exit_code == 130
    assert "Goodput" in cut.stdout
    assert each_method.load(FOLDER).partial
    pretended.complete = True
    assert ackclock("compare", scenario_file, *QUICK).exit_code == 0
    assert not each_method.load(FOLDER).partial
    assert len(simulated) == 1


def test_ctrl_c_before_the_dear_way_keeps_what_there_is(
    scenario_file: Path, pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = simulation.simulate

    def cut(*arguments: object, **options: object) -> Result:
        whole = genuine(*arguments, **options)
        return Result(whole.run | {"partial": True}, whole.tables)

    monkeypatch.setattr(simulation, "simulate", cut)
    outcome = ackclock("compare", scenario_file, *QUICK)
    assert outcome.exit_code == 130
    assert "emulate: interrupted before" in outcome.stderr
    assert "emulate" not in pretended.asked
    assert each_method.load(FOLDER).columns["simulate"].result is not None


@pytest.mark.usefixtures("pretended")
def test_a_kill_leaves_no_tables_of_other_results(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ackclock("compare", scenario_file, *QUICK, "--methods", "simulate").exit_code == 0

    def die(*_arguments: object, **_options: object) -> None:
        raise SystemExit(9)

    monkeypatch.setattr(simulation, "simulate", die)
    assert (
        ackclock("compare", scenario_file, *QUICK, "--methods", "simulate", "--seed", 3).exit_code
        == 9
    )
    check_refusal(ackclock("report", FOLDER), "file", str(FOLDER), "ackclock compare")


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("leaky.toml", "--set", "hops.wired.delay=35"), "no-unit", "hops.wired.delay"),
        (("leaky.toml", "--methods", "simulate,guess"), "unknown-name", "--methods"),
        (("leaky.toml", "--methods", "measure"), "missing", "--methods"),
        (("leaky.toml", "--real-time", "forty"), "wrong-type", "--real-time"),
        (("leaky.toml", "--real-time", "0 s"), "out-of-range", "--real-time"),
        (("leaky.toml", "--metrics", "speed"), "unknown-name", "--metrics"),
        (("leaky.toml", "-o", "leaky.toml"), "file", "leaky.toml"),
        (("leaky.toml", "-o", "."), "file", "."),
        (("missing.toml",), "file", "missing.toml"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_run(
    scenario_file: Path, pretended: Pretended, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(ackclock("compare", *arguments), code, field)
    assert pretended.asked == {}
    assert list(Path().iterdir()) == [scenario_file]


@pytest.mark.usefixtures("pretended")
def test_what_is_not_ours_is_not_touched(scenario_file: Path) -> None:
    ackclock("compare", scenario_file, *QUICK, "--methods", "predict,simulate")
    (FOLDER / "simulate/thesis.txt").write_text("years of work")
    outcome = ackclock(
        "compare", scenario_file, *QUICK, "--methods", "predict,simulate", "--seed", 2
    )
    check_refusal(outcome, "file", str(FOLDER), "simulate/thesis.txt")


@pytest.mark.long
@pytest.mark.usefixtures("pretended", "measuring")
def test_figures_and_the_page(scenario_file: Path, tmp_path: Path) -> None:
    ackclock("compare", scenario_file, *QUICK)
    outcome = ackclock("plot", FOLDER, "--metric", "rtt")
    assert outcome.exit_code == 0, outcome.stderr
    assert sorted(path.name for path in (FOLDER / "figures").iterdir()) == [
        "cwnd.svg",
        "sweep_rtt.svg",
        "throughput.svg",
    ]
    check_refusal(
        ackclock("plot", FOLDER, "--kind", "queue"), "no-data", "--kind", "sweep, throughput, cwnd"
    )
    for options in (("--connection", 1), ("--from", "1 s")):
        check_refusal(ackclock("plot", FOLDER, *options), "contradiction", options[0])
    assert ackclock("report", FOLDER).exit_code == 0
    page = FOLDER / "report.html"
    first = page.read_bytes()
    assert b"Answers by method" in first
    assert ackclock("report", FOLDER).exit_code == 0
    assert page.read_bytes() == first
    # A folder with figures and a page may be compared again.
    assert ackclock("compare", scenario_file, *QUICK).exit_code == 0
    assert ackclock("report", FOLDER, FOLDER).exit_code == 2
    shutil.rmtree(FOLDER)
    assert list(tmp_path.rglob(".comparison*")) == []


def test_throughput_is_averaged_over_as_long_however_often_there_are_samples(
    scenario_file: Path,
) -> None:
    scenario = load(scenario_file).replace(
        {"replicates": 2, "duration": "2 s", "sample_interval": "50 ms", "sweep": {}}
    )
    comparison = each_method.compare(scenario, "compared", asked=("simulate",))
    [line] = plot.figures(comparison)["throughput"]().axes[0].lines
    steps = np.diff(line.get_xdata())
    assert len(steps) > 10
    assert steps.min() >= 0.999 * 2 / 25


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_before_any_answer_leaves_nothing(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr(simulation, "simulate", interrupt)
    outcome = ackclock("compare", scenario_file, *QUICK, "--methods", "simulate,emulate")
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    check(error_of(outcome), "interrupted", "")
    assert not FOLDER.exists()


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"asked": ("simulate", "guess")}, "unknown-name"),
        ({"asked": ("measure",)}, "missing"),
        ({"asked": ("predict", "measure")}, "missing"),
        ({"asked": ()}, "missing"),
        ({"models": "crystal_ball"}, "unknown-name"),
    ],
)
def test_what_there_is_not_is_refused_at_once(scenario_file: Path, wrong: dict, code: str) -> None:
    with refused(code, ""):
        each_method.compare(load(scenario_file), "compared", **wrong)
    assert not Path("compared").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_from_python(scenario_file: Path) -> None:
    scenario = load(scenario_file).replace(replicates=2, duration="2 s", sweep={})
    comparison = each_method.compare(scenario, "compared", asked=("predict", "simulate", "emulate"))
    assert list(comparison.columns) == ["predict", "simulate", "emulate"]
    assert comparison.metrics[0] == "goodput"
    again = each_method.load("compared")
    assert [row.residuals for row in again.rows] == [row.residuals for row in comparison.rows]
