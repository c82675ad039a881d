"""A host of an emulation: the emulator starts `python -m ackclock.host` for each, and nobody else does."""

import sys

from ackclock import _native

if __name__ == "__main__":
    sys.exit(_native.serve_host())
