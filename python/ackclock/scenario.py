"""The scenario: a network path and its traffic, as the tree in its file.

Quantities stay as written, with their units. A scenario is checked when it is used (`check`,
`resolve`, `simulate`, `predict`), so that `replace` may complete an unfinished one.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from ackclock import engine
from ackclock.errors import ScenarioError
from ackclock.suggestion import suggestion

__all__ = ["Part", "Parts", "Point", "Scenario", "ScenarioError", "load"]


def load(path: str | Path) -> "Scenario":
    """Reads a scenario file.

    Args:
        path: A TOML file. Files that the scenario names are looked up in the same folder.

    Raises:
        ScenarioError: The file is missing or is not TOML; one line saying what to do.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(
            "file", f"{path}", "no such file; give the path of a scenario, a .toml file"
        ) from None
    except UnicodeDecodeError:
        raise ScenarioError(
            "file", f"{path}", "is no text; give the path of a scenario, a .toml file in UTF-8"
        ) from None
    except OSError as error:
        raise ScenarioError(
            "file", f"{path}", f"{error.strerror}; give the path of a scenario, a .toml file"
        ) from None
    try:
        tree = engine.parse_toml(text)
    except ScenarioError as error:
        if error.code != "syntax":
            raise  # about a field, as any other error of the scenario
        raise error.at(f"{path}, {error.field}" if error.field else f"{path}") from None
    return Scenario(tree, path.parent)


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario. Fields are attributes: `scenario.hops["wired"].link.rate` is `"45 Mbit/s"`.

    Two scenarios are equal if their trees are.

    Attributes:
        tree: The contents of the file, as dicts and lists. Do not change it; use `replace`.
        folder: Folder in which files that the scenario names are looked up.
    """

    tree: dict[str, Any]
    folder: Path = field(default_factory=Path)

    @classmethod
    def from_toml(cls, text: str, folder: str | Path = ".") -> "Scenario":
        """Parses the text of a scenario file."""
        return cls(engine.parse_toml(text), Path(folder))

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
        return Scenario(engine.replace(self.tree, {**(changes or {}), **more}), self.folder)

    def expand(self) -> list["Point"]:
        """Returns the points of the sweep; one point if there is no sweep.

        The first parameter in the file varies slowest.

        Raises:
            ScenarioError: The sweep names a path that does not exist.
        """
        return [
            Point(assignments, Scenario(tree, self.folder))
            for assignments, tree in engine.expand(self.tree)
        ]

    def resolve(self) -> "Scenario":
        """Returns the checked scenario with all defaults filled in.

        If the scenario has a sweep, call it on a point.

        Raises:
            ScenarioError: A field is unknown, missing or impossible, or a file it names is.
        """
        return Scenario(engine.resolve(self.tree, self.folder), self.folder)

    def check(self) -> None:
        """Raises `ScenarioError` unless every point can be run."""
        for point in self.expand():
            point.scenario.resolve()

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


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes:
        assignments: Path to value, as written in the sweep.
        scenario: The scenario with these values, without a sweep.
    """

    assignments: dict[str, Any]
    scenario: Scenario


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
