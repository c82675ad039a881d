"""The psi map: what the time between changes of a link's rate, in round trips, says about feeding the rate back.

After S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control and stochastic
available capacity", IEEE/ACM Transactions on Networking 9(4), 2001, who give the ends as ranges (0.2 to 0.3, 0.5, 20,
50 to 60) for a sender without fast retransmit and a buffer of a quarter of a round trip. Between them regions pass into
one another.
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
        says: What it means for feedback.
    """

    name: str
    low: float
    high: float
    says: str


#: In the order of psi.
REGIONS = (
    Region("mean is enough", 0.0, 0.2, "changes average out within a round trip; any feedback tells the mean"),
    Region(
        "between the mean and the danger zone", 0.2, 0.5,
        "the mean is not enough any more, and the rate cannot be followed yet",
    ),
    Region(
        "danger zone", 0.5, 20.0,
        "feedback comes too late to follow, and the rate measured last is often the wrong one; the smallest of many "
        "means is safe",
    ),
    Region("between the danger zone and tracking", 20.0, 60.0, "following begins to pay"),
    Region("track the rate", 60.0, inf, "the rate holds long enough to be followed"),
)  # fmt: skip


def region(psi: float) -> Region:
    """Where psi lies on the map."""
    return next(one for one in REGIONS if one.low <= psi < one.high)


def across(low: float, high: float) -> tuple[Region, ...]:
    """The regions between two values of psi."""
    return tuple(one for one in REGIONS if low < one.high and one.low <= high)
