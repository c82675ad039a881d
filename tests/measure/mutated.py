"""Damaged captures, and what their measurement costs.

The captures are those of Linux in `tests/captures`. Most are cut to a stretch of some hundred
packets. Each has one to forty damages: bits, bytes, times, lengths, numbers, options, flags, and
packets that are doubled, swapped, reversed or left out. In one of four, all packets get arbitrary
times. The file is pcap of either byte order or pcapng, with any resolution of time. Some headers
are damaged, and some files end early.
"""

import gzip
import random
import struct
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ackclock import CaptureError, measure

CAPTURES = sorted((Path(__file__).parents[1] / "captures").glob("*/*.pcap.gz"))

#: Most memory of the whole process for one capture.
MOST_BYTES = 300e6

# Of a file and a record of pcap; of IPv4 and TCP without options.
_HEADER, _RECORD, _HEADERS = 24, 16, 40
_TCP = _RECORD + 20
_MOST_DAMAGES = 40
_RAW_IP = 101


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
    packets = [bytearray(record) for record in _stretch(_records(draws.choice(CAPTURES)), draws)]
    for _ in range(draws.randint(1, _MOST_DAMAGES)):
        draws.choice(_DAMAGES)(packets, draws.randrange(len(packets)), draws)
    if draws.random() < 0.25:
        draws.choice(_TIMES)(packets, draws)
    whole = draws.choice(_FORMATS)(packets, draws)
    if draws.random() < 0.05:
        place = draws.randrange(_HEADER)
        whole = whole[:place] + draws.randbytes(1) + whole[place + 1 :]
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
    """Returns the records of a pcap file."""
    whole = gzip.decompress(capture.read_bytes())
    records, place = [], _HEADER
    while place < len(whole):
        end = place + _RECORD + int.from_bytes(whole[place + 8 : place + 12], "little")
        records.append(whole[place:end])
        place = end
    return tuple(records)


def _stretch(records: tuple[bytes, ...], draws: random.Random) -> tuple[bytes, ...]:
    """Returns all records, or more often a few hundred, half of these from the handshake on."""
    if draws.random() < 0.1:
        return records
    first = draws.choice([0, draws.randrange(len(records))])
    return records[first : first + draws.randint(20, 800)] or records[-20:]


Packets = list[bytearray]


def _flip_a_bit(packets: Packets, index: int, draws: random.Random) -> None:
    packets[index][draws.randrange(_RECORD, len(packets[index]))] ^= 1 << draws.randrange(8)


def _flip_a_bit_of_the_record(packets: Packets, index: int, draws: random.Random) -> None:
    packets[index][draws.randrange(_RECORD)] ^= 1 << draws.randrange(8)


def _set_the_second(packets: Packets, index: int, draws: random.Random) -> None:
    packets[index][:4] = draws.randbytes(4)


def _jump(packets: Packets, index: int, draws: random.Random) -> None:
    """Shifts the time of all packets from here on, ahead or back."""
    shift = draws.choice([1, -1]) * (draws.getrandbits(32) >> draws.randrange(31))
    for packet in packets[index:]:
        seconds = (int.from_bytes(packet[:4], "little") + shift) % 2**32
        packet[:4] = seconds.to_bytes(4, "little")


def _set_a_length(packets: Packets, index: int, draws: random.Random) -> None:
    """Sets the length that was captured, the one on the wire, or that of IP."""
    place, count = draws.choice([(8, 4), (12, 4), (_RECORD + 2, 2)])
    packets[index][place : place + count] = draws.randbytes(count)


def _set_a_header_byte(packets: Packets, index: int, draws: random.Random) -> None:
    packets[index][_RECORD + draws.randrange(_HEADERS)] = draws.randrange(256)


def _set_the_numbers(packets: Packets, index: int, draws: random.Random) -> None:
    """Sets sequence and acknowledgment number; the header of IPv4 has 20 bytes."""
    packets[index][_TCP + 4 : _TCP + 12] = draws.randbytes(8)


def _shift_a_number(packets: Packets, index: int, draws: random.Random) -> None:
    """Shifts the sequence or the acknowledgment number of all packets from here on."""
    place, shift = _TCP + draws.choice([4, 8]), draws.getrandbits(32) >> draws.randrange(31)
    for packet in packets[index:]:
        number = (int.from_bytes(packet[place : place + 4], "big") + shift) % 2**32
        packet[place : place + 4] = number.to_bytes(4, "big")


def _set_flags_and_window(packets: Packets, index: int, draws: random.Random) -> None:
    packets[index][_TCP + 13 : _TCP + 16] = draws.randbytes(3)


def _set_options(packets: Packets, index: int, draws: random.Random) -> None:
    """Sets the options: a kind and a length that there are, with any values, over and over."""
    room = len(packets[index]) - _TCP - 20
    kinds = [(2, 4), (3, 3), (4, 2), (5, 8 * draws.randint(1, 4) + 2), (8, 10), (172, 11), (174, 8)]
    options = b""
    while len(options) < room:
        kind, length = draws.choice(kinds)
        options += bytes([kind, length]) + draws.randbytes(length - 2)
    packets[index][_TCP + 20 :] = options[: max(room, 0)]


def _set_ports(packets: Packets, index: int, draws: random.Random) -> None:
    """Moves a stretch of packets to another connection."""
    ports = draws.randbytes(4)
    for packet in packets[index : index + draws.randint(1, 100)]:
        packet[_TCP : _TCP + 4] = ports


def _double(packets: Packets, index: int, draws: random.Random) -> None:
    packets.insert(draws.randrange(len(packets)), bytearray(packets[index]))


def _swap(packets: Packets, index: int, draws: random.Random) -> None:
    other = draws.randrange(len(packets))
    packets[index], packets[other] = packets[other], packets[index]


def _reverse(packets: Packets, index: int, draws: random.Random) -> None:
    end = index + draws.randint(2, 200)
    packets[index:end] = packets[index:end][::-1]


def _leave_out(packets: Packets, index: int, draws: random.Random) -> None:
    """Leaves out up to 200 packets in a row; one always stays."""
    end = min(index + draws.randint(1, 200), len(packets))
    del packets[max(index, 1) : end]


_DAMAGES: tuple[Callable[[Packets, int, random.Random], None], ...] = (
    _flip_a_bit,
    _flip_a_bit_of_the_record,
    _set_the_second,
    _jump,
    _set_a_length,
    _set_a_header_byte,
    _set_the_numbers,
    _shift_a_number,
    _set_flags_and_window,
    _set_options,
    _set_ports,
    _double,
    _swap,
    _reverse,
    _leave_out,
)


def _any_times(packets: Packets, draws: random.Random) -> None:
    for packet in packets:
        packet[:8] = draws.randbytes(8)


def _times_of_any_size(packets: Packets, draws: random.Random) -> None:
    for packet in packets:
        packet[:4] = (draws.getrandbits(32) >> draws.randrange(32)).to_bytes(4, "little")


def _times_back_and_forth(packets: Packets, draws: random.Random) -> None:
    """Sets the clock back after every few packets."""
    every = draws.randint(1, 20)
    for number, packet in enumerate(packets):
        seconds = draws.getrandbits(8) + (2**32 - 2**9 if number // every % 2 else 0)
        packet[:4] = seconds.to_bytes(4, "little")


def _last_times(packets: Packets, draws: random.Random) -> None:
    for packet in packets:
        packet[:4] = (2**32 - 1 - draws.randrange(3)).to_bytes(4, "little")


_TIMES = (_any_times, _times_of_any_size, _times_back_and_forth, _last_times)


def _pcap(packets: Packets, draws: random.Random) -> bytes:
    magic = draws.choice([0xA1B2C3D4, 0xA1B2C3D4, 0xA1B23C4D])
    snap_length = draws.choice([65535, 65535, 96, draws.getrandbits(32)])
    header = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, snap_length, _RAW_IP)
    return header + b"".join(packets)


def _big_endian_pcap(packets: Packets, _draws: random.Random) -> bytes:
    header = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, _RAW_IP)
    return header + b"".join(
        struct.pack(">4I", *struct.unpack_from("<4I", packet)) + packet[_RECORD:]
        for packet in packets
    )


def _pcapng(packets: Packets, draws: random.Random) -> bytes:
    """A section, an interface with any resolution and offset of time, and the packets."""
    resolution = draws.choice([6, 6, 9, 9, 0, 3, 0x80 | 20, draws.randrange(256)])
    offset_s = draws.choice([0, 0, 0, draws.getrandbits(63) - 2**62])
    interface = struct.pack("<HHI", _RAW_IP, 0, 65535)
    interface += struct.pack("<HHBxxx", 9, 1, resolution) + struct.pack("<HHq", 14, 8, offset_s)
    blocks = [
        _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        _block(1, interface + bytes(4)),
    ]
    per_second = draws.choice([10**6, 10**6, 10**9, 2**32])
    for packet in packets:
        seconds, fraction, captured, length = struct.unpack_from("<4I", packet)
        ticks = (seconds * per_second + fraction) % 2**64
        content = struct.pack("<5I", 0, ticks >> 32, ticks % 2**32, captured, length)
        blocks.append(_block(6, content + packet[_RECORD:]))
    return b"".join(blocks)


def _block(kind: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    length = struct.pack("<I", 12 + len(content))
    return struct.pack("<I", kind) + length + content + length


_FORMATS = (_pcap, _pcap, _big_endian_pcap, _pcapng)
