"""The programs that an emulation starts: its hosts, and what loads controls into the kernel."""

import shutil
import sys
import sysconfig
from pathlib import Path

from ackclock import engine

# A host is the installed engine, whatever the current folder holds. It needs nothing else of the
# package, whose imports would take most of the time in which it starts. The engine adds the stacks
# that have been brought: name, library and digest of each.
_HOST = (
    "import sys; sys.path.append(sys.argv[1]); import _native; "
    "sys.exit(_native.serve_host(sys.argv[2:]))"
)
HOST_COMMAND = [sys.executable, "-ISc", _HOST, str(Path(engine.__file__).parent)]

# Needs libelf, and is therefore not part of the engine.
_LOADER = "ackclock-kernel-host"


def loader() -> str | None:
    """Returns the program that loads controls into the kernel; None if it is not installed.

    It is looked for beside Python, where pip installs programs, and in the search path.
    """
    user = sysconfig.get_preferred_scheme("user")
    places = [
        str(Path(sys.executable).parent),
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", user),
    ]
    programs = (shutil.which(_LOADER, path=place) for place in places)
    return next(filter(None, programs), None) or shutil.which(_LOADER)
