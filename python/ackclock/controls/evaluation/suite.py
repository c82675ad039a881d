"""Suites of test cases as records, read from a file of data.

A suite says for each case what its source states and what we chose, how the path and the traffic
are set up, and what must hold of the trace of the control's states. It names no part of ackclock's
scenarios, so that other implementations can be tested by it.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import units
from ackclock.controls.evaluation.checks import KINDS, Check
from ackclock.controls.evaluation.fields import Fields
from ackclock.controls.evaluation.moments import NO_TIME, Duration, Moment
from ackclock.errors import InputError
from ackclock.limits import SCENARIO_BYTES, read_file

#: The name of a dialect that every control speaks: checks that need no states.
ANY = "any"

#: Version of the file's form.
SCHEMA = 1


class Origin(StrEnum):
    """The origin of an assertion."""

    STATED = "stated"
    """The source states it. If its number is ours, the assertion says so."""
    OURS = "ours"
    """The source does not state it: our choice, or our reading where it contradicts itself."""
    SETUP = "set-up"
    """The run must meet it for the case to apply."""


@dataclass(frozen=True)
class Share:
    """A rate: a share of the path's, or a rate of its own.

    Attributes:
        share: The share; 0 if it is a rate of its own.
        bit_per_s: That rate.
    """

    share: float = 0.0
    bit_per_s: float = 0.0

    @classmethod
    def read(cls, written: Any, path: str) -> "Share":
        """Reads `"90 %"` or `"10 Mbit/s"`."""
        try:
            quantity = units.parse(written)
        except InputError as error:
            raise error.for_field(path) from None
        if quantity.base == "" and quantity.unit:
            return cls(share=quantity.amount)
        if quantity.base == "bit/s":
            return cls(bit_per_s=quantity.amount)
        raise units.refusal(path, f"{written}", ("bit/s", ""), example="90 %")

    def applied_to(self, rate_bit_per_s: float) -> float:
        """Returns it in bit/s on a path."""
        return self.bit_per_s or self.share * rate_bit_per_s


@dataclass(frozen=True)
class Policer:
    """A token bucket before the bottleneck: its rate, and its bytes."""

    rate: Share
    burst_bytes: float


@dataclass(frozen=True)
class TestPath:
    """The path of a run.

    Attributes:
        name: Name of the path in reports.
        rate_bit_per_s: Rate of the bottleneck; headers count.
        round_trip_s: Propagation delay of a round trip.
        buffer_bdp: Buffer of the bottleneck in bandwidth-delay products.
        least_buffer_packets: Least buffer in packets.
        segment_bytes: Payload of a full segment.
        header_bytes: Headers of a segment.
        segmentation_offload: True if segments leave in bursts, as of a Linux host; False if each
            leaves at its own time.
        policer: A policer, if there is one.
        is_fixed: True if the case needs this path and no other.
    """

    name: str
    rate_bit_per_s: float
    round_trip_s: float
    buffer_bdp: float
    least_buffer_packets: int
    segment_bytes: int
    header_bytes: int
    segmentation_offload: bool = False
    policer: Policer | None = None
    is_fixed: bool = False

    @property
    def packet_bytes(self) -> int:
        """Size of a full packet."""
        return self.segment_bytes + self.header_bytes

    @property
    def payload_share(self) -> float:
        """Payload in a full packet, as a share."""
        return self.segment_bytes / self.packet_bytes

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product in full packets."""
        return self.rate_bit_per_s * self.round_trip_s / 8 / self.packet_bytes

    @property
    def buffer_packets(self) -> int:
        """Buffer in full packets."""
        return max(round(self.buffer_bdp * self.bdp_packets), self.least_buffer_packets)

    def is_as_far_and_fast_as(self, other: "TestPath") -> bool:
        """Returns true if rate and round trip are those of another path."""
        return (self.rate_bit_per_s, self.round_trip_s) == (
            other.rate_bit_per_s,
            other.round_trip_s,
        )

    def __str__(self) -> str:
        rate, delay = (
            units.shown(self.rate_bit_per_s, "bit/s"),
            units.shown(self.round_trip_s, "s"),
        )
        return f"{rate}, {delay}, buffer of {self.buffer_packets} packets"


@dataclass(frozen=True)
class Event:
    """A change of the path or of the application during a run.

    Attributes:
        name: Name by which checks know it.
        kind: `rate`, `application`, `loss`, `aggregation` or `delay`.
        moment: When it happens.
        otherwise: The moment for a control that never enters the state which `at` names.
        to: The new rate of the bottleneck or of the application.
        every: Packets from one loss to the next.
        lasts: Time that losses or a delay last.
        by: The extra delay, or the interval of aggregation.
        keeps_order: True if delayed packets are not overtaken.
    """

    name: str
    kind: str
    moment: Moment
    otherwise: Duration
    to: Share = Share()
    every: int = 0
    lasts: Duration = NO_TIME
    by: Duration = NO_TIME
    keeps_order: bool = True


@dataclass(frozen=True)
class Assertion:
    """One thing that must hold in a run.

    Attributes:
        says: It in words.
        origin: Its origin.
        is_number_ours: True if the source states it without a number, and the number is ours.
        dialects: Names of the controls of the suite that it applies to; `any` for every control.
        kind: Kind of check.
        reads: States and variables that it names.
        check: The check.
    """

    says: str
    origin: Origin
    is_number_ours: bool
    dialects: tuple[str, ...]
    kind: str
    reads: tuple[str, ...]
    check: Check


@dataclass(frozen=True)
class Setup:
    """One run of a case: path, traffic, events, and what must hold.

    Attributes:
        name: Name of the run; empty if the case has one.
        changes: Fields of the path that differ from the suite's.
        application: Rate of the application at first; None if it always has data to send.
        duration: Length of the run.
        events: Events in order.
        assertions: Assertions in order.
    """

    name: str
    changes: Mapping[str, Any]
    application: Share | None
    duration: Duration
    events: tuple[Event, ...]
    assertions: tuple[Assertion, ...]

    def on(self, path: TestPath) -> TestPath:
        """Returns a path with the changes of this run."""
        return replace(path, **self.changes)

    @property
    def is_fixed(self) -> bool:
        """True if the run needs its own path and no other."""
        return bool(self.changes.get("is_fixed", False))


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        id: Name on the command line.
        number: Number in the source.
        section: Section of the source.
        title: Title, in our words.
        stated: Statements of the source, in our words.
        ours: Our choices.
        defect: A contradiction of the source, with our reading; empty if there is none.
        least_bdp_packets: Least bandwidth-delay product at which the case can exist.
        setups: Its runs.
    """

    id: str
    number: int
    section: str
    title: str
    stated: tuple[str, ...]
    ours: tuple[str, ...]
    defect: str
    least_bdp_packets: float
    setups: tuple[Setup, ...]


@dataclass(frozen=True)
class Dialect:
    """The names of a control's states in the words of the suite.

    Attributes:
        name: Kind of the control.
        title: What it is.
        states: Names of the suite by the control's own.
        unbounded: Bounds that the control may do without: unknown means there is none.
    """

    name: str
    title: str
    states: Mapping[str, str]
    unbounded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """A suite of test cases.

    Attributes:
        name: Name on the command line.
        title: Title.
        source: The source of its cases.
        revision: Its revision.
        date: Date of the revision.
        url: Where it can be read.
        notes: Remarks for readers of a report.
        path: The path of every case that states no other.
        corners: Further paths.
        least_round_trips: Least length of a run in round trips.
        states: The states that checks may name, with their meanings.
        dialects: Controls whose states are known, by their kind.
        cases: The cases in the order of the source.
        digest: Hash of the file.
    """

    name: str
    title: str
    source: str
    revision: str
    date: str
    url: str
    notes: tuple[str, ...]
    path: TestPath
    corners: tuple[TestPath, ...]
    least_round_trips: float
    states: Mapping[str, str]
    dialects: Mapping[str, Dialect]
    cases: tuple[Case, ...]
    digest: str

    def chosen(self, wanted: str) -> tuple[Case, ...]:
        """Returns the cases with these ids or numbers, separated by commas; all if empty."""
        by_name = {name: case for case in self.cases for name in (case.id, str(case.number))}
        asked = [part.strip() for part in wanted.split(",") if part.strip()]
        for name in asked:
            if name not in by_name:
                raise InputError.unknown("--only", "case", name, [case.id for case in self.cases])
        return tuple(case for case in self.cases if not asked or case in map(by_name.get, asked))


_SUITES = resources.files("ackclock.controls.evaluation") / "suites"


def names() -> list[str]:
    """Returns the names of the suites that come with ackclock."""
    return sorted(file.name.removesuffix(".toml") for file in _SUITES.iterdir())


def load(name: str) -> Suite:
    """Reads a suite by its name, or from a file.

    Raises:
        InputError: There is none, or a mistake is in it; one line.
    """
    if name in names():
        file = f"{name}.toml"
        return _read((_SUITES / file).read_bytes(), file, name)
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError.unknown("--suite", "suite", name, names())
    try:
        text = read_file(path, SCENARIO_BYTES)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        words = "no such file" if missing else f"{error.strerror}"
        raise InputError("file", f"{path}", f"{words}; a suite is a .toml file") from None
    return _read(text, str(path), path.stem)


def _read(text: bytes, file: str, name: str) -> Suite:
    try:
        tree = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("syntax", file, f"is not TOML: {error}") from None
    try:
        return _suite(Fields(tree, ""), name, hashlib.sha256(text).hexdigest()[:16])
    except InputError as error:
        raise error.for_field(f"{file}: {error.field}") from None


def _suite(fields: Fields, name: str, digest: str) -> Suite:
    if fields.whole("schema") != SCHEMA:
        raise InputError("unsupported", "schema", f"is not {SCHEMA}, which this version reads")
    head = fields.table("suite")
    states = {
        str(state): str(described)
        for state, described in fields.take("states", dict, "a table").items()
    }
    path = _path(fields.table("path"), "P0")
    dialects = fields.table("controls").named(lambda dialect: _dialect(dialect, states))
    suite = Suite(
        name=name,
        title=head.text("title"),
        source=head.text("source"),
        revision=head.text("revision"),
        date=head.text("date"),
        url=head.text("url", ""),
        notes=head.texts("notes"),
        path=path,
        corners=tuple(_corner(corner, path) for corner in fields.tables("corner")),
        least_round_trips=head.number("least_round_trips", 0.0),
        states=states,
        dialects=dialects,
        cases=tuple(_case(case, states, dialects) for case in fields.tables("case")),
        digest=digest,
    )
    head.done()
    fields.done()
    _refuse_twice(suite)
    return suite


def _refuse_twice(suite: Suite) -> None:
    seen: set[str] = set()
    for index, case in enumerate(suite.cases):
        if case.id in seen:
            raise InputError("contradiction", f"case.{index}.id", f'"{case.id}" is there twice')
        seen.add(case.id)


def _path(fields: Fields, name: str) -> TestPath:
    path = TestPath(
        name=name,
        rate_bit_per_s=_rate(fields, "rate"),
        round_trip_s=_time(fields, "round_trip"),
        buffer_bdp=fields.number("buffer_bdp"),
        least_buffer_packets=fields.whole("least_buffer_packets", 1),
        segment_bytes=fields.whole("segment_bytes", 1448),
        header_bytes=fields.whole("header_bytes", 52),
        segmentation_offload=fields.flag("segmentation_offload", default=False),
    )
    fields.done()
    return path


def _corner(fields: Fields, path: TestPath) -> TestPath:
    corner = replace(
        path,
        name=fields.text("name"),
        rate_bit_per_s=_rate(fields, "rate") if fields.has("rate") else path.rate_bit_per_s,
        round_trip_s=_time(fields, "round_trip") if fields.has("round_trip") else path.round_trip_s,
        segmentation_offload=fields.flag("segmentation_offload", default=path.segmentation_offload),
    )
    fields.done()
    return corner


def _rate(fields: Fields, name: str) -> float:
    return Share.read(fields.text(name), fields.path_of(name)).bit_per_s


def _time(fields: Fields, name: str) -> float:
    return Duration.read(fields.text(name), fields.path_of(name)).seconds


def _dialect(fields: Fields, described: Mapping[str, str]) -> Dialect:
    states = fields.take("states", dict, "a table", {})
    for own, state in states.items():
        if state not in described:
            place = f"{fields.path_of('states')}.{own}"
            raise InputError.unknown(place, "state", str(state), described)
    name = fields.path.rpartition(".")[2]
    dialect = Dialect(name, fields.text("title"), states, fields.texts("unbounded"))
    fields.done()
    return dialect


def _case(fields: Fields, states: Mapping[str, str], dialects: Mapping[str, Dialect]) -> Case:
    case = Case(
        id=fields.text("id"),
        number=fields.whole("number"),
        section=fields.text("section"),
        title=fields.text("title"),
        stated=fields.texts("stated"),
        ours=fields.texts("ours"),
        defect=fields.text("defect", ""),
        least_bdp_packets=fields.number("least_bdp_packets", 0.0),
        setups=tuple(_setup(run, states, dialects) for run in fields.tables("run")),
    )
    fields.done()
    if not case.setups:
        raise InputError(
            "missing", fields.path_of("run"), "is missing; a case has at least one run"
        )
    return case


def _setup(fields: Fields, states: Mapping[str, str], dialects: Mapping[str, Dialect]) -> Setup:
    written = fields.any("application")
    events = tuple(_event(event) for event in fields.tables("event"))
    trees = fields.take("check", list, "a list of tables", [])
    moments = {"start", "end", *(event.name for event in events)}
    for number, tree in enumerate(trees):
        _refuse_unknown(tree, f"{fields.path_of('check')}.{number}", states, moments)
    setup = Setup(
        name=fields.text("name", ""),
        changes=_changes(fields.table("path")),
        application=None if written is None else Share.read(written, fields.path_of("application")),
        duration=Duration.read(fields.any("duration"), fields.path_of("duration")),
        events=events,
        assertions=tuple(
            _assertion(Fields(tree, f"{fields.path_of('check')}.{number}"), dialects)
            for number, tree in enumerate(trees)
        ),
    )
    fields.done()
    if setup.application is None and any(event.kind == "application" for event in events):
        words = "is missing; an event changes it, and a source that always has data has no rate"
        raise InputError("missing", fields.path_of("application"), words)
    return setup


def _changes(fields: Fields) -> dict[str, Any]:
    """Returns the fields of a path that a run changes."""
    changes: dict[str, Any] = {}
    for name, field, read in (
        ("rate", "rate_bit_per_s", _rate),
        ("round_trip", "round_trip_s", _time),
        ("buffer_bdp", "buffer_bdp", Fields.number),
        ("least_buffer_packets", "least_buffer_packets", Fields.whole),
    ):
        if fields.has(name):
            changes[field] = read(fields, name)
    if "rate_bit_per_s" in changes or "round_trip_s" in changes:
        changes["is_fixed"] = True
    if fields.has("policer"):
        policer = fields.table("policer")
        rate = Share.read(policer.text("rate"), policer.path_of("rate"))
        changes["policer"] = Policer(rate, units.data_bytes(policer.text("burst")))
        policer.done()
    fields.done()
    return changes


_EVENTS = ("rate", "application", "loss", "aggregation", "delay")


def _event(fields: Fields) -> Event:
    kind = fields.choice("kind", _EVENTS)
    needs = {"rate": ("to",), "application": ("to",), "loss": ("every", "lasts")}
    for name in needs.get(kind, ("by",)):
        if not fields.has(name):
            raise InputError(
                "missing", fields.path_of(name), f"is missing; an event {kind} needs it"
            )
    event = Event(
        name=fields.text("name"),
        kind=kind,
        moment=Moment.read(fields.any("at"), fields.path_of("at")),
        otherwise=Duration.of_field(fields, "otherwise"),
        to=Share.read(fields.any("to"), fields.path_of("to")) if fields.has("to") else Share(),
        every=fields.whole("every", 1),
        lasts=Duration.of_field(fields, "lasts"),
        by=Duration.of_field(fields, "by"),
        keeps_order=fields.choice("order", ("kept", "lost"), "kept") == "kept",
    )
    fields.done()
    return event


def _assertion(fields: Fields, dialects: Mapping[str, Dialect]) -> Assertion:
    says, origin = fields.text("says"), Origin(fields.choice("origin", list(Origin)))
    number = fields.choice("number", ("stated", "ours"), "stated") == "ours"
    controls = fields.texts("for") or (next(iter(dialects), ANY),)
    for control in controls:
        if control not in (*dialects, ANY):
            raise InputError.unknown(fields.path_of("for"), "control", control, [*dialects, ANY])
    reads = tuple(dict.fromkeys(_read_by(fields.rest)))
    kind = fields.choice("kind", KINDS)
    check = KINDS[kind].read(fields)
    fields.done()
    return Assertion(says, origin, number, controls, kind, reads, check)


def _read_by(tree: Any) -> Iterator[str]:
    """Returns the states and variables that a check names."""
    for name, value in _within(tree):
        if name in (*_STATES, "of"):
            yield from value if isinstance(value, list) else [value]


# Fields of checks that hold names of states.
_STATES = ("state", "entry", "exit", "left", "from", "is")


def _refuse_unknown(tree: Any, path: str, states: Mapping[str, str], events: set[str]) -> None:
    """Refuses names of states and events that do not exist, anywhere in a check."""
    for name, value in _within(tree):
        place = f"{path}.{name}"
        if name in _STATES:
            for state in value if isinstance(value, list) else [value]:
                if state not in states:
                    raise InputError.unknown(place, "state", str(state), states)
        is_named = isinstance(value, str) and value[:1].isalpha()
        is_of_sender = tree.get("kind") == "happens" and value is tree.get("event")
        if name in ("event", "since") and is_named and not is_of_sender and value not in events:
            raise InputError.unknown(place, "event", value, events)


def _within(tree: Any) -> Iterator[tuple[str, Any]]:
    """Returns every field within a tree."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield name, value
            yield from _within(value)
