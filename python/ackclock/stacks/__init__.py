"""Transports that others wrote, brought into simulations by a name.

A scenario names a stack and never a file. So native code runs only if whoever runs the scenario
brings it: with `--stack NAME=LIBRARY`, with `bring`, or by installing a package that announces it
(`find`). `ackclock_stack.h` is the border that a library keeps.
"""

import hashlib
import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ackclock import engine, plugins
from ackclock.errors import InputError

#: Names of the stacks in the engine itself.
BUILT_IN = frozenset(engine.built_in_stacks())

#: Group of entry points of stacks in installed packages.
GROUP = "ackclock.stacks"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")

# The process of a stack needs nothing else of the package, whose imports would take most of the
# time in which it starts.
_SERVE = (
    "import sys; sys.path.append(sys.argv[1]); import _native; _native.serve_stack(sys.argv[2])"
)
_PROCESS = [sys.executable, "-ISc", _SERVE, str(Path(engine.__file__).parent)]


@dataclass(frozen=True)
class Stack:
    """A stack that has been brought.

    Attributes:
        name: The name in scenarios.
        library: The shared library, or file of Python.
        apart: True if it runs in a process of its own.
        digest: SHA-256 of the library, which is part of the version in results.
        implementation: What the stack calls itself, with its version.
        controls: Names of its congestion controls.
        shares_state: True if its objects share state, so that each thread has a copy.
        package: The installed package that announces it; None if it was brought otherwise.
    """

    name: str
    library: Path
    apart: bool
    digest: str
    implementation: str
    controls: tuple[str, ...]
    shares_state: bool
    package: str | None = None


_brought: dict[str, Stack] = {}


def check_name(name: str, field: str) -> None:
    """Refuses a name that no stack of a user can have; `field` says where it was given.

    Raises:
        InputError: It is that of a stack in the engine, or not of small letters, digits, - and _.
    """
    if name in BUILT_IN:
        words = "is the engine's own"
    elif _NAME.fullmatch(name) is None:
        words = "is not of small letters, digits, - and _"
    else:
        return
    raise InputError("out-of-range", field, f'the name "{name}" {words}; for example mine', name)


def bring(name: str, library: str | Path, *, apart: bool = False) -> Stack:
    """Brings a stack from a file, in place of one that had this name.

    Args:
        name: The name that scenarios use: `transport = { kind = "quic", stack = NAME }`.
        library: A shared library, or a file of Python (`ackclock.stacks.python`). It is loaded, so
            its code runs.
        apart: Runs it in a process of its own. A crash is then a fault of its run alone; each call
            costs about 10 microseconds more.

    Raises:
        InputError: The name does not fit or is that of a stack in the engine; or the library cannot
            be loaded, or keeps not to the border.
    """
    check_name(name, "--stack")
    return _bring(name, library, apart=apart)


def find(name: str) -> Stack | None:
    """Returns the stack that was brought under a name, or brings that of an installed package.

    A package announces a stack by an entry point whose name scenarios use. It is the path of a
    shared library, that of a file of Python, or a class (`ackclock.stacks.python.Stack`):

        [project.entry-points."ackclock.stacks"]
        mine = "my_package:LIBRARY"

    Raises:
        InputError: Two packages announce the name, or it does not stand for a stack.
    """
    if name in _brought:
        return _brought[name]
    field = f"{GROUP}.{name}"
    try:
        announced = plugins.only(GROUP, name)
    except plugins.UnusableError as error:
        raise InputError("file", field, str(error)) from None
    if announced is None:
        return None
    check_name(name, field)
    package, value = announced
    if isinstance(value, str | Path):
        return _bring(name, value, package=package)
    if inspect.isclass(value):
        return _bring(name, inspect.getfile(value), package=package, made=value)
    words = f"{value!r:.60} of {package} is neither a path nor a class; repair or uninstall it"
    raise InputError("wrong-type", field, words)


def _bring(
    name: str,
    library: str | Path,
    *,
    apart: bool = False,
    package: str | None = None,
    made: type | None = None,
) -> Stack:
    path = Path(library).absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError("file", f"{library}", f"cannot be read: {error.strerror}") from None
    try:
        origin = _origin(path, made, apart=apart)
        called, version, controls, shares_state = engine.bring_stack(name, origin, digest[:16])
    except InputError as error:
        raise InputError("file", f"{library}", f"is no stack: {error.message}") from None
    described = f"{called} {version}"
    stack = Stack(name, path, apart, digest, described, tuple(controls), shares_state, package)
    _brought[name] = stack
    return stack


def _origin(path: Path, made: type | None, *, apart: bool) -> int | tuple[list[str], str] | str:
    """Returns the source of a stack, as the engine takes it: a table, a program or a library."""
    if path.suffix == ".py":
        if apart:
            words = "is Python, whose exceptions are faults already; bring it with --stack"
            raise InputError("unsupported", "", words)
        from ackclock.stacks.python import class_in, table_of

        try:
            return table_of(made or class_in(path))
        except ValueError as error:
            raise InputError("file", "", str(error)) from None
    return (_PROCESS, str(path)) if apart else str(path)


def brought() -> tuple[Stack, ...]:
    """Returns all stacks that have been brought."""
    return tuple(_brought.values())


def bring_again(stacks: Iterable[Stack]) -> None:
    """Brings the stacks of another process."""
    for stack in stacks:
        if stack.package is not None:
            find(stack.name)
            continue
        bring(stack.name, stack.library, apart=stack.apart)


def digests() -> dict[str, str]:
    """Returns the digest of each stack that has been brought, by name."""
    return {name: stack.digest for name, stack in sorted(_brought.items())}
