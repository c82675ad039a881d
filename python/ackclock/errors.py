"""The errors that ackclock raises: a code and a field for programs, a sentence for people.

The text of an error is one line, `field: what is wrong; what to do`. Codes are stable; sentences
may change. It quotes long values in part (`limits.cut`). `suggestion` ends a sentence about an
unknown name.
"""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, Self

from ackclock.limits import cut

#: Every code and its meaning. The engine raises the first eleven, too (`ackclock-spec`).
CODES: Final = {
    "missing": "A required field, argument or option is absent.",
    "unknown-field": "A field, list item or option does not exist.",
    "unknown-name": "A value names nothing that exists: a kind, a hop, a model, a figure.",
    "wrong-type": "A value has another type: a number for a table, a word for a quantity.",
    "no-unit": "A quantity lacks its unit.",
    "wrong-unit": "A quantity has a unit of something else.",
    "out-of-range": "A value is of the right type but too small, too large or not allowed.",
    "contradiction": "A value is good in itself but not together with another field or option.",
    "syntax": "Text is not in its format: TOML, JSON, an address.",
    "file": "A file or folder cannot be read or written, or does not hold what it should.",
    "unsupported": "What is asked for is valid, but not by this method, figure or machine.",
    "no-data": "A result lacks the table, hop or samples that are asked for.",
    "no-solution": "No input of a model gives the wanted output.",
    "lacking": "This machine lacks a permission, a kernel feature or a package.",
    "failed": "A run or a session began and failed.",
    "interrupted": "A person interrupted it.",
    "internal": "A bug in ackclock; please report it.",
}


class _CodedError(Exception):
    """An error with a code, a field and a sentence, and the refused value if there is one."""

    def __init__(self, code: str, field: str, message: str, value: Any = None) -> None:
        if code not in CODES:
            raise KeyError(code)
        message = cut(message)
        super().__init__(code, field, message, value)
        self.code = code
        self.field = field
        self.message = message
        self.value = value

    def for_field(self, field: str) -> Self:
        """Returns the same error for another field: an option, or the file that was read."""
        return type(self)(self.code, field, self.message, self.value)

    def __str__(self) -> str:
        return cut(f"{self.field}: {self.message}") if self.field else self.message


class InputError(_CodedError, ValueError):
    """Bad input: a value, an option or a file that the user can correct.

    Attributes:
        code: One of `CODES`.
        field: Path of the field, name of the option or input, or the file; empty if the error is
            about the whole input.
        message: The sentence after the field.
        value: The refused value; None if it is not known or there are several.
    """

    @classmethod
    def unknown(
        cls, field: str, noun: str, name: str, choices: Iterable[str], otherwise: str = ""
    ) -> Self:
        """Returns the error about a name that is none of some choices; the rest as `suggestion`."""
        words = f'unknown {noun} "{name}"; {suggestion(name, choices, otherwise)}'
        return cls("unknown-name", field, words, name)


class ScenarioError(InputError):
    """A scenario, or the options of a session, cannot be used.

    Code, field, message and value are those of the first mistake.

    Attributes:
        place: File, line and column (`lab.toml:12:9`), or the option that the value comes from;
            empty if unknown.
        errors: Every mistake that was found, this one first.
    """

    def __init__(
        self,
        code: str,
        field: str,
        message: str,
        value: Any = None,
        place: str = "",
        others: Sequence[tuple[Any, ...]] = (),
    ) -> None:
        super().__init__(code, field, message, value)
        self.args = (code, field, message, value, place, tuple(others))
        self.place = place

    @property
    def errors(self) -> tuple["ScenarioError", ...]:
        """Every mistake that was found, this one first."""
        return (self, *(ScenarioError(*arguments) for arguments in self.args[5]))

    def placed(self, place: Callable[["ScenarioError"], str]) -> "ScenarioError":
        """The same mistakes, each with the place that the function gives it."""
        first, *others = (
            (error.code, error.field, error.message, error.value, place(error))
            for error in self.errors
        )
        return ScenarioError(*first, others=others)

    @classmethod
    def combined(cls, errors: Iterable["ScenarioError"]) -> "ScenarioError":
        """One error of several: their mistakes in order, each of them once."""
        all_ = [mistake for error in errors for mistake in error.errors]
        unique = {
            (mistake.place, mistake.field, mistake.message): mistake.args[:5] for mistake in all_
        }
        (code, field, message, value, place), *others = unique.values()
        return cls(code, field, message, value, place, others)

    def __str__(self) -> str:
        return cut(f"{self.place}: {super().__str__()}") if self.place else super().__str__()


class CaptureError(InputError):
    """A packet capture cannot be measured."""


class LackingError(_CodedError, RuntimeError):
    """This machine cannot do what is asked for; attributes as in `InputError`."""


def suggestion(name: str, choices: Iterable[str], otherwise: str = "") -> str:
    """Returns what to write instead of an unknown name.

    That is up to three similar names. If no name is similar, it is `otherwise` or a list of all.
    """
    choices = list(choices)
    near = get_close_matches(name, choices, n=3)
    if near:
        quoted = [f'"{choice}"' for choice in near]
        return f"did you mean {' or '.join(quoted)}?"
    return otherwise or f"choose from {', '.join(choices)}"
