"""Damaged captures, and what their measurement costs.

The captures are those of `tests/captures/linux`. Each has one to forty damages: bits, bytes, times,
lengths, numbers, and packets that are doubled, swapped or left out. Some end early.
"""

import gzip
import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ackclock import CaptureError, measure

CAPTURES = sorted((Path(__file__).parents[1] / "captures" / "linux").glob("*.pcap.gz"))

#: Most memory of the whole process for one capture.
MOST_BYTES = 300e6

_HEADER, _RECORD, _HEADERS = 24, 16, 40
_MOST_DAMAGES = 40


class Cost(NamedTuple):
    """The cost of a measurement.

    Attributes:
        processor_s: Processor time in seconds.
        memory_bytes: Largest memory of the process.
        refused: The error, if it was refused as no capture.
    """

    processor_s: float
    memory_bytes: float
    refused: str


def mutated(seed: int) -> bytes:
    """Returns a damaged capture; a seed always gives the same one."""
    draws = random.Random(seed)
    head, *records = _records(draws.choice(CAPTURES))
    packets = [bytearray(record) for record in records]
    for _ in range(draws.randint(1, _MOST_DAMAGES)):
        draws.choice(_DAMAGES)(packets, draws.randrange(len(packets)), draws)
    whole = head + b"".join(packets)
    return whole[: draws.randint(_HEADER, len(whole))] if draws.random() < 0.1 else whole


def cost(capture: bytes, folder: Path) -> Cost:
    """Measures a capture as the command does, and returns the cost."""
    path = folder / "mutated.pcap"
    path.write_bytes(capture)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak (proc(5))
    begun, refused = time.process_time(), ""
    try:
        measure(path, folder / "measured", replace=True)
    except CaptureError as error:
        refused = str(error)
    took = time.process_time() - begun
    status = Path("/proc/self/status").read_text()
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return Cost(took, 1024 * float(peak), refused)


@cache
def _records(capture: Path) -> tuple[bytes, ...]:
    """Returns the header of a pcap file and its records."""
    whole = gzip.decompress(capture.read_bytes())
    found, place = [whole[:_HEADER]], _HEADER
    while place < len(whole):
        end = place + _RECORD + int.from_bytes(whole[place + 8 : place + 12], "little")
        found.append(whole[place:end])
        place = end
    return tuple(found)


Packets = list[bytearray]


def _flip_a_bit(packets: Packets, at: int, draws: random.Random) -> None:
    packets[at][draws.randrange(_RECORD, len(packets[at]))] ^= 1 << draws.randrange(8)


def _flip_a_bit_of_the_record(packets: Packets, at: int, draws: random.Random) -> None:
    packets[at][draws.randrange(_RECORD)] ^= 1 << draws.randrange(8)


def _set_the_second(packets: Packets, at: int, draws: random.Random) -> None:
    packets[at][:4] = draws.randbytes(4)


def _jump_ahead(packets: Packets, at: int, draws: random.Random) -> None:
    """Shifts the time of all packets from here on."""
    ahead = draws.getrandbits(32) >> draws.randrange(31)
    for packet in packets[at:]:
        seconds = (int.from_bytes(packet[:4], "little") + ahead) % 2**32
        packet[:4] = seconds.to_bytes(4, "little")


def _set_a_length(packets: Packets, at: int, draws: random.Random) -> None:
    """Sets the length that was captured, the one on the wire, or that of IP."""
    place, count = draws.choice([(8, 4), (12, 4), (_RECORD + 2, 2)])
    packets[at][place : place + count] = draws.randbytes(count)


def _set_a_header_byte(packets: Packets, at: int, draws: random.Random) -> None:
    packets[at][_RECORD + draws.randrange(_HEADERS)] = draws.randrange(256)


def _set_the_numbers(packets: Packets, at: int, draws: random.Random) -> None:
    """Sets sequence and acknowledgment number; the header of IPv4 has 20 bytes."""
    packets[at][_RECORD + 24 : _RECORD + 32] = draws.randbytes(8)


def _double(packets: Packets, at: int, draws: random.Random) -> None:
    packets.insert(draws.randrange(len(packets)), bytearray(packets[at]))


def _swap(packets: Packets, at: int, draws: random.Random) -> None:
    other = draws.randrange(len(packets))
    packets[at], packets[other] = packets[other], packets[at]


def _leave_out(packets: Packets, at: int, draws: random.Random) -> None:
    """Leaves out up to 200 packets in a row; one always stays."""
    end = min(at + draws.randint(1, 200), len(packets))
    del packets[max(at, 1) : end]


_DAMAGES: tuple[Callable[[Packets, int, random.Random], None], ...] = (
    _flip_a_bit,
    _flip_a_bit_of_the_record,
    _set_the_second,
    _jump_ahead,
    _set_a_length,
    _set_a_header_byte,
    _set_the_numbers,
    _double,
    _swap,
    _leave_out,
)
