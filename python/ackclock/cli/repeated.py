"""Refusal of an option that is given twice: click would silently take the last."""

from collections.abc import Iterator, Sequence

import click

from ackclock.errors import InputError

__all__ = ["check_repeated"]


def check_repeated(command: click.Command, arguments: Sequence[str]) -> None:
    """Refuses an option with a value that is given twice, unless it may be.

    Args:
        command: A command, or a group of commands.
        arguments: Its arguments.

    Raises:
        InputError: An option is given twice.
    """
    names = {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    values: dict[click.Option, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return
        name, _, written = argument.partition("=")
        option = names.get(name)
        if option is None:
            if isinstance(command, click.Group) and argument in command.commands:
                check_repeated(command.commands[argument], list(rest))
                return
            continue
        if option.is_flag or option.count or option.multiple:
            continue
        value = written if "=" in argument else " ".join(_values(rest, option.nargs))
        if option in values:
            raise InputError(
                "contradiction",
                name,
                f"is given twice, as {values[option]} and as {value}; remove one",
            )
        values[option] = value


def _values(rest: Iterator[str], count: int) -> Iterator[str]:
    for _, value in zip(range(count), rest, strict=False):
        yield value
