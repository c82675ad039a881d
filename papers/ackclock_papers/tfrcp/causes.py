"""Causes of F: the equation's error, the difference in loss, the effect of following the equation.

F, by packets sent, is the product of three ratios. Each uses the losses p and round trips R that
the runs measured:

* the equation at TCP's p and R, over what TCP sent;
* the equation at the other's p and R, over that at TCP's;
* what the other sent, over the equation at its own mean p and R.

The last exceeds one for a sender that follows the equation from round to round: the mean of its
rates is more than its rate at the mean loss (Jensen's inequality).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ackclock import Result
from ackclock.metrics import interval
from ackclock.models import pftk
from ackclock.reproduction import Table
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.tfrcp.friendliness import Results
from ackclock_papers.tfrcp.senders import DURATION_S, OTHER, TCP

#: Every round-trip time of the central path is well below this smallest timeout.
TIMEOUT_S = 1.0

Array = NDArray[np.float64]


def causes(results: Results, points: Sequence[int]) -> Table:
    """Returns the three factors, by sender and load.

    Args:
        results: Results over the loads, by label of the sender.
        points: Loads.
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
    """Returns packets sent per second and sender, the equation's rate, and p, all by replicate."""
    replicates = range(result.run["replicates"])
    measurements = [_of_replicate(result, point, flow, replicate) for replicate in replicates]
    sent, equation, loss = (np.array(values) for values in zip(*measurements, strict=True))
    return sent, equation, loss


def _of_replicate(
    result: Result, point: int, flow: str, replicate: int
) -> tuple[float, float, float]:
    rows = result.rows("flows", point=point, flow=flow, replicate=replicate)
    sent, dropped, rtt = (
        float(np.nanmean(rows[name].to_numpy()))
        for name in ("sent_packets", "dropped_packets", "rtt_mean_s")
    )
    loss = dropped / sent
    return sent / DURATION_S, float(pftk.full(loss, rtt, TIMEOUT_S, b=1)), loss
