"""Verdicts on runs with L4S flows: each thing that is not as claimed is said."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from ackclock import Result, Scenario, simulate
from ackclock.cli import cli
from ackclock.comparison.column import Column
from ackclock.report import certainty
from ackclock.validity import l4s
from ackclock.validity.stationarity import Stationarity

Tree = dict[str, object]

SCENARIO = """
schema = 1
name = "L4S"
duration = "4 s"
warmup = "1 s"
replicates = 1

[[hops]]
name = "line"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "dualpi2" }
delay = "5 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "5 ms"

[[flows]]
name = "scalable"
route = ["line"]
return = ["back"]
transport = { kind = "tcp", preset = "l4s", control = { kind = "prague" } }

[[flows]]
name = "classic"
route = ["line"]
return = ["back"]
transport = { kind = "tcp", preset = "linux", control = { kind = "cubic" } }
"""
STEP = {"kind": "step_marking", "limit": "500 packets", "threshold": "1 ms"}


@cache
def _text() -> Scenario:
    return Scenario.from_toml(SCENARIO)


def run(changes: Tree | None = None) -> Result:
    return simulate(_text().replace(changes or {}))


def verdict(changes: Tree | None = None) -> l4s.Verdict:
    return l4s.judge(run(changes)).verdicts[0, "scalable"]


def test_a_run_as_claimed_says_what_was_seen() -> None:
    judged = l4s.judge(run())
    assert list(judged.verdicts) == [(0, "scalable")]
    judgement = judged.verdicts[0, "scalable"]
    assert (judgement.holds, judgement.fallback, judged.warning) == (True, False, "")
    assert judged.sentence.startswith("L4S as claimed. scalable sends ECT(1) with accurate ECN.")
    assert "The low-latency queue of line marked" in judged.sentence
    assert judged.sentence.endswith("Classic packets waited in the other one.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "complaint", "fallback"),
    [
        ({"flows.scalable.transport.ecn_feedback": "classic"}, "falls back to Reno", True),
        ({"flows.scalable.transport.ecn": False}, "nothing is marked", True),
        ({"flows.scalable.transport.ecn_codepoint": "ect0"}, "joins the classic queue", False),
        ({"flows.scalable.transport.control": {"kind": "cubic"}}, "as it would a loss", False),
        (
            {"flows.scalable.transport.control": {"kind": "kernel", "shipped": "reno"}},
            "bpf:reno does not state how it answers a mark", False,
        ),
        ({"hops.line.queue": {"kind": "droptail", "limit": "50 packets"}}, "known to mark", False),
        ({"hops.line.queue": {"kind": "codel", "ecn": True}}, "known to have a", False),
        ({"hops.line.queue": STEP}, "one queue for it and for classic", False),
        (
            {"hops.line.queue.low_latency": "any_ect", "flows.classic.transport.ecn": True},
            "classic, a classic flow, joins the low-latency queue of line", False,
        ),
        ({"hops.line.link.rate": "20 Gbit/s"}, "marked nothing", False),
    ],
)  # fmt: skip
def test_what_is_not_as_claimed_comes_first(changes: Tree, complaint: str, fallback: bool) -> None:
    if "20 Gbit/s" in changes.values():
        changes = changes | {"flows.scalable.traffic": {"kind": "transfer", "size": "100 kB"}}
    judgement = verdict(changes)
    assert not judgement.holds
    assert complaint in judgement.complaints[0]
    assert judgement.fallback is fallback


def test_a_step_of_its_own_is_an_l4s_path() -> None:
    alone = _text().replace({"hops.line.queue": STEP})
    tree = alone.tree | {"flows": [alone.tree["flows"][0]]}
    assert l4s.judge(simulate(Scenario(tree))).verdicts[0, "scalable"].holds


def test_dctcp_with_ect1_counts_marks_too() -> None:
    changes = {
        "flows.scalable.transport": {
            "kind": "tcp", "preset": "linux", "ecn": True, "ecn_codepoint": "ect1",
            "control": {"kind": "dctcp"},
        }
    }  # fmt: skip
    judgement = verdict(changes)
    assert judgement.holds
    assert judgement.observations[0] == "scalable sends ECT(1) with DCTCP's feedback."


def test_a_run_without_l4s_flows_has_no_verdict() -> None:
    judged = l4s.judge(
        run({"flows.scalable.transport": {"kind": "tcp", "control": {"kind": "reno"}}})
    )
    assert (dict(judged.verdicts), judged.warning, judged.sentence) == ({}, "", "")


def emulated(refusal: str, low_arrivals: int) -> Result:
    """Returns the simulation as if an emulation had given it, with the kernel's answer."""
    computed = run()
    settings = pa.table(
        {
            "point": [0, 0], "replicate": [0, 0], "host": ["senders", "senders"],
            "name": ["net.ipv4.tcp_ecn"] * 2, "asked": ["1", "3"], "has": ["1", "1"],
            "refusal": ["", refusal],
        }
    )  # fmt: skip
    classes = pa.table(
        {
            "point": [0, 0], "replicate": [0, 0], "hop": ["line", "line"],
            "class": ["low_latency", "classic"], "arrivals": [low_arrivals, 9], "marks": [0, 0],
            "drops": [0, 0],
        }
    )  # fmt: skip
    tables = dict(computed.tables) | {"settings": settings, "classes": classes}
    return replace(computed, run=computed.run | {"method": "emulate"}, tables=tables)


def test_a_kernel_without_accurate_ecn_falls_back() -> None:
    judged = l4s.judge(emulated("EINVAL", 5))
    judgement = judged.verdicts[0, "scalable"]
    assert judgement.fallback
    assert judged.warning.startswith(
        "not L4S: scalable: the kernel refuses accurate ECN (EINVAL), so that prague falls back"
    )
    assert "ackclock doctor l4s" in judged.warning


def test_packets_that_lost_their_codepoint_are_missed() -> None:
    (complaint,) = l4s.judge(emulated("", 0)).verdicts[0, "scalable"].complaints
    assert complaint == "no ECT(1) packet reached line"


def test_a_sweep_names_the_point_and_counts() -> None:
    feedback = "flows.scalable.transport.ecn_feedback"
    judged = l4s.judge(run({"sweep": {feedback: ["accurate", "classic"]}}))
    assert judged.warning.startswith("not L4S: scalable (")
    assert judged.warning.endswith("; so it is with 1 of 2")
    assert judged.sentence == ""


def test_a_comparison_and_a_page_have_the_verdict() -> None:
    good, bad = run(), run({"flows.scalable.transport.ecn_feedback": "classic"})
    assert Column("simulate", ({},), bad).l4s.warning.startswith("not L4S: scalable")
    (trusted,) = [
        reason for reason in certainty.of_result(good, Stationarity([])) if "L4S" in reason.lead
    ]
    assert (trusted.good, trusted.lead) == (True, "L4S as claimed:")
    (doubted,) = [
        reason for reason in certainty.of_result(bad, Stationarity([])) if "L4S" in reason.lead
    ]
    assert (doubted.good, doubted.lead) == (False, "Not L4S:")
    assert doubted.rest.startswith("scalable: ")


@pytest.mark.slow
def test_the_command_line_says_so_first(tmp_path: Path) -> None:
    (tmp_path / "l4s.toml").write_text(SCENARIO)
    arguments = ["simulate", str(tmp_path / "l4s.toml"), "-o", str(tmp_path / "out")]
    outcome = CliRunner().invoke(cli, arguments)
    assert "L4S as claimed." in " ".join(outcome.stdout.split())
    feedback = 'flows.scalable.transport.ecn_feedback="classic"'
    outcome = CliRunner().invoke(cli, [*arguments, "--set", feedback, "--force"])
    first = next(line for line in outcome.stderr.splitlines() if "warning" in line)
    assert first.startswith("warning: not L4S: scalable: ")


def test_the_counts_of_classes_are_those_of_the_hop() -> None:
    result = run({"flows.classic.transport.ecn": True})
    classes = result.tables["classes"].to_pylist()
    assert [row["class"] for row in classes] == ["low_latency", "classic"]
    last = [row for row in result.tables["hops"].to_pylist() if row["hop"] == "line"][-1]
    for name, columns in (
        ("arrivals", ("arrivals",)), ("marks", ("marks",)), ("drops", ("drops_queue", "drops_aqm")),
    ):  # fmt: skip
        assert sum(row[name] for row in classes) == sum(last[column] for column in columns), name
    assert all(row["marks"] > 0 for row in classes)
