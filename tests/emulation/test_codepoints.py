"""Differentiated services codepoints: the kernel's packets carry them, and a queue obeys them."""

from collections import defaultdict
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.run.emulation import emulate

from .passages import packets

SCENARIO = """
schema = 1
name = "three classes"
duration = "4 s"
warmup = "1 s"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "cake", rate = "8 Mbit/s", classes = "diffserv3" }
delay = "5 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "5 ms"

[[flows]]
name = "bulk"
route = ["there"]
return = ["back"]
dscp = "CS1"
transport = { kind = "tcp", control = { kind = "cubic" }, preset = "linux" }

[[flows]]
name = "usual"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" }, preset = "linux" }

[[flows]]
name = "urgent"
route = ["there"]
dscp = "EF"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "200 kbit/s", packet_size = "250 bytes" }
"""

#: Codepoints of the flows by where a capture is taken. Nobody answers datagrams.
CODEPOINTS = {"from-senders": [0, 8, 46], "to-receivers": [0, 8, 46], "from-receivers": [0, 8]}


def seen(capture: Path) -> dict[frozenset[bytes], set[int]]:
    """Returns the codepoints of a capture's packets, by the addresses of both ends."""
    codepoints = defaultdict(set)
    for _, packet in packets(capture):
        codepoints[frozenset((packet[12:16], packet[16:20]))].add(packet[1] >> 2)
    return codepoints


@pytest.mark.usefixtures("emulation")
def test_packets_carry_the_codepoint_of_their_flow_and_cake_has_classes(tmp_path: Path) -> None:
    """A flow of the class for bulk has a sixteenth of the rate. The replay decides the same."""
    result = emulate(Scenario.from_toml(SCENARIO), tmp_path / "run")
    folder = tmp_path / "run" / "pcap"
    for name, expected in CODEPOINTS.items():
        codepoints = seen(folder / f"point-0-replicate-0-{name}.pcap")
        # Each flow has addresses of its own.
        assert sorted(map(sorted, codepoints.values())) == [
            [codepoint] for codepoint in expected
        ], name
    rates = {row["flow"]: row["goodput_bit_per_s"] for row in result.tables["flows"].to_pylist()}
    assert rates["bulk"] < rates["usual"] / 4
    assert rates["urgent"] > 0
