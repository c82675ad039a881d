"""Efficiency of a session: what it delivers over what the link could have sent in the same run.

The paper divides by the long-term mean capacity, 75 kB/s. A transfer of 10 MB at psi = 100 spans
some seven sojourns, so four transfers differ mostly by the link's random rates. Dividing by the
capacity of the run removes that. Schemes are compared replicate by replicate, since they have the
same link.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ackclock import Result, metrics
from ackclock.metrics import Interval, by_replicate, interval
from ackclock.units import seconds
from ackclock_papers.abr.loop import BOTTLENECK, SESSION
from ackclock_papers.abr.paper import (
    MEAN_KB_PER_S,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    ROUND_TRIP_S,
    TRANSFER_BYTES,
)
from ackclock_papers.replicates import of_replicates, quotient


def efficiencies(
    result: Result, point: int = 0, cells: float = 1.0, session: str = SESSION
) -> list[float]:
    """Returns the efficiency of each replicate at a point of the sweep; see `at_points`."""
    return at_points(result, cells, session)[point]


def at_points(result: Result, cells: float = 1.0, session: str = SESSION) -> list[list[float]]:
    """Returns the efficiency of each replicate, headers included, over the run's capacity.

    Args:
        result: Result of a loop.
        cells: Share of the link that ATM cells leave: `Feedback.cells`.
        session: Name of the session.

    Returns:
        Efficiencies by replicate, for each point.
    """
    got, could = rates(result, "goodput", session), rates(result, "capacity", BOTTLENECK)
    return [
        list(goodput * PACKET_BYTES / PAYLOAD_BYTES / most * cells)
        for goodput, most in zip(got, could, strict=True)
    ]


def rates(result: Result, name: str, subject: str) -> list[NDArray[np.float64]]:
    """Returns a metric of a flow or hop by replicate, for each point."""
    rates = by_replicate(result, metrics.metric(name))
    return [np.array(list(rates[point, subject].values())) for point in range(len(result.points))]


def as_published(result: Result, cells: float = 1.0, session: str = SESSION) -> list[Interval]:
    """Returns the efficiency of transfers at each point, as the paper defines it.

    That is the rate of the transfer over the long-term mean capacity.
    """
    transfers = [
        TRANSFER_BYTES / 1000 / np.array(of_replicates(result, "completion_time", session, point))
        for point in range(len(result.points))
    ]
    return [interval(rate / MEAN_KB_PER_S * cells) for rate in transfers]


def gain(above: Sequence[float], below: Sequence[float]) -> Interval:
    """Returns by how many percent one scheme exceeds another on the same link."""
    ratio = quotient(above, below)
    return Interval(100 * (ratio.mean - 1), 100 * ratio.half_width, ratio.replicates)


def loss(gained: Interval) -> Interval:
    """Returns a gain with its sign reversed."""
    return gained._replace(mean=-gained.mean)


def timeouts_per_round_trip(result: Result, point: int) -> list[float]:
    """Returns the timeouts per round trip of a lone session over the whole run, by replicate."""
    duration_s = seconds(result.points[point]["scenario"]["duration"])
    return [
        count * ROUND_TRIP_S / duration_s
        for count in of_replicates(result, "timeouts", SESSION, point)
    ]
