"""The folder that a command writes to, refused before a run that may take an hour."""

from collections.abc import Callable
from pathlib import Path

import click

from ackclock.cli.output import say
from ackclock.result.folder import (
    RESULT,
    Contents,
    read_object,
    refuse_foreign_folder,
    refuse_other_result,
    refuse_unwritable_folder,
)

force_option = click.option("--force", is_flag=True, help="Replace another result in the folder.")

#: What to do about a result that is not replaced.
REMEDY = "choose another folder with -o, or replace it with --force"


def _no(_folder: Path) -> bool:
    return False


def claim(
    output: Path | None,
    default: Path,
    *,
    force: bool,
    may_hold: Contents = RESULT,
    goes_on: Callable[[Path], bool] = _no,
    repeatable: Callable[[Path], bool] = _no,
    remedy: str = REMEDY,
) -> Path:
    """Returns the folder that a command writes to.

    Args:
        output: The folder that was asked for.
        default: The folder to use otherwise. What is repeatable there is replaced, with a message.
        force: True to replace whatever result the folder holds.
        may_hold: What the folder may hold.
        goes_on: Returns true if the command continues the contents of a folder instead of replacing
            them.
        repeatable: Returns true if a folder holds a result of the same command, which can be
            computed again.
        remedy: What to do about a result that is not replaced.

    Raises:
        InputError: The folder holds something that is not ackclock's, or another result.
        OSError: The folder cannot be written to.
    """
    folder = output or default
    refuse_foreign_folder(folder, may_hold)
    refuse_unwritable_folder(folder)
    if not (folder / may_hold.mark).exists() or goes_on(folder):
        return folder
    if not (force or (output is None and repeatable(folder))):
        refuse_other_result(folder, remedy, may_hold)
    say(f"replaces the {may_hold.noun} in {folder}", err=True)
    return folder


def is_simulation(folder: Path) -> bool:
    """Returns true if a folder holds the result of a simulation."""
    return read_object(folder / RESULT.mark).get("method") == "simulate"
