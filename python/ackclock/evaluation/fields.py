"""Reads the tables of a suite's file: every mistake is one line that names the field."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from ackclock.errors import InputError, suggestion

Read = TypeVar("Read")


class Fields:
    """One table of a file. Fields are taken one by one; `done` refuses what is left.

    Attributes:
        path: Path of the table in its file.
    """

    def __init__(self, tree: Any, path: str) -> None:
        if not isinstance(tree, dict):
            raise InputError("wrong-type", path, f"{tree!r} is not a table", tree)
        self._tree = dict(tree)
        self._known: list[str] = []
        self.path = path

    @property
    def rest(self) -> dict[str, Any]:
        """The fields that are not taken yet."""
        return dict(self._tree)

    def path_of(self, name: str) -> str:
        """Returns the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Returns true if a field is given."""
        return name in self._tree

    def take(self, name: str, kind: type | tuple[type, ...], noun: str, default: Any = None) -> Any:
        """Returns a field of a type. Without a default it is required."""
        self._known.append(name)
        if name not in self._tree:
            if default is None:
                raise InputError("missing", self.path_of(name), f"is missing; it is {noun}")
            return default
        value = self._tree.pop(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError("wrong-type", self.path_of(name), f"{value!r} is not {noun}", value)
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text."""
        return str(self.take(name, str, "a text", default))

    def texts(self, name: str) -> tuple[str, ...]:
        """Returns a list of texts; empty if it is not given."""
        texts = self.take(name, list, "a list of texts", [])
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(
                    "wrong-type", f"{self.path_of(name)}.{number}", f"{text!r} is not a text"
                )
        return tuple(texts)

    def number(self, name: str, default: float | None = None) -> float:
        """Returns a number."""
        return float(self.take(name, (int, float), "a number", default))

    def whole(self, name: str, default: int | None = None) -> int:
        """Returns a whole number."""
        return int(self.take(name, int, "a whole number", default))

    def flag(self, name: str, *, default: bool) -> bool:
        """Returns true or false."""
        return bool(self.take(name, bool, "true or false", default))

    def choice(self, name: str, choices: Collection[str], default: str | None = None) -> str:
        """Returns one of several names."""
        choice = self.text(name, default)
        if choice not in choices:
            raise InputError.unknown(self.path_of(name), name, choice, choices)
        return choice

    def any(self, name: str) -> Any:
        """Returns a field of whatever type; None if it is not given."""
        self._known.append(name)
        return self._tree.pop(name, None)

    def table(self, name: str) -> "Fields":
        """Returns a table within; an empty one if it is not given."""
        return Fields(self.take(name, dict, "a table", {}), self.path_of(name))

    def tables(self, name: str) -> "Iterator[Fields]":
        """Returns the tables of a list, in order."""
        for number, tree in enumerate(self.take(name, list, "a list of tables", [])):
            yield Fields(tree, f"{self.path_of(name)}.{number}")

    def named(self, read: "Callable[[Fields], Read]") -> dict[str, Read]:
        """Returns every table of this table, by its name."""
        names = list(self._tree)
        return {name: read(self.table(name)) for name in names}

    def done(self) -> None:
        """Raises `InputError` if a field is left."""
        for name in self._tree:
            raise InputError(
                "unknown-field",
                self.path_of(name),
                f"unknown field; {suggestion(name, self._known)}",
            )
