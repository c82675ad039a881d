"""The control that is evaluated, with the transport around it; or a queue."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import engine, units
from ackclock.elements import facts
from ackclock.elements.registry import registry
from ackclock.errors import InputError
from ackclock.evaluation.suite import Dialect
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


@dataclass(frozen=True)
class Candidate:
    """The control that is evaluated, or the queue.

    Attributes:
        kind: Its name in suites: the kind of the control or queue, or `quinn/cubic`.
        tree: The control or queue with its parameters, as in a scenario; of an implementation of
            QUIC, the transport.
        is_quic: True if it is an implementation that others wrote.
        is_queue: True for a queue.
        is_rate_control: True for a rate control, over UDP.
    """

    kind: str
    tree: Mapping[str, Any]
    is_quic: bool = False
    is_queue: bool = False
    is_rate_control: bool = False

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
            tree = _table(text)
            is_quic, is_rate = tree.get("kind") == "quic", tree.get("kind") in _rate_controls()
            made = _udp(tree) if is_rate else _tcp(tree)
            scenario = one_flow(tree if is_quic else made, "1 s")
            flow = scenario.resolve().tree["flows"][0]
            engine.check_simulation(scenario.tree, scenario.folder)
        except InputError as error:
            # A table's own field, without the path of the scenario that it stands in.
            path = error.field.partition("transport")[2].removeprefix(".control")
            within = path if text.startswith("{") else ""
            raise type(error)(error.code, f"CONTROL{within}", error.message, error.value) from None
        parts = ("transport",) if is_quic else ("transport", "control")
        whole = facts.whole(flow, *parts)
        resolved = {str(name): value for name, value in whole.items() if name != "facts"}
        if is_rate:
            return cls(str(resolved["kind"]), resolved, is_rate_control=True)
        if not is_quic:
            return cls.of_tcp(resolved)
        return cls(facts.control(flow)[0], resolved, is_quic=True)

    @classmethod
    def of_queue(cls, queue: Mapping[str, Any]) -> "Candidate":
        """Makes one of a queue as a suite writes it; values of its scenarios may be in it."""
        return cls(str(queue["kind"]), queue, is_queue=True)

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
        if self.is_rate_control:
            return _udp(self.tree)
        return dict(self.tree) if self.is_quic else _tcp(self.tree)

    @property
    def name(self) -> str:
        """Its name for folders: that of its file, if it is a file."""
        file = Path(str(self.tree.get("file", ""))).name.partition(".")[0]
        return file or self.kind.replace("/", "-").replace(":", "-")

    @property
    def label(self) -> str:
        """Its name for people; `python:Idea` for a class Idea of one's own."""
        if self.is_queue or self.is_rate_control:
            return self._element(self._registered)["label"]
        flow = one_flow(self.transport, "1 s").resolve().tree["flows"][0]
        return control_label(facts.control(flow)[0])

    @property
    def reference(self) -> str:
        """Its source: of an implementation, its version."""
        if self.is_quic:
            return str(self.tree.get("version", _RFC))
        return self._element(self._registered)["reference"]

    @property
    def _registered(self) -> str:
        """Name of the registry that has it."""
        if self.is_queue:
            return "queues"
        return "rate_controls" if self.is_rate_control else "controls"

    def _element(self, kind: str) -> dict[str, str]:
        """Returns its entry in the registry."""
        return next(element for element in registry()[kind] if element["name"] == self.kind)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters."""
        return {name: value for name, value in self.tree.items() if name != "kind"}

    def flow(self, flow: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a flow of a suite with its transport.

        Options of TCP, and records of a control's states, are for TCP only.
        """
        if not (self.is_quic or self.is_rate_control):
            return {**flow, "transport": {**self.transport, **options}}
        others = {name: value for name, value in flow.items() if name != "control_states"}
        return {**others, "transport": self.transport}

    @property
    def payload_share(self) -> float | None:
        """Share of a path's rate that payload can have; None for what the suite says of TCP."""
        if not self.is_quic:
            return None
        header = units.data_bytes(self.tree["header"])
        return (_DATAGRAM - _OVERHEAD) / (_DATAGRAM + header)

    def records(self, round_trip_s: float) -> dict[str, Any]:
        """Returns what its scenario says of records: an implementation is sampled."""
        if not self.is_quic:
            return {}
        interval_ns = max(round(round_trip_s * 1e9 / _SAMPLES), _LEAST_INTERVAL_NS)
        return {"sample_interval": f"{interval_ns} ns"}

    def trace(self, result: Result, dialect: Dialect, values: PathValues) -> Trace:
        """Returns the trace of the flow of a run."""
        if self.is_quic:
            samples, events = (_columns(result, name) for name in ("samples", "events"))
            return of_samples(samples, events, values)
        rows = _columns(result, "control_states")
        return of_rows(rows, dialect.states, dialect.unbounded, values)

    def drawn(
        self, result: Result, dialect: Dialect, span: tuple[float, float],
        marks: list[tuple[float, str]],
    ) -> FigureSpec:  # fmt: skip
        """Returns the figure of a run: its states, or its throughput if it states none."""
        if self.is_quic:
            return throughput(result, span=span)
        return states(result, span=span, names=dialect.states, marks=marks)


def _table(text: str) -> dict[str, Any]:
    """Reads the text of a control into a table."""
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
        tree = ast.parse(read_file(file, SCENARIO_BYTES))
    except OSError as error:
        raise InputError("file", "", f"{file}: {error.strerror}") from None
    except SyntaxError as error:
        raise InputError("syntax", "", f"{file}:{error.lineno}: {error.msg}") from None
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


def _rate_controls() -> list[str]:
    return [element["name"] for element in registry()["rate_controls"]]


def _columns(result: Result, name: str) -> dict[str, Any]:
    table = result.tables[name]
    return {each: column(table, each) for each in table.column_names}
