"""`ackclock predict MODEL`: plain numbers and inverse questions on the command line."""

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ackclock.cli import cli
from ackclock.models import MODELS, model, pftk

from .refusals import check_refusal


def predict(*arguments: str) -> Outcome:
    return CliRunner().invoke(cli, ["predict", *arguments])


def answers(*arguments: str) -> list[dict]:
    outcome = predict(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)["answers"]


def test_plain_numbers() -> None:
    outcome = predict(
        "pftk", "--loss", "1%", "--rtt", "100ms", "--timeout", "400ms", "--window", "64"
    )
    assert outcome.exit_code == 0, outcome.stderr
    title, head, _, throughput, *_ = outcome.stdout.splitlines()
    assert title.startswith("PFTK: loss 0.01, rtt 100 ms, timeout 400 ms, window 64 segments")
    assert head.split() == ["output", "value", "in", "segments", "meaning"]
    assert re.match(r"throughput +1\.296 Mbit/s +110\.96 segments/s +sending rate", throughput)


def test_as_json_in_the_models_units() -> None:
    outcome = predict(
        "--json",
        "pftk",
        "--loss",
        "0.01",
        "--rtt",
        "0.1 s",
        "--timeout",
        "0.4s",
        "--window",
        "93440 B",
    )
    printed = json.loads(outcome.stdout)
    assert (printed["model"], printed["mss_bytes"], printed["units"]["throughput"]) == (
        "pftk",
        1460,
        "segments/s",
    )
    [answer] = printed["answers"]
    assert answer["inputs"] == {
        "loss": 0.01,
        "rtt": 0.1,
        "timeout": 0.4,
        "window": 64,
        "segments_per_ack": 1,
    }
    assert answer["outputs"]["throughput"] == float(pftk.full(0.01, 0.1, 0.4, 64, b=1))


def test_several_values_give_every_combination() -> None:
    rows = answers("pftk", "--loss", "0.1%,1%, 5%", "--rtt", "100ms,20ms")
    asked = [(row["inputs"]["loss"], row["inputs"]["rtt"]) for row in rows]
    assert asked == [(loss, rtt) for loss in (0.001, 0.01, 0.05) for rtt in (0.1, 0.02)]
    assert rows[0]["inputs"]["window"] == "unlimited"
    lines = predict("pftk", "--loss", "0.1%,1%,5%", "--rtt", "100ms,20ms").stdout.splitlines()
    assert lines[1].split()[:4] == ["loss", "rtt", "throughput", "goodput"]
    assert len(lines) == 3 + 6


def test_a_links_rate_carries_headers() -> None:
    [plain] = answers("sawtooth", "--rate", "1000 segments/s", "--rtt", "100ms", "--buffer", "100")
    [on_wire] = answers("sawtooth", "--rate", "12 Mbit/s", "--rtt", "100ms", "--buffer", "150 kB")
    assert on_wire == plain  # 1460 + 40 bytes


def test_the_loss_rate_that_gives_a_throughput() -> None:
    [solution] = answers(
        "pftk",
        "--rtt",
        "100ms",
        "--timeout",
        "400ms",
        "--throughput",
        "5 Mbit/s",
        "--solve",
        "loss",
    )
    [loss] = solution["values"]
    [there] = answers("pftk", "--rtt", "100ms", "--timeout", "400ms", "--loss", repr(loss))
    assert there["outputs"]["throughput"] * 1460 * 8 == pytest.approx(5e6)
    table = predict(
        "pftk", "--rtt", "100ms", "--throughput", "5Mbit/s,50Mbit/s", "--solve", "loss"
    ).stdout
    assert [line.split()[-1] for line in table.splitlines()[1:2]] == ["loss"]
    assert len(table.splitlines()) == 5


def test_no_solution_is_one_line_or_one_row() -> None:
    asked = (
        "sawtooth",
        "--rate",
        "100Mbit/s",
        "--rtt",
        "50ms",
        "--solve",
        "buffer",
        "--utilisation",
    )
    check_refusal(
        predict(*asked, "40%"),
        "no-solution",
        "--utilisation",
        "75 %",
        "buffer = 0 segments",
        "is 40%",
    )
    rows = answers(*asked, "40%,98%")
    assert [len(row["values"]) for row in rows] == [0, 1]
    assert "at least 75 %" in predict(*asked, "40%,98%").stdout


@pytest.mark.parametrize(
    ("arguments", "field", "quoted"),
    [
        ("pftk --loss 1% --rtt -5ms", "--rtt", ("-5ms", "0 ms")),
        ("aimd_chain --loss 1% --rtt 1s --window 1kB", "--window", ("1kB", "2.92 kB")),
        (
            "mm1k --rate 1Gbit/s --rtt 120ms --places 100 --flows 1e12",
            "--flows",
            ("1e12", "1,000,000"),
        ),
        ("pftk --rtt 1s --loss " + ",".join(["1%"] * 10_001), "--loss", ("10,001", "10,000")),
    ],
)
def test_a_refusal_is_in_the_units_that_were_asked(
    arguments: str, field: str, quoted: tuple[str, ...]
) -> None:
    check_refusal(predict(*arguments.split()), "out-of-range", field, *quoted)


def test_no_solution_is_in_the_units_that_were_asked() -> None:
    asked = (
        "pftk",
        "--rtt",
        "100ms",
        "--window",
        "100kB",
        "--solve",
        "loss",
        "--throughput",
        "5Gbit/s",
    )
    check_refusal(
        predict(*asked), "no-solution", "--throughput", "0.008 Gbit/s", "the target is 5Gbit/s"
    )


@pytest.mark.parametrize(
    ("arguments", "field", "quoted"),
    [
        (
            "tcp_alone --rate 2Mbit/s --low-rate 300packets/s --rtt 200ms --psi 5 --buffer 9",
            "--low-rate",
            ("300packets/s", "2Mbit/s"),
        ),
        (
            "tcp_alone --rate 2Mbit/s --low-rate 1packets/s --rtt 2ms,3s --psi 5 --buffer 9",
            "--rtt",
            ("2ms", "1000 ms"),
        ),
        (
            "effective_capacity --rate 2Mbit/s --low-rate 1Gbit/s --rtt 1s --psi 5 --decay 0.1",
            "--low-rate",
            ("1Gbit/s", "2Mbit/s"),
        ),
        (
            "hstcp_window_sim --rate 1Mbit/s --rtt 100ms --buffer 9 --warmup 2min --duration 60s",
            "--warmup",
            ("2min", "60s"),
        ),
        (
            "hstcp_window_sim --rate 100Mbit/s --rtt 100ms --buffer 10 --step 1min",
            "--step",
            ("1min", "100 ms"),
        ),
        (
            "hstcp_red --rate 100Mbit/s --rtt 1s --places 90 --min-th 30kB --max-th 15kB",
            "--min-th",
            ("30kB", "15kB", "max-th"),
        ),
        ("mm1k --rate 1Gbit/s --rtt 0.5s --places 9 --shortest 2s", "--shortest", ("2s", "0.5s")),
        (
            "mm1k_burst --rate 1Gbit/s --rtt 1s --places 15kB --burst 20kB",
            "--burst",
            ("20kB", "15kB"),
        ),
        (
            "short_transfer --size 1MB --rate 1Gbit/s --rtt 1s --buffer 15kB "
            "--initial-window 29200bytes",
            "--initial-window",
            ("29200bytes", "15kB", "16060 bytes"),
        ),
    ],
)
def test_a_contradiction_quotes_values_as_written(
    arguments: str, field: str, quoted: tuple[str, ...]
) -> None:
    check_refusal(predict(*arguments.split()), "contradiction", field, *quoted)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_refusals_name_options(model) -> None:
    """For each input out of its domain, where the names in Python have underscores."""
    internal = {entry.name for entry in (*model.inputs, *model.outputs) if "_" in entry.name}
    unit = {"s": " s", "segments/s": " packets/s"}
    given = {
        entry.name: f"{0.3 if entry.domain.holds(0.3) else 2}{unit.get(entry.unit, '')}"
        for entry in model.inputs
        if entry.default is None
    }
    refused = 0
    for entry in model.inputs:
        wrong = given | {entry.name: f"-1{unit.get(entry.unit, '')}"}
        options = [part for name, text in wrong.items() for part in (option(name), text)]
        outcome = predict(model.name, *options)
        if outcome.exit_code == 0:
            continue  # an input that may be negative
        refused += 1
        stderr = outcome.stderr
        assert stderr.startswith(f"ackclock: {option(entry.name)}: -1"), stderr
        assert not internal & set(re.findall(r"\w+", stderr)), stderr
    assert refused


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def test_no_solution_names_the_option_that_is_solved_for() -> None:
    asked = "cardwell --size 10 --loss 30% --rtt 100ms --solve syn-timer --time 1e9h"
    check_refusal(
        predict(*asked.split()), "no-solution", "--time", "at syn-timer = ", "the target is 1e9h"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ("pftk --loss 1%", "missing", "--rtt"),
        ("pftk --loss 150% --rtt 1s", "out-of-range", "--loss"),
        ("pftk --loss nan --rtt 1s", "wrong-type", "--loss"),
        ("pftk --loss 1% --rtt 1e999s", "out-of-range", "--rtt"),
        ("cardwell --size 9 --loss 0 --rtt 1s --handshake yes", "wrong-type", "--handshake"),
        ("pftk --loss 1% --rtt 100", "no-unit", "--rtt"),
        ("pftk --loss 1% --rtt 1%", "wrong-unit", "--rtt"),
        ("pftk --loss 1s --rtt 1s", "wrong-unit", "--loss"),
        ("pftk --loss 1%,, --rtt 1s", "wrong-type", "--loss"),
        ("pftk --los 1% --rtt 1s", "unknown-field", "--los"),
        ("pftk --loss 1% --rtt 1s extra", "syntax", ""),
        ("pftk --loss 1% --rtt 1s --mss 0B", "out-of-range", "--mss"),
        ("pftk --loss 1% --rtt 1s --mss wide", "wrong-type", "--mss"),
        ("pftk --loss 1% --rtt 1s --goodput 1Mbit/s", "missing", "--goodput"),
        ("pftk --rtt 1s --solve loss", "missing", "--solve"),
        ("pftk --rtt 1s --solve los --goodput 1Mbit/s", "unknown-name", "--solve"),
        ("pftk --rtt 1s --solve loss --goodput 1", "no-unit", "--goodput"),
        ("pftk --rtt 1s --loss 1% --solve loss --goodput 1Mbit/s", "contradiction", "--loss"),
        ("pftk --solve loss --goodput 1Mbit/s", "missing", "--rtt"),
        ("pftc --loss 1%", "unknown-name", ""),
        ("nowhere.toml", "file", "nowhere.toml"),
        ("zzz", "unknown-name", ""),
    ],
)
def test_bad_questions_are_one_line(arguments: str, code: str, field: str) -> None:
    check_refusal(predict(*arguments.split(" ")), code, field)


def test_a_folder_is_no_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pftk").mkdir()
    assert predict("pftk", "--loss", "1%", "--rtt", "1s").exit_code == 0


def test_a_file_that_exists_is_a_scenario_whatever_its_name(scenario_file: Path) -> None:
    scenario_file.rename("pftk")
    assert predict("pftk").stdout.startswith("leaky pipe: predicted goodput")
    check_refusal(predict("pftk", "--loss", "1%"), "contradiction", "--loss")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_help_lists_what_a_model_takes(model) -> None:
    outcome = predict(model.name, "--help")
    assert outcome.exit_code == 0
    shown = " ".join(outcome.stdout.split())
    for entry in (*model.inputs, *model.outputs):
        assert f"--{entry.name.replace('_', '-')} " in shown
    for entry in model.described()["inputs"]:
        assert entry["domain"] in shown
        assert entry["default"] in shown
    assert model.formula.splitlines()[-1] in outcome.stdout


def test_unknown_models_are_refused_before_a_run(scenario_file: Path) -> None:
    for command in ("simulate", "predict"):
        outcome = CliRunner().invoke(cli, [command, str(scenario_file), "--models", "pftk,pftc"])
        check_refusal(outcome, "unknown-name", "--models", "pftc", "pftk")
    assert list(Path().iterdir()) == [scenario_file]


def test_a_simulation_shows_the_models_asked_for(scenario_file: Path) -> None:
    arguments = [
        "simulate",
        str(scenario_file),
        "--set",
        "duration=3 s",
        "--replicates",
        "1",
        "--models",
        "mathis",
        "--json",
    ]
    rows = json.loads(CliRunner().invoke(cli, arguments).stdout)["flows"]
    assert {label for row in rows for label in row["predicted"]} == {"Mathis"}


@pytest.mark.slow
def test_a_long_answer_is_announced_and_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tenth of the patience that users have, and of the work that exhausts it.
    command = import_module("ackclock.cli.predict")
    monkeypatch.setattr(command, "_PATIENCE_S", command._PATIENCE_S / 10)
    asked = ["hstcp_window_sim", "--rate", "400packets/s", "--buffer", "40packets", "--runs", "1"]
    short = [*asked, "--rtt", "200ms", "--duration", "2s", "--warmup", "1s"]
    long = [*asked, "--rtt", "20ms", "--duration", "20s", "--warmup", "1s", "--flows", "50"]
    assert predict(*short).stderr == ""
    stderr = predict(*long).stderr
    assert re.fullmatch(r"predict hstcp_window_sim: about \d+ s\n", stderr)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("predict square_root --loss 1% --loss 2% --rtt 100ms", "--loss"),
        ("predict square_root --loss=1% --rtt 100ms --loss 1%", "--loss"),
        ("simulate examples/first.toml -o one -o two", "-o"),
        ("sweep run examples/first.toml --seed 1 --seed 2", "--seed"),
    ],
)
def test_an_option_given_twice_is_refused(arguments: str, option: str) -> None:
    outcome = CliRunner().invoke(cli, arguments.split())
    check_refusal(outcome, "contradiction", option, "twice")


def test_what_may_be_given_several_times_is_not_refused(scenario_file: Path) -> None:
    answer = predict(str(scenario_file), "--set", "duration=2 s", "--set", "warmup=1 s")
    assert answer.exit_code == 0, answer.stderr


def test_stations_are_whole() -> None:
    answer = predict("dcf", "--stations", "1.5", "--rtt", "10ms")
    check_refusal(answer, "out-of-range", "--stations", "1.5")


@pytest.mark.slow
def test_thousands_of_stations_have_an_answer() -> None:
    given = {"stations": 2000, "aifsn": 2, "cw_min": 15, "cw_max": 1023, "rtt": 0.01}
    others = {"other_stations": 7, "other_aifsn": 3, "other_cw_min": 15, "other_cw_max": 1023}
    assert 0 < model("edca").answer(**given, **others)["goodput"] < 1


def test_the_largest_windows_are_announced() -> None:
    [bound] = model("edca").bounds
    windows = {"cw_max": np.asarray(32767.0), "other_cw_max": np.asarray(1023.0)}
    assert bound.lasts_s(windows) > 3


def test_where_no_model_applies_one_line_says_what_answers(scenario_file: Path) -> None:
    vegas = 'flows.main.transport.control={kind="vegas"}'
    answer = predict(str(scenario_file), "--set", vegas, "--set", "sweep={}")
    assert answer.exit_code == 0
    assert " ".join(answer.stdout.split()).startswith("No model applies to ")
    assert "ackclock simulate" in answer.stdout
