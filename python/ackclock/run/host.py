"""A host of an emulation: the emulator starts `python -m ackclock.run.host` for each, and nobody else does."""

import sys

from ackclock import engine

# A host must be the program that is installed here, whatever lies in the current folder.
HOST_COMMAND = [sys.executable, "-P", "-m", "ackclock.run.host"]

if __name__ == "__main__":
    sys.exit(engine.serve_host())
