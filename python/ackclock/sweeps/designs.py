"""Designs: which points of the parameters' space a sweep takes.

A design is a pure function of the parameters, its size and the sweep's seed. Grids take every
combination of levels; the others place points in the unit cube.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.sweeps.parameters import Parameter

# Levels of a range in a grid that does not say: a first look at a curve.
_LEVELS = 5

# Points beyond which a sweep is refused: they are in memory, about 0.3 kB each.
_MOST_POINTS = 1_000_000

#: Takes number of points, dimensions and seed; returns an array of points by dimensions.
Cube = Callable[[int, int, int], NDArray[np.float64]]


def _random(points: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).random((points, dimensions))


def _latin(points: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    from scipy.stats import qmc  # scipy.stats takes a second to import

    placed: NDArray[np.float64] = qmc.LatinHypercube(dimensions, rng=seed).random(points)
    return placed


def _sobol(points: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    from scipy.stats import qmc

    placed: NDArray[np.float64] = qmc.Sobol(dimensions, scramble=True, rng=seed).random(points)
    return placed


#: Designs in the unit cube by name.
_CUBES: dict[str, Cube] = {"random": _random, "latin": _latin, "sobol": _sobol}

#: Every design and its meaning.
DESIGNS = {
    "grid": "Every combination; `grid:7` takes seven levels of each range.",
    "random": "Independent uniform points; `random:100` takes a hundred.",
    "latin": "A Latin hypercube: each range is cut into as many parts as there are points.",
    "sobol": "A scrambled Sobol sequence; the number of points is a power of two.",
}


@dataclass(frozen=True)
class Design:
    """A design and its size.

    Attributes:
        kind: One of `DESIGNS`.
        size: Levels of a range in a grid; otherwise the number of points.
    """

    kind: str
    size: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}"

    def points(self, parameters: Sequence[Parameter], seed: int) -> Iterator[dict[str, Any]]:
        """Yields the assignments of each point; one without any if there are no parameters."""
        if not parameters:
            yield {}
        elif self.kind == "grid":
            levels = [parameter.over.levels(self.size) for parameter in parameters]
            for values in itertools.product(*levels):
                yield _together(parameters, values)
        else:
            for row in _CUBES[self.kind](self.size, len(parameters), seed % 2**32):
                values = tuple(
                    parameter.over.value_at(float(position))
                    for parameter, position in zip(parameters, row, strict=True)
                )
                yield _together(parameters, values)

    def count(self, parameters: Sequence[Parameter]) -> int:
        """Returns the number of points.

        Raises:
            InputError: There are too many.
        """
        if not parameters:
            return 1
        count = (
            math.prod(len(parameter.over.levels(self.size)) for parameter in parameters)
            if self.kind == "grid"
            else self.size
        )
        return within_most(count)


def within_most(count: int) -> int:
    """Returns a number of points.

    Raises:
        InputError: There are too many.
    """
    if count > _MOST_POINTS:
        raise InputError(
            "out-of-range", "--design", f"has {count} points; the most is {_MOST_POINTS}", count
        )
    return count


def _together(parameters: Sequence[Parameter], values: Sequence[Any]) -> dict[str, Any]:
    assigned: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        assigned |= parameter.assignments(value)
    return assigned


def parse(text: str) -> Design:
    """Reads `grid`, `grid:7` or `sobol:1024`.

    Raises:
        InputError: The design is unknown, or its size is missing or impossible.
    """
    kind, _, size = text.partition(":")
    if kind not in DESIGNS:
        raise InputError.unknown("", "design", kind, DESIGNS)
    if kind == "grid" and not size:
        return Design(kind, _LEVELS)
    if not re.fullmatch(r"\d{1,9}", size) or int(size) < 1:
        raise InputError(
            "out-of-range", "", f'"{text}" has no number of points; for example {kind}:64', text
        )
    count = within_most(int(size))
    if kind == "sobol" and count & (count - 1):
        near = 2 ** round(math.log2(count))
        raise InputError(
            "out-of-range", "", f'"{text}" is not a power of two; for example sobol:{near}', text
        )
    return Design(kind, count)
