"""What is measured beside what tcptrace, whose terms people know, says of the same file."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock import Scenario, measure, simulate
from ackclock.measured import largest

# Its name for what our table `connections` has in a column.
COUNTS = {
    "total packets": "packets", "actual data pkts": "data_packets", "actual data bytes": "payload_bytes",
    "unique bytes sent": "unique_bytes", "rexmt data pkts": "retransmitted_packets",
    "rexmt data bytes": "retransmitted_bytes", "outoforder pkts": "out_of_order_packets",
    "RTT samples": "ack_rtt_samples",
}  # fmt: skip

# It counts what came back with the other direction, or with this one.
ACKS = {"pure acks sent": "pure_acks", "sack pkts sent": "acks_with_sack", "dsack pkts sent": "duplicate_sacks"}
REACTIONS = {"duplicate acks": "duplicate_acks", "triple dupacks": "triple_duplicate_acks"}


def said(file: Path) -> list[dict[str, float]]:
    """The numbers of both directions by tcptrace's names."""
    command = ["tcptrace", "-n", "-l", "-r", str(file)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    number = r"([-\d.]+)(?: \w+)?"
    pairs = re.findall(rf"^ +([\w#/() -]+?): +{number} +[\w#/() -]+?: +{number} *$", text, re.MULTILINE)
    return [{name: float(values[side]) for name, *values in pairs} for side in (0, 1)]


@pytest.mark.parametrize("preset", ["linux", "rfc"])
def test_counts_are_equal(preset: str, leaky_pipe: Scenario, tmp_path: Path) -> None:
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed; on Debian: apt-get install tcptrace")
    point = leaky_pipe.expand()[1].scenario
    simulate(point.replace({"replicates": 1, "duration": "20 s", "flows.0.transport.preset": preset}), pcap=tmp_path)
    file = tmp_path / "point-0-replicate-0-senders.pcap"
    [row] = largest(measure(file, tmp_path / "measured"))
    forth, back = said(file)
    assert forth["rexmt data pkts"] > 0
    assert {name: row[column] for name, column in COUNTS.items()} == {name: forth[name] for name in COUNTS}
    assert {name: row[column] for name, column in ACKS.items()} == {name: back[name] for name in ACKS}
    assert {name: row[column] for name, column in REACTIONS.items()} == {name: forth[name] for name in REACTIONS}
    assert 1e3 * row["ack_rtt_min_s"] == pytest.approx(forth["RTT min"], abs=0.051)  # it prints tenths of a millisecond
    # Of the segments that an ACK covers it times the last, we the first, as timestamps do (RFC 7323 section 4.2): with
    # an ACK for two segments that is longer by the time between them, which is a few milliseconds on this path.
    mean_ms = 1e3 * row["ack_rtt_mean_s"]
    assert 0.9 * mean_ms < forth["RTT avg"] < mean_ms
