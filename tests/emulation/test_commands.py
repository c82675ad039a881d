"""`ackclock emulate` and `ackclock replay` with a stand-in for the machine.

Tests output and exit codes.
"""

import json
import re
from pathlib import Path

import pytest

from ackclock import Result

from ..in_process import ackclock
from ..refusals import check, check_refusal, error_of
from .pretended import LATE, Pretended

QUICK = ("--replicates", "2", "--set", "duration=2 s", "--set", "sweep={}")


def test_a_summary_and_a_folder(scenario_file: Path, pretended: Pretended) -> None:
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("leaky pipe: one Reno flow, 11 Mbit/s, 70 ms, ")
    assert "means of 2 replicates ± 95 % confidence where the digits show it" in outcome.stdout
    assert "PFTK" in outcome.stdout
    assert f"  result  {Path('out') / 'leaky'}\n" in outcome.stdout
    assert Result.load("out/leaky").run["method"] == "emulate"
    assert pretended.asked["emulate"]["device"] == "automatic"


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("verb", ["simulate", "emulate"])
def test_an_emulation_is_replaced_only_by_force(scenario_file: Path, verb: str) -> None:
    ackclock("emulate", scenario_file, *QUICK)
    before = Path("out/leaky/run.json").read_bytes()
    arguments = (verb, scenario_file, *QUICK)
    check_refusal(ackclock(*arguments), "file", "out/leaky", "emulation", "--force")
    assert Path("out/leaky/run.json").read_bytes() == before
    ackclock(*arguments, "--force")
    assert Result.load("out/leaky").run["method"] == verb


def test_as_json(scenario_file: Path, pretended: Pretended) -> None:
    pretended.verdicts = {(0, 1): LATE}
    outcome = ackclock(
        "emulate", scenario_file, *QUICK, "-o", "run", "--no-pcap", "--device", "tun", "--json"
    )
    answer = json.loads(outcome.stdout)
    assert outcome.exit_code == 4
    assert [(row["replicate"], row["reliable"], row["verdict"]) for row in answer["fidelity"]] == [
        (0, 1, "reliable"), (1, 0, LATE),
    ]  # fmt: skip
    assert answer["flows"][0]["goodput"]["replicates"] == 1
    assert {row["hop"] for row in answer["hops"]} == {"wired", "wireless", "return"}
    assert (pretended.asked["emulate"]["device"], pretended.asked["emulate"]["pcap"]) == (
        "tun",
        False,
    )
    assert pretended.asked["emulate"]["side_by_side"] == 1


def test_side_by_side(scenario_file: Path, pretended: Pretended) -> None:
    assert ackclock("emulate", scenario_file, *QUICK, "--side-by-side", "2").exit_code == 0
    assert pretended.asked["emulate"]["side_by_side"] == 2
    refused = ackclock("emulate", scenario_file, *QUICK, "--side-by-side", "0")
    check_refusal(refused, "out-of-range", "--side-by-side", 0, 1000)


@pytest.mark.slow
def test_an_unreliable_run_is_one_line_and_exit_code_4(
    scenario_file: Path, pretended: Pretended
) -> None:
    pretended.verdicts = {(0, 1): LATE}
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        f"warning: point 0, replicate 1: {LATE}",
        "ackclock: unreliable: 1 of 2 runs; averages leave them out; --unreliable includes them",
    ]
    assert "1 unreliable run left out" in " ".join(outcome.stdout.split())
    taken_in = ackclock("emulate", scenario_file, *QUICK, "--unreliable", "--force")
    assert taken_in.exit_code == 4
    assert "1 unreliable run taken in" in " ".join(taken_in.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["plot", "report"])
def test_asking_for_unreliable_runs_changes_what_is_drawn(
    scenario_file: Path, pretended: Pretended, command: str
) -> None:
    pretended.verdicts = {(1, 0): LATE}
    sweep = 'sweep={"hops.wireless.impairments.0.probability" = ["0.5 %", "5 %"]}'
    ackclock("emulate", scenario_file, *QUICK[:-1], sweep, "-o", "run")
    drawn = {}
    options, file = {
        "plot": (("--kind", "sweep"), Path("run/sweep.svg")),
        "report": ((), Path("run/report.html")),
    }[command]
    for asked in ((), ("--unreliable",)):
        outcome = ackclock(command, "run", *asked, *options, "-o", file)
        assert outcome.exit_code == 0, outcome.stderr
        drawn[asked] = file.read_bytes()
    assert drawn[()] != drawn["--unreliable",]


def test_settings_that_are_not_as_asked(scenario_file: Path, pretended: Pretended) -> None:
    pretended.refused = [f"setting_{number}" for number in range(7)]
    pretended.warnings = ["real-time priority refused; delays may be late"]
    pretended.complaints = ["flow main/0 failed: reset"] * 2
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert outcome.exit_code == 0
    assert outcome.stderr.splitlines() == [
        "warning: real-time priority refused; delays may be late",
        "warning: flow main/0 failed: reset",
        "warning: 7 settings are not as in the scenario (setting_0, setting_1, setting_2, …); "
        "the table settings says why",
    ]


def test_a_machine_that_cannot_is_one_line(scenario_file: Path, pretended: Pretended) -> None:
    pretended.lacking = "user namespaces are disabled (unshare: EPERM); run as root"
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    check(error_of(outcome), "lacking", "", pretended.lacking)
    assert list(Path().iterdir()) == [scenario_file]


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("leaky.toml", "--set", "hops.wired.delay=35"), "no-unit", "hops.wired.delay"),
        (("leaky.toml", "--device", "tap"), "unknown-name", "--device"),
        (("leaky.toml", "-o", "leaky.toml"), "file", "leaky.toml"),
        (("leaky.toml", "-o", "."), "file", "."),
        (("missing.toml",), "file", "missing.toml"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_asked_of_the_machine(
    scenario_file: Path, pretended: Pretended, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(ackclock("emulate", *arguments), code, field)
    assert pretended.asked == {}
    assert list(Path().iterdir()) == [scenario_file]


def test_an_interrupted_run_is_partial(scenario_file: Path, pretended: Pretended) -> None:
    pretended.complete = False
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert outcome.exit_code == 130
    assert outcome.stderr == "warning: interrupted: replicates or points are missing\n"
    assert "interrupted, of what was run: " in outcome.stdout


@pytest.mark.usefixtures("pretended")
def test_ctrl_c_while_tables_are_written_says_what_is_left(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.parquet.write_table", interrupt)
    outcome = ackclock("emulate", scenario_file, *QUICK, "-o", "run")
    assert outcome.exit_code == 130
    check(error_of(outcome), "interrupted", "", "ackclock replay")
    check_refusal(ackclock("plot", "run"), "file", "run", "ackclock replay run")
    assert ackclock("replay", "run").exit_code == 0


def test_a_failed_run_is_exit_code_4(scenario_file: Path, pretended: Pretended) -> None:
    pretended.failure, pretended.complete = "the receivers' host ended", False
    outcome = ackclock("emulate", scenario_file, *QUICK)
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        "warning: a run failed, replicates or points are missing: the receivers' host ended",
        "ackclock: a run failed; the result has the others",
    ]


@pytest.mark.slow
def test_a_long_run_says_at_once_how_long_and_how_fast(
    scenario_file: Path, pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ackclock.cli.progress._QUIET_S", 10.0)
    pretended.complete = False
    outcome = ackclock("emulate", scenario_file, "--replicates", 2)  # of six points of 5 s
    first, *_ = outcome.stderr.splitlines()
    assert first == "emulate leaky.toml: 25%, run 2 of 12, 9.612 Mbit/s, 45 s left"


def test_replay_that_agrees(scenario_file: Path, pretended: Pretended) -> None:
    ackclock("emulate", scenario_file, *QUICK, "-o", "run")
    outcome = ackclock("replay", "run")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert re.search("^ *0 +1 +100 +90 +whole +no *$", outcome.stdout, re.MULTILINE)
    assert [
        run["difference"] for run in json.loads(ackclock("replay", "run", "--json").stdout)
    ] == [None, None]
    assert pretended.asked["replay"]["folder"] == str(Path.cwd())


def test_replay_of_a_run_that_was_killed_says_how_far_it_goes(
    scenario_file: Path, pretended: Pretended
) -> None:
    ackclock("emulate", scenario_file, *QUICK, "-o", "run")
    pretended.recorded_s = 3.2987
    outcome = ackclock("replay", "run")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert re.search("^ *0 +1 +100 +90 +partial, 3.2 s of 5 s +no *$", outcome.stdout, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_replay_that_does_not_is_exit_code_4(
    scenario_file: Path, pretended: Pretended, arguments: tuple[str, ...]
) -> None:
    ackclock("emulate", scenario_file, *QUICK, "-o", "run")
    pretended.differences = {
        (0, 1): "decision 7: recorded nothing, replayed packet 3 Dropped at 12 ns, hop 0"
    }
    outcome = ackclock("replay", "run", *arguments)
    assert outcome.exit_code == 4
    assert outcome.stdout
    assert outcome.stderr == (
        "ackclock: 1 of 2 runs differ; point 0, replicate 1: decision 7: recorded nothing, "
        "replayed packet 3 Dropped at 12 ns, hop 0\n"
    )


@pytest.mark.slow
def test_replay_without_a_record_is_one_line(scenario_file: Path, pretended: Pretended) -> None:
    ackclock("emulate", scenario_file, *QUICK, "-o", "run")
    for record in Path("run/record").iterdir():
        record.unlink()
    ackclock("simulate", scenario_file, *QUICK, "-o", "simulated")
    for folder in ("run", "simulated", "nowhere"):
        check_refusal(ackclock("replay", folder), "file", folder)
    assert pretended.asked["replay"]
