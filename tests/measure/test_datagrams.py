"""UDP flows in captures: what an encrypted capture of quinn tells is what the engine knows."""

import math
from pathlib import Path

import pytest

from ackclock import Result, measure
from ackclock.capture.datagrams import ENCRYPTED

from ..in_process import ackclock

SCENARIO = """
schema = 1
name = "quinn"
duration = "6 s"
seed = 3
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "codel", limit = "100 packets", ecn = true }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "quic"
count = 6
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "quinn", control = "cubic" }

[[flows]]
name = "plain"
route = ["there"]
start = "1 s"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "80 kbit/s", packet_size = "200 bytes" }
"""

#: An ACK may wait so long (RFC 9000 section 18.2, max_ack_delay, whose default quinn has), and the
#: path takes so long, in seconds.
LONGEST_ACK_DELAY = 0.025
PATH = 0.04


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with a capture at the senders."""
    place = tmp_path_factory.mktemp("quinn")
    (place / "quinn.toml").write_text(SCENARIO, "utf-8")
    outcome = ackclock("simulate", place / "quinn.toml", "--pcap", "-o", place / "run")
    assert outcome.exit_code == 0, outcome.stderr
    return place / "run"


@pytest.fixture(scope="module")
def measured(folder: Path) -> Result:
    return measure(folder, folder.parent / "measured")


def test_counts_sizes_and_marks_are_those_of_the_engine(folder: Path, measured: Result) -> None:
    flows = Result.load(folder).tables["flows"].to_pylist()
    for flow in flows:
        keys = {"flow": flow["flow"], "instance": flow["instance"]}
        [row] = measured.rows("datagrams", **keys).to_pylist()
        assert row["datagrams"] == flow["sent_packets"]
        assert row["rate_bit_per_s"] < 10.5e6
        assert 0 < row["longest_gap_s"] < row["end_s"] - row["start_s"]
        assert row["marked_datagrams"] == 0, "the capture is before the queue"
        if flow["flow"] == "plain":
            assert row["smallest_bytes"] == row["largest_bytes"]
            assert row["quic_version"] == ""
        else:
            assert 1200 <= row["largest_bytes"] <= 1452
            assert row["quic_version"] == "0x00000001"
            assert row["payload_bytes"] >= flow["delivered_bytes"]


def test_a_spin_bit_that_spins_tells_round_trips(folder: Path, measured: Result) -> None:
    """Each side of quinn takes part in seven connections of eight; otherwise it draws bits."""
    by_instance = {row["instance"]: row for row in Result.load(folder).tables["flows"].to_pylist()
             if row["flow"] == "quic"}  # fmt: skip
    rows = measured.rows("datagrams", flow="quic").to_pylist()
    spinning = [row for row in rows if row["spin_edges"] is not None]
    assert 1 <= len(spinning) <= len(rows)
    for row in spinning:
        flow = by_instance[row["instance"]]
        assert PATH <= row["spin_rtt_min_s"] <= row["spin_rtt_mean_s"] <= row["spin_rtt_max_s"]
        assert row["spin_rtt_min_s"] <= flow["rtt_max_s"]
        waits = LONGEST_ACK_DELAY + row["longest_gap_s"]
        assert abs(row["spin_rtt_mean_s"] - flow["rtt_mean_s"]) < waits
        assert row["spin_edges"] <= math.ceil(6 / PATH)


def test_what_is_encrypted_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    outcome = ackclock("measure", folder, "-o", tmp_path / "measured")
    assert outcome.exit_code == 0
    assert f"warning: {ENCRYPTED}" in outcome.stderr.splitlines()
    assert "UDP: " in outcome.stdout
    assert "plain" in outcome.stdout


def test_plain_datagrams_alone_are_measured_and_hide_nothing(tmp_path: Path) -> None:
    hops, plain = SCENARIO.index("[[flows]]"), SCENARIO.rindex("[[flows]]")
    (tmp_path / "plain.toml").write_text(SCENARIO[:hops] + SCENARIO[plain:], "utf-8")
    ackclock("simulate", tmp_path / "plain.toml", "--pcap", "-o", tmp_path / "run")
    outcome = ackclock("measure", tmp_path / "run", "-o", tmp_path / "measured")
    assert outcome.exit_code == 0, outcome.stderr
    assert ENCRYPTED not in outcome.stderr
    [row] = Result.load(tmp_path / "measured").tables["datagrams"].to_pylist()
    assert (row["flow"], row["spin_edges"]) == ("plain", None)
