"""The folder that a command writes to, refused before a run that may take an hour."""

from collections.abc import Callable
from pathlib import Path

import click

from ackclock.cli.output import say
from ackclock.errors import InputError
from ackclock.result.folder import RESULT, Contents, refuse_foreign_folder, refuse_unwritable_folder

__all__ = ["claim", "force_option"]

force_option = click.option("--force", is_flag=True, help="Replace another result in the folder.")


def claim(
    output: Path | None,
    default: Path,
    *,
    force: bool,
    may_hold: Contents = RESULT,
    goes_on: Callable[[Path], bool] = lambda _folder: False,
) -> Path:
    """Returns the folder that a command writes to.

    Args:
        output: The folder that was asked for.
        default: The folder to use otherwise. An earlier result of the command there is replaced,
            with a message.
        force: True to replace another result in the folder that was asked for as well.
        may_hold: What the folder may hold.
        goes_on: Returns true if the command continues the contents of a folder instead of replacing
            them.

    Raises:
        InputError: The folder holds something that is not ackclock's, or another result.
        OSError: The folder cannot be written to.
    """
    folder = output or default
    refuse_foreign_folder(folder, may_hold)
    refuse_unwritable_folder(folder)
    if not (folder / may_hold.mark).exists() or goes_on(folder):
        return folder
    if output is not None and not force:
        raise InputError(
            "file",
            f"{folder}",
            f"holds another {may_hold.noun}; choose another folder, or replace it with --force",
        )
    say(f"replaces the {may_hold.noun} in {folder}", err=True)
    return folder
