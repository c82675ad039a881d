"""Packets through a hop, one after the other, in the same form for simulation and emulation."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from ackclock import Result, Scenario, simulate
from ackclock.run.emulation import emulate, replay

#: Methods that know every packet.
ARMS = ("simulated", "emulated")

# pcap with nanoseconds, least significant byte first; raw IP.
_MAGIC = 0xA1B23C4D
_FILE_HEADER, _PACKET_HEADER = 24, 16
# IPv4 without options and UDP; then the number of the datagram.
_HEADERS = 28


class Passage(NamedTuple):
    """A datagram: number, arrival at the first hop, departure from the last or None, in ns."""

    number: int
    arrived: int
    departed: int | None


def run(scenario: Scenario, arm: str, folder: Path) -> tuple[Result, list[Passage]]:
    """Returns the result of one flow of datagrams, and its passages in order of arrival.

    An emulation is replayed, too. On a machine that is too busy a device may overflow before the
    hops, and a run may end with packets that nobody has read. Those did not arrive, and have no
    passage.
    """
    if arm == "simulated":
        result = simulate(scenario, packets=True)
        return result, _simulated(result)
    result = emulate(scenario, folder)
    (replayed,) = replay(folder)
    assert replayed["complete"]
    assert replayed["difference"] is None
    passages = _emulated(folder / "pcap")
    numbers = [passage.number for passage in passages]
    assert numbers == sorted(set(numbers))
    [outside_drops] = result.tables["fidelity"]["outside_drops"].to_pylist()
    assert numbers[-1] + 1 - len(numbers) <= outside_drops
    return result, passages


def _simulated(result: Result) -> list[Passage]:
    packets = result.tables["packets"].select(["event", "sequence", "time_s"]).to_pylist()
    times: dict[str, dict[int, int]] = {"arrive": {}, "receive": {}}
    for packet in packets:
        if packet["event"] in times:
            times[packet["event"]].setdefault(packet["sequence"], round(packet["time_s"] * 1e9))
    return [
        Passage(number, time_ns, times["receive"].get(number))
        for number, time_ns in times["arrive"].items()
    ]


def _emulated(folder: Path) -> list[Passage]:
    departed = dict(reversed(_numbers(folder / "point-0-replicate-0-to-receivers.pcap")))
    arrived = _numbers(folder / "point-0-replicate-0-from-senders.pcap")
    return [Passage(number, time_ns, departed.get(number)) for number, time_ns in arrived]


def count(capture: Path) -> int:
    """Returns the number of packets in a capture."""
    return len(packets(capture))


def _numbers(capture: Path) -> list[tuple[int, int]]:
    """Returns the number and the time of each datagram of a capture."""
    return [
        (struct.unpack_from("<Q", packet, _HEADERS)[0], time_ns)
        for time_ns, packet in packets(capture)
    ]


def packets(capture: Path) -> list[tuple[int, bytes]]:
    """Returns the time of each packet of a capture, and its captured bytes."""
    data = capture.read_bytes()
    assert struct.unpack_from("<I", data)[0] == _MAGIC
    captured, offset = [], _FILE_HEADER
    while offset < len(data):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<4I", data, offset)
        offset += _PACKET_HEADER + kept
        captured.append((seconds * 1_000_000_000 + nanoseconds, data[offset - kept : offset]))
    return captured
