"""Records how the kernel's TCP sends through simulated paths, for the engine to be given the same.

A record is a text file: a line of JSON with the settings, then a line for each event at the sender,
with its time in microseconds. Time zero is a tick of the kernel at which all its timers may expire.

A `write` has the number of segments. An `ack` has the next segment expected, the transmission whose
timestamp it echoes (counted from 0), and SACK blocks (from-to, with `*` for a duplicate). Behind
`>` stands what leaves at once. Behind `:` stands the kernel's `tcp_info` after that: cwnd,
ssthresh, ca_state, unacked, sacked, lost, retrans, reordering. The last number is the smoothed
round-trip time in microseconds, which is not compared. A `timer` lets leave what does so later.

`python tests/peers/duel.py FOLDER` needs root. All packets pass a TUN device in a network namespace
that ends with this program, which keeps a processor busy: so ticks come on time.
"""

# Lines of a record:
#
#     0 syn
#     40210 synack
#     40260 write 30 > 0,1,2,3,4,5,6,7,8,9
#     80455 ack 2 1 - > 10,11,12,13 : 12 - 0 12 0 0 0 3 40180
#     81020 ack 2 1 4-5 > 14 : 12 - 1 13 1 0 0 3 40180
#     99870 timer > 14

import argparse
import contextlib
import ctypes
import fcntl
import gc
import heapq
import itertools
import json
import math
import os
import platform
import random
import re
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

HOST, PEER, PORT = "10.90.0.1", "10.90.0.2", 9000
TICK_US = 4000
STOPPED_US = 2000  # a turn takes a tenth of a millisecond; else the machine took the processor
ATTEMPTS = 6  # at a duel without that
GRANULE = 8  # ticks of which long timers may expire at one (`LVL_CLK_DIV` of `timer.c`)
INFO = struct.Struct("@8B24I")  # `struct tcp_info` up to `tcpi_total_retrans`
SYN, ACK = 0x02, 0x10
LONGEST_US = 9_000_000
MS = 1000

Range = tuple[int, int]


@dataclass(frozen=True)
class Setting:
    """A path and what is sent on it. Times are in microseconds, shares are probabilities."""

    control: str
    timestamps: bool
    sack: bool
    writes: list[Range]
    """Times since the connection is open, and segments."""
    forth: int
    back: int
    gap: int = 0
    """Time that the bottleneck takes for a packet; 0 for none."""
    queue: int = 1000
    loss: float = 0.0
    bursts: float = 0.0
    """Probability that a packet is the first of a lost burst, of 2 to 12 packets."""
    ack_loss: float = 0.0
    ack_late: float = 0.0
    """Probability that an ACK comes later than those behind it, by up to `later`."""
    late: float = 0.0
    """Probability that a packet comes later than those behind it, by up to `later`."""
    later: int = 0
    duplicates: float = 0.0
    stalls: list[Range] = field(default_factory=list)
    """Intervals in which nothing passes: it comes at their end."""
    blackouts: list[Range] = field(default_factory=list)
    """Intervals in which everything is lost."""
    every: int = 2
    """Segments for which the receiver sends an ACK, or after 40 ms."""

    @property
    def mss(self) -> int:
        return 1448 if self.timestamps else 1460


#: What disturbs a path of the second family.
DISTURBED = [
    ["late"],
    ["late", "copies"],
    ["late", "acks"],
    ["stall", "copies"],
    ["late", "stall"],
    ["late acks"],
]

CONTROLS = ["reno", "cubic", "bbr"]
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

#: Probability of each disturbance on a path of the first family.
RARELY = {"acks": 0.2, "late": 0.15, "copies": 0.1, "stall": 0.15, "blackout": 0.15}


def draw(family: str, seed: int) -> Setting:
    """Returns the path of a seed: a `random` one, one with `reordering`, or one without SACK."""
    dice = random.Random(f"{family} {seed}")
    trip = round(math.exp(dice.uniform(math.log(6), math.log(150))) * MS)
    forth = round(trip * dice.uniform(0.2, 0.8))
    sack = family != "no-sack"
    lossy = family == "random" or not (sack or dice.random() < 0.5)
    if lossy:
        disturbed = [name for name, share in RARELY.items() if dice.random() < share]
    else:
        disturbed = dice.choice(DISTURBED)

    def share(name: str, least: float, most: float) -> float:
        return dice.uniform(least, most) if name in disturbed else 0

    def interval(name: str, longest: int) -> list[Range]:
        begin = round(dice.uniform(2 * trip, 12 * trip))
        return [(begin, begin + dice.randint(50 * MS, longest))] if name in disturbed else []

    return Setting(
        control=dice.choice(CONTROLS),
        timestamps=dice.random() < 0.7,
        sack=sack,
        writes=_writes(dice, trip),
        forth=forth,
        back=trip - forth,
        gap=dice.choice([0, round(12_000 / dice.uniform(2, 40))]),
        queue=dice.randint(10, 120),
        loss=dice.choice([0, 0.003, 0.01, 0.03] if lossy else [0, 0, 0.003]),
        bursts=dice.choice([0, 0, 0.01]) if lossy else 0,
        ack_loss=share("acks", 0.02, 0.2),
        ack_late=share("late acks", 0.01, 0.1),
        late=share("late", 0.01, 0.1),
        later=round(trip * dice.uniform(0.05, 1.2)),
        duplicates=share("copies", 0.01, 0.05),
        stalls=interval("stall", 600 * MS),
        blackouts=interval("blackout", 900 * MS),
        every=dice.choice([1, 2, 2, 2, 4]),
    )


def _writes(dice: random.Random, trip: int) -> list[Range]:
    """Returns a bulk transfer, chunks, or bursts with pauses."""
    kind = dice.choice(["bulk", "bulk", "chunks", "pauses"])
    if kind == "bulk":
        return [(0, dice.randint(20, 400))]
    begin, writes = 0, []
    for _ in range(dice.randint(3, 30 if kind == "chunks" else 6)):
        writes.append((begin, dice.randint(1, 12) if kind == "chunks" else dice.randint(5, 60)))
        pause = trip * 0.5 if kind == "chunks" else 600 * MS
        begin += round(dice.expovariate(1 / pause)) + (2 * trip if kind == "pauses" else 0)
    return writes


class Receiver:
    """Acknowledges segments as RFC 5681 and RFC 2883 say, with up to three SACK blocks."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.next = 0
        self.blocks: list[Range] = []
        """Most recently changed first."""
        self.waiting = 0
        self.echo = -1
        self.acked = 0

    def take(self, number: int, transmission: int) -> bool:
        """Takes a segment; returns true if it is to be acknowledged at once."""
        if number <= self.acked:
            self.echo = transmission
        self.duplicate: Range | None = None
        if number < self.next or any(a <= number < b for a, b in self.blocks):
            self.duplicate = (number, number + 1)
            return True
        if number > self.next:
            begin, end = number, number + 1
            for block in [b for b in self.blocks if b[0] == end or b[1] == begin]:
                self.blocks.remove(block)
                begin, end = min(begin, block[0]), max(end, block[1])
            self.blocks.insert(0, (begin, end))
            return True
        held = bool(self.blocks)
        self.next += 1
        for block in [b for b in self.blocks if b[0] == self.next]:
            self.next = block[1]
            self.blocks.remove(block)
        self.waiting += 1
        return held or self.waiting >= self.every

    def answer(self) -> tuple[int, int, list[Range], bool]:
        """Returns ACK, echo and SACK blocks, and whether the first reports a duplicate."""
        self.waiting = 0
        self.acked = self.next
        duplicate, self.duplicate = getattr(self, "duplicate", None), None
        blocks = self.blocks
        if duplicate:
            around = [b for b in blocks if b[0] <= duplicate[0] < b[1]]
            blocks = [duplicate, *around, *(b for b in blocks if b not in around)]
        return self.next, self.echo, blocks[:3], bool(duplicate)


class Clock:
    """Microseconds since a tick at which all timers of the kernel may expire."""

    def __init__(self) -> None:
        while True:
            before = time.clock_gettime_ns(6)  # CLOCK_MONOTONIC_COARSE: time of the last tick
            line = re.search(r"^jiffies: (\d+)", Path("/proc/timer_list").read_text(), re.M)
            if line and time.clock_gettime_ns(6) == before:
                break
        self.zero_ns = before - int(line[1]) % GRANULE * TICK_US * 1000

    def now(self) -> int:
        return (time.monotonic_ns() - self.zero_ns) // 1000


class Wire:
    """A TUN device in a network namespace of its own, and what is due on it."""

    def __init__(self) -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), "a network namespace needs root")
        self.file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.file, 0x400454CA, struct.pack("16sH22x", b"duel", 0x1001))  # TUNSETIFF
        for arguments in (
            "link set duel mtu 1500 txqueuelen 10000 up",
            f"addr add {HOST}/24 dev duel",
        ):
            subprocess.run(["ip", *arguments.split()], check=True)
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
        self.clock = Clock()
        self.due: list[tuple[int, int, Callable[[], None]]] = []
        self.number = itertools.count()
        self.zeros = bytes(1 << 20)
        self.duels: dict[int, Duel] = {}

    def schedule(self, when: int, act: Callable[[], None]) -> None:
        heapq.heappush(self.due, (when, next(self.number), act))

    def give(self, port: int, seq: int, ack: int, flags: int, options: bytes) -> int:
        """Gives the kernel a packet; returns when."""
        window = 65535
        head = struct.pack(
            "!HHIIBBHHH", PORT, port, seq, ack, (20 + len(options)) << 2, flags, window, 0, 0
        )
        addresses = socket.inet_aton(PEER) + socket.inet_aton(HOST)
        segment = head + options
        check = _checksum(addresses + struct.pack("!HH", 6, len(segment)) + segment)
        segment = segment[:16] + struct.pack("!H", check) + segment[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
        packet = ip + segment
        self.drain()
        now = self.clock.now()
        os.write(self.file, packet)
        return now

    def drain(self, caused: "Duel | None" = None, now: int = 0) -> None:
        """Takes what the kernel has sent; that of the duel `caused` by its event of `now`."""
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(self.file, 2000)
                duel = self.duels.get(int.from_bytes(packet[20:22], "big"))
                if packet[9] == 6 and duel:
                    at_once = duel is caused
                    duel.take(packet[20:], now if at_once else self.clock.now(), at_once)

    def run(self) -> None:
        """Runs the duels. Each learns the longest time of a turn while it went on."""
        before = self.clock.now()
        while self.due and self.duels:
            self.drain()
            now = self.clock.now()
            for duel in self.duels.values() if now - before > STOPPED_US else ():
                duel.stopped = max(duel.stopped, now - before)
            before = now
            if self.due[0][0] <= now:
                heapq.heappop(self.due)[2]()


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ ((total & 0xFFFF) + (total >> 16))


class Duel:
    """One connection of the kernel through a path."""

    def __init__(self, wire: Wire, name: str, path: Setting, dice: random.Random) -> None:
        self.wire, self.name, self.path, self.dice = wire, name, path, dice
        self.lines: list[str] = []
        self.receiver = Receiver(path.every)
        self.sent = 0
        self.fresh: list[int] = []
        self.stamps: list[int] = []
        self.left = sum(count for _, count in path.writes)
        self.free_at = self.last_there = self.last_back = 0
        self.burst = self.delayed = 0
        self.over = False
        self.stopped = 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, path.control.encode())
        self.socket.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)  # SO_SNDBUFFORCE
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.setblocking(False)
        self.socket.bind((HOST, 0))
        self.port = self.socket.getsockname()[1]

    def begin(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self.socket.connect((PEER, PORT))
        self.wire.drain()

    def note(self, now: int, line: str) -> None:
        self.lines.append(f"{now} {line}")

    def take(self, segment: bytes, now: int, at_once: bool) -> None:
        """Takes a packet of the kernel, which an event caused or a timer."""
        seq, size = int.from_bytes(segment[4:8], "big"), segment[12] >> 4 << 2
        options = segment[20:size]
        place = options.find(b"\x08\x0a")
        stamp = int.from_bytes(options[place + 2 : place + 6], "big") if place >= 0 else 0
        if segment[13] & SYN:
            if self.lines:
                return
            self.first, self.syn_stamp = seq + 1, stamp
            self.opened = now
            self.note(now, "syn")
            self.wire.schedule(now + self.path.forth + self.path.back, self.open)
        elif len(segment) > size and not self.over:
            number, rest = divmod((seq - self.first) % 2**32, self.path.mss)
            if rest or len(segment) - size != self.path.mss:
                raise SystemExit(f"{self.name}: the kernel has sent a part of a segment")
            if at_once:
                self.fresh.append(number)
            else:
                self.note(now, f"timer > {number}")
            self.stamps.append(stamp)
            self.travel(number, self.sent, now)
            self.sent += 1

    def open(self) -> None:
        """Answers the SYN, opens the window wide, and begins to write."""
        permits = b"\x01\x01\x04\x02" if self.path.sack else b""
        options = b"\x02\x04\x05\xb4" + permits + b"\x01\x03\x03\x0a"
        if self.path.timestamps:
            options += b"\x01\x01\x08\x0a" + struct.pack("!II", self.stamp(), self.syn_stamp)
        now = self.wire.give(self.port, 0, self.first, SYN | ACK, options)
        self.note(now, "synack")
        self.opened = now
        self.wire.drain()
        self.acknowledge(0, -1, [], self.stamp())
        for begin, count in self.path.writes:
            self.wire.schedule(now + begin + 50, lambda count=count: self.write(count))
        self.wire.schedule(now + LONGEST_US, self.end)

    def stamp(self) -> int:
        return self.wire.clock.now() // 1000 + 1_000_000

    def acknowledge(self, cumulative: int, echo: int, blocks: list[Range], stamp: int) -> int:
        """Gives the kernel an ACK that the receiver sent at `stamp`; returns when."""
        options = b""
        if self.path.timestamps:
            echoed = self.stamps[echo] if echo >= 0 else self.syn_stamp
            options += b"\x01\x01\x08\x0a" + struct.pack("!II", stamp, echoed)
        if blocks:
            options += b"\x01\x01\x05" + bytes([2 + 8 * len(blocks)])
            for edge in itertools.chain.from_iterable(blocks):
                options += struct.pack("!I", (self.first + edge * self.path.mss) % 2**32)
        ack = (self.first + cumulative * self.path.mss) % 2**32
        return self.wire.give(self.port, 1, ack, ACK, options)

    def flush(self) -> str:
        numbers = ",".join(map(str, self.fresh)) or "-"
        self.fresh = []
        return numbers

    def write(self, count: int) -> None:
        if self.over:
            return
        data = memoryview(self.wire.zeros)[: count * self.path.mss]
        self.wire.drain()
        now = self.wire.clock.now()
        self.socket.send(data)
        self.wire.drain(self, now)
        self.note(now, f"write {count} > {self.flush()}")

    def info(self) -> str:
        words = INFO.unpack(self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size))
        state = words[1]
        words = words[8:]
        threshold = words[17] if words[17] < 0x7FFFFFFF else "-"
        cwnd, reordering, trip = words[18], words[20], words[15]
        unacked, sacked, lost, retrans = words[4:8]
        return f"{cwnd} {threshold} {state} {unacked} {sacked} {lost} {retrans} {reordering} {trip}"

    # The path.

    def travel(self, number: int, transmission: int, now: int) -> None:
        """Sends a segment on its way to the receiver."""
        path, dice = self.path, self.dice
        since = now - self.opened
        if self.burst == 0 and dice.random() < path.bursts:
            self.burst = dice.randint(2, 12)
        lost = dice.random() < path.loss or self.burst > 0
        self.burst -= self.burst > 0
        lost |= any(a <= since < b for a, b in path.blackouts)
        begin = max(now, self.free_at)
        lost |= begin - now > path.queue * path.gap
        if lost:
            return
        self.free_at = begin + path.gap
        there = max(self._passed(self.free_at + path.forth), self.last_there)
        if dice.random() < path.late:
            there += round(dice.uniform(0, path.later))
        else:
            self.last_there = there
        for _ in range(1 + (dice.random() < path.duplicates)):
            self.wire.schedule(there, lambda: self.arrive(number, transmission))

    def _passed(self, when: int) -> int:
        for begin, end in self.path.stalls:
            if begin <= when - self.opened < end:
                return self.opened + end
        return when

    def arrive(self, number: int, transmission: int) -> None:
        if self.over:
            return
        if self.receiver.take(number, transmission):
            self.answer()
        elif self.receiver.waiting == 1:
            self.delayed += 1
            token = self.delayed
            self.wire.schedule(self.wire.clock.now() + 40 * MS, lambda: self.answer_late(token))

    def answer_late(self, token: int) -> None:
        if token == self.delayed and self.receiver.waiting and not self.over:
            self.answer()

    def answer(self) -> None:
        self.delayed += 1
        answer = self.receiver.answer()
        now = self.wire.clock.now()
        blackout = any(a <= now - self.opened < b for a, b in self.path.blackouts)
        if blackout or self.dice.random() < self.path.ack_loss:
            return
        back = max(self._passed(now + self.path.back), self.last_back)
        if self.path.ack_late and self.dice.random() < self.path.ack_late:
            back += round(self.dice.uniform(0, self.path.later))
        else:
            self.last_back = back
        stamp = self.stamp()
        self.wire.schedule(back, lambda: self.hear(*answer, stamp))

    def hear(
        self, cumulative: int, echo: int, blocks: list[Range], duplicate: bool, stamp: int
    ) -> None:
        """Gives the kernel an ACK and notes what it does."""
        if self.over:
            return
        if not self.path.sack:
            blocks, duplicate = [], False
        now = self.acknowledge(cumulative, echo, blocks, stamp)
        self.wire.drain(self, now)
        words = [f"{a}-{b}" for a, b in blocks]
        if duplicate:
            words[0] += "*"
        echoed = echo if self.path.timestamps else "-"
        shown = ",".join(words) or "-"
        self.note(now, f"ack {cumulative} {echoed} {shown} > {self.flush()} : {self.info()}")
        if cumulative == self.left:
            self.end()

    def end(self) -> None:
        if not self.over:
            self.over = True
            self.socket.close()
            self.wire.drain()
            del self.wire.duels[self.port]

    def record(self) -> str:
        settings = {"kernel": platform.release(), "name": self.name, "mss": self.path.mss}
        settings["stopped_us"] = self.stopped
        return "\n".join([json.dumps(settings | asdict(self.path)), *self.lines]) + "\n"


def _lacks() -> str:
    """Returns what this machine lacks for duels, if anything."""
    needs = {
        "root": os.geteuid() == 0,
        "a TUN device": Path("/dev/net/tun").exists(),
        "Linux 6.18, whose rules the engine has": platform.release().startswith("6.18."),
        "a kernel with ticks of 4 ms": time.clock_getres(6) * 1e6 == TICK_US,
        f"the controls {', '.join(CONTROLS)}": set(CONTROLS) <= set(AVAILABLE.read_text().split()),
    }
    return next((need for need, has in needs.items() if not has), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", type=Path, nargs="?", default="out/duels", help="where the records are written"
    )
    parser.add_argument("--family", choices=["random", "reordering", "no-sack"], default="random")
    parser.add_argument("--seeds", default="1-20", help="the first and the last seed")
    parser.add_argument("--beside", type=int, default=4, help="duels at the same time")
    parser.add_argument("--check", action="store_true", help="only say whether duels can be made")
    options = parser.parse_args()
    if lacks := _lacks():
        parser.error(f"duels need {lacks}")
    if options.check:
        return
    first, last = map(int, options.seeds.split("-"))
    options.folder.mkdir(parents=True, exist_ok=True)
    wire = Wire()
    os.sched_setaffinity(0, {0})  # it counts ticks, so that none of its timers is late
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    gc.disable()
    seeds = range(first, last + 1)
    for start in range(0, len(seeds), options.beside):
        names = [f"{options.family}-{seed}" for seed in seeds[start : start + options.beside]]
        for _ in range(ATTEMPTS):
            duels = record(wire, names)
            for duel in duels:
                (options.folder / f"{duel.name}.duel").write_text(duel.record())
            names = [duel.name for duel in duels if duel.stopped]
            gc.collect()
            if not names:
                break


def record(wire: Wire, names: list[str]) -> list[Duel]:
    """Records duels, which go on at the same time."""
    duels = []
    for name in names:
        dice = random.Random(name)
        family, _, seed = name.rpartition("-")
        duel = Duel(wire, name, draw(family, int(seed)), dice)
        duels.append(duel)
        wire.duels[duel.port] = duel
        wire.schedule(wire.clock.now() + dice.randint(0, 50 * MS), duel.begin)
    wire.run()
    wire.due.clear()
    return duels


if __name__ == "__main__":
    main()
