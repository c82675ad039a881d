"""The folder or file that a command writes to, refused before a run that may take an hour."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from ackclock.cli.output import say
from ackclock.errors import InputError
from ackclock.limits import NAMED_FILE_BYTES, read_file
from ackclock.result.folder import (
    RESULT,
    Contents,
    refuse_foreign_folder,
    refuse_other_result,
    refuse_unwritable_folder,
)
from ackclock.result.manifest import read_sealed

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


# Beginnings of pages and pictures, and what those of ackclock have in them.
_MARKS = {
    b"<!doctype html>": "· ackclock</title>".encode(),
    b"<?xml": b"ackclock",
    b"\x89PNG": b"ackclock",
    b"%PDF": b"ackclock",
}


def claim_file(path: Path) -> None:
    """Refuses a file for a page or a picture, if it exists and ackclock did not write it.

    Raises:
        InputError: It holds anything but a page or picture of ackclock.
    """
    if path.is_file():
        content = _content(path)
        marks = (mark for begins, mark in _MARKS.items() if content.startswith(begins))
        if not any(mark in content for mark in marks):
            _refuse_foreign_file(path)


def claim_table(path: Path, head: str) -> None:
    """Refuses a file for a table, if it exists and does not have the same columns.

    Args:
        path: The file.
        head: What a table of the same columns begins with, in the format of the file's extension;
            for .json and .parquet the names of columns, separated by commas.

    Raises:
        InputError: It holds anything else.
    """
    if path.is_file() and not _begins_with(path, head):
        _refuse_foreign_file(path)


def _content(path: Path) -> bytes:
    """Returns the content of a file; nothing of one that is too large to be ackclock's."""
    try:
        return read_file(path, NAMED_FILE_BYTES)
    except InputError:
        return b""


def _begins_with(path: Path, head: str) -> bool:
    content = _content(path)
    match path.suffix:
        case ".json":
            try:
                rows = json.loads(content)
                return all(",".join(row) == head for row in rows) and len(rows) > 0
            except (ValueError, TypeError):
                return False
        case ".parquet":
            from pyarrow import ArrowException, parquet

            try:
                return ",".join(parquet.read_schema(path).names) == head
            except ArrowException:
                return False
    return content.startswith(head.encode())


def _refuse_foreign_file(path: Path) -> None:
    raise InputError(
        "file", "-o", f"{path} exists, and ackclock did not write it; choose another file"
    )


def is_simulation(folder: Path) -> bool:
    """Returns true if a folder holds the result of a simulation."""
    return read_sealed(folder / RESULT.mark).get("method") == "simulate"
