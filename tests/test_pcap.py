"""Captures of whole runs, read by tshark, an independent program."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from ackclock import Scenario, simulate

from .patience import PATIENCE_S

FIELDS = (
    "frame.time_relative",
    "_ws.malformed",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.flags.syn",
    "tcp.len",
    "tcp.ack",
    "tcp.options.sack_le",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_lost_segment",
    "tcp.analysis.lost_segment",
)


class Capture(NamedTuple):
    """A run with one flow: its row of `flows`, and both captures with a dict per packet."""

    flow: dict
    senders: list[dict[str, str]]
    receivers: list[dict[str, str]]


def packets(file: Path) -> list[dict[str, str]]:
    command = [
        "tshark",
        "-n",
        "-r",
        str(file),
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
    ]
    command += [
        "-T",
        "fields",
        "-E",
        "separator=|",
        *(part for field in FIELDS for part in ("-e", field)),
    ]
    outcome = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in outcome.stdout.splitlines()]


@pytest.fixture(scope="module", params=["linux", "rfc"])
def capture(
    request: pytest.FixtureRequest, leaky_pipe: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> Capture:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed; on Debian: apt-get install tshark")
    folder = tmp_path_factory.mktemp("pcap")
    point = leaky_pipe.expand()[2].scenario  # Reno at 5 % loss
    changes = {"replicates": 1, "duration": "20 s", "flows.0.transport.preset": request.param}
    [flow] = simulate(point.replace(changes), pcap=folder).tables["flows"].to_pylist()
    senders, receivers = (
        packets(folder / f"point-0-replicate-0-{end}.pcap") for end in ("senders", "receivers")
    )
    return Capture(flow, senders, receivers)


@pytest.mark.long
def test_nothing_is_wrong_with_any_packet(capture: Capture) -> None:
    for packet in capture.senders + capture.receivers:
        assert packet["_ws.malformed"] == ""
        assert packet["ip.checksum.status"] == "1"
        assert packet["tcp.checksum.status"] in ("1", "2")  # good, or cut after the headers
        # Data that was never sent would be a hole in the capture.
        assert packet["tcp.analysis.ack_lost_segment"] == ""
    assert all(packet["tcp.analysis.lost_segment"] == "" for packet in capture.senders)


@pytest.mark.slow
def test_it_begins_with_a_handshake_of_one_round_trip(capture: Capture) -> None:
    assert [packet["tcp.flags.syn"] for packet in capture.senders[:3]] == ["1", "1", "0"]
    asked, answered = (float(packet["frame.time_relative"]) for packet in capture.senders[:2])
    # Data packets take longer to send than a SYN does.
    assert answered - asked == pytest.approx(capture.flow["rtt_min_s"], abs=2e-3)


def test_what_was_sent_again_is_recognised(capture: Capture) -> None:
    data = [packet for packet in capture.senders if int(packet["tcp.len"]) > 0]
    assert len(data) == capture.flow["sent_packets"]
    # tshark calls a retransmission soon after the requesting ACK out of order: it could have taken
    # a longer path.
    again = [
        packet
        for packet in data
        if packet["tcp.analysis.retransmission"] or packet["tcp.analysis.out_of_order"]
    ]
    assert len(again) == capture.flow["retransmitted_packets"] > 0
    assert any(packet["tcp.options.sack_le"] for packet in capture.senders)


def test_what_did_not_arrive_was_dropped(capture: Capture) -> None:
    def data(side: list[dict[str, str]]) -> int:
        return sum(int(packet["tcp.len"]) > 0 for packet in side)

    lost = data(capture.senders) - data(capture.receivers)
    on_the_way = lost - capture.flow["dropped_packets"]  # at the end of the run
    assert 0 <= on_the_way < 100
    acknowledged = (
        max(int(packet["tcp.ack"]) for packet in capture.receivers if packet["tcp.len"] == "0") - 1
    )
    assert 0 <= capture.flow["delivered_bytes"] - acknowledged <= 2000  # a delayed ACK may be due
