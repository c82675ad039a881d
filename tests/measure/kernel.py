"""Transfers of the real kernel between network namespaces, captured, with its `tcp_info`.

Each host is a process in a namespace of its own. Between two TUN devices this process is the path
(`path.py`), and writes the capture where the sender's packets leave their device. Between veth
devices the kernel is the path: a third namespace forwards, with a token bucket before its link.
"""

import fcntl
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__:
    from .path import Direction

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SENDER, _RECEIVER, _PORT = "10.9.0.1", "10.9.1.1", 5001
_MTU = 1500
_KEPT_BYTES = 128


@dataclass(frozen=True)
class Transfer:
    """The two applications of a transfer, and the path between them.

    Attributes:
        seconds: Time for which the sender writes.
        write_bytes: Bytes per write, `every_s` apart; as much as fits if 0.
        every_s: Time between two writes; none if 0.
        answers: True if the receiver answers each write once it has read it, and the sender waits
            for the answer and then for `every_s`.
        read_bytes: Bytes per read of the receiver, `read_every_s` apart; everything available if 0.
        read_every_s: Time between two reads.
        send_buffer: SO_SNDBUF; the kernel's default if 0.
        receive_buffer: SO_RCVBUF; the kernel's default if 0.
        control: Congestion control.
        ecn: The hosts' net.ipv4.tcp_ecn: 1 asks for ECN.
        device: `tun`; `veth`; or `local`, veth devices with the token bucket on the sender's.
        delay_s: One-way delay; none between veth devices.
        rate_bit_per_s: Rate of the forward direction; unlimited if 0.
        queue_packets: Limit of the queue before it.
        loss: Loss probability of the forward direction. This and what follows is for `tun` only.
        jitter_s: Largest further delay of a packet there; the order is kept.
        reordering: Probability that a packet there is overtaken.
        reordering_s: Time for which it is held back.
        mark_above_packets: Number of waiting packets above which the queue marks; never if 0.
        return_rate_bit_per_s: Rate of the way back; unlimited if 0.
        return_queue_packets: Limit of the queue before it.
    """

    seconds: float = 8.0
    write_bytes: int = 0
    every_s: float = 0.0
    answers: bool = False
    read_bytes: int = 0
    read_every_s: float = 0.0
    send_buffer: int = 0
    receive_buffer: int = 0
    control: str = "cubic"
    ecn: int = 2
    device: str = "tun"
    delay_s: float = 0.02
    rate_bit_per_s: float = 20e6
    queue_packets: int = 1000
    loss: float = 0.0
    jitter_s: float = 0.0
    reordering: float = 0.0
    reordering_s: float = 0.01
    mark_above_packets: int = 0
    return_rate_bit_per_s: float = 0.0
    return_queue_packets: int = 1000

    def directions(self, draws: random.Random) -> tuple["Direction", "Direction"]:
        """Returns the path of the data and that of the ACKs."""
        there = Direction(
            self.delay_s, self.rate_bit_per_s, self.queue_packets, self.loss, self.jitter_s,
            self.reordering, self.reordering_s, self.mark_above_packets, draws,
        )  # fmt: skip
        back = Direction(
            self.delay_s, self.return_rate_bit_per_s, self.return_queue_packets, draws=draws
        )
        return there, back


def run(transfer: Transfer, capture: Path, seed: int = 1) -> dict[str, Any]:
    """Runs a transfer and captures it at the sender.

    The numbers `elapsed_s`, `busy_s`, `receive_window_s` and `send_buffer_s` are those of tcp_info
    while the application wrote. The others are shares of the readings of a busy sender:
    `application_limited` with that flag, `buffer_full` with a full buffer in flight and room in the
    congestion window. Counts are `retransmissions` and `marked`.

    Returns:
        The numbers by name.
    """
    if transfer.device != "tun":
        return _run_between_veths(transfer, capture)
    hosts = [_Host("receiver", transfer), _Host("sender", transfer)]
    receiver, sender = hosts
    try:
        with capture.open("wb") as file:
            _Path(sender.device(), receiver.device(), transfer, file, seed).carry(sender)
        return json.loads(sender.output())
    finally:
        for host in hosts:
            host.end()


def _run_between_veths(transfer: Transfer, capture: Path) -> dict[str, Any]:
    router, receiver, sender = (_Host(role, transfer) for role in ("router", "receiver", "sender"))
    hosts = [router, receiver, sender]
    dump = None
    try:
        for host in hosts:
            host.hear()
        for host, name, gateway in ((sender, "s", "10.9.0.2/24"), (receiver, "r", "10.9.1.2/24")):
            peer = f"peer name {name}1 netns {router.pid}"
            _call(f"ip link add {name}0 netns {host.pid} type veth {peer}")
            router.call(f"ip addr add {gateway} dev {name}1")
            router.call(f"ip link set {name}1 up")
        for host, name, address in ((sender, "s", _SENDER), (receiver, "r", _RECEIVER)):
            host.call(f"ip addr add {address}/24 dev {name}0")
            host.call(f"ip link set {name}0 up")
            host.call(f"ip route add default via {address[:-1]}2")
        place, device = (sender, "s0") if transfer.device == "local" else (router, "r1")
        if transfer.rate_bit_per_s:
            limit = transfer.queue_packets * (_MTU + 14)
            place.call(
                f"tc qdisc add dev {device} root tbf rate {transfer.rate_bit_per_s:.0f}bit "
                f"burst {max(10_000, int(transfer.rate_bit_per_s / 8 / 250))} limit {limit}"
            )
        dump = subprocess.Popen(
            [*sender.within, sys.executable, __file__, "capture", "s0", str(capture)],
            stdout=subprocess.PIPE,
        )
        assert dump.stdout is not None
        dump.stdout.readline()
        receiver.go()
        receiver.hear()
        sender.go()
        words = sender.output()
        time.sleep(0.2)
        return json.loads(words)
    finally:
        for host in hosts:
            host.end()
        if dump is not None:
            dump.send_signal(signal.SIGTERM)
            dump.wait()
            assert dump.stdout is not None
            dump.stdout.close()


def _call(command: str) -> None:
    subprocess.run(command.split(), check=True)


class _Host:
    """A process in a namespace of its own."""

    def __init__(self, role: str, transfer: Transfer) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        arguments = json.dumps(transfer.__dict__)
        command = ["unshare", "-n", sys.executable, __file__, role, str(theirs.fileno()), arguments]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE
        )
        theirs.close()
        self._line = ours
        self._device = -1
        self.pid = self._process.pid
        self.within = ["nsenter", f"--net=/proc/{self.pid}/ns/net"]

    def device(self) -> int:
        """Returns the host's TUN device."""
        _, [self._device], _, _ = socket.recv_fds(self._line, 16, 1)
        os.set_blocking(self._device, False)
        return self._device

    def hear(self) -> None:
        """Waits until the host has said that it is ready."""
        if not self._line.recv(1):
            raise RuntimeError("a host has ended early")

    def go(self) -> None:
        self._line.send(b".")

    def call(self, command: str) -> None:
        _call(" ".join([*self.within, command]))

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def output(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._line.close()
        if self._device >= 0:
            os.close(self._device)


class _Capture:
    """Writes a capture with times in nanoseconds; packets begin with their IP header."""

    def __init__(self, file: Any) -> None:
        self._file = file
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _KEPT_BYTES, 101))

    def write(self, at_ns: int, kept: bytes, length: int) -> None:
        seconds, nanoseconds = divmod(at_ns, 10**9)
        self._file.write(struct.pack("<IIII", seconds, nanoseconds, len(kept), length) + kept)


class _Path:
    """Carries packets from one device to the other."""

    def __init__(
        self, sender: int, receiver: int, transfer: Transfer, file: Any, seed: int
    ) -> None:
        there, back = transfer.directions(random.Random(seed))
        self._ways = {sender: (there, receiver), receiver: (back, sender)}
        self._sender = sender
        self._capture = _Capture(file)
        self._due: list[tuple[float, int, int, bytes]] = []
        self._count = 0

    def carry(self, host: _Host) -> None:
        poll = select.poll()
        for device in self._ways:
            poll.register(device, select.POLLIN)
        while not host.is_over():
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else 0.05
            poll.poll(0 if wait < 2e-4 else min(wait, 0.05) * 1e3)
            for device in self._ways:
                self._take(device)
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                _, _, device, packet = heapq.heappop(self._due)
                if device == self._sender:
                    self._note(packet)
                _send(device, packet)

    def _take(self, device: int) -> None:
        way, to = self._ways[device]
        for _ in range(64):
            try:
                packet = os.read(device, 65_536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:
                continue
            if device == self._sender:
                self._note(packet)
            arrives = way.arrival(time.monotonic(), packet)
            if arrives is not None:
                self._count += 1
                heapq.heappush(self._due, (arrives[0], self._count, to, arrives[1]))

    def _note(self, packet: bytes) -> None:
        self._capture.write(time.time_ns(), packet[:_KEPT_BYTES], len(packet))


def _send(device: int, packet: bytes) -> None:
    try:
        os.write(device, packet)
    except OSError:
        return  # the host has gone


def _dump(device: str, file_name: str) -> None:
    """Captures the IPv4 packets of a device until SIGTERM."""
    every, timestamps, forced = 0x0003, 35, 33  # ETH_P_ALL, SO_TIMESTAMPNS, SO_RCVBUFFORCE
    with (
        Path(file_name).open("wb") as file,
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(every)) as packets,
    ):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        packets.bind((device, every))
        packets.setsockopt(socket.SOL_SOCKET, timestamps, 1)
        packets.setsockopt(socket.SOL_SOCKET, forced, 32 << 20)
        capture = _Capture(file)
        print("ready", flush=True)
        while True:
            try:
                data, ancillary, _, _ = packets.recvmsg(65_536, 128)
            except OSError:
                return  # the device has gone
            if data[0] >> 4 == 4:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                at_ns = seconds * 10**9 + nanoseconds
                capture.write(at_ns, data[:_KEPT_BYTES], len(data))


def _tun(role: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"tun0", _IFF_TUN | _IFF_NO_PI))
    address = _SENDER if role == "sender" else _RECEIVER
    for command in (
        f"ip addr add {address}/16 dev tun0", f"ip link set tun0 mtu {_MTU} txqueuelen 10000 up",
    ):  # fmt: skip
        _call(command)
    return device


def _receive(listener: socket.socket, transfer: Transfer) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    missing = transfer.write_bytes
    while True:
        if transfer.read_every_s:
            time.sleep(transfer.read_every_s)
        data = connection.recv(transfer.read_bytes or 1 << 20)
        if not data:
            break
        missing -= len(data)
        if transfer.answers and missing <= 0:
            connection.send(b".")
            missing = transfer.write_bytes
    time.sleep(60)


def _write(connection: socket.socket, transfer: Transfer, begun: float) -> None:
    """The application; like real programs it waits for room.

    Only then the kernel counts a full buffer.
    """
    data, write_at = bytes(transfer.write_bytes or 1 << 20), begun
    try:
        while True:
            if transfer.answers:
                connection.sendall(data)
                connection.recv(1)
                time.sleep(transfer.every_s)
                continue
            connection.send(data)
            write_at += transfer.every_s
            time.sleep(max(0.0, write_at - time.monotonic()))
    except OSError:
        return  # the transfer is over


def _connect(transfer: Transfer) -> socket.socket:
    """A refused socket loses the size of its buffer, so each attempt has a new one."""
    for _ in range(100):
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, transfer.control.encode())
        if transfer.send_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, transfer.send_buffer)
        try:
            connection.connect((_RECEIVER, _PORT))
        except (ConnectionRefusedError, OSError):
            connection.close()
            time.sleep(0.05)
        else:
            return connection
    raise ConnectionRefusedError


def _send_all(transfer: Transfer) -> dict[str, float]:
    """Writes, and reads tcp_info in the meantime."""
    connection = _connect(transfer)
    begun = time.monotonic()
    threading.Thread(target=_write, args=(connection, transfer, begun), daemon=True).start()
    busy = limited = full = 0
    while time.monotonic() < begun + transfer.seconds:
        time.sleep(0.005)
        info = _info(connection)
        is_busy = info["unacknowledged"] > 0
        busy += is_busy
        # Except for its pauses, the writer waits in `send`: all written data is in flight, and the
        # window holds more.
        is_full = (
            transfer.every_s == 0
            and not transfer.answers
            and info["unsent"] < 1448
            and info["unacknowledged"] < info["cwnd"]
        )
        full += is_busy and is_full
        limited += is_busy and not is_full and info["application_limited"]
    info = _info(connection)
    kept = ("busy_s", "receive_window_s", "send_buffer_s", "retransmissions", "marked")
    return {name: info[name] for name in kept} | {
        "elapsed_s": time.monotonic() - begun,
        "application_limited": limited / busy if busy else 1.0,
        "buffer_full": full / busy if busy else 0.0,
    }


def _info(connection: socket.socket) -> dict[str, float]:
    """Returns fields of `struct tcp_info` of linux/tcp.h."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    names = ("unacknowledged", "cwnd", "retransmissions", "unsent", "marked")
    places = (24, 80, 100, 144, 196)
    numbers = {
        name: struct.unpack_from("<I", raw, place)[0]
        for name, place in zip(names, places, strict=True)
    }
    busy, receive_window, send_buffer = struct.unpack_from("<QQQ", raw, 168)
    return numbers | {
        "application_limited": raw[7] & 1, "busy_s": busy / 1e6,
        "receive_window_s": receive_window / 1e6, "send_buffer_s": send_buffer / 1e6,
    }  # fmt: skip


def _listener(transfer: Transfer) -> socket.socket:
    listener = socket.socket()
    if transfer.receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, transfer.receive_buffer)
    listener.bind((_RECEIVER, _PORT))
    listener.listen()
    return listener


def _host(role: str, line: int, transfer: Transfer) -> None:
    _call("ip link set lo up")
    Path("/proc/sys/net/ipv4/tcp_ecn").write_text(str(transfer.ecn), encoding="ascii")
    with socket.socket(fileno=line) as ours:
        if transfer.device == "tun":
            device = _tun(role)
            listener = _listener(transfer) if role == "receiver" else None
            socket.send_fds(ours, [b"device"], [device])
        else:
            if role == "router":
                Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
            ours.send(b".")
            ours.recv(1)
            listener = _listener(transfer) if role == "receiver" else None
            ours.send(b".")
        if listener is not None:
            _receive(listener, transfer)
        elif role == "sender":
            print(json.dumps(_send_all(transfer)), flush=True)
            os._exit(0)  # the writer waits for room


if __name__ == "__main__":
    if sys.argv[1] == "capture":
        _dump(*sys.argv[2:])
        sys.exit()
    _host(sys.argv[1], int(sys.argv[2]), Transfer(**json.loads(sys.argv[3])))
