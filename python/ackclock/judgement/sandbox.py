"""Limits of a process that runs a candidate: time, memory, files, programs, network.

A candidate is hostile input. The kernel's limits are the fence: memory and processor time, no new
files, a network namespace of its own. Landlock leaves it the files of Python and of ackclock. Where
a kernel refuses one of these, the judgement says that it did not hold.
An audit hook gives reasons in words, and fences nothing.

Run as a program, this file leaves the network and becomes a worker: that must come before any
library makes a thread.
"""

import contextlib
import ctypes
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

# System calls of Landlock, which have the same numbers on every architecture (since Linux 5.13).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_ONLY: Final = 1
_PATH_BENEATH: Final = 1
_NO_NEW_PRIVILEGES: Final = 38

# Rights of Landlock's first version: execute, write, read a file, read a folder, and 9 of changes.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_ALL_RIGHTS: Final = (1 << 13) - 1

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000

#: Memory that a candidate may take beyond what its process has when it begins, in bytes.
MEMORY_BYTES: Final = 1 << 30

#: Longest processor time of a process, in s: a judgement is over long before.
_CPU_S: Final = 120

# Events of Python's audit that nothing in a candidate needs.
_REFUSED: Final = (
    "ctypes.",
    "fcntl.",
    "os.",
    "pty.",
    "shutil.",
    "signal.",
    "socket.",
    "subprocess.",
    "tempfile.",
)

# Imports of Python's own look into folders.
_LOOKS: Final = ("os.listdir", "os.scandir")


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def isolate() -> list[str]:
    """Leaves the network, before any thread exists. Returns what could not be done."""
    library = ctypes.CDLL(None, use_errno=True)
    unshare = getattr(library, "unshare", None)
    if unshare is None or unshare(_NEW_USER | _NEW_NETWORK) != 0:
        return ["network"]
    return []


def confine(readable: Sequence[Path], scratch: Path | None) -> list[str]:
    """Limits this process for good, and what it starts. Returns what could not be done.

    Args:
        readable: Folders and files that may be read.
        scratch: Folder for temporary files of programs that it starts, a compiler; None if it may
            start none and write nothing.
    """
    failed = []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    # A compiler writes its object into a pipe or a small file.
    most = 16 << 20 if scratch else 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    memory = _address_space() + MEMORY_BYTES
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if not _restrict_files(readable, scratch):
        failed.append("files")
    return failed


def explain(allowed: Sequence[str]) -> None:
    """Makes Python refuse, with a reason, what a candidate is not to do.

    Args:
        allowed: Modules that may be imported even now.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and str(arguments[0]).partition(".")[0] not in (
            *sys.modules,
            *allowed,
        ):
            raise ImportError(f"{arguments[0]}: a candidate may not import it")
        if event == "open" and isinstance(arguments[1], str) and set("wax+") & set(arguments[1]):
            raise PermissionError("a candidate may not write files")
        if event.startswith(_REFUSED) and event not in _LOOKS:
            raise PermissionError(f"{event}: a candidate may not do that")

    sys.addaudithook(hook)


def _address_space() -> int:
    """Returns the size of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _restrict_files(readable: Sequence[Path], scratch: Path | None) -> bool:
    """Lets this process read only some files, and write none, by Landlock."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_ONLY) < 1:
        return False
    attributes = _RulesetAttributes(_ALL_RIGHTS)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = library.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    if ruleset < 0:
        return False
    rights = _READ_FILE | _READ_FOLDER | (_EXECUTE if scratch else 0)
    for path in readable:
        _allow(library, ruleset, path, rights)
    if scratch:
        for path in (scratch, Path("/dev/null")):
            _allow(library, ruleset, path, _ALL_RIGHTS)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    restricted = library.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return bool(restricted)


def _allow(library: Any, ruleset: int, path: Path, rights: int) -> None:
    """Adds a rule; a path that is not there needs none."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not path.is_dir():
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE
        rule = _PathBeneath(rights, opened)
        library.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        os.close(opened)


if __name__ == "__main__":
    lacking = isolate()
    from ackclock.judgement import worker

    worker.serve(lacking)
