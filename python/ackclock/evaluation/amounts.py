"""Amounts that checks compare with: numbers, quantities, and values of the trace and the path."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.errors import InputError
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.moments import Moment
from ackclock.evaluation.trace import DERIVED, PATH_VALUES, VARIABLES, Trace


def variable(fields: Fields, name: str) -> str:
    """Takes the name of a variable."""
    named = fields.text(name)
    names = [*VARIABLES, *DERIVED, *PATH_VALUES]
    if named not in names:
        otherwise = "see `variables` of a suite"
        raise InputError.unknown(fields.path_of(name), "variable", named, names, otherwise)
    return named


def unit_of(name: str) -> str:
    """Returns the base unit of a variable."""
    if name in PATH_VALUES:
        return {"path.rate": "bit/s", "path.round_trip": "s"}.get(name, "bytes")
    return (VARIABLES.get(name) or DERIVED[name])[0]


def written(value: float, unit: str) -> str:
    """Returns a value as people read it."""
    if np.isnan(value):
        return "unknown"
    if np.isinf(value):
        return "none"
    return units.shown(value, unit) if unit else f"{value:.4g}"


@dataclass(frozen=True)
class Amount:
    """A number, or a variable times a factor.

    Attributes:
        constant: In the base unit, if it is a number.
        name: The variable; empty for a number.
        times: The factor.
        moment: The moment at which the variable is read; None for the row that is compared.
    """

    constant: float = 0.0
    name: str = ""
    times: float = 1.0
    moment: Moment | None = None

    @classmethod
    def read(cls, tree: Any, path: str) -> "Amount":
        """Reads a number, a truth value, a quantity or a table."""
        if isinstance(tree, bool | int | float):
            return cls(float(tree))
        if isinstance(tree, str):
            try:
                return cls(units.parse(tree).amount)
            except InputError as error:
                raise error.for_field(path) from None
        fields = Fields(tree, path)
        moment = Moment.read(fields.any("at"), fields.path_of("at")) if fields.has("at") else None
        amount = cls(0.0, variable(fields, "of"), fields.number("times", 1.0), moment)
        fields.done()
        return amount

    @classmethod
    def of_field(cls, fields: Fields, name: str) -> "Amount | None":
        """Takes a field; None if it is not given."""
        return cls.read(fields.any(name), fields.path_of(name)) if fields.has(name) else None

    def values(self, trace: Trace) -> NDArray[np.float64] | None:
        """Returns the amount for each row; None if it cannot be known."""
        rows = len(trace.time_s)
        if not self.name:
            return np.full(rows, self.constant)
        values = trace.values(self.name)
        if values is None:
            return None
        if self.moment is not None:
            rows_then = self.moment.rows(trace)
            if not rows_then:
                return None
            values = np.full(rows, values[rows_then[0]])
        return np.asarray(values * self.times, np.float64)

    def __str__(self) -> str:
        if not self.name:
            return f"{self.constant:g}"
        factor = "" if self.times == 1 else f"{self.times:g} · "
        moment = "" if self.moment is None else f" {self.moment}"
        return f"{factor}{self.name}{moment}"
