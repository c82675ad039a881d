"""Short paths of a scenario on the command line: `control=bbr3`, `buffer=2BDP`."""

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock import load
from ackclock.scenario.short import value_of, varied_path, whole_path

from .in_process import ackclock
from .refusals import check_refusal, refused

EXAMPLES = Path(__file__).parents[1] / "examples"
FIRST = EXAMPLES / "first.toml"
DUMBBELL = EXAMPLES.parent / "python/ackclock/scenario/templates/dumbbell.toml"


@pytest.mark.parametrize(
    ("file", "short", "whole"),
    [
        (FIRST, "control", "flows.download.transport.control"),
        (FIRST, "buffer", "hops.bottleneck.queue.limit"),
        (FIRST, "rate", "hops.bottleneck.link.rate"),
        (FIRST, "return.rate", "hops.return.link.rate"),
        (FIRST, "bottleneck.delay", "hops.bottleneck.delay"),
        (FIRST, "download.start", "flows.download.start"),
        # A default that the file does not name.
        (FIRST, "ecn", "flows.download.transport.ecn"),
        (FIRST, "initial_window", "flows.download.transport.initial_window"),
        # Whole paths, also of what is not there yet, and what is nowhere.
        (FIRST, "duration", "duration"),
        (FIRST, "hops.bottleneck.impairments", "hops.bottleneck.impairments"),
        (FIRST, "flows.download.transport.control.beta", "flows.download.transport.control.beta"),
        (FIRST, "nowhere", "nowhere"),
        # A scenario with values has its own words.
        (DUMBBELL, "rate", "values.rate"),
    ],
)
def test_a_short_path_stands_for_a_whole_one(file: Path, short: str, whole: str) -> None:
    assert whole_path(load(file), short) == whole


def test_what_may_be_several_fields_names_them() -> None:
    scenario = load(FIRST).replace({"flows": _two_flows()})
    with refused(
        "contradiction", "control", "flows.a.transport.control, flows.b.transport.control"
    ):
        whole_path(scenario, "control")
    assert whole_path(scenario, "b.control") == "flows.b.transport.control"


def _two_flows() -> list[dict[str, Any]]:
    transport = {"kind": "tcp", "control": {"kind": "cubic"}}
    flow = {"route": ["bottleneck"], "return": ["return"], "transport": transport}
    return [{"name": name, **flow} for name in ("a", "b")]


def test_the_name_of_an_element_stands_for_it() -> None:
    scenario = load(FIRST)
    control = "flows.download.transport.control"
    assert value_of(scenario, control, "bbr3") == {"kind": "bbr3"}
    assert value_of(scenario, control, {"kind": "reno"}) == {"kind": "reno"}
    assert value_of(scenario, "hops.bottleneck.queue.limit", "10 packets") == "10 packets"
    assert varied_path(scenario, "control") == f"{control}.kind"
    assert varied_path(scenario, "buffer") == "hops.bottleneck.queue.limit"


def test_commands_take_them(tmp_path: Path) -> None:
    short = ("--set", "control=bbr3", "--set", "buffer=2BDP", "--set", "rate=20Mbit/s")
    outcome = ackclock(
        "simulate", FIRST, *short, "--set", "duration=6 s", "--replicates", 1, "-o", tmp_path / "a"
    )
    assert outcome.exit_code == 0, outcome.stderr
    run = json.loads((tmp_path / "a" / "run.json").read_text())
    resolved = run["points"][0]["scenario"]
    assert resolved["flows"][0]["transport"]["control"]["kind"] == "bbr3"
    hop = resolved["hops"][0]
    assert hop["link"]["rate"] == "20 Mbit/s"
    assert hop["queue"]["limit"] == "200000 bytes"


def test_a_sweep_varies_them(tmp_path: Path) -> None:
    outcome = ackclock(
        "sweep", "run", FIRST, "--vary", "control=cubic,reno", "--vary", "buffer=1..2 BDP",
        "--set", "duration=6 s", "--design", "grid:2", "--replicates", 1, "-o", tmp_path / "sweep",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.stderr
    plan = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert plan["vary"] == [
        "flows.download.transport.control.kind=cubic,reno",
        "hops.bottleneck.queue.limit=1..2 BDP",
    ]


def test_an_ambiguous_word_is_refused() -> None:
    outcome = ackclock("check", DUMBBELL, "--set", "control=reno")
    check_refusal(outcome, "contradiction", "control", "flows.left.transport.control")
