"""Refusal of bad input on one line: letter, value, remedy."""

from typing import NoReturn

from ackclock.errors import InputError


def refuse(letter: str, value: object, remedy: str, code: str = "out-of-range") -> NoReturn:
    """Raises `InputError` with that code, field and value."""
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    raise InputError(code, letter, f"{shown} {remedy}", value)
