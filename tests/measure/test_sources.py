"""Sources of captures."""

import math
import struct
from pathlib import Path

import pytest

from ackclock import Scenario, emulate, measure, simulate
from ackclock.capture import sources
from ackclock.capture.connections import largest


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("web.pcap", "web"), ("web.pcapng.gz", "web"), ("WEB.PCAP", "WEB"), ("web.cap", "web"),
        ("web", "web"), ("a.b.pcap", "a.b"), (".pcap", ".pcap"), ("web.gz", "web"),
    ],
)  # fmt: skip
def test_a_file_is_called_by_its_name(name: str, called: str) -> None:
    source = sources.find(Path("somewhere") / name)
    assert (source.name, source.run) == (called, None)
    assert source.captures == (sources.Capture((f"somewhere/{name}",), 0, 0),)


def test_a_folders_captures_are_those_of_the_senders(leaky_pipe: Scenario, tmp_path: Path) -> None:
    (tmp_path / "pcap").mkdir()
    scenario = leaky_pipe.replace({"duration": "2 s", "replicates": 2})
    simulate(scenario, pcap=tmp_path / "pcap").save(tmp_path / "run", {"pcap": tmp_path / "pcap"})
    (tmp_path / "run" / "pcap" / "point-0-replicate-1-senders.pcap").unlink()
    source = sources.find(tmp_path / "run")
    keys = [(capture.point, capture.replicate) for capture in source.captures]
    assert keys == [
        (point, replicate)
        for point in range(6)
        for replicate in range(2)
        if (point, replicate) != (0, 1)
    ]
    assert all(
        file.endswith("-senders.pcap") for capture in source.captures for file in capture.files
    )
    assert (source.name, source.stem) == ("leaky pipe", "run")


@pytest.mark.usefixtures("emulation")
def test_an_emulations_two_files_are_one_capture(leaky_pipe: Scenario, tmp_path: Path) -> None:
    point = leaky_pipe.expand()[1].scenario
    changes = {
        "duration": "4 s", "replicates": 1, "flows.main.count": 2,
        "flows.main.transport.preset": "linux",
        "flows.main.traffic": {"kind": "transfer", "size": "300 kB"},
    }  # fmt: skip
    emulated = emulate(point.replace(changes), tmp_path / "run")
    measurement = measure(tmp_path / "run", tmp_path / "m")
    assert len(measurement.run["captures"][0]["files"]) == 2
    rows = {
        row["instance"]: row
        for row in measurement.tables["flows"].to_pylist()
        if row["flow"] == "main"
    }
    for truth in emulated.tables["flows"].to_pylist():
        row = rows[truth["instance"]]
        assert_counted_alike(row, truth, 4, syns_sent_again(tmp_path / "run"))
        assert row["delivered_bytes"] <= 300_000
        if is_over(truth, 4):
            assert row["delivered_bytes"] == truth["delivered_bytes"] == 300_000
    assert {row["vantage"] for row in largest(measurement)} == {"sender"}
    assert measurement.unreliable == emulated.unreliable
    assert "fidelity" in measurement.tables


def is_over(truth: dict, duration_s: float) -> bool:
    """Returns whether a transfer was complete long before the end of the run.

    Nothing is in flight then.
    """
    return truth["completion_time_s"] is not None and truth["end_s"] < duration_s - 1


def assert_counted_alike(row: dict, truth: dict, duration_s: float, syns_again: int) -> None:
    """Compares the captured counts of a flow with the kernel's own.

    The kernel counts what it gives to the device, which is before the capture, and also at the end
    of a run when there is no capture. It also counts SYNs that it retransmits, `syns_again` in the
    whole run.
    """
    sent, again, timeouts = (
        truth[name] - row[name] for name in ("sent_packets", "retransmitted_packets", "timeouts")
    )  # fmt: skip
    if is_over(truth, duration_s):
        assert (sent, again) == (0, timeouts), (row, truth)
        assert 0 <= again <= syns_again, (row, truth)
    else:
        assert 0 <= timeouts <= again <= sent + syns_again, (row, truth)


def syns_sent_again(result: Path) -> int:
    """Returns the SYNs in a capture of an emulation beyond the first of each connection."""
    [capture] = (result / "pcap").glob("*-from-senders.pcap")
    data, offset, syns = capture.read_bytes(), 24, []
    while offset < len(data):
        (kept,) = struct.unpack_from("<I", data, offset + 8)
        packet = data[offset + 16 : offset + 16 + kept]
        offset += 16 + kept
        # IPv4 without options: protocol, addresses, ports; then TCP's flags.
        if packet[9] == 6 and packet[33] & 0x12 == 0x02:
            syns.append(packet[12:24])
    return len(syns) - len(set(syns))


@pytest.mark.usefixtures("emulation")
def test_what_is_counted_is_what_the_kernel_counts(tmp_path: Path) -> None:
    def hop(name: str, **more: object) -> dict:
        link = {"kind": "constant", "rate": "10 Mbit/s"}
        return {
            "name": name,
            "link": link,
            "queue": {"kind": "droptail", "limit": "100 packets"},
            "delay": "10 ms",
        } | more

    losses = {name: [{"kind": "iid_loss", "probability": name}] for name in ("1 %", "5 %", "12 %")}
    hops = [hop(f"to {name}", impairments=lossy) for name, lossy in losses.items()]
    hops += [hop(f"from {name}") for name in losses]
    tcp = {"kind": "tcp", "preset": "linux", "control": {"kind": "reno"}}
    sizes = {"1 %": "1 MB", "5 %": "200 kB", "12 %": "20 kB"}
    flows = [
        {"name": name, "route": [f"to {name}"], "return": [f"from {name}"], "transport": tcp,
         "traffic": {"kind": "transfer", "size": sizes[name]}}
        for name in losses
    ]  # fmt: skip
    lossy = {
        "schema": 1,
        "name": "lossy",
        "duration": "6 s",
        "replicates": 1,
        "hops": hops,
        "flows": flows,
    }
    emulated = emulate(Scenario(lossy), tmp_path / "run")
    measurement = measure(tmp_path / "run", tmp_path / "m")
    counted = {row["flow"]: row for row in measurement.tables["flows"].to_pylist()}
    connections = {row["flow"]: row for row in largest(measurement)}
    for truth in emulated.tables["flows"].to_pylist():
        row, connection = counted[truth["flow"]], connections[truth["flow"]]
        assert_counted_alike(row, truth, 6, syns_sent_again(tmp_path / "run"))
        # Data not acknowledged at the end of the capture is not yet known to be lost.
        unknown = math.ceil(
            (connection["unique_bytes"] - connection["acknowledged_bytes"])
            / connection["mss_bytes"]
        )
        dropped = truth["dropped_packets"] - truth["dropped_acks"]
        assert connection["losses_lower"] <= dropped <= connection["losses_upper"] + unknown, truth
