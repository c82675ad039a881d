"""quinn in simulations: its rows, what is known of it, and what does not run it."""

from __future__ import annotations

import json
import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ackclock import Result, Scenario, predict, simulate
from ackclock.elements import facts
from ackclock.models import MODELS
from ackclock.report.certainty import of_result
from ackclock.result.flows import control_of
from ackclock.validity.stationarity import judge

from ..refusals import refused
from .paths import Tree, flow, path, scenario, tcp

pytestmark = pytest.mark.slow

VERSION = "quinn-proto 0.11.19"


#: A control of TCP inside quinn.
OURS = {"kind": "cubic"}


def quic(control: str | Tree = "cubic", **parameters: object) -> Tree:
    return {"kind": "quic", "stack": "quinn", "control": control} | parameters


def beside(control: str | Tree = "cubic", **more: object) -> Scenario:
    """Returns a scenario of one flow of quinn and one of TCP on 10 Mbit/s and 40 ms."""
    flows = [flow(quic(control), "quic", **more), flow(tcp("cubic", "linux"), "tcp")]
    return scenario(path("10 Mbit/s", "20 ms", "33 packets"), flows, "4 s", replicates=2)


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(beside())


def rows(result: Result, table: str) -> list[dict[str, Any]]:
    return [row for row in result.tables[table].to_pylist() if row["flow"] == "quic"]


def test_a_row_has_what_is_known_and_leaves_the_rest_empty(result: Result) -> None:
    for row in rows(result, "flows"):
        assert row["control"] == "quinn/cubic"
        assert row["delivered_bytes"] > 1e6
        assert row["sent_packets"] > row["delivered_bytes"] / 1452
        # Propagation both ways, and a packet of 1200 bytes out; none waits longer than the queue.
        assert 0.040 + 1200 * 8 / 10e6 <= row["rtt_min_s"] <= row["rtt_mean_s"] <= row["rtt_max_s"]
        assert row["rtt_mean_s"] < 0.040 + 35 * 1500 * 8 / 10e6 + 0.025  # and the delayed ACK
        assert row["lost_packets"] == row["dropped_packets"] > 0
        for unknown in ("retransmitted_packets", "fast_retransmits", "spurious_losses"):
            assert row[unknown] is None
    windows = [row["cwnd_bytes"] for row in rows(result, "samples") if row["time_s"] > 0.5]
    assert min(windows) > 2 * 1200
    thresholds = {row["ssthresh_bytes"] for row in rows(result, "samples")}
    assert any(threshold > 0 for threshold in thresholds)


def test_the_version_is_part_of_the_result(result: Result) -> None:
    [point] = result.points
    assert point["scenario"]["flows"][0]["transport"]["version"] == VERSION


@pytest.mark.parametrize("control", ["cubic", "new_reno", "bbr", OURS, {"kind": "bbr3"}])
def test_tables_are_the_same_whatever_the_threads(control: str | Tree) -> None:
    """BBR of quinn draws an offset of its cycle from the system; no cell may depend on it."""
    alone, together = (simulate(beside(control), threads=threads) for threads in (1, 2))
    for name, table in alone.tables.items():
        assert together.tables[name].equals(table), name


def test_nothing_is_known_but_its_name_and_that_all_data_arrives(result: Result) -> None:
    [point] = result.points
    described = point["scenario"]["flows"][0]
    name, stated = facts.control(described)
    assert (name, control_of(described)) == ("quinn/cubic", "quinn/cubic")
    assert stated == {}
    transport, stated = facts.transport(described)
    assert (transport, stated["reliable"], stated["handshake"]) == ("quic", True, True)
    assert (stated["congestion_window"], stated["mss_bytes"], stated["sent_ecn"]) == (None,) * 3


def test_a_control_of_tcp_inside_it_has_a_name_and_states_nothing() -> None:
    result = simulate(beside(OURS))
    [point] = result.points
    described = point["scenario"]["flows"][0]
    assert facts.control(described) == ("quinn/ackclock:cubic", {})
    assert {row["control"] for row in rows(result, "flows")} == {"quinn/ackclock:cubic"}


def reductions(control: str | Tree) -> tuple[float, float]:
    """Returns how often a flow alone reduces its window a minute, and the mean window after it."""
    flows = [flow(quic(control), start=["0 s", "3 s"])]
    line = path("10 Mbit/s", "20 ms", {"kind": "droptail", "limit": "50 kB"})
    result = simulate(scenario(line, flows, "65 s", replicates=8))
    events = [row for row in result.tables["events"].to_pylist() if row["time_s"] > 5]
    assert {row["kind"] for row in events} == {"reduction"}
    windows = [row["cwnd_after_bytes"] for row in events]
    return len(events) / 8, sum(windows) / len(windows)


@pytest.mark.parametrize(
    ("own", "ours"),
    # CUBIC of quinn is that of RFC 8312.
    [("cubic", {"kind": "cubic", "friendly_speedup": False}), ("new_reno", {"kind": "reno"})],
)
def test_a_control_of_tcp_inside_it_reduces_as_its_own_does(own: str, ours: Tree) -> None:
    """Bands were chosen before looking: 2 % for windows, 20 % for how often they are reduced."""
    (often, window), (ours_often, ours_window) = reductions(own), reductions(ours)
    assert ours_window == pytest.approx(window, rel=0.02)
    assert ours_often == pytest.approx(often, rel=0.2)


def test_controls_that_cannot_run_inside_it_are_refused() -> None:
    for control, code, field in (
        ({"kind": "prague"}, "unsupported", "control.kind"),
        ({"kind": "cubic", "beta": 2}, "out-of-range", "control.beta"),
        ({"kind": "kernel", "name": "bbr"}, "unsupported", "control.name"),
    ):
        with refused(code, f"flows.quic.transport.{field}"):
            simulate(beside(control))


def datagrams(capture: Path) -> list[tuple[int, bytes]]:
    """Returns length and payload, as far as it is kept, of the UDP datagrams in a capture."""
    content, payloads = capture.read_bytes(), []
    record = 24
    while record < len(content):
        kept, whole = struct.unpack_from("<II", content, record + 8)
        packet = content[record + 16 : record + 16 + kept]
        if packet[9] == 17:  # UDP
            payloads.append((whole - 28, packet[28:]))
        record += 16 + kept
    return payloads


def test_a_capture_has_its_datagrams(tmp_path: Path) -> None:
    run = beside().replace({"replicates": 1})
    result = simulate(run, pcap=tmp_path)
    sent = datagrams(next(tmp_path.glob("*senders.pcap")))
    [row] = rows(result, "flows")
    length, first = sent[0]
    # An Initial of version 1 in at least 1200 bytes (RFC 9000 sections 14.1 and 17.2.2).
    assert length >= 1200
    assert first[0] & 0xF0 == 0xC0
    assert first[1:5] == bytes([0, 0, 0, 1])
    # After the handshake, short headers (section 17.3.1); the second bit is greased (RFC 9287).
    data = [payload for length, payload in sent if length > 1300]
    assert len(data) > 1000
    assert all(payload[0] & 0x80 == 0 for payload in data)
    assert len(sent) > row["sent_packets"]  # and acknowledgements of the receiver


def test_qlog_files_tell_what_the_tables_count(tmp_path: Path) -> None:
    for threads in (1, 2):
        (tmp_path / f"{threads}").mkdir()
        result = simulate(beside(), qlog=tmp_path / f"{threads}", threads=threads)
    files = sorted((tmp_path / "1").iterdir())
    assert [file.name for file in files] == [
        f"point-0-replicate-{number}-quic-0-{side}.sqlog"
        for number in (0, 1)
        for side in ("receiver", "sender")
    ]
    assert all(file.read_bytes() == (tmp_path / "2" / file.name).read_bytes() for file in files)
    [row] = [row for row in rows(result, "flows") if row["replicate"] == 0]
    # JSON text sequences (RFC 7464): the first record describes the trace.
    head, *events = [json.loads(line) for line in files[1].read_text().split("\x1e")[1:]]
    assert head["trace"]["title"] == "flow/quic/0/sender"
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] <= 4000  # in ms of the run
    names = Counter(event["name"] for event in events)
    assert names["transport:packet_sent"] >= row["sent_packets"]
    assert names["recovery:packet_lost"] == row["lost_packets"] > 0
    windows = [event["data"].get("congestion_window") for event in events]
    reductions = sum(before > after for before, after in pairwise(filter(None, windows)))
    counted = [event for event in rows(result, "events") if event["replicate"] == 0]
    assert reductions == len(counted)


def test_qlog_files_need_a_flow_that_writes_them(tmp_path: Path) -> None:
    alone = scenario(path("10 Mbit/s", "20 ms", "33 packets"), [flow(tcp("cubic"), "tcp")], "4 s")
    with refused("unsupported", "qlog", "quinn"):
        simulate(alone, qlog=tmp_path)


def test_whether_its_mean_has_settled_is_not_known() -> None:
    run = simulate(beside().replace({"duration": "60 s", "warmup": "10 s"}))
    judged = judge(run)
    verdict = judged.verdicts[0, "quic"]
    assert verdict.settled is None
    assert verdict.reason == "whether and when it reacts to congestion is not known"
    assert judged.verdicts[0, "tcp"].settled is True
    [statement] = [sure for sure in of_result(run, judged) if "settled" in sure.lead]
    assert statement.rest == "as far as it can be judged."


def test_no_model_applies_and_each_says_why() -> None:
    alone = scenario(path("10 Mbit/s", "20 ms", "33 packets"), [flow(quic())], "4 s")
    table = predict(alone).tables["predictions"].to_pylist()
    of_flow = [row for row in table if row["flow"] == "main"]
    assert {row["model"] for row in of_flow} <= {model.name for model in MODELS}
    assert of_flow
    assert {row["verdict"] for row in of_flow} == {"does not apply"}
    assert all(row["note"] for row in of_flow)


def test_a_transfer_ends_and_a_flow_that_stops_is_silent() -> None:
    transfer = simulate(beside(traffic={"kind": "transfer", "size": "100 kB"}))
    for row in rows(transfer, "flows"):
        assert row["delivered_bytes"] == 100_000
        # A round trip for the handshake, and at least two for ten packets, then twice as many.
        assert 0.1 < row["completion_time_s"] < 1.0
    stopped = simulate(beside(stop="2 s"))
    sent = {row["time_s"]: row["sent_packets"] for row in rows(stopped, "samples")}
    assert sent[4.0] == sent[2.1] > 0


@pytest.mark.parametrize("control", ["cubic", "new_reno", "bbr"])
@pytest.mark.parametrize("crypto", ["tls", "null"])
def test_each_control_fills_the_path(control: str, crypto: str) -> None:
    flows = [flow(quic(control, crypto=crypto, trains="10 packets"))]
    alone = scenario(path("10 Mbit/s", "20 ms", "67 packets"), flows, "5 s", warmup="1 s")
    [row] = simulate(alone).tables["flows"].to_pylist()
    # Headers take about 60 of 1480 bytes; a control that is in order keeps the link busy.
    assert 0.8 * 10e6 < row["goodput_bit_per_s"] < 10e6 * 1420 / 1480
