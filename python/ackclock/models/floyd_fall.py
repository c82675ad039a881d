"""Floyd and Fall's bound: the largest rate of a conformant TCP at a given loss rate.

Floyd and Fall, "Promoting the use of end-to-end congestion control in the Internet", IEEE/ACM
Transactions on Networking 7(4), 1999, section III-A: T <= 1.5 sqrt(2/3) B / (R sqrt p), with
packets of B bytes; here B is one segment.

Letters: p loss rate, R round-trip time (s).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import AN_ACK_EACH, OF_EVEN_LOSS_ALONE, RENO, needs_reno
from ackclock.models.domain import POSITIVE, UP_TO_ONE, check
from ackclock.models.model import Array, Input, Model, Output
from ackclock.models.path import loss_and_rtt


def bound(p: ArrayLike, R: ArrayLike) -> Array:
    """Returns 1.5 sqrt(2/3) / (R sqrt p) in segments per second; the arguments are broadcast."""
    p, R = np.asarray(p, float), np.asarray(R, float)
    check(p=(p, UP_TO_ONE), R=(R, POSITIVE))
    return np.asarray(1.5 * math.sqrt(2 / 3) / (R * np.sqrt(p)))


MODEL = Model(
    name="floyd_fall",
    label="Floyd–Fall bound",
    summary="Largest rate at a given loss rate that counts as TCP-friendly.",
    reference="Floyd, Fall 1999",
    formula="T <= 1.5 sqrt(2/3) / (R sqrt(p))",
    inputs=(
        Input("loss", "p", "", "loss rate", domain=UP_TO_ONE),
        Input("rtt", "R", "s", "smallest round-trip time"),
    ),
    outputs=(Output("rate", "T", "segments/s", "upper bound of the sending rate"),),
    goodput="rate",
    assumptions=(
        RENO,
        AN_ACK_EACH,
        *OF_EVEN_LOSS_ALONE,
    ),
    evaluate=lambda loss, rtt: {"rate": bound(loss, rtt)},
    inputs_of=loss_and_rtt,
    refusal=needs_reno,
    accuracy=(
        Accuracy(
            ("rate",),
            0.15,
            "measured",
            "Reno at 0.02 to 5 % independent loss, 10 to 200 ms, as a rate; as a "
            "bound it is the definition of the source",
        ),
    ),
)
