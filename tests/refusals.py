"""Assertions on errors that do not depend on their text."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import Result as Outcome

from ackclock import InputError, LackingError

EXIT_CODES = {InputError: 2, LackingError: 3}


@contextmanager
def refused(code: str, field: str, *quoted: object) -> Iterator[None]:
    """Expects an error of one line with this code and field that quotes these values."""
    with pytest.raises(InputError) as caught:
        yield
    check(caught.value, code, field, *quoted)


def check(error: InputError | LackingError, code: str, field: str, *quoted: object) -> None:
    assert (error.code, error.field) == (code, field), error
    assert "\n" not in str(error)
    for words in quoted:
        assert str(words) in error.message


def error_of(outcome: Outcome) -> InputError | LackingError:
    """Returns a command's error.

    The command has printed one line, and nothing on standard output except with --json.
    """
    assert outcome.exception is not None
    error = outcome.exception.__cause__
    assert isinstance(error, InputError | LackingError), outcome.exception
    printed = [line.removeprefix("ackclock: ") for line in outcome.stderr.splitlines()]
    assert " ".join(str(error).split()) in printed
    return error


def check_refusal(outcome: Outcome, code: str, field: str, *quoted: object) -> None:
    """Checks that a command was refused as bad input, in one line and before it did anything."""
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    check(error_of(outcome), code, field, *quoted)
