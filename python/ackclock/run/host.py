"""The programs that an emulation starts: its hosts, and what loads controls into the kernel."""

import shutil
import sys
from pathlib import Path

from ackclock import engine

__all__ = ["HOST_COMMAND", "loader"]

# A host must be the installed program, whatever the current folder holds.
HOST_COMMAND = [sys.executable, "-P", "-m", "ackclock.run.host"]

# Needs libelf, and is therefore not part of the engine.
_LOADER = "ackclock-kernel-host"


def loader() -> str | None:
    """Returns the program that loads controls into the kernel; None if it is not installed.

    It is looked for beside Python, and in the search path.
    """
    beside = Path(sys.executable).parent
    return shutil.which(_LOADER, path=beside) or shutil.which(_LOADER)


if __name__ == "__main__":
    sys.exit(engine.serve_host())
