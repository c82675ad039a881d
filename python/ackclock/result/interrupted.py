"""A run that a person interrupted, and the part of its result."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.result.result import Result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, the stop button of a notebook, or a signal ended a run.

    It is a `KeyboardInterrupt`, so that a loop around the run ends too.

    Attributes:
        result: What was run before; it is marked partial.
    """

    def __init__(self, result: "Result") -> None:
        super().__init__("interrupted; the exception's attribute result has what was run")
        self.result = result


def partly(run: Callable[[], "Result"]) -> "Result":
    """Returns the result of a run; of an interrupted one, the part of it."""
    try:
        return run()
    except Interrupted as interrupted:
        return interrupted.result
