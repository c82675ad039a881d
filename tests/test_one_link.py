"""One flow over one link from the command line, without a scenario's file."""

import json
from pathlib import Path
from typing import Any

import pytest

from .in_process import ackclock
from .refusals import check, error_of

FIRST = Path(__file__).resolve().parent.parent / "examples" / "first.toml"
SHORT = ("--set", "duration=4 s", "--set", "warmup=1 s", "--replicates", "2")


def scenario(folder: Path) -> dict[str, Any]:
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    resolved: dict[str, Any] = run["points"][0]["scenario"]
    return resolved


def test_options_describe_a_link(tmp_path: Path) -> None:
    options = ("--control", "bbr3", "--rate", "20Mbit/s", "--rtt", "30ms", "--buffer", "2BDP",
               "--loss", "1%")  # fmt: skip
    outcome = ackclock("simulate", *options, *SHORT, place=tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    resolved = scenario(tmp_path / "out" / "one-link")
    [flow] = resolved["flows"]
    hop = resolved["hops"][0]
    assert flow["transport"]["control"]["kind"] == "bbr3"
    assert hop["link"]["rate"] == "20 Mbit/s"
    assert hop["queue"]["limit"] == f"{2 * 20e6 * 0.03 / 8:.0f} bytes"
    assert [hop["delay"] for hop in resolved["hops"]] == ["15 ms", "15 ms"]
    [loss] = hop["impairments"]
    assert (loss["kind"], loss["probability"]) == ("iid_loss", "1 %")


@pytest.mark.parametrize("option", ["--control", "--rate", "--rtt", "--buffer", "--loss"])
def test_each_option_alone_is_enough(option: str, tmp_path: Path) -> None:
    text = {"--control": "reno", "--rate": "5Mbit/s", "--rtt": "20ms", "--buffer": "9 packets",
            "--loss": "2%"}[option]  # fmt: skip
    outcome = ackclock("predict", option, text, "--json", place=tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)


def test_a_file_takes_what_it_has(tmp_path: Path) -> None:
    options = ("--control", "reno", "--rate", "5Mbit/s", "--buffer", "20 packets")
    outcome = ackclock("simulate", FIRST, *options, *SHORT, "-o", tmp_path / "a")
    assert outcome.exit_code == 0, outcome.stderr
    resolved = scenario(tmp_path / "a")
    assert resolved["flows"][0]["transport"]["control"]["kind"] == "reno"
    assert resolved["hops"][0]["link"]["rate"] == "5 Mbit/s"
    assert resolved["hops"][1]["link"]["rate"] == "10 Mbit/s"


def test_other_verbs_take_them(tmp_path: Path) -> None:
    compared = ackclock("compare", "--control", "reno", "--loss", "1%", *SHORT, "--methods",
                        "predict,simulate", place=tmp_path)  # fmt: skip
    assert compared.exit_code == 0, compared.stderr
    assert (tmp_path / "out" / "one-link-compared" / "comparison.json").exists()
    link = ackclock("lab", "link", "--control", "reno")
    assert link.stdout.startswith("#v1.")


@pytest.mark.parametrize(
    ("arguments", "code", "field", "words"),
    [
        ("simulate", "missing", "SCENARIO", "simulate --help"),
        ("simulate --rate 20", "no-unit", "--rate", "20 Mbit/s"),
        ("simulate --rtt 40", "no-unit", "--rtt", "40 ms"),
        ("simulate --rtt 40Mbit/s", "wrong-unit", "--rtt", "40"),
        (f"simulate {FIRST} --rtt 40ms", "contradiction", "--rtt", "--set"),
        (f"simulate {FIRST} --loss 1%", "contradiction", "--loss", "--set"),
    ],
)
def test_mistakes_are_one_line(
    arguments: str, code: str, field: str, words: str, tmp_path: Path
) -> None:
    outcome = ackclock(*arguments.split(), place=tmp_path)
    assert outcome.exit_code == 2
    check(error_of(outcome), code, field, words)


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--control", "bbr9", 'did you mean "bbr1"'),
        ("--buffer", "1", "packets"),
        ("--loss", "2", "probability"),
    ],
)
def test_errors_of_the_engine_name_the_option(
    option: str, text: str, words: str, tmp_path: Path
) -> None:
    outcome = ackclock("simulate", option, text, place=tmp_path)
    assert outcome.exit_code == 2
    [line] = outcome.stderr.splitlines()
    assert line.startswith(f"ackclock: {option}: ")
    assert words in line
