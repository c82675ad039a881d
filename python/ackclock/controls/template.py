"""The source that a new control begins with."""

import re
from importlib import resources

from ackclock.errors import InputError

# A file of that name with its ending, and a comment in C, can hold it.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")


def template(name: str, *, python: bool = False) -> str:
    """Returns the source of a new control in C or Python, with comments.

    Args:
        name: Name of the control, as in the name of its file.
        python: True for a class in Python.

    Raises:
        InputError: The name does not fit a file.
    """
    if _NAME.fullmatch(name) is None:
        words = f'"{name}" is not a name of letters, digits, - and _; for example mine'
        raise InputError("out-of-range", "NAME", words, name)
    file = "template.py.txt" if python else "template.bpf.c"
    text = (resources.files(__name__.rpartition(".")[0]) / file).read_text("utf-8")
    return text.replace("NAME", name).replace("CLASS", _class_of(name))


def _class_of(name: str) -> str:
    """Returns the name of a class: `MyIdea` for `my-idea`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name))
