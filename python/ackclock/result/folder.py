"""Folders of results and galleries: what they may contain, and how one is replaced as a whole.

Separate from `Result`, so that a folder can be refused before anything slow is imported or run.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ackclock.errors import InputError
from ackclock.limits import RESULT_JSON_BYTES, read_file

# File in a result's folder that states the inputs of the result: see `ackclock.run.cache`.
ADDRESS = "address"

# Prefix of files and folders that are renamed once they are complete. A kill may leave one behind;
# it is ignored.
UNFINISHED = ".ackclock-"


class Contents(NamedTuple):
    """Names that a folder written by ackclock may contain. With any other name in it, it is kept.

    Attributes:
        noun: What the folder is, for messages.
        mark: The file that identifies such a folder.
        names: Pattern that every name in it matches.
    """

    noun: str
    mark: str
    names: re.Pattern[str]


RESULT = Contents(
    "result",
    "run.json",
    re.compile(
        r"run\.json|advice\.json|[a-z_]+\.parquet|report\.html"
        r"|figures(/[a-z0-9_]+\.(svg|png|pdf))?|pcap(/[^/]+\.pcap)?|qlog(/[^/]+\.sqlog)?"
        rf"|record(/[^/]+\.(ackrec|calls|bpf\.o|json))?|{ADDRESS}"
    ),
)


# What a result is called, by its method.
_NOUNS = {
    "predict": "prediction",
    "simulate": "simulation",
    "emulate": "emulation",
    "measure": "measurement",
    "send": "session",
    "receive": "session",
}


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
    contents = deque(_contents(folder))
    if contents and not (folder / may_hold.mark).exists():
        raise InputError(
            "file",
            f"{folder}",
            f"is not empty and does not hold {with_article(may_hold.noun)} of ackclock; choose "
            "another folder",
        )
    # A folder is entered only if its own name is one of ackclock's: it may be any, even "/".
    while contents:
        path = contents.popleft()
        name = path.relative_to(folder).as_posix()
        if may_hold.names.fullmatch(name):
            contents += _contents(path) if path.is_dir() and not path.is_symlink() else []
            continue
        raise InputError(
            "file",
            f"{folder}",
            f"holds {name}, which ackclock did not write; move it away or choose another folder",
        )


def _contents(folder: Path) -> list[Path]:
    """Returns the files and folders in a folder, by name, without those of an unfinished run."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(UNFINISHED))


def refuse_other_result(
    folder: Path,
    remedy: str = "choose another folder, or replace it with replace=True",
    may_hold: Contents = RESULT,
) -> None:
    """Raises `InputError` if a folder holds a result that would be replaced.

    Args:
        folder: The folder.
        remedy: What to do about it.
        may_hold: What the folder may hold.
    """
    if (folder / may_hold.mark).exists():
        raise InputError("file", f"{folder}", f"holds {_held(folder, may_hold)}; {remedy}")


def _held(folder: Path, contents: Contents) -> str:
    """Returns what a folder holds, with its article."""
    run = read_object(folder / contents.mark)
    noun = _NOUNS.get(str(run.get("method"))) if contents is RESULT else None
    if noun is None:
        return f"another {contents.noun}"
    return with_article(f"interrupted {noun}" if run.get("partial") else noun)


def with_article(noun: str) -> str:
    """Returns a noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aei' else 'a'} {noun}"


def refuse_unwritable_folder(folder: str | Path) -> None:
    """Raises `OSError` if no result can be written to `folder`; leaves nothing behind."""
    try:
        scratch(folder).cleanup()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(_existing(folder))) from None


def scratch(folder: str | Path) -> tempfile.TemporaryDirectory[str]:
    """Makes a temporary folder beside `folder`, for large files that will be moved into it."""
    return tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=_existing(folder))


def _existing(folder: str | Path) -> Path:
    return next(parent for parent in Path(folder).absolute().parents if parent.exists())


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yields a folder beside `folder` that replaces it at the end, or is deleted on an error."""
    staging = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{folder.name}.", dir=folder.parent))
    replaced = None
    try:
        yield staging
        staging.chmod(0o777 & ~_umask())  # mkdtemp's folder is private
        sync(staging, *staging.rglob("*"))
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
        sync(folder.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if replaced is not None:
            shutil.rmtree(replaced.parent, ignore_errors=True)


def sync(*paths: Path) -> None:
    """Waits until files, and the names in folders, are on the disk.

    A file system may else put a name there long before the file's content, and a power cut leaves
    an empty file.
    """
    if len(paths) == 1:
        _sync(*paths)
    else:
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
            list(pool.map(_sync, paths))


# Waiting for several files at once is as fast as for two or three: a disk writes them together.
_SYNCED_AT_ONCE = 8


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems, above all on other machines, cannot do this with a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or path.is_file():
            raise
    finally:
        os.close(descriptor)


def link_or_copy(source: str, target: str) -> None:
    """Makes a hard link; copies the file if the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def read_object(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; an empty one if missing, damaged or not an object."""
    try:
        content = json.loads(read_file(path, RESULT_JSON_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Makes errors of the system from within name `path`, unless they name a file of the user's.

    An error of writing, as on a full disk, names no file; one of copying also names its source.
    """
    try:
        yield
    except OSError as error:
        written = error.filename2 or error.filename or UNFINISHED
        if error.errno is None or UNFINISHED not in str(written):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


@contextlib.contextmanager
def whole(path: Path, aside: Path | None = None) -> Iterator[Path]:
    """Yields a file that replaces `path` at the end, or is deleted on an error.

    It is on the disk before it has its name, and has its name on the disk at the end.

    Args:
        path: The file to write.
        aside: The file until then; by default one beside it.
    """
    aside = aside or path.with_name(f"{UNFINISHED}{path.name}")
    with naming(path):
        try:
            yield aside
            sync(aside)
            aside.replace(path)
            sync(path.parent)
        except (Exception, KeyboardInterrupt):
            with contextlib.suppress(OSError):
                aside.unlink()
            raise


def write_whole(path: Path, text: str) -> None:
    """Writes a file completely or not at all."""
    with whole(path) as aside:
        aside.write_text(text, encoding="utf-8")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
