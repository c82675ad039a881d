"""Controls of one's own: a source to begin with, and checks of one before it is used.

A control is a program in C for the kernel's TCP (`ackclock.bpf.h`), which the engine runs as well.
"""

from ackclock.controls.check import PATHS, Checked, Kernel, check
from ackclock.controls.python import Control
from ackclock.controls.template import template

__all__ = ["PATHS", "Checked", "Control", "Kernel", "check", "template"]
