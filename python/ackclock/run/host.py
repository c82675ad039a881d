"""The process of an emulated host: only the emulator starts `python -m ackclock.run.host`."""

import sys

from ackclock import engine

# A host must be the installed program, whatever the current folder holds.
HOST_COMMAND = [sys.executable, "-P", "-m", "ackclock.run.host"]

if __name__ == "__main__":
    sys.exit(engine.serve_host())
