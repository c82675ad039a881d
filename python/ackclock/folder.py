"""The folder that holds a result or a gallery: what may be in it, and how it is replaced as a whole.

Apart from `result`, so that a place can be refused before anything heavy is imported or run.
"""

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ackclock.errors import InputError

__all__ = [
    "ADDRESS", "RESULT", "UNFINISHED", "Contents", "link_or_copy", "read_object", "refuse_foreign_folder",
    "refuse_unwritable_folder", "scratch", "staged", "write_whole",
]  # fmt: skip

# The file in a result's folder that says what it was made of: see `ackclock.kept`.
ADDRESS = "address"

# Begins the names of what will take another name once it is whole. A kill may leave it, and then it
# is in nobody's way.
UNFINISHED = ".ackclock-"


class Contents(NamedTuple):
    """What a folder of ours may hold. A folder with anything else in it is never overwritten.

    Attributes:
        noun: What the folder is.
        mark: The file that says that it is one.
        names: Every name in it.
    """

    noun: str
    mark: str
    names: re.Pattern[str]


RESULT = Contents(
    "result",
    "run.json",
    re.compile(
        r"run\.json|advice\.json|[a-z_]+\.parquet|report\.html|figures(/[a-z_]+\.(svg|png|pdf))?|pcap(/[^/]+\.pcap)?"
        rf"|record(/[^/]+\.ackrec)?|{ADDRESS}"
    ),
)


def refuse_foreign_folder(folder: str | Path, may_hold: Contents = RESULT) -> None:
    """Raises `InputError` if writing to `folder` would destroy something that is not ackclock's."""
    folder = Path(folder)
    for parent in folder.parents:
        if parent.exists() and not parent.is_dir():
            raise InputError("file", f"{parent}", "is a file; choose another folder")
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise InputError("file", f"{folder}", "is a file; choose another folder")
    inside = (path.relative_to(folder) for path in folder.rglob("*"))
    contents = sorted(
        path.as_posix()
        for path in inside
        if not any(part.startswith(UNFINISHED) for part in path.parts)
    )
    if contents and may_hold.mark not in contents:
        raise InputError(
            "file",
            f"{folder}",
            f"is not empty and does not hold a {may_hold.noun} of ackclock; choose another folder",
        )
    foreign = next((name for name in contents if not may_hold.names.fullmatch(name)), None)
    if foreign is not None:
        raise InputError(
            "file",
            f"{folder}",
            f"holds {foreign}, which ackclock did not write; move it away or choose another folder",
        )


def refuse_unwritable_folder(folder: str | Path) -> None:
    """Raises `OSError` if no result can be written to `folder`; leaves nothing behind."""
    try:
        scratch(folder).cleanup()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(_existing(folder))) from None


def scratch(folder: str | Path) -> tempfile.TemporaryDirectory[str]:
    """A folder beside `folder` for what may be large and is to be moved into it; vanishes at the end of its context."""
    return tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=_existing(folder))


def _existing(folder: str | Path) -> Path:
    return next(parent for parent in Path(folder).absolute().parents if parent.exists())


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place at the end, or vanishes if anything goes wrong before."""
    staging = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{folder.name}.", dir=folder.parent))
    replaced = None
    try:
        yield staging
        staging.chmod(0o777 & ~_umask())  # mkdtemp's is private
        if folder.exists():
            replaced = (
                Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{folder.name}.", dir=folder.parent))
                / "replaced"
            )
            folder.rename(replaced)
        try:
            staging.rename(folder)
        except OSError:
            if replaced is not None:
                replaced.rename(folder)
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if replaced is not None:
            shutil.rmtree(replaced.parent, ignore_errors=True)


def link_or_copy(source: str, target: str) -> None:
    """Gives a file a second name; copies it where the file system has no such thing."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def read_object(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; an empty one if the file is not there, damaged, or holds something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_whole(path: Path, text: str) -> None:
    """Writes a file as a whole or not at all."""
    aside = path.with_name(f"{UNFINISHED}{path.name}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
