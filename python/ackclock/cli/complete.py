"""Completion of arguments in a shell: names of registries, and paths of a scenario's fields."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ackclock.errors import InputError

Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def names_of(kind: str) -> Completion:
    """Returns a completion by the names of a registry, such as "metrics".

    In a list with commas the last name is completed.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, written: str) -> list[str]:
        from ackclock.cli.records import records

        before, comma, begun = written.rpartition(",")
        return [f"{before}{comma}{name}" for name in records(kind) if name.startswith(begun)]

    return complete


def names_shown(context: click.Context, parameter: click.Parameter, written: str) -> list[str]:
    """Completes the names of the kind that `show` is asked for."""
    kind = context.params.get("kind")
    with suppress(KeyError):
        return names_of(kind)(context, parameter, written) if kind else []
    return []


def fields(context: click.Context, _parameter: click.Parameter, written: str) -> list[str]:
    """Completes the path of a field of the scenario that the command line names before.

    Defaults are fields, too. A scenario that cannot be read completes nothing.
    """
    # While an option lacks its value, click leaves all arguments unparsed.
    given = context.params.get("given") or ()
    words = [context.params.get("scenario"), *given, *context.args]
    file = next((word for word in words if word is not None and Path(word).is_file()), None)
    if file is None or "=" in written:
        return []
    with suppress(InputError, OSError):
        from ackclock.scenario import load, short

        tree = load(Path(file)).expand()[0].scenario.resolve().tree
        every = [(".".join(steps), value) for steps, value in short.fields(tree)]
        return [path for path, value in every if path.startswith(written) and not _is_table(value)]
    return []


def _is_table(value: Any) -> bool:
    """Returns true if a value has fields of its own."""
    members = value if isinstance(value, list) else [value]
    return any(isinstance(member, dict) for member in members)
