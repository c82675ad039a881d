"""Transports that others wrote between the emulated hosts; skipped where there are none.

As for datagrams under rate control, the tests assert what must hold on any machine, however busy.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import Result, Scenario, load, simulate, stacks
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate, replay
from ackclock.stacks.template import template

from ..in_process import ackclock
from ..refusals import check_refusal
from .passages import packets

EXAMPLE = Path(__file__).parents[2] / "examples" / "quic-beside-tcp.toml"
SHORT = {"sweep": {}, "duration": "6 s", "warmup": "2 s", "replicates": 1}
FLOW = "flows.quic.transport"
# Control of a flow, and codepoint and ECN field of its packets.
EF, ECT0 = 46, 2


def _scenario(changes: dict[str, Any]) -> Scenario:
    return load(EXAMPLE).replace(SHORT | changes)


def _row(result: Result, table: str = "flows", flow: str = "quic") -> dict[str, Any]:
    return next(row for row in result.tables[table].to_pylist() if row["flow"] == flow)


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """quinn beside Linux, emulated once. The queue marks."""
    request.getfixturevalue("emulation")
    place = tmp_path_factory.mktemp("emulated") / "run"
    marking = {"hops.line.queue": {"kind": "codel", "ecn": True}, "flows.quic.dscp": "EF"}
    emulate(_scenario(marking), place)
    return place


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return Result.load(folder)


def test_quinn_delivers_over_real_sockets_and_says_what_it_knows(result: Result) -> None:
    row = _row(result)
    assert row["control"] == "quinn/cubic"
    assert 0 < row["goodput_bit_per_s"] < row["throughput_bit_per_s"] < 10.1e6
    assert row["delivered_bytes"] < 1452 * row["sent_packets"], "nothing arrives that was not sent"
    assert row["retransmitted_packets"] is None, "QUIC sends data again in new packets"
    assert row["lost_packets"] is not None
    assert row["timeouts"] is not None
    assert 0.04 <= row["rtt_min_s"] <= row["rtt_mean_s"] <= row["rtt_max_s"]
    assert _row(result, flow="tcp")["control"] == "cubic"


def test_samples_join_what_both_hosts_know(result: Result) -> None:
    rows = result.rows("samples", flow="quic")
    times, sent, delivered = (
        column(rows, name) for name in ("time_s", "sent_packets", "delivered_bytes")
    )
    assert np.all(np.diff(times) > 0)
    assert np.all(np.diff(sent) >= 0)
    assert np.all(np.diff(delivered) >= 0)
    assert np.all(delivered <= 1452 * sent)
    assert sent[-1] == _row(result)["sent_packets"]
    assert 0 < delivered[-1] <= _row(result)["delivered_bytes"]
    assert np.all(column(rows, "cwnd_bytes") > 0)
    assert np.nanmin(column(rows, "smoothed_rtt_s")) >= 0.04


def test_marks_reach_quinn_and_are_events(result: Result) -> None:
    events = result.tables["events"].to_pylist()
    kinds = {event["kind"] for event in events}
    assert "ecn_echo" in kinds, "CoDel marks its packets"
    for event in events:
        assert event["flow"] == "quic"
        assert event["cwnd_after_bytes"] < event["cwnd_before_bytes"]


def test_packets_carry_codepoint_and_ecn_field(folder: Path) -> None:
    capture = folder / "pcap" / "point-0-replicate-0-from-senders.pcap"
    # UDP packets, by the byte of the IP header that has both.
    services = [packet[1] for _, packet in packets(capture) if packet[9] == 17]
    assert len(services) > 100
    assert {service >> 2 for service in services} == {EF}
    assert {service & 3 for service in services} == {ECT0}


def test_the_hops_decided_as_they_decide_again(folder: Path) -> None:
    [run] = replay(folder)
    assert (run["difference"], run["complete"]) == (None, True)


@pytest.mark.usefixtures("emulation")
def test_a_transfer_completes_and_a_header_that_the_kernel_lacks_is_told(tmp_path: Path) -> None:
    """Alone on the line, without a handshake it would take a second."""
    transfer = {
        "flows.quic.traffic": {"kind": "transfer", "size": "1 MB"}, "flows.quic.start": "0 s",
        "flows.quic.stop": "5 s", f"{FLOW}.header": "48 bytes",
    }  # fmt: skip
    result = emulate(_scenario(transfer), tmp_path / "run", pcap=False)
    row = _row(result)
    assert row["delivered_bytes"] == 1_000_000
    assert row["completion_time_s"] > 0.8
    settings = {row["name"]: row["refusal"] for row in result.tables["settings"].to_pylist()}
    assert settings[f"{FLOW}.header"] == "the kernel's has 28 bytes"


@pytest.mark.usefixtures("emulation")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("apart", [False, True])
def test_a_library_that_was_brought_runs_in_the_hosts(tmp_path: Path, apart: bool) -> None:
    for name, text in template("mine").items():
        (tmp_path / name).write_text(text, "utf-8")
    library = tmp_path / "mine.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "mine.c")]
    subprocess.run(command, check=True)
    stack = stacks.bring("mine", library, apart=apart)
    mine = _scenario({FLOW: {"kind": "quic", "stack": "mine", "control": "reno"}})
    result = emulate(mine, tmp_path / "run", pcap=False)
    row, simulated = _row(result), _row(simulate(mine))
    assert row["control"] == simulated["control"] == "mine/reno"
    assert row["delivered_bytes"] > 100_000
    run = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    transport = run["points"][0]["scenario"]["flows"][0]["transport"]
    assert stack.digest[:16] in transport["version"]


def test_what_is_not_here_is_refused_before_any_host_starts(tmp_path: Path) -> None:
    scenario = tmp_path / "absent.toml"
    text = EXAMPLE.read_text("utf-8").replace('stack = "quinn"', 'stack = "absent"')
    scenario.write_text(text, "utf-8")
    outcome = ackclock("emulate", scenario, "--set", "sweep={}", "-o", tmp_path / "run")
    check_refusal(outcome, "unsupported", f"{FLOW}.stack", "--stack NAME=LIBRARY")


def test_a_stack_in_python_is_too_slow_for_real_time(tmp_path: Path) -> None:
    [(name, text)] = template("mine", "python").items()
    (tmp_path / name).write_text(text, "utf-8")
    library = f"mine={tmp_path / name}"
    mine = f'{FLOW}={{ kind = "quic", stack = "mine", control = "reno" }}'
    outcome = ackclock(
        "emulate", EXAMPLE, "--stack", library, "--set", mine, "--set", "sweep={}", "-o",
        tmp_path / "run",
    )  # fmt: skip
    check_refusal(outcome, "unsupported", f"{FLOW}.stack", "ackclock simulate")
