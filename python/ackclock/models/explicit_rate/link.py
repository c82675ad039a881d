"""A link of two rates, and what a source a round trip away knows of it.

Time goes in intervals of one round trip, at whose beginnings alone the link changes. The source's
rate in an interval is the link's of the interval before: the pair of both, (link, source), is a
chain of four states.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp

import numpy as np
from numpy.typing import NDArray

from ackclock.models.domain import AT_LEAST_ONE, UP_TO_ONE, check

Array = NDArray[np.float64]

#: Indices of the two rates; a pair is 2 * link + source.
HIGH, LOW = 0, 1


@dataclass(frozen=True)
class TwoRateLink:
    """How the link moves between its rates, from one round trip to the next.

    Attributes:
        fall: Chance that a high interval is followed by a low one.
        rise: Chance that a low interval is followed by a high one.
    """

    fall: float
    rise: float

    def __post_init__(self) -> None:
        check(fall=(self.fall, UP_TO_ONE), rise=(self.rise, UP_TO_ONE))

    @classmethod
    def of_sojourns(cls, psi: float, low_psi: float | None = None) -> "TwoRateLink":
        """A link with mean sojourns of psi round trips, geometric and of one at least.

        Args:
            psi: Mean time at the high rate, in round trips.
            low_psi: At the low rate; as at the high one if not given.
        """
        low_psi = psi if low_psi is None else low_psi
        check(psi=(psi, AT_LEAST_ONE), low_psi=(low_psi, AT_LEAST_ONE))
        return cls(1 / psi, 1 / low_psi)

    @classmethod
    def sampled(cls, psi: float) -> "TwoRateLink":
        """A link that changes at any time, with exponential sojourns of psi round trips, looked at once a round trip.

        The other reading of a publication that does not print its transition probabilities.
        """
        check(psi=(psi, AT_LEAST_ONE))
        change = (1 - exp(-2 / psi)) / 2
        return cls(change, change)

    @property
    def step(self) -> Array:
        """The link's transition matrix: rows from high and low, columns to them."""
        return np.array([[1 - self.fall, self.fall], [self.rise, 1 - self.rise]])

    @property
    def shares(self) -> Array:
        """Shares of time at the high and the low rate."""
        return np.array([self.rise, self.fall]) / (self.rise + self.fall)

    @cached_property
    def pair_step(self) -> Array:
        """The transition matrix of (link, source): the source's next state is the link's present one."""
        matrix = np.zeros((4, 4))
        for link in (HIGH, LOW):
            for source in (HIGH, LOW):
                matrix[2 * link + source, [2 * HIGH + link, 2 * LOW + link]] = self.step[link]
        return matrix
