"""Traces of implementations that are not ours: files, and verdicts on them."""

import json
from pathlib import Path

import numpy as np
import pytest

from ackclock import simulate
from ackclock.evaluation import Candidate, load, traces
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.foreign import judge_trace
from tests.refusals import refused

from ..in_process import ackclock

CSV = """time_s,cwnd_bytes,delivered_bytes,lost_bytes,state
0.0,14480,0,0,STARTUP
0.1,28960,14480,0,STARTUP
0.2,28960,28960,1448,DRAIN
"""


@pytest.fixture(name="quinn", scope="module")
def _quinn(tmp_path_factory: pytest.TempPathFactory):
    """Simulates quinn behind the policer of a case; its result, and what it logs itself."""
    folder = tmp_path_factory.mktemp("qlog")
    suite = load("bbr-draft")
    (case,) = suite.chosen("policer")
    candidate = Candidate.read("quic:quinn/cubic")
    cell = Cell(case.id, case.setups[0], suite.paths[0], candidate, 1)
    result = simulate(cell.scenario({}), qlog=folder)
    (file,) = folder.glob("*sender*")
    return result, file


def test_columns_become_variables(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(CSV)
    trace = traces.read(file)
    assert trace.time_s.tolist() == [0.0, 0.1, 0.2]
    assert trace.states.tolist() == ["STARTUP", "STARTUP", "DRAIN"]
    assert trace.events.tolist() == ["ack", "ack", "lost"]
    assert sorted(trace.variables) == ["cwnd", "delivered", "lost"]


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("missing", "a.csv", "cwnd_bytes\n1\n"),
        ("no-data", "a.csv", "time_s,cwnd_bytes\n"),
        ("wrong-type", "a.csv", "time_s,cwnd_bytes\n1.0,many\n"),
        ("contradiction", "a.csv", "time_s,cwnd_bytes\n1.0,1\n0.5,1\n"),
        ("syntax", "a.qlog", "no JSON"),
        ("syntax", "a.qlog", '{"qlog_version": "0.3"}\n{"time": 1}\n'),
        ("no-data", "a.qlog", '{"traces": [{"events": []}]}'),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, code: str, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    field = f"{file}: time_s" if code == "missing" else f"{file}"
    with refused(code, field):
        traces.read(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with refused("file", f"{tmp_path / 'a.csv'}"):
        traces.read(tmp_path / "a.csv")


def test_quinns_log_has_the_numbers_of_the_engine(quinn) -> None:
    """Bands: 4 %, as packets of QUIC have headers and handshakes beside the payload."""
    result, file = quinn
    trace = traces.read(file)
    (flow,) = result.tables["flows"].to_pylist()
    assert trace.variables["delivered"][-1] == pytest.approx(flow["delivered_bytes"], rel=0.04)
    samples = result.tables["samples"].to_pydict()
    late = np.searchsorted(trace.time_s, 30.0)
    own = np.searchsorted(samples["time_s"], 30.0)
    assert trace.variables["cwnd"][late] == pytest.approx(samples["cwnd_bytes"][own], rel=0.04)
    assert trace.payload_share == pytest.approx(1452 / 1480, rel=0.02)


def test_a_log_is_judged_as_the_simulation_is(quinn) -> None:
    _, file = quinn
    suite = load("bbr-draft")
    record = judge_trace(suite, suite.chosen("policer")[0], "", file)
    assert record["verdict"] == "pass", record
    assert [check["holds"] for check in record["checks"]] == [True, True]


def test_one_json_text_of_version_1_gives_the_same(quinn, tmp_path: Path) -> None:
    _, file = quinn
    lines = [json.loads(line.strip("\x1e \n")) for line in file.read_text().splitlines() if line]
    events = []
    for event in lines[1:]:
        name = event["name"].rpartition(":")[2]
        if name == "metrics_updated":
            name = "recovery_metrics_updated"
        data = dict(event["data"])
        if "length" in data.get("header", {}):
            data["raw"] = {"length": data["header"]["length"]}
            data["header"] = {"packet_number": data["header"]["packet_number"]}
        events.append({"time": event["time"], "name": f"quic:{name}", "data": data})
    whole = tmp_path / "whole.qlog"
    whole.write_text(json.dumps({"qlog_version": "1.0", "traces": [{"events": events}]}, indent=1))
    first, second = traces.read(file), traces.read(whole)
    assert first.time_s.tolist() == second.time_s.tolist()
    for name, values in first.variables.items():
        np.testing.assert_array_equal(values, second.variables[name], name)


def test_a_trace_that_is_too_short_or_waits_for_a_state_does_not_apply(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(CSV)
    suite = load("bbr-draft")
    short = judge_trace(suite, suite.chosen("policer")[0], "", file)
    assert short["verdict"] == "does not apply"
    assert short["reason"] == "the trace ends at 0.2 s, and the case lasts 60 s"
    waits = judge_trace(suite, suite.chosen("drain-time")[0], "half", file)
    assert "its event slower waits for a state" in waits["reason"]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    rows = "".join(f"{second},{1448 * second}\n" for second in range(61))
    file.write_text(f"time_s,cwnd_bytes\n{rows}")
    suite = load("bbr-draft")
    record = judge_trace(suite, suite.chosen("policer")[0], "", file)
    assert record["verdict"] == "does not apply"
    assert "the trace has no delivered" in record["checks"][1]["found"]


def test_the_command_judges_a_trace(quinn) -> None:
    _, file = quinn
    outcome = ackclock("evaluate", "--trace", file, "--suite", "bbr-draft", "--only", "policer")
    assert outcome.exit_code == 0, outcome.stderr
    assert "pass: 2 checks hold" in " ".join(outcome.stdout.split())
    without = ackclock("evaluate", "--trace", file, "--suite", "bbr-draft")
    assert without.exit_code == 2
    assert len(without.stderr.splitlines()) == 1


@pytest.mark.parametrize("rig", ["plain", "netem", "mahimahi"])
def test_paths_are_described_for_other_rigs(rig: str) -> None:
    outcome = ackclock("evaluate", "--rig", rig, "--only", "Q1,Q6")
    assert outcome.exit_code == 0, outcome.stderr
    assert "# flows x: 1, yours, bulk" in outcome.stdout
    assert "# cells: values.buffer = 0.5, 1, 4" in outcome.stdout
    commands = [line for line in outcome.stdout.splitlines() if line and line[0] != "#"]
    assert bool(commands) is (rig != "plain")
    if rig == "netem":
        assert any("tbf rate 10000000bit" in line for line in commands)
