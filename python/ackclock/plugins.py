"""Records that other installed packages announce, beside ackclock's own.

A package announces models, metrics, figures and experiments by entry points, each a record or a
sequence of records. Its `pyproject.toml` says for example:

    [project.entry-points."ackclock.models"]
    my-paper = "my_package.models:MODELS"

The groups are `ackclock.models`, `ackclock.metrics`, `ackclock.figures` and
`ackclock.reproductions`. `docs/decisions/0021-other-packages.md` says which names of ackclock such
a package may import. A stack is not such a record; a package announces one in the group
`ackclock.stacks` (`ackclock.stacks.find`).
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class PluginWarning(UserWarning):
    """A package's records cannot be used; one line with the remedy."""


class Named(Protocol):
    """A record with a name."""

    @property
    def name(self) -> str:
        """The name, by which it is chosen."""


R = TypeVar("R", bound=Named)


class Announced(NamedTuple):
    """A record of another package.

    Attributes:
        package: The importable package that announces it.
        record: The record.
    """

    package: str
    record: Any


@cache
def announced(group: str, kind: type, taken: frozenset[str] = frozenset()) -> tuple[Announced, ...]:
    """Returns the records that packages announce, by package in the order of entry-point names.

    What cannot be loaded, is not a record or has the name of another package's record is left out,
    with a `PluginWarning`.

    Args:
        group: Group of entry points.
        kind: Type of its records.
        taken: Names that ackclock's own records have.
    """
    owners = dict.fromkeys(taken, "ackclock")
    listed: list[Announced] = []
    for entry in _entries(group):
        package = _package(entry)
        for record in _loaded(entry, kind):
            owner = owners.setdefault(record.name, package)
            if owner == package:
                listed.append(Announced(package, record))
            else:
                _warn(entry, f'{owner} already has "{record.name}"; rename it')
    return tuple(listed)


def packages(group: str) -> list[str]:
    """Returns the importable packages that announce records of a group, without importing them."""
    return sorted({_package(entry) for entry in _entries(group)})


class UnusableError(ValueError):
    """An entry point that cannot be used; one line with the remedy."""


def only(group: str, name: str) -> Announced | None:
    """Returns what the only entry point of that name announces; None if there is none.

    Raises:
        UnusableError: Several packages announce that name, or it cannot be loaded.
    """
    entries = [entry for entry in _entries(group) if entry.name == name]
    if not entries:
        return None
    owners = sorted({_package(entry) for entry in entries})
    if len(entries) > 1:
        raise UnusableError(f'"{name}" is announced by {" and by ".join(owners)}; uninstall one')
    try:
        return Announced(owners[0], entries[0].load())
    except Exception as error:  # Whatever a foreign module raises must not end a command.
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnusableError(f"{why}; repair or uninstall {owners[0]}") from None


def _entries(group: str) -> list["EntryPoint"]:
    from importlib.metadata import entry_points  # 30 ms that help does not need.

    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def _package(entry: "EntryPoint") -> str:
    return entry.module.partition(".")[0]


def _loaded(entry: "EntryPoint", kind: type) -> list[Any]:
    """Returns the records of an entry point; none, with a warning, if it is broken."""
    try:
        value = entry.load()
    except Exception as error:  # Whatever a foreign module raises must not end a command.
        _warn(entry, f"{type(error).__name__}: {error}; repair or uninstall {_package(entry)}")
        return []
    records = list(value) if isinstance(value, Iterable) else [value]
    for record in records:
        if not isinstance(record, kind):
            _warn(entry, f"{record!r:.60} is not a {kind.__name__}")
            return []
    return records


def _warn(entry: "EntryPoint", why: str) -> None:
    line = " ".join(f'entry point {entry.name} = "{entry.value}" of {entry.group}: {why}'.split())
    warnings.warn(line, PluginWarning, stacklevel=2)


class Records(Sequence[R]):
    """Ackclock's own records of a kind, then those of other packages, which load on first use.

    A package's module may import ackclock's and the other way round, as nothing is loaded when a
    list is made.

    Attributes:
        own: Ackclock's own records.
    """

    def __init__(self, group: str, kind: type[R], own: Sequence[R]) -> None:
        self.own = tuple(own)
        self._group, self._kind = group, kind

    @cached_property
    def _every(self) -> tuple[R, ...]:
        taken = frozenset(record.name for record in self.own)
        return (
            *self.own,
            *(other.record for other in announced(self._group, self._kind, taken)),
        )

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[R, ...]: ...
    def __getitem__(self, index: int | slice) -> R | tuple[R, ...]:
        return self._every[index]

    def __len__(self) -> int:
        return len(self._every)

    def __iter__(self) -> Iterator[R]:
        return iter(self._every)


class ByName(Mapping[str, R]):
    """Records by their names. One of ackclock's own is found without loading other packages."""

    def __init__(self, records: Records[R]) -> None:
        self._records = records
        self._own = {record.name: record for record in records.own}

    @cached_property
    def _every(self) -> dict[str, R]:
        return {record.name: record for record in self._records}

    def __getitem__(self, name: str) -> R:
        return self._own[name] if name in self._own else self._every[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._every)

    def __len__(self) -> int:
        return len(self._every)
