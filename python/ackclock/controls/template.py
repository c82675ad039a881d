"""The source that a new control begins with."""

import re
from importlib import resources

from ackclock.errors import InputError

# A file of that name with its ending, and a comment in C, can hold it.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")


def template(name: str) -> str:
    """Returns the C source of a new control, with comments.

    Args:
        name: Name of the control, as in the name of its file.

    Raises:
        InputError: The name does not fit a file.
    """
    if _NAME.fullmatch(name) is None:
        words = f'"{name}" is not a name of letters, digits, - and _; for example mine'
        raise InputError("out-of-range", "NAME", words, name)
    text = (resources.files(__name__.rpartition(".")[0]) / "template.bpf.c").read_text("utf-8")
    return text.replace("NAME", name)
