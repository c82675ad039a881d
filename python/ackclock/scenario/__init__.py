"""The scenario: a network path and its traffic, as the tree in its file.

Quantities stay as written, with their units. A scenario is checked when it is used (`check`,
`resolve`, `simulate`, `predict`), so that `replace` may complete an unfinished one.
"""

import contextlib
import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, overload

from ackclock import engine, notebook
from ackclock.errors import InputError, ScenarioError, suggestion
from ackclock.limits import MISTAKES, SCENARIO_BYTES, read_file
from ackclock.table import table

__all__ = ["Part", "Parts", "Point", "Scenario", "ScenarioError", "load", "one_flow"]


def load(path: str | Path) -> "Scenario":
    """Reads a scenario file.

    Args:
        path: A file of TOML or JSON; which of them, its text says. Files that the scenario names
            are looked up in the same folder.

    Raises:
        ScenarioError: The file is missing, or neither TOML nor JSON; one line saying what to do.
    """
    path = Path(path)
    text = _text(path)
    try:
        tree = engine.parse_scenario(text)
    except ScenarioError as error:
        raise error.placed(
            lambda mistake: f"{path}:{mistake.place}" if mistake.place else f"{path}"
        ) from None
    return Scenario(tree, path.parent, Source(str(path), text))


def one_flow(transport: Mapping[str, Any], duration: str, folder: Path = Path()) -> "Scenario":
    """Returns a flow over 10 Mbit/s and 40 ms, between two hops `there` and `back`.

    Args:
        transport: The transport, as in a scenario.
        duration: The duration with its unit.
        folder: Folder of the files that the transport names.
    """
    hop = {
        "link": {"kind": "constant", "rate": "10 Mbit/s"},
        "queue": {"kind": "droptail", "limit": "100 packets"},
        "delay": "20 ms",
    }
    flow = {"name": "flow", "route": ["there"], "return": ["back"], "transport": dict(transport)}
    return Scenario(
        {
            "schema": 1,
            "duration": duration,
            "replicates": 1,
            "hops": [{"name": "there", **hop}, {"name": "back", **hop}],
            "flows": [flow],
        },
        folder,
    )


def _text(path: Path) -> str:
    try:
        return read_file(path, SCENARIO_BYTES).decode()
    except FileNotFoundError:
        near = _near(path)
        problem = "no such file"
        if near:
            raise ScenarioError("file", f"{path}", f"{problem}; did you mean {near}?") from None
    except UnicodeDecodeError:
        problem = "is not UTF-8 text"
    except IsADirectoryError:
        problem = "is a folder"
    except OSError as error:
        problem = f"{error.strerror}"
    except InputError as error:
        problem = error.message
    raise ScenarioError("file", f"{path}", f"{problem}; a scenario is a .toml or .json file")


def _near(path: Path) -> str:
    """Returns the scenarios that a missing file may mean, quoted; empty if there are none.

    They are of the same name with an ending, or of a similar one: in its folder, or in `examples`.
    """
    places = dict.fromkeys([path.parent, Path("examples")])
    files = [
        file
        for place in places
        if place.is_dir()
        for file in sorted(place.iterdir())
        if file.suffix in (".toml", ".json") and file.is_file()
    ]
    same = [file for file in files if file.stem == path.name or file.name == path.name]
    names = get_close_matches(path.stem, [file.stem for file in files], n=2)
    near = same or [file for name in dict.fromkeys(names) for file in files if file.stem == name]
    return " or ".join(f'"{file}"' for file in near[:2])


@dataclass(frozen=True)
class Source:
    """The file that a scenario was read from, to say where a mistake is.

    Attributes:
        name: The file's path.
        text: What it said.
        changed: By path of a field, what gave it another value than the file: an option of a
            command, or nothing to name.
    """

    name: str
    text: str
    changed: Mapping[str, str] = field(default_factory=dict)

    def places(self, tree: dict[str, Any], errors: Sequence[ScenarioError]) -> list[str]:
        """File, line and column of each mistake, or the option it comes from."""
        positions = engine.places(self.text, [(error.code, error.field) for error in errors])
        places = []
        for error, position in zip(errors, positions, strict=True):
            option = self._option(tree, error)
            own = f"{self.name}:{position}" if position else self.name
            places.append(own if option is None else option)
        return places

    def _option(self, tree: dict[str, Any], error: ScenarioError) -> str | None:
        """The option that a mistake comes from, empty if it has no name; None for the file."""
        steps = _by_position(tree, error.field)
        for path, option in self.changed.items():
            changed = _by_position(tree, path)
            if steps[: len(changed)] == changed:
                # Who types a path expects the current folder.
                looked = bool(option) and error.code == "file"
                return f"{option} (looked beside {self.name})" if looked else option
        return None


def _by_position(tree: Any, path: str) -> list[str]:
    """The steps of a path, with positions in place of names of list members."""
    steps = []
    for step in path.split("."):
        if isinstance(tree, list):
            names = [member.get("name") if isinstance(member, dict) else None for member in tree]
            position = (
                names.index(step) if step in names else int(step) if step.isdecimal() else None
            )
            steps.append(step if position is None else str(position))
            tree = tree[position] if position is not None and position < len(tree) else None
        else:
            steps.append(step)
            tree = tree.get(step) if isinstance(tree, dict) else None
    return steps


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario. Fields are attributes: `scenario.hops["wired"].link.rate` is `"45 Mbit/s"`.

    Two scenarios are equal if their trees are.

    Attributes:
        tree: The contents of the file, as dicts and lists. Do not change it; use `replace`.
        folder: Folder in which files that the scenario names are looked up.
        source: The file that the scenario was read from, if any.
        only: Names of the only files that may be read, whatever the scenario names; None for all.
            A scenario in a link has the empty set.
    """

    tree: dict[str, Any]
    folder: Path = field(default_factory=Path)
    source: Source | None = None
    only: frozenset[str] | None = None

    @property
    def place(self) -> engine.Place:
        """The place at which the engine looks up files."""
        return self.folder if self.only is None else (self.folder, self.only)

    @classmethod
    def from_toml(cls, text: str, folder: str | Path = ".") -> "Scenario":
        """Parses the text of a scenario file, TOML or JSON."""
        return cls(engine.parse_scenario(text), Path(folder))

    def replace(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> "Scenario":
        """Returns a copy with other values.

        A path that is given a value is no longer swept. Paths that were swept together with it
        still are.

        Args:
            changes: Path to value: `{"hops.wireless.link.rate": "11 Mbit/s", "seed": 2}`. List
                members are named by name or by index.
            more: The same as keywords: `replace(seed=2)`, `replace(**{"hops.wireless.delay": "1
                ms"})`.

        Raises:
            ScenarioError: A path does not exist, or is in a table that the sweep sets as a whole.
        """
        return self.changed(
            {path: ("", value) for path, value in {**(changes or {}), **more}.items()}
        )

    def changed(self, changes: Mapping[str, tuple[str, Any]]) -> "Scenario":
        """A copy with other values, each with the option of a command that it comes from.

        Errors in them name the option, not a line of the file.
        """
        tree = engine.replace(self.tree, {path: value for path, (_, value) in changes.items()})
        source = self.source
        if source is not None:
            options = {path: option for path, (option, _) in changes.items()}
            source = Source(source.name, source.text, {**source.changed, **options})
        return replace(self, tree=tree, source=source)

    def expand(self) -> list["Point"]:
        """Returns the points of the sweep; one point if there is no sweep.

        The first parameter in the file varies slowest.

        Raises:
            ScenarioError: The sweep names a path that does not exist.
        """
        with self.places():
            points = engine.expand(self.tree)
        return [Point(assignments, replace(self, tree=tree)) for assignments, tree in points]

    def resolve(self) -> "Scenario":
        """Returns the checked scenario with all defaults filled in.

        If the scenario has a sweep, call it on a point.

        Raises:
            ScenarioError: A field is unknown, missing or impossible, or a file it names is.
        """
        with self.places():
            return replace(self, tree=engine.resolve(self.tree, self.place))

    def check(self) -> None:
        """Raises `ScenarioError` unless every point can be run, with the mistakes of all points.

        Once there are as many as are reported at once, the others are not looked at.

        If the sweep itself is wrong, with its mistakes and those of the rest.
        """
        errors = []
        try:
            points = self.expand()
        except ScenarioError as error:
            points = [Point({}, self._without_wrong_paths())]
            errors.append(error)
        for point in points:
            try:
                point.scenario.resolve()
            except ScenarioError as error:
                errors.append(error)
            if sum(len(error.errors) for error in errors) >= MISTAKES:
                break
        if errors:
            raise ScenarioError.combined(errors)

    def _without_wrong_paths(self) -> "Scenario":
        """Returns the scenario with the first value of each path of the sweep that exists."""
        return replace(self, tree=engine.without_sweep(self.tree))

    @contextlib.contextmanager
    def places(self) -> Iterator[None]:
        """Adds to a `ScenarioError` from within where in the scenario's file it is."""
        try:
            yield
        except ScenarioError as error:
            source = self.source
            if source is None or error.place:
                raise
            places = iter(source.places(self.tree, error.errors))
            raise error.placed(lambda _: next(places)) from None

    def derived(self) -> list[dict[str, Any]]:
        """Returns the quantities that are written as expressions or in BDP or RTT.

        If the scenario has a sweep, call it on a point.

        Returns:
            `field`, `written`, `value` and `sources` (what each name stands for) of each.

        Raises:
            ScenarioError: As for `resolve`.
        """
        with self.places():
            return engine.derived(self.tree, self.place)

    def to_toml(self) -> str:
        """Returns the scenario as the text of a file, without the facts of elements."""
        return engine.to_toml(self.tree)

    def to_json(self) -> str:
        """Returns the tree as JSON."""
        return json.dumps(self.tree, ensure_ascii=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _field(
            self.tree, name, [other for other in vars(Scenario) if not other.startswith("_")]
        )

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.tree]

    def __getitem__(self, name: str) -> Any:
        return Part(self.tree)[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(json.dumps(self.tree, sort_keys=True))

    def __repr__(self) -> str:
        return f"Scenario({self.tree!r})"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: name, times, sweep, and a row for each hop and flow."""
        tree = self.tree
        times = [f"{name} {tree[name]}" for name in ("duration", "warmup", "seed", "replicates")
                 if name in tree]  # fmt: skip
        swept = tree.get("sweep")
        sweep = f"sweep of {', '.join(swept)}" if isinstance(swept, dict) and swept else ""
        rows = [
            [kind, str(member.get("name", "")), _brief(member)]
            for kind, members in (("hop", tree.get("hops")), ("flow", tree.get("flows")))
            for member in (members if isinstance(members, list) else [])
            if isinstance(member, dict)
        ]
        lines = [str(tree.get("question", "")), ", ".join(times), sweep]
        name = f"Scenario {tree.get('name', '')}".strip()
        return notebook.block(name, lines, table(name, ["", "name", "is"], rows))


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes:
        assignments: Path to value, as written in the sweep.
        scenario: The scenario with these values, without a sweep.
    """

    assignments: dict[str, Any]
    scenario: Scenario


def _brief(part: Any) -> str:
    """Returns a table of a scenario in a line: `link constant, rate 45 Mbit/s; delay 35 ms`."""
    if isinstance(part, list):
        return ", ".join(map(_brief, part))
    if not isinstance(part, dict):
        return str(part)
    kind = [str(part["kind"])] if "kind" in part else []
    named = [
        f"{name} {_brief(value)}"
        for name, value in part.items()
        if name not in ("kind", "name", "facts")
    ]
    return ", ".join(kind + named)


def _field(tree: dict[str, Any], name: str, others: Iterable[str] = ()) -> Any:
    """Returns a field of a table; for an unknown name suggests similar fields and `others`."""
    if name in tree:
        return _view(tree[name])
    near = suggestion(name, [*tree, *others], f"there is {', '.join(tree) or 'nothing'}")
    raise AttributeError(f"no {name!r} here; {near}")


def _view(value: Any) -> Any:
    if isinstance(value, dict):
        return Part(value)
    if isinstance(value, list):
        return Parts(value)
    return value


class Part(Mapping[str, Any]):
    """A table of a scenario, read by attribute or by item (`flow["return"]`)."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _field(self._tree, name)

    def __getitem__(self, name: str) -> Any:
        return _view(self._tree[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __dir__(self) -> list[str]:
        return list(self._tree)

    def __repr__(self) -> str:
        return repr(self._tree)

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy as dicts and lists."""
        return copy.deepcopy(self._tree)


class Parts(Sequence[Any]):
    """A list of a scenario; members that have a name are also found by it (`hops["wired"]`)."""

    def __init__(self, members: list[Any]) -> None:
        self._members = members

    @overload
    def __getitem__(self, key: int | str) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> "Parts": ...
    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, slice):
            return Parts(self._members[key])
        if isinstance(key, int):
            return _view(self._members[key])
        for member in self._members:
            if isinstance(member, dict) and member.get("name") == key:
                return Part(member)
        names = [
            member["name"]
            for member in self._members
            if isinstance(member, dict) and "name" in member
        ]
        raise KeyError(f"no {key!r} here; there is {', '.join(names) or 'none with a name'}")

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return repr(self._members)
