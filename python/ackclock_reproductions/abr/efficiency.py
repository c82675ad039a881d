"""What arrives over what the link could have sent, in the very run.

The paper divides by the mean capacity of all time, 75 kB/s. A transfer of 10 MB at psi = 100 has
some seven sojourns in it, so that most of what four of them differ by is the link's luck: it is
divided out here. Schemes are compared replicate by replicate, as they have the same link.
"""

from collections.abc import Sequence

import numpy as np

from ackclock.metrics import Interval, interval
from ackclock.result import Result
from ackclock.units import seconds
from ackclock_reproductions.abr.loop import BOTTLENECK, SESSION
from ackclock_reproductions.abr.paper import (
    MEAN_KB_PER_S,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    ROUND_TRIP_S,
    TRANSFER_BYTES,
)
from ackclock_reproductions.replicates import of_replicates, quotient


def efficiencies(
    result: Result, point: int = 0, cells: float = 1.0, session: str = SESSION
) -> list[float]:
    """Of each replicate, headers of TCP and IP included, over the capacity of the run.

    Args:
        result: Of a loop.
        point: Of its sweep.
        cells: What cells leave of the link: `Feedback.cells`.
        session: Whose.
    """
    got = np.array(of_replicates(result, "goodput", session, point)) * PACKET_BYTES / PAYLOAD_BYTES
    return list(got / np.array(of_replicates(result, "capacity", BOTTLENECK, point)) * cells)


def as_published(result: Result, cells: float = 1.0, session: str = SESSION) -> list[Interval]:
    """At every point, of transfers: the rate of the transfer over the mean capacity of all time, as the paper says."""
    rates = [
        TRANSFER_BYTES / 1000 / np.array(of_replicates(result, "completion_time", session, point))
        for point in range(len(result.points))
    ]
    return [interval(one / MEAN_KB_PER_S * cells) for one in rates]


def gain(above: Sequence[float], below: Sequence[float]) -> Interval:
    """By how much one scheme is above another on the same link, as a percentage of the other."""
    ratio = quotient(above, below)
    return Interval(100 * (ratio.mean - 1), 100 * ratio.half_width, ratio.replicates)


def loss(gained: Interval) -> Interval:
    """A gain as what it takes away."""
    return gained._replace(mean=-gained.mean)


def timeouts_per_round_trip(result: Result, point: int) -> list[float]:
    """Of each replicate, in the whole run, of who is alone."""
    duration_s = seconds(result.points[point]["scenario"]["duration"])
    return [
        count * ROUND_TRIP_S / duration_s
        for count in of_replicates(result, "timeouts", SESSION, point)
    ]
