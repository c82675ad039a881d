"""The psi map: what the time between rate changes of a link says about rate feedback.

Psi is the time between rate changes of a link, in round trips. The map is from S. Shakkottai, A.
Kumar, A. Karnik and A. Anvekar, "TCP performance over end-to-end rate control and stochastic
available capacity", IEEE/ACM Transactions on Networking 9(4), 2001. They give the limits as ranges
(0.2 to 0.3, 0.5, 20, 50 to 60), for a sender without fast retransmit and a buffer of a quarter of a
round trip. Regions have gradual transitions. Their expectations need not hold for another sender or
buffer; the runs show if they do.
"""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Region:
    """A region of the map.

    Attributes:
        name: Name for people.
        low: Lower limit of psi, included.
        high: Upper limit of psi, excluded.
        says: How often the rate changes there on average.
        expects: What the authors expect of feedback there.
        best: Schemes that they expect among the best: `every`, `last` (the rate measured last),
            `smallest` (the smallest of many means), or `none` if they name none.
    """

    name: str
    low: float
    high: float
    says: str
    expects: str
    best: str


#: By increasing psi.
REGIONS = (
    Region(
        "mean is enough", 0.0, 0.2, "the rate changes at least five times per round trip",
        "any feedback conveys the mean rate", "every",
    ),
    Region(
        "between the mean and the danger zone", 0.2, 0.5,
        "the rate changes two to five times per round trip",
        "the mean no longer suffices, and the rate cannot be tracked yet", "none",
    ),
    Region(
        "danger zone", 0.5, 20.0, "the rate holds for half a round trip to 20 round trips",
        "the rate measured last is often outdated, and the smallest of many means "
        "delivers more", "smallest",
    ),
    Region(
        "between the danger zone and tracking", 20.0, 60.0,
        "the rate holds for 20 to 60 round trips", "tracking the rate starts to pay", "none",
    ),
    Region(
        "track the rate", 60.0, inf, "the rate holds for 60 round trips or longer",
        "the rate measured last can be tracked", "last",
    ),
)  # fmt: skip


def region(psi: float) -> Region:
    """Returns the region of psi on the map."""
    return next(region for region in REGIONS if region.low <= psi < region.high)


def across(low: float, high: float) -> tuple[Region, ...]:
    """Returns the regions between two values of psi."""
    return tuple(region for region in REGIONS if low < region.high and region.low <= high)
