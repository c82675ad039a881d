"""Refusing bad input on one line: what, its value, what to write instead."""

from typing import NoReturn


def refuse(letter: str, value: object, remedy: str) -> NoReturn:
    """Raises the error."""
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    raise ValueError(f"{letter} = {shown} {remedy}")
