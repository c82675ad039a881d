"""Reads suites from files of data; a mistake is one line with the field."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import InputError
from ackclock.evaluation import criteria
from ackclock.evaluation.checks import KINDS
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.moments import Duration, Moment
from ackclock.evaluation.suite import (
    ANY,
    Assertion,
    Case,
    Dialect,
    Event,
    Origin,
    Setup,
    Suite,
    TestPath,
)
from ackclock.limits import SCENARIO_BYTES, read_file
from ackclock.plugins import ByName, Records

#: Version of the file's form.
SCHEMA = 2


@dataclass(frozen=True)
class SuiteFile:
    """A suite that comes with a package.

    Attributes:
        name: Name on the command line.
        package: The package that holds the file.
        file: Path of the file in the package.
    """

    name: str
    package: str
    file: str

    def read(self) -> bytes:
        """Returns the text of the file."""
        return (resources.files(self.package) / self.file).read_bytes()


_OWN = tuple(
    SuiteFile(name, "ackclock.evaluation", f"suites/{name}.toml")
    for name in ("rfc9743", "bbr-draft", "rfc7928", "tcpeval", "practice")
)

#: Every suite by name: ackclock's own, and those of other packages.
SUITES: Mapping[str, SuiteFile] = ByName(Records("ackclock.suites", SuiteFile, _OWN))

# A path that changes nothing, for suites that list none.
_AS_WRITTEN = TestPath("as written", {})


def names() -> list[str]:
    """Returns the names of the suites that there are."""
    return list(SUITES)


def load(name: str) -> Suite:
    """Reads a suite by its name, or from a file.

    Raises:
        InputError: There is none, or a mistake is in it; one line.
    """
    path = Path(name)
    if path.suffix != ".toml":
        if name not in SUITES:
            raise InputError.unknown("--suite", "suite", name, names())
        suite = SUITES[name]
        return _read(suite.read(), Path(suite.file).name, name)
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
        for state, described in fields.take("states", dict, "a table", {}).items()
    }
    words = _Words(
        scenarios(fields.table("scenarios")),
        states,
        fields.table("controls").named(lambda dialect: _dialect(dialect, states)),
        fields.take("references", dict, "a table of controls", {}),
    )
    seeds = head.take("seeds", list, "two numbers of seeds", [5, 5])
    suite = Suite(
        name=name,
        title=head.text("title"),
        source=head.text("source"),
        revision=head.text("revision"),
        date=head.text("date"),
        url=head.text("url", ""),
        noun=head.text("noun", "the source"),
        notes=head.texts("notes"),
        demands=head.texts("demands"),
        paths=tuple(_path(path) for path in fields.tables("path")) or (_AS_WRITTEN,),
        least_round_trips=head.number("least_round_trips", 0.0),
        references=words.references,
        is_of_queues=head.choice("of", ("controls", "queues"), "controls") == "queues",
        states=states,
        dialects=words.dialects,
        cases=tuple(_case(case, words) for case in fields.tables("case")),
        seeds=(int(seeds[0]), int(seeds[-1])),
        digest=digest,
    )
    head.done()
    fields.done()
    _refuse_twice(suite)
    return suite


def scenarios(fields: Fields) -> dict[str, Any]:
    """Returns the scenarios by name; one with `like` has what it lacks of an earlier one."""
    scenarios: dict[str, Any] = {}
    for name, tree in fields.rest.items():
        own = Fields(tree, fields.path_of(name))
        model = scenarios[own.choice("like", scenarios)] if own.has("like") else {}
        scenarios[name] = {**model, **own.rest}
    return scenarios


class _Words:
    """The names that cases may use: scenarios, states, controls and references."""

    def __init__(
        self,
        scenarios: Mapping[str, Any],
        states: Mapping[str, str],
        dialects: Mapping[str, Dialect],
        references: Mapping[str, Any],
    ) -> None:
        self.scenarios, self.states = scenarios, states
        self.dialects, self.references = dialects, references


def _refuse_twice(suite: Suite) -> None:
    seen: set[str] = set()
    for index, case in enumerate(suite.cases):
        if case.id in seen:
            raise InputError("contradiction", f"case.{index}.id", f'"{case.id}" is there twice')
        seen.add(case.id)


def _path(fields: Fields) -> TestPath:
    path = TestPath(fields.text("name"), fields.take("set", dict, "a table", {}))
    fields.done()
    return path


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


def _case(fields: Fields, words: _Words) -> Case:
    case = Case(
        id=fields.text("id"),
        number=fields.text("number"),
        section=fields.text("section"),
        title=fields.text("title"),
        stated=fields.texts("stated"),
        ours=fields.texts("ours"),
        defect=fields.text("defect", ""),
        lacks=fields.text("lacks", ""),
        least_bdp_packets=fields.number("least_bdp_packets", 0.0),
        setups=tuple(_setup(run, words) for run in fields.tables("run")),
    )
    fields.done()
    if not case.setups and not case.lacks:
        raise InputError("missing", fields.path_of("run"), "is missing; a case has a run or more")
    return case


def _setup(fields: Fields, words: _Words) -> Setup:
    events = tuple(fields.table("events").named(lambda event: _event(event)).values())
    trees = fields.take("check", list, "a list of tables", [])
    moments = {"start", "end", *(event.name for event in events)}
    assertions, bounds = [], []
    for number, tree in enumerate(trees):
        check = Fields(tree, f"{fields.path_of('check')}.{number}")
        if check.has("metric"):
            bounds.append(criteria.read(check, tuple(words.references)))
            continue
        _refuse_unknown(tree, check.path, words.states, moments)
        assertions.append(_assertion(check, words.dialects))
    if assertions and bounds:
        raise InputError(
            "contradiction", fields.path_of("check"),
            "has checks of a trace and of metrics; a run has one of these",
        )  # fmt: skip
    name = fields.choice("scenario", words.scenarios)
    changes = fields.take("set", dict, "a table of changes", {})
    grid, wide, campaign = (_grid(fields, key) for key in ("vary", "full", "wide"))
    setup = Setup(
        name=fields.text("name", ""),
        scenario=_changed(words.scenarios[name], changes, fields.path_of("set")),
        changes=changes,
        grid=grid,
        wide_grid={**grid, **wide},
        campaign_grid=campaign,
        events=events,
        carries=fields.text("carries", ""),
        assertions=tuple(assertions),
        criteria=tuple(bounds),
        limits={
            str(kind): str(says) for kind, says in fields.take("known", dict, "a table", {}).items()
        },
    )
    fields.done()
    return setup


def _changed(tree: Mapping[str, Any], changes: Mapping[str, Any], place: str) -> dict[str, Any]:
    try:
        return engine.replace(dict(tree), dict(changes))
    except InputError as error:
        raise error.for_field(f"{place}.{error.field}") from None


def _grid(fields: Fields, name: str) -> dict[str, tuple[Any, ...]]:
    grid = {}
    for path, values in fields.take(name, dict, "a table of lists", {}).items():
        if not isinstance(values, list) or not values:
            place = f"{fields.path_of(name)}.{path}"
            raise InputError("wrong-type", place, f"{values!r} is not a list of values", values)
        grid[str(path)] = tuple(values)
    return grid


def _event(fields: Fields) -> Event:
    event = Event(
        name=fields.path.rpartition(".")[2],
        moment=Moment.read(fields.any("at"), fields.path_of("at")),
        otherwise=Duration.of_field(fields, "otherwise"),
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
