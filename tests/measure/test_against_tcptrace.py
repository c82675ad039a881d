"""Our measurements compared with tcptrace, whose terms are well known, on the same file."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ackclock import Scenario, measure, simulate
from ackclock.capture.connections import largest

from ..patience import PATIENCE_S

pytestmark = pytest.mark.peer

# Its names of columns of our table `connections`.
COUNTS = {
    "total packets": "packets", "actual data pkts": "data_packets",
    "actual data bytes": "payload_bytes", "unique bytes sent": "unique_bytes",
    "rexmt data pkts": "retransmitted_packets", "rexmt data bytes": "retransmitted_bytes",
    "outoforder pkts": "out_of_order_packets",
    "RTT samples": "ack_rtt_samples",
}  # fmt: skip

# It counts returning ACKs with the other direction, or with this one.
ACKS = {
    "pure acks sent": "pure_acks",
    "sack pkts sent": "acks_with_sack",
    "dsack pkts sent": "duplicate_sacks",
}
REACTIONS = {"duplicate acks": "duplicate_acks", "triple dupacks": "triple_duplicate_acks"}


def tcptrace_numbers(file: Path) -> list[dict[str, float]]:
    """Returns the numbers of both directions by tcptrace's names."""
    command = ["tcptrace", "-n", "-l", "-r", str(file)]
    text = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    number = r"([-\d.]+)(?: \w+)?"
    pairs = re.findall(
        rf"^ +([\w#/() -]+?): +{number} +[\w#/() -]+?: +{number} *$", text, re.MULTILINE
    )
    return [{name: float(values[side]) for name, *values in pairs} for side in (0, 1)]


# It prints tenths of a millisecond.
TENTHS = 0.051


def round_trips(marks: list[dict]) -> tuple[list[float], list[float]]:
    """Returns round trips from the first and the last segment that an ACK covers.

    Segments that were sent twice are left out (Karn).
    """
    first, last = [], []
    outstanding: list[dict[str, float]] = []
    for mark in marks:
        low, high = mark["low_bytes"], mark["high_bytes"]
        if mark["kind"] == "data":
            outstanding.append(mark | {"again": False})
        elif mark["kind"] == "retransmission":
            for sent in outstanding:
                sent["again"] |= sent["low_bytes"] < high and low < sent["high_bytes"]
        elif mark["kind"] == "ack":
            covered = [sent for sent in outstanding if sent["high_bytes"] <= high]
            outstanding = outstanding[len(covered) :]
            if covered and not any(sent["again"] for sent in covered):
                first.append(mark["time_s"] - covered[0]["time_s"])
                last.append(mark["time_s"] - covered[-1]["time_s"])
    return first, last


@pytest.mark.parametrize("preset", ["linux", "rfc"])
def test_counts_are_equal(preset: str, leaky_pipe: Scenario, tmp_path: Path) -> None:
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed; on Debian: apt-get install tcptrace")
    point = leaky_pipe.expand()[1].scenario
    simulate(
        point.replace({"replicates": 1, "duration": "20 s", "flows.0.transport.preset": preset}),
        pcap=tmp_path,
    )
    file = tmp_path / "point-0-replicate-0-senders.pcap"
    measured = measure(file, tmp_path / "measured", segments=True)
    [row] = largest(measured)
    forth, back = tcptrace_numbers(file)
    assert forth["rexmt data pkts"] > 0
    assert {name: row[column] for name, column in COUNTS.items()} == {
        name: forth[name] for name in COUNTS
    }
    assert {name: row[column] for name, column in ACKS.items()} == {
        name: back[name] for name in ACKS
    }
    assert {name: row[column] for name, column in REACTIONS.items()} == {
        name: forth[name] for name in REACTIONS
    }
    assert 1e3 * row["ack_rtt_min_s"] == pytest.approx(forth["RTT min"], abs=TENTHS)
    # Of the segments that an ACK covers tcptrace times the last and we the first, as timestamps do
    # (RFC 7323 section 4.2). The samples are otherwise the same, and both include the handshake's.
    first, last = round_trips(measured.rows("segments", flow=row["flow"]).to_pylist())
    assert len(first) + 1 == row["ack_rtt_samples"]
    assert np.mean([row["handshake_rtt_s"], *first]) == pytest.approx(
        row["ack_rtt_mean_s"], rel=1e-9
    )
    assert 1e3 * np.mean([row["handshake_rtt_s"], *last]) == pytest.approx(
        forth["RTT avg"], abs=TENTHS
    )
    assert (
        np.mean(first) - np.mean(last) > 1e-3
    )  # the difference is not small where an ACK covers two segments
