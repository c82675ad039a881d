"""Stacks in Python: a class in a file, called through the same border as a shared library.

A file has a class `Stack` that derives from `ackclock.stacks.python.Stack`. An exception in it ends
the run with its text. Ten thousand datagrams in a second of CPU time are many for such a stack.
"""

import ctypes
import importlib.util
import itertools
import json
from abc import ABC, abstractmethod
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char,
    c_char_p,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

_NEVER = _UNKNOWN = 2**64 - 1

#: ECN fields of the IP header (RFC 3168 section 5).
NOT_ECT, ECT1, ECT0, CE = range(4)


@dataclass(frozen=True)
class Config:
    """Parameters of one side.

    Attributes:
        sends: True if application data leaves from this side, which also opens the connection.
        control: Name of the congestion control, one of `Stack.controls`.
        seed: All the randomness of this side, 32 bytes.
        receive_window: Most bytes that the receiver permits in flight.
        encrypts: False with `crypto = "null"`.
        discovers_mtu: False with `mtu_discovery = false`.
        trains: Most datagrams that leave at once.
        header: Bytes of IP and UDP headers of each datagram.
        options: The table `options` of the scenario.
    """

    sends: bool
    control: str
    seed: bytes
    receive_window: int
    encrypts: bool
    discovers_mtu: bool
    trains: int
    header: int
    options: dict[str, Any]


@dataclass
class Statistics:
    """Numbers that a side gives of itself; None is unknown. Times are nanoseconds.

    Attributes:
        cwnd: Congestion window, in bytes.
        ssthresh: Slow-start threshold, in bytes.
        in_flight: Bytes sent, neither acknowledged nor deemed lost.
        latest_rtt: Last round-trip time.
        smoothed_rtt: Smoothed round-trip time.
        timeout: Time after which data is taken for lost.
        pacing_rate: Bytes per second.
        lost_packets: Packets deemed lost so far.
        congestion_events: Reductions of the window so far.
        timeouts: Timeouts that made it send less so far.
    """

    cwnd: int | None = None
    ssthresh: int | None = None
    in_flight: int | None = None
    latest_rtt: int | None = None
    smoothed_rtt: int | None = None
    timeout: int | None = None
    pacing_rate: int | None = None
    lost_packets: int | None = None
    congestion_events: int | None = None
    timeouts: int | None = None


class Stack(ABC):
    """One side of a connection. Times are nanoseconds since the run began; nothing reads a clock.

    Attributes:
        name: Name of the implementation.
        version: Its version.
        controls: Names of its congestion controls.
    """

    name = "stack"
    version = "0"
    controls: tuple[str, ...] = ("own",)

    def __init__(self, config: Config) -> None:
        """Makes a side; `ValueError` refuses parameters that it does not have."""
        self.config = config

    @abstractmethod
    def open(self, now: int) -> None:
        """Opens the connection; only the side that sends is asked to."""

    @abstractmethod
    def handle_datagram(self, now: int, datagram: bytes, ecn: int) -> None:
        """Handles a datagram that has arrived with this ECN field."""

    @abstractmethod
    def handle_timeout(self, now: int) -> None:
        """Handles what is due by `now`."""

    @abstractmethod
    def poll_transmit(self, now: int) -> tuple[bytes, int] | None:
        """Returns a datagram that leaves now and its ECN field; None if there is none."""

    def poll_timeout(self) -> int | None:
        """Returns when to call `handle_timeout`; None if never."""
        return None

    @abstractmethod
    def write(self, now: int, count: int | None, *, fin: bool) -> None:
        """Adds bytes of the application, None for bytes without end; `fin` if no more will come."""

    def delivered(self) -> int:
        """Returns the bytes that have arrived in order."""
        return 0

    def statistics(self) -> Statistics:
        """Returns what is known of the sending side."""
        return Statistics()


class _CConfig(ctypes.Structure):
    _fields_ = (
        ("size", c_uint32), ("opens", c_uint8), ("sends", c_uint8), ("encrypts", c_uint8),
        ("discovers_mtu", c_uint8), ("trains", c_uint32), ("header", c_uint32),
        ("receive_window", c_uint64), ("seed", c_uint8 * 32), ("control", c_char_p),
        ("options", c_char_p),
    )  # fmt: skip


class _CStatistics(ctypes.Structure):
    _fields_ = (
        ("size", c_uint32), ("reserved", c_uint32),
        *((name, c_uint64) for name in Statistics.__dataclass_fields__),
    )  # fmt: skip


_FUNCTIONS = {
    "create": CFUNCTYPE(c_void_p, POINTER(_CConfig), POINTER(c_char), c_size_t),
    "destroy": CFUNCTYPE(None, c_void_p),
    "open": CFUNCTYPE(None, c_void_p, c_uint64),
    "handle_datagram": CFUNCTYPE(
        None, c_void_p, c_uint64, POINTER(c_uint8), c_size_t, c_uint8
    ),
    "handle_timeout": CFUNCTYPE(None, c_void_p, c_uint64),
    "poll_transmit": CFUNCTYPE(
        c_size_t, c_void_p, c_uint64, POINTER(c_uint8), c_size_t, POINTER(c_size_t),
        POINTER(c_uint8),
    ),
    "poll_timeout": CFUNCTYPE(c_uint64, c_void_p),
    "write": CFUNCTYPE(None, c_void_p, c_uint64, c_uint64, c_int32),
    "delivered": CFUNCTYPE(c_uint64, c_void_p),
    "statistics": CFUNCTYPE(None, c_void_p, POINTER(_CStatistics)),
    "fault": CFUNCTYPE(c_void_p, c_void_p),
}  # fmt: skip


class _CTable(ctypes.Structure):
    _fields_ = (
        ("abi", c_uint32), ("size", c_uint32), ("flags", c_uint32), ("name", c_char_p),
        ("version", c_char_p), ("controls", c_char_p), *_FUNCTIONS.items(),
    )  # fmt: skip


@dataclass
class _Side:
    stack: Stack
    fault: "ctypes.Array[c_char] | None" = None


@dataclass
class _Sides:
    """The sides of a class, by the number that stands for them at the border."""

    made: type[Stack]
    by_number: dict[int, _Side] = field(default_factory=dict)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def create(self, config: Any, reason: Any, capacity: int) -> int:
        try:
            side = _Side(self.made(_config(config.contents)))
        except Exception as error:
            words = _words(error).encode()[: capacity - 1]
            ctypes.memmove(reason, words + b"\0", len(words) + 1)
            return 0
        number = int(next(self.numbers))
        self.by_number[number] = side
        return number

    def destroy(self, number: int) -> None:
        del self.by_number[number]

    def open(self, number: int, now: int) -> None:
        self._call(number, lambda stack: stack.open(now))

    def handle_datagram(self, number: int, now: int, begin: Any, length: int, ecn: int) -> None:
        datagram = ctypes.string_at(begin, length)
        self._call(number, lambda stack: stack.handle_datagram(now, datagram, ecn))

    def handle_timeout(self, number: int, now: int) -> None:
        self._call(number, lambda stack: stack.handle_timeout(now))

    def poll_transmit(
        self, number: int, now: int, room: Any, capacity: int, segment: Any, ecn: Any
    ) -> int:
        sent = self._call(number, lambda stack: stack.poll_transmit(now))
        if sent is None:
            return 0
        datagram, ecn[0] = sent
        if len(datagram) <= capacity:
            ctypes.memmove(room, datagram, len(datagram))
        segment[0] = 0
        return len(datagram)

    def poll_timeout(self, number: int) -> int:
        wake = self._call(number, lambda stack: stack.poll_timeout())
        return _NEVER if wake is None else int(wake)

    def write(self, number: int, now: int, count: int, fin: int) -> None:
        added = None if count == _UNKNOWN else count
        self._call(number, lambda stack: stack.write(now, added, fin=bool(fin)))

    def delivered(self, number: int) -> int:
        return int(self._call(number, lambda stack: stack.delivered()) or 0)

    def statistics(self, number: int, to: Any) -> None:
        numbers = self._call(number, lambda stack: vars(stack.statistics())) or {}
        for name, value in numbers.items():
            if value is not None:
                setattr(to.contents, name, int(value))

    def fault(self, number: int) -> int | None:
        text = self.by_number[number].fault
        return None if text is None else ctypes.addressof(text)

    def _call(self, number: int, call: Any) -> Any:
        """Calls a side, unless it has failed; an exception is its fault."""
        side = self.by_number[number]
        if side.fault is not None:
            return None
        try:
            return call(side.stack)
        except Exception as error:
            side.fault = ctypes.create_string_buffer(_words(error).encode())
            return None


def _words(error: Exception) -> str:
    """Returns an exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _config(given: Any) -> Config:
    return Config(
        sends=bool(given.sends),
        control=given.control.decode(),
        seed=bytes(given.seed),
        receive_window=given.receive_window,
        encrypts=bool(given.encrypts),
        discovers_mtu=bool(given.discovers_mtu),
        trains=given.trains,
        header=given.header,
        options=json.loads(given.options),
    )


# Tables must live as long as the process.
_tables: list[Any] = []


def class_in(file: Path) -> type:
    """Loads the class `Stack` of a file.

    Raises:
        ValueError: The file has no such class; one line.
    """
    spec = importlib.util.spec_from_file_location(f"ackclock_stack_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError("is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(_words(error)) from None
    made = getattr(module, "Stack", None)
    if not _is_stack(made):
        raise ValueError("it has no class Stack that derives from ackclock.stacks.python.Stack")
    return made


def _is_stack(made: Any) -> TypeGuard[type[Stack]]:
    return isinstance(made, type) and issubclass(made, Stack) and made is not Stack


def table_of(made: type) -> int:
    """Returns the address of the table of functions of a class.

    Raises:
        ValueError: It is not that of a stack; one line.
    """
    if not _is_stack(made):
        raise ValueError(f"{made.__name__} does not derive from ackclock.stacks.python.Stack")
    sides = _Sides(made)
    functions = {name: kind(getattr(sides, name)) for name, kind in _FUNCTIONS.items()}
    table = _CTable(
        abi=1, size=ctypes.sizeof(_CTable), flags=0, name=made.name.encode(),
        version=made.version.encode(), controls=" ".join(made.controls).encode(), **functions,
    )  # fmt: skip
    _tables.append((table, functions))
    return ctypes.addressof(table)
