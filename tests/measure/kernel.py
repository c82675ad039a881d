"""Transfers of the real kernel between two network namespaces, captured, with its `tcp_info`.

Each host is a process in a namespace of its own with a TUN device. This process holds both devices
and is the path: a delay each way, and a rate, a queue and losses on the forward direction. It
writes the capture where the sender's packets leave its device.
"""

import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SENDER, _RECEIVER, _PORT = "10.9.0.1", "10.9.0.2", 5001
_MTU = 1500


@dataclass(frozen=True)
class Transfer:
    """The two applications of a transfer, and the path between them.

    Attributes:
        seconds: Time for which the sender writes.
        write_bytes: Bytes per write, `every_s` apart; as much as fits if 0.
        every_s: Time between two writes; none if 0.
        read_bytes: Bytes per read of the receiver, `read_every_s` apart; everything available if 0.
        read_every_s: Time between two reads.
        send_buffer: SO_SNDBUF; the kernel's default if 0.
        receive_buffer: SO_RCVBUF; the kernel's default if 0.
        control: Congestion control.
        delay_s: One-way delay.
        rate_bit_per_s: Rate of the forward direction; unlimited if 0.
        queue_packets: Limit of the queue before it.
        loss: Loss probability of the forward direction.
    """

    seconds: float = 8.0
    write_bytes: int = 0
    every_s: float = 0.0
    read_bytes: int = 0
    read_every_s: float = 0.0
    send_buffer: int = 0
    receive_buffer: int = 0
    control: str = "cubic"
    delay_s: float = 0.02
    rate_bit_per_s: float = 20e6
    queue_packets: int = 1000
    loss: float = 0.0


def run(transfer: Transfer, capture: Path, seed: int = 1) -> dict[str, Any]:
    """Runs a transfer and captures it at the sender.

    The numbers `elapsed_s`, `busy_s`, `receive_window_s` and `send_buffer_s` are those of tcp_info
    while the application wrote. The others are shares of the readings of a busy sender.
    `application_limited` is the share with that flag set. `buffer_full` is the share with a full
    buffer in flight and room in the congestion window.

    Returns:
        The numbers by name.
    """
    hosts = [_Host("receiver", transfer), _Host("sender", transfer)]
    receiver, sender = hosts
    try:
        with capture.open("wb") as file:
            _Path(sender.device, receiver.device, transfer, file, random.Random(seed)).carry(sender)
        return json.loads(sender.said())
    finally:
        for host in hosts:
            host.end()


class _Host:
    """A process in a namespace of its own; this process holds its device."""

    def __init__(self, role: str, transfer: Transfer) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        arguments = json.dumps(transfer.__dict__)
        command = ["unshare", "-n", sys.executable, __file__, role, str(theirs.fileno()), arguments]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE
        )
        theirs.close()
        _, [self.device], _, _ = socket.recv_fds(ours, 16, 1)
        os.set_blocking(self.device, False)
        self.line = ours

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def said(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self.line.close()
        os.close(self.device)


class _Path:
    """Carries packets from one device to the other."""

    def __init__(
        self, sender: int, receiver: int, transfer: Transfer, file: Any, draws: random.Random
    ) -> None:
        self._sender, self._receiver, self._transfer, self._draws = (
            sender,
            receiver,
            transfer,
            draws,
        )
        self._file = file
        # Times in nanoseconds; packets begin with their IP header (link type 101).
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 101))
        self._due: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._leaving: deque[float] = deque()

    def carry(self, host: _Host) -> None:
        poll = select.poll()
        for device in (self._sender, self._receiver):
            poll.register(device, select.POLLIN)
        while not host.is_over():
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else 0.05
            poll.poll(0 if wait < 2e-4 else min(wait, 0.05) * 1e3)
            for device in (self._sender, self._receiver):
                self._take(device)
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                _, _, device, packet = heapq.heappop(self._due)
                if device == self._sender:
                    self._write_down(packet)
                _send(device, packet)

    def _take(self, device: int) -> None:
        for _ in range(64):
            try:
                packet = os.read(device, 65_536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:
                continue
            now = time.monotonic()
            if device == self._receiver:
                self._schedule(now + self._transfer.delay_s, self._sender, packet)
                continue
            self._write_down(packet)
            leaves = self._leave(now, len(packet))
            if leaves is not None and self._draws.random() >= self._transfer.loss:
                self._schedule(leaves + self._transfer.delay_s, self._receiver, packet)

    def _leave(self, now: float, length: int) -> float | None:
        """Returns the time at which the link has sent it; None if the queue is full."""
        rate = self._transfer.rate_bit_per_s
        if rate == 0:
            return now
        while self._leaving and self._leaving[0] <= now:
            self._leaving.popleft()
        if len(self._leaving) >= self._transfer.queue_packets:
            return None
        leaves = max(now, self._leaving[-1] if self._leaving else now) + 8 * length / rate
        self._leaving.append(leaves)
        return leaves

    def _schedule(self, due: float, device: int, packet: bytes) -> None:
        self._count += 1
        heapq.heappush(self._due, (due, self._count, device, packet))

    def _write_down(self, packet: bytes) -> None:
        at, kept = time.time_ns(), packet[:128]
        self._file.write(
            struct.pack("<IIII", at // 10**9, at % 10**9, len(kept), len(packet)) + kept
        )


def _send(device: int, packet: bytes) -> None:
    try:
        os.write(device, packet)
    except OSError:
        return  # the host has gone


def _device(role: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"tun0", _IFF_TUN | _IFF_NO_PI))
    address = _SENDER if role == "sender" else _RECEIVER
    for command in (
        f"ip addr add {address}/24 dev tun0", f"ip link set tun0 mtu {_MTU} txqueuelen 10000 up",
        "ip link set lo up",
    ):  # fmt: skip
        subprocess.run(command.split(), check=True)
    return device


def _receive(listener: socket.socket, transfer: Transfer) -> None:
    connection, _ = listener.accept()
    while True:
        if transfer.read_every_s:
            time.sleep(transfer.read_every_s)
        if not connection.recv(transfer.read_bytes or 1 << 20):
            break
    time.sleep(60)


def _write(connection: socket.socket, transfer: Transfer, begun: float) -> None:
    """The application; like real programs it waits for room.

    Only then the kernel counts a full buffer.
    """
    data, write_at = bytes(transfer.write_bytes or 1 << 20), begun
    try:
        while True:
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
        except ConnectionRefusedError:
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
            and info["unsent"] < 1448
            and info["unacknowledged"] < info["cwnd"]
        )
        full += is_busy and is_full
        limited += is_busy and not is_full and info["application_limited"]
    info = _info(connection)
    kept = ("busy_s", "receive_window_s", "send_buffer_s")
    return {name: info[name] for name in kept} | {
        "elapsed_s": time.monotonic() - begun,
        "application_limited": limited / busy if busy else 1.0,
        "buffer_full": full / busy if busy else 0.0,
    }


def _info(connection: socket.socket) -> dict[str, float]:
    """Returns fields of `struct tcp_info` of linux/tcp.h."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    (unacknowledged,), (cwnd,), (unsent,) = (
        struct.unpack_from("<I", raw, place) for place in (24, 80, 144)
    )
    busy, receive_window, send_buffer = struct.unpack_from("<QQQ", raw, 168)
    return {
        "application_limited": raw[7] & 1, "unacknowledged": unacknowledged, "cwnd": cwnd,
        "unsent": unsent, "busy_s": busy / 1e6,
        "receive_window_s": receive_window / 1e6, "send_buffer_s": send_buffer / 1e6,
    }  # fmt: skip


def _host(role: str, line: int, transfer: Transfer) -> None:
    device = _device(role)
    listener = socket.socket()
    if role == "receiver":
        if transfer.receive_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, transfer.receive_buffer)
        listener.bind((_RECEIVER, _PORT))
        listener.listen()
    with socket.socket(fileno=line) as ours:
        socket.send_fds(ours, [b"device"], [device])
        if role == "receiver":
            _receive(listener, transfer)
        else:
            print(json.dumps(_send_all(transfer)), flush=True)
            os._exit(0)  # the writer waits for room


if __name__ == "__main__":
    _host(sys.argv[1], int(sys.argv[2]), Transfer(**json.loads(sys.argv[3])))
