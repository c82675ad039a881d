"""One direction of a path between two hosts, as this process makes it in real time."""

import random
import struct
from collections import deque
from dataclasses import dataclass, field

_MARKED = 3


@dataclass
class Direction:
    """A queue, a link and a delay; packets begin with their IPv4 header.

    Attributes:
        delay_s: One-way delay.
        rate_bit_per_s: Rate of the link; unlimited if 0.
        queue_packets: Most packets that wait.
        loss: Loss probability behind the link.
        jitter_s: Largest further delay, uniform; the order is kept.
        reordering: Probability that a packet is held back by `reordering_s`, so that others
            overtake it.
        reordering_s: Time for which it is held back.
        mark_above_packets: Number of waiting packets above which ECN-capable ones are marked; none
            if 0.
    """

    delay_s: float
    rate_bit_per_s: float = 0.0
    queue_packets: int = 1000
    loss: float = 0.0
    jitter_s: float = 0.0
    reordering: float = 0.0
    reordering_s: float = 0.01
    mark_above_packets: int = 0
    draws: random.Random = field(default_factory=lambda: random.Random(1))
    _leaving: deque[float] = field(default_factory=deque)
    _last_due: float = 0.0

    def arrival(self, now: float, packet: bytes) -> tuple[float, bytes] | None:
        """Returns when a packet arrives and what arrives; None if it is lost."""
        leaves = self._leave(now, len(packet))
        if leaves is None or self.draws.random() < self.loss:
            return None
        if self.mark_above_packets and len(self._leaving) > self.mark_above_packets:
            packet = marked(packet)
        due = leaves + self.delay_s + self.jitter_s * self.draws.random()
        if self.draws.random() < self.reordering:
            return due + self.reordering_s, packet
        self._last_due = due = max(due, self._last_due)
        return due, packet

    def _leave(self, now: float, length: int) -> float | None:
        """Returns the time at which the link has sent it; None if the queue is full."""
        if self.rate_bit_per_s == 0:
            return now
        while self._leaving and self._leaving[0] <= now:
            self._leaving.popleft()
        if len(self._leaving) >= self.queue_packets:
            return None
        begins = max(now, self._leaving[-1] if self._leaving else now)
        leaves = begins + 8 * length / self.rate_bit_per_s
        self._leaving.append(leaves)
        return leaves


def marked(packet: bytes) -> bytes:
    """Returns an ECN-capable packet with CE and a new checksum (RFC 3168); others unchanged."""
    if packet[1] & _MARKED in (0, _MARKED):
        return packet
    length = 4 * (packet[0] & 15)
    header = bytearray(packet[:length])
    header[1] |= _MARKED
    header[10:12] = b"\0\0"
    total = sum(struct.unpack(f"!{length // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack("!H", ~total & 0xFFFF)
    return bytes(header) + packet[length:]
