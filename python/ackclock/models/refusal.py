"""Refusal of bad input on one line: letter, value, remedy."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

from ackclock.errors import InputError


class RefusedInputsError(InputError):
    """Inputs of a model that are refused, with a message that can quote them in any unit.

    Attributes:
        words: The message, with the name of a quantity in braces where it is quoted.
        quantities: Each quantity by its name: the input whose unit it has, and the number in the
            unit of the model.
    """

    def __init__(
        self,
        code: str,
        field: str,
        words: str,
        value: Any = None,
        quantities: Mapping[str, tuple[str, float]] | None = None,
    ) -> None:
        self.words, self.quantities = words, quantities or {}
        super().__init__(code, field, self._quoting(lambda _, number: f"{number:g}"), value)

    def formatted(self, say: Callable[[str, float], str]) -> Self:
        """Returns the same error with each quantity formatted by `say(input, number)`."""
        error = type(self)(self.code, self.field, self.words, self.value, self.quantities)
        error.message = error._quoting(say)
        error.args = (error.code, error.field, error.message, error.value)
        return error

    def _quoting(self, say: Callable[[str, float], str]) -> str:
        if not self.quantities:
            return self.words
        return self.words.format(
            **{name: say(*quantity) for name, quantity in self.quantities.items()}
        )


def refuse_inputs(
    code: str, words: str, *, value: float | None = None, **quoted: float
) -> NoReturn:
    """Raises `RefusedInputsError` about the first of the quoted inputs.

    Args:
        code: One of `ackclock.errors.CODES`.
        words: The message, with names of inputs in braces. A name that begins with `least_` or
            `most_` has the unit of the input named by the rest.
        value: The refused value; by default the first that is quoted.
        quoted: The quoted quantities by these names, in units of the model.
    """
    named = {
        name: (name.removeprefix("least_").removeprefix("most_"), number)
        for name, number in quoted.items()
    }
    first, number = next(iter(quoted.items()))
    raise RefusedInputsError(code, first, words, number if value is None else value, named)


def refuse(letter: str, value: object, remedy: str, code: str = "out-of-range") -> NoReturn:
    """Raises `InputError` with that code, field and value."""
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    raise InputError(code, letter, f"{shown} {remedy}", value)
