"""Why F is what it is: the equation's error, the difference in what is lost, and what following the equation adds.

F, by packets sent, is the product of three quotients, each by what the runs measured of losses p
and round trips R: what the equation says at TCP's p and R, over what TCP sent; the equation at the
other's p and R, over that at TCP's; what the other sent, over the equation at its own mean p and R.
The last is above one for a sender that follows the equation from round to round: the mean of its
rates is more than its rate at the mean loss (Jensen's inequality).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ackclock.metrics import interval
from ackclock.models import pftk
from ackclock.reproduction import Table
from ackclock.result import Result
from ackclock_reproductions.replicates import Rows, measured
from ackclock_reproductions.tfrcp.friendliness import Results
from ackclock_reproductions.tfrcp.senders import DURATION_S, OTHER, TCP

#: No round-trip time of the central path comes near the smallest timeout.
TIMEOUT_S = 1.0

Array = NDArray[np.float64]


def causes(results: Results, points: Sequence[int]) -> Table:
    """The three factors, by sender and load.

    Args:
        results: By label of the sender, over the loads.
        points: The loads.
    """
    rows: Rows = {}
    for label, result in results.items():
        for point, load in enumerate(points):
            sent_t, said_t, loss_t = _group(result, point, TCP)
            sent_c, said_c, loss_c = _group(result, point, OTHER)
            rows[label, f"{load}"] = {
                "F by packets sent": interval(sent_c / sent_t),
                "equation over TCP": interval(said_t / sent_t),
                "for other losses and delays": interval(said_c / said_t),
                "for following it": interval(sent_c / said_c),
                "TCP's loss, %": interval(100 * loss_t),
                "its loss, %": interval(100 * loss_c),
            }
    return measured("Where F comes from", ("sender", "N"), rows)


def _group(result: Result, point: int, flow: str) -> tuple[Array, Array, Array]:
    """Of each replicate: packets sent per second and sender, what the equation says they would be, and p."""
    replicates = range(result.run["replicates"])
    found = [_of_replicate(result, point, flow, replicate) for replicate in replicates]
    sent, said, loss = (np.array(values) for values in zip(*found, strict=True))
    return sent, said, loss


def _of_replicate(
    result: Result, point: int, flow: str, replicate: int
) -> tuple[float, float, float]:
    rows = result.rows("flows", point=point, flow=flow, replicate=replicate)
    sent, dropped, rtt = (
        float(np.mean(rows[name].to_numpy()))
        for name in ("sent_packets", "dropped_packets", "rtt_mean_s")
    )
    loss = dropped / sent
    return sent / DURATION_S, float(pftk.full(loss, rtt, TIMEOUT_S, b=1)), loss
