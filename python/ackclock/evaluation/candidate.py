"""The control that is evaluated, with the transport around it; or a queue."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ackclock import engine, units
from ackclock.elements import facts
from ackclock.elements.registry import registry
from ackclock.errors import InputError
from ackclock.evaluation.suite import Dialect, is_candidate
from ackclock.evaluation.trace import PathValues, Trace, of_rows, of_samples
from ackclock.limits import SCENARIO_BYTES, read_file
from ackclock.metrics.tables import column
from ackclock.plot.spec import FigureSpec
from ackclock.plot.states import states
from ackclock.plot.throughput import throughput
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.scenario import one_flow

_QUIC = "quic:"
# Before the name of a control of the engine's inside an implementation, as in tables.
_OURS = "ackclock:"
# The reference of an implementation is its version.
_RFC = "RFC 9000"
# Payload of the smallest full datagram of QUIC (RFC 9000 section 14): 1200 bytes less a short
# header with an ID of 8 bytes, a tag of 16, and the header of a STREAM frame. So no stack fails
# because it sends smaller datagrams than another.
_DATAGRAM, _OVERHEAD = 1200, 37
# Samples of a round trip of a transport that gives no row for each ACK.
_SAMPLES = 20
_LEAST_INTERVAL_NS = 100_000


class Role(StrEnum):
    """The part of a scenario that a candidate is; the name of its registry."""

    CONTROL = "controls"
    """A congestion control of the engine's TCP, which else is that of Linux."""
    RATE_CONTROL = "rate_controls"
    """A rate control, over UDP."""
    STACK = "transports"
    """A transport that others wrote, with a control of its own."""
    QUEUE = "queues"
    """The queue of the bottleneck."""


@dataclass(frozen=True)
class Candidate:
    """The control that is evaluated, or the queue.

    Attributes:
        kind: Its name in suites: the kind of the control or queue, or `quinn/cubic`.
        tree: The control or queue with its parameters, as in a scenario; of an implementation of
            QUIC, the transport.
        role: The part of a scenario that it is.
    """

    kind: str
    tree: Mapping[str, Any]
    role: Role = Role.CONTROL

    @classmethod
    def of_tcp(cls, control: Mapping[str, Any]) -> "Candidate":
        """Makes one of a control of the engine's TCP, which else is that of Linux."""
        return cls(str(control["kind"]), control)

    @classmethod
    def read(cls, text: str) -> "Candidate":
        """Reads a control: a name, a file, `quic:STACK/CONTROL`, or a table in TOML of these.

        A file is `mine.py`, `mine.py:Class`, `mine.bpf.c` or `mine.bpf.o`. A control of the
        engine's inside an implementation is `quic:quinn/ackclock:cubic`.

        Raises:
            InputError: It is unknown, or its parameters are invalid.
        """
        text = text.strip()
        try:
            tree = table(text)
            role = _role(str(tree.get("kind")))
            scenario = one_flow(cls("", tree, role).transport, "1 s")
            flow = scenario.resolve().tree["flows"][0]
            engine.check_simulation(scenario.tree, scenario.folder)
        except InputError as error:
            # A table's own field, without the path of the scenario that it stands in.
            path = error.field.partition("transport")[2].removeprefix(".control")
            within = path if text.startswith("{") else ""
            raise type(error)(error.code, f"CONTROL{within}", error.message, error.value) from None
        parts = ("transport",) if role is Role.STACK else ("transport", "control")
        whole = facts.whole(flow, *parts)
        resolved = {str(name): value for name, value in whole.items() if name != "facts"}
        kind = facts.control(flow)[0] if role is Role.STACK else str(resolved["kind"])
        return cls(kind, resolved, role)

    @classmethod
    def of_queue(cls, queue: Mapping[str, Any]) -> "Candidate":
        """Makes one of a queue as a suite writes it; values of its scenarios may be in it."""
        return cls(str(queue["kind"]), queue, Role.QUEUE)

    @classmethod
    def read_queue(cls, text: str) -> "Candidate":
        """Reads a queue: a name, or a table in TOML.

        Raises:
            InputError: It is unknown, or its parameters are invalid.
        """
        text = text.strip()
        tree = text if text.startswith("{") else f'{{ kind = "{text}" }}'
        try:
            queue = facts.whole(engine.parse_scenario(f"queue = {tree}"), "queue")
            scenario = one_flow(_tcp({"kind": "cubic"}), "1 s")
            resolved = scenario.replace({"hops.there.queue": queue}).resolve().tree
        except InputError as error:
            path = error.field.partition("queue")[2]
            within = path if text.startswith("{") else ""
            raise type(error)(error.code, f"--queue{within}", error.message, error.value) from None
        whole = facts.whole(resolved["hops"][0], "queue")
        return cls.of_queue({name: value for name, value in whole.items() if name != "facts"})

    @property
    def transport(self) -> dict[str, Any]:
        """Its transport, without what a path decides."""
        if self.role is Role.STACK:
            return dict(self.tree)
        return _udp(self.tree) if self.role is Role.RATE_CONTROL else _tcp(self.tree)

    @property
    def name(self) -> str:
        """Its name for folders: that of its file, if it is a file."""
        file = Path(str(self.tree.get("file", ""))).name.partition(".")[0]
        return file or self.kind.replace("/", "-").replace(":", "-")

    @property
    def label(self) -> str:
        """Its name for people; `python:Idea` for a class Idea of one's own."""
        if self.role in (Role.QUEUE, Role.RATE_CONTROL):
            return self._element["label"]
        flow = one_flow(self.transport, "1 s").resolve().tree["flows"][0]
        return control_label(facts.control(flow)[0])

    @property
    def reference(self) -> str:
        """Its source: of an implementation, its version."""
        if self.role is Role.STACK:
            return str(self.tree.get("version", _RFC))
        return self._element["reference"]

    @property
    def _element(self) -> dict[str, str]:
        """Its entry in the registry."""
        return next(each for each in registry()[self.role] if each["name"] == self.kind)

    @property
    def shows_states(self) -> bool:
        """True if a run can record its states; samples stand in for them otherwise."""
        return self.role is Role.CONTROL

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters."""
        return {name: value for name, value in self.tree.items() if name != "kind"}

    def flow(self, flow: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a flow of a suite with its transport.

        Options of TCP, and records of a control's states, are for TCP only.
        """
        if self.shows_states:
            return {**flow, "transport": {**self.transport, **options}}
        others = {name: value for name, value in flow.items() if name != "control_states"}
        return {**others, "transport": self.transport}

    def in_place(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a scenario of a suite with itself in the place of X."""
        return {
            **tree,
            "hops": [self._at_hop(dict(hop)) for hop in tree["hops"]],
            "flows": [self._in_flow(dict(flow)) for flow in tree["flows"]],
        }

    def _at_hop(self, hop: dict[str, Any]) -> dict[str, Any]:
        is_evaluated = is_candidate(facts.whole(hop, "queue"))
        return {**hop, "queue": dict(self.tree)} if is_evaluated else hop

    def _in_flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        transport = facts.whole(flow, "transport")
        if not is_candidate(transport):
            return flow
        options = transport.items() if isinstance(transport, dict) else ()
        return self.flow(flow, {name: each for name, each in options if name != "kind"})

    @property
    def payload_share(self) -> float | None:
        """Share of a path's rate that payload can have; None for what the suite says of TCP."""
        if self.role is not Role.STACK:
            return None
        header = units.data_bytes(self.tree["header"])
        return (_DATAGRAM - _OVERHEAD) / (_DATAGRAM + header)

    def records(self, round_trip_s: float) -> dict[str, Any]:
        """Returns what its scenario says of records: one without states is sampled."""
        if self.shows_states:
            return {}
        interval_ns = max(round(round_trip_s * 1e9 / _SAMPLES), _LEAST_INTERVAL_NS)
        return {"sample_interval": f"{interval_ns} ns"}

    def trace(self, result: Result, dialect: Dialect, values: PathValues) -> Trace:
        """Returns the trace of the flow of a run."""
        if not self.shows_states:
            samples, events = (_columns(result, name) for name in ("samples", "events"))
            return of_samples(samples, events, values)
        rows = _columns(result, "control_states")
        return of_rows(rows, dialect.states, dialect.unbounded, values)

    def drawn(
        self, result: Result, dialect: Dialect, span: tuple[float, float],
        marks: list[tuple[float, str]],
    ) -> FigureSpec:  # fmt: skip
        """Returns the figure of a run: its states, or its throughput if it states none."""
        if not self.shows_states:
            return throughput(result, span=span)
        return states(result, span=span, names=dialect.states, marks=marks)


def table(text: str) -> dict[str, Any]:
    """Reads the text of a control into a table, unchecked.

    Raises:
        InputError: It is not a table in TOML, or a file in Python has not one class.
    """
    if text.startswith(_QUIC):
        stack, slash, control = text.removeprefix(_QUIC).partition("/")
        if not slash:
            words = f'"{text}" does not name a control; for example quic:quinn/cubic'
            raise InputError("syntax", "transport", words, text)
        ours = {"kind": control.removeprefix(_OURS)}
        is_ours = control.startswith(_OURS)
        return {"kind": "quic", "stack": stack, "control": ours if is_ours else control}
    if text.endswith((".bpf.c", ".bpf.o")):
        return {"kind": "kernel", "file": text}
    file, _, name = text.partition(":")
    if file.endswith(".py"):
        return {"kind": "python", "file": file, "class": name or _only_class(Path(file))}
    tree = text if text.startswith("{") else f'{{ kind = "{text}" }}'
    return dict(engine.parse_scenario(f"control = {tree}")["control"])


def _only_class(file: Path) -> str:
    """Returns the name of the class that a file in Python defines."""
    try:
        return only_class(read_file(file, SCENARIO_BYTES), f"{file}")
    except OSError as error:
        raise InputError("file", "", f"{file}: {error.strerror}") from None


def parsed(text: bytes, file: str) -> ast.Module:
    """Parses the text of a file in Python, and runs nothing of it.

    Raises:
        InputError: It is not Python; with the line.
    """
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise InputError("syntax", "", f"{file}:{error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError("syntax", "", f"{file}: is not Python: {error}") from None


def only_class(text: bytes, file: str) -> str:
    """Returns the name of the class that the text of a file in Python defines.

    Raises:
        InputError: It is not Python, or has not one class.
    """
    tree = parsed(text, file)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(classes) > 1:  # One without a base is a helper.
        classes = [node for node in classes if node.bases]
    names = [node.name for node in classes]
    if len(names) != 1:
        words = f"{file} has {len(names)} classes; name one: {file}:Class"
        raise InputError("missing", "", words)
    return names[0]


def _tcp(control: Mapping[str, Any]) -> dict[str, Any]:
    """Returns TCP of Linux with a control."""
    return {"kind": "tcp", "preset": "linux", "control": dict(control)}


def _udp(control: Mapping[str, Any]) -> dict[str, Any]:
    """Returns UDP with a rate control."""
    return {"kind": "udp", "control": dict(control)}


def _role(kind: str) -> Role:
    if kind == "quic":
        return Role.STACK
    rates = [element["name"] for element in registry()[Role.RATE_CONTROL]]
    return Role.RATE_CONTROL if kind in rates else Role.CONTROL


def _columns(result: Result, name: str) -> dict[str, Any]:
    rows = result.tables[name]
    return {each: column(rows, each) for each in rows.column_names}
