"""A link of two rates, observed by a source a round trip away.

Time is divided into intervals of one round trip, and the link changes only at their beginnings. The
source's rate in an interval is the link's rate in the interval before. The pair (link, source) is a
chain of four states.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ackclock.models.domain import AT_LEAST_ONE, UP_TO_ONE, check
from ackclock.models.model import Array

#: Indices of the two rates; a pair is 2 * link + source.
HIGH, LOW = 0, 1


@dataclass(frozen=True)
class TwoRateLink:
    """Transitions of a link between its rates, from one round trip to the next.

    Attributes:
        fall: Probability that a low interval follows a high one.
        rise: Probability that a high interval follows a low one.
    """

    fall: float
    rise: float

    def __post_init__(self) -> None:
        check(fall=(self.fall, UP_TO_ONE), rise=(self.rise, UP_TO_ONE))

    @classmethod
    def of_sojourns(cls, psi: float, low_psi: float | None = None) -> "TwoRateLink":
        """Returns a link with geometric sojourns of mean psi round trips, each at least one.

        Args:
            psi: Mean time at the high rate, in round trips.
            low_psi: Mean time at the low rate; by default psi.
        """
        low_psi = psi if low_psi is None else low_psi
        check(psi=(psi, AT_LEAST_ONE), low_psi=(low_psi, AT_LEAST_ONE))
        return cls(1 / psi, 1 / low_psi)

    @property
    def step(self) -> Array:
        """The link's transition matrix, from rows to columns in the order high, low."""
        return np.array([[1 - self.fall, self.fall], [self.rise, 1 - self.rise]])

    @property
    def shares(self) -> Array:
        """Shares of time at the high and the low rate."""
        return np.array([self.rise, self.fall]) / (self.rise + self.fall)

    @cached_property
    def pair_step(self) -> Array:
        """Transition matrix of (link, source): the source's next state is the link's current."""
        matrix = np.zeros((4, 4))
        for link in (HIGH, LOW):
            for source in (HIGH, LOW):
                matrix[2 * link + source, [2 * HIGH + link, 2 * LOW + link]] = self.step[link]
        return matrix
