"""Our measurements compared with tshark, an independent program, on the same file."""

import shutil
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from ackclock import Scenario, measure, simulate
from ackclock.capture.connections import largest

from ..patience import PATIENCE_S
from .test_against_tcptrace import round_trips

pytestmark = pytest.mark.peer

FIELDS = (
    "tcp.srcport",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.duplicate_ack",
    "tcp.seq",
    "tcp.ack",
)


class Both(NamedTuple):
    """A capture: every packet by tshark, and the measured rows."""

    packets: list[dict[str, str]]
    connection: dict
    marks: list[dict]

    @property
    def data(self) -> list[dict[str, str]]:
        return [packet for packet in self.packets if int(packet["tcp.len"]) > 0]


@pytest.fixture(scope="module", params=["linux", "rfc"])
def both(
    request: pytest.FixtureRequest, leaky_pipe: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> Both:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed; on Debian: apt-get install tshark")
    folder = tmp_path_factory.mktemp("pcap")
    point = leaky_pipe.expand()[1].scenario
    scenario = point.replace(
        {"replicates": 1, "duration": "20 s", "flows.0.transport.preset": request.param}
    )
    simulate(scenario, pcap=folder)
    file = folder / "point-0-replicate-0-senders.pcap"
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "separator=|"]
    command += [part for field in FIELDS for part in ("-e", field)]
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    packets = [dict(zip(FIELDS, line.split("|"), strict=True)) for line in output.splitlines()]
    measured = measure(file, Path(folder) / "measured", segments=True)
    [connection] = largest(measured)
    return Both(packets, connection, measured.rows("segments", flow=connection["flow"]).to_pylist())


def test_packets_and_bytes(both: Both) -> None:
    assert both.connection["data_packets"] == len(both.data)
    assert both.connection["payload_bytes"] == sum(int(packet["tcp.len"]) for packet in both.data)


def test_retransmissions(both: Both) -> None:
    # tshark calls a retransmission soon after the requesting ACK out of order: it could have taken
    # a longer path.
    again = [
        packet
        for packet in both.data
        if packet["tcp.analysis.retransmission"] or packet["tcp.analysis.out_of_order"]
    ]
    assert both.connection["retransmitted_packets"] == len(again) > 0


def test_duplicate_acks(both: Both) -> None:
    duplicates = sum(packet["tcp.analysis.duplicate_ack"] != "" for packet in both.packets)
    assert both.connection["duplicate_acks"] == duplicates > 0


def test_round_trips(both: Both) -> None:
    sender = both.data[0]["tcp.srcport"]
    back = [
        packet
        for packet in both.packets
        if packet["tcp.srcport"] != sender and packet["tcp.analysis.ack_rtt"]
    ]
    times = [float(packet["tcp.analysis.ack_rtt"]) for packet in back]
    assert both.connection["handshake_rtt_s"] == pytest.approx(times[0], abs=1e-6)
    assert both.connection["ack_rtt_min_s"] == pytest.approx(min(times), abs=1e-6)
    # Of the segments that an ACK covers tshark times the last, retransmitted or not. We time the
    # first, if none was retransmitted (RFC 7323 section 4.2, Karn). For the same packets each gives
    # its own value, ours to a bin of 1 %.
    last = last_round_trips(both.marks)
    assert statistics.median([times[0], *last]) == pytest.approx(statistics.median(times), rel=1e-9)
    first, _ = round_trips(both.marks)
    assert both.connection["ack_rtt_median_s"] == pytest.approx(
        statistics.median([times[0], *first]), rel=0.01
    )


def last_round_trips(marks: list[dict]) -> list[float]:
    """Returns round trips from the last transmission of the segment that ends where an ACK does."""
    sent_at: dict[float, float] = {}
    rtts = []
    for mark in marks:
        if mark["kind"] in ("data", "retransmission"):
            sent_at[mark["high_bytes"]] = mark["time_s"]
        elif mark["kind"] == "ack":
            if mark["high_bytes"] in sent_at:
                rtts.append(mark["time_s"] - sent_at[mark["high_bytes"]])
            sent_at = {end: time for end, time in sent_at.items() if end > mark["high_bytes"]}
    return rtts


def test_outstanding_data(both: Both) -> None:
    sender = both.data[0]["tcp.srcport"]
    sent = acknowledged = most = 0
    for packet in both.packets:
        if packet["tcp.srcport"] == sender:
            sent = max(sent, int(packet["tcp.seq"]) + int(packet["tcp.len"]))
        else:
            acknowledged = max(acknowledged, int(packet["tcp.ack"]))
        most = max(most, sent - acknowledged)
    assert both.connection["in_flight_max_bytes"] == most
    assert (
        both.connection["acknowledged_bytes"] == acknowledged - 1
    )  # the SYN has a sequence number, too
