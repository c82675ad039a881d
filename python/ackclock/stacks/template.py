"""Sources that the library of a new stack begins with."""

from importlib import resources

from ackclock.stacks import check_name

#: The border, which a source includes.
HEADER = "ackclock_stack.h"


def template(name: str, kind: str = "own") -> dict[str, str]:
    """Returns the files of a new stack by name: its source, and the header if that is C.

    Args:
        name: Name of the stack, as in the name of its file.
        kind: `own`, a small transport in C; `python`, one in Python; or `ngtcp2`, the calls of that
            implementation.

    Raises:
        InputError: The name does not fit a file.
    """
    check_name(name, "NAME")
    files = resources.files(__name__.rpartition(".")[0])
    ending = "txt" if kind == "python" else "c"
    source = (files / "templates" / f"{kind}.{ending}").read_text("utf-8").replace("NAME", name)
    if kind == "python":
        return {f"{name}.py": source}
    return {f"{name}.c": source, HEADER: (files / HEADER).read_text("utf-8")}
