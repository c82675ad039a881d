"""The programs that an emulation starts: its hosts, and what loads controls into the kernel."""

import shutil
import sys
import sysconfig
from pathlib import Path

from ackclock import engine

__all__ = ["HOST_COMMAND", "loader"]

# A host must be the installed program, whatever the current folder holds.
HOST_COMMAND = [sys.executable, "-P", "-m", "ackclock.run.host"]

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
    found = (shutil.which(_LOADER, path=place) for place in places)
    return next(filter(None, found), None) or shutil.which(_LOADER)


if __name__ == "__main__":
    sys.exit(engine.serve_host())
