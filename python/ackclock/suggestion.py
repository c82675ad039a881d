"""What somebody who wrote a wrong name may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to write instead: the names that are like it, up to three; without any, `otherwise` or all there are."""
    known = list(known)
    near = get_close_matches(name, known, n=3)
    if near:
        quoted = [f'"{one}"' for one in near]
        return f"did you mean {' or '.join(quoted)}?"
    return otherwise or f"choose from {', '.join(known)}"
