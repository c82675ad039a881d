"""Domains of a formula's inputs, and the refusal of other values."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.models.refusal import refuse


@dataclass(frozen=True)
class Domain:
    """The numbers allowed for an input of a formula: an interval, or a few values.

    Attributes:
        low: Lower end.
        high: Upper end.
        ends: Brackets as in mathematics: a round one excludes the end, a square one includes it.
        values: The only allowed values, if not empty.
    """

    low: float = 0.0
    high: float = inf
    ends: str = "()"
    values: tuple[float, ...] = ()

    def holds(self, numbers: ArrayLike) -> NDArray[np.bool_]:
        """Returns True for each number in the domain; NaN never is."""
        numbers = np.asarray(numbers, float)
        if self.values:
            return np.isin(numbers, self.values)
        above = numbers >= self.low if self.ends[0] == "[" else numbers > self.low
        below = numbers <= self.high if self.ends[1] == "]" else numbers < self.high
        return np.asarray(above & below)

    def words(self, name: str, say: Callable[[float], str] = "{:g}".format) -> str:
        """Returns the domain as a condition, like `0 < p < 1`; `say` formats the numbers."""
        if self.values:
            return f"{name} = {' or '.join(say(value) for value in self.values)}"
        above = f"{say(self.low)} {'≤' if self.ends[0] == '[' else '<'} "
        below = f" {'≤' if self.ends[1] == ']' else '<'} {say(self.high)}"
        if self.high < inf:
            return f"{above}{name}{below}" if self.low > -inf else f"{name}{below}"
        return f"{name} {'≥' if self.ends[0] == '[' else '>'} {say(self.low)}"

    def refusal(self, name: str, number: float, say: Callable[[float], str] = "{:g}".format) -> str:
        """Returns the second half of an error: the number is out of the domain, and the remedy."""
        finite = "a finite " if number == inf and not self.values else ""
        return f"is out of range; give {finite}{self.words(name, say)}"


def check(**arguments: tuple[ArrayLike, Domain]) -> None:
    """Refuses the first argument out of its domain: `p: 1.5 is out of range; give 0 < p < 1`.

    Args:
        arguments: Letter to (value, domain); an array is inside if all its elements are.

    Raises:
        ValueError: With the letter, the first bad value and the domain.
    """
    for letter, (value, domain) in arguments.items():
        inside = domain.holds(value)
        if not inside.all():
            bad = float(np.asarray(value, float)[~inside].flat[0])
            refuse(letter, bad, domain.refusal(letter, bad))


POSITIVE = Domain()
NOT_NEGATIVE = Domain(0, inf, "[)")
PROPER_SHARE = Domain(0, 1)
BELOW_ONE = Domain(0, 1, "[)")
UP_TO_ONE = Domain(0, 1, "(]")
AT_LEAST_ONE = Domain(1, inf, "[)")
LIMIT = Domain(1, inf, "[]")  # infinite for none
