"""The psi map: what the time between changes of a link's rate, in round trips, says about feeding the rate back.

After S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control
and stochastic available capacity", IEEE/ACM Transactions on Networking 9(4), 2001, who give the
ends as ranges (0.2 to 0.3, 0.5, 20, 50 to 60) for a sender without fast retransmit and a buffer of
a quarter of a round trip. Between them regions pass into one another. What they expect there need
not hold for another sender or buffer: the runs say whether it does.
"""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Region:
    """A region of the map.

    Attributes:
        name: For people.
        low: psi from here on.
        high: psi below this.
        says: How often the rate changes there, on the mean.
        expects: What the authors expect of feedback there.
        best: Which schemes they expect to be among the best: `every`, `last` (the rate measured
            last), `smallest` (that of many means), or `none` if they say nothing of any.
    """

    name: str
    low: float
    high: float
    says: str
    expects: str
    best: str


#: In the order of psi.
REGIONS = (
    Region(
        "mean is enough", 0.0, 0.2, "the rate changes five times in a round trip, or more often",
        "any feedback tells the mean", "every",
    ),
    Region(
        "between the mean and the danger zone", 0.2, 0.5,
        "the rate changes two to five times in a round trip",
        "the mean is not enough any more, and the rate cannot be followed yet", "none",
    ),
    Region(
        "danger zone", 0.5, 20.0, "the rate holds for half a round trip to 20 of them",
        "the rate measured last is often the wrong one, and the smallest of many means "
        "delivers more", "smallest",
    ),
    Region(
        "between the danger zone and tracking", 20.0, 60.0,
        "the rate holds for 20 to 60 round trips", "following the rate begins to pay", "none",
    ),
    Region(
        "track the rate", 60.0, inf, "the rate holds for 60 round trips or longer",
        "the rate measured last can be followed", "last",
    ),
)  # fmt: skip


def region(psi: float) -> Region:
    """Where psi lies on the map."""
    return next(one for one in REGIONS if one.low <= psi < one.high)


def across(low: float, high: float) -> tuple[Region, ...]:
    """The regions between two values of psi."""
    return tuple(one for one in REGIONS if low < one.high and one.low <= high)
