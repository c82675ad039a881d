"""Suggestions for an unknown name."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Returns what to write instead of an unknown name.

    That is up to three similar names. If no name is similar, it is `otherwise` or a list of all.
    """
    known = list(known)
    near = get_close_matches(name, known, n=3)
    if near:
        quoted = [f'"{one}"' for one in near]
        return f"did you mean {' or '.join(quoted)}?"
    return otherwise or f"choose from {', '.join(known)}"
