"""The response function of standard TCP in the RFCs about fast networks, 1.2/sqrt(p).

RFC 3649 section 2 (and table 1 of RFC 9438, which copies it). The constant is sqrt(3/2) = 1.2247
rounded.

Letters: p loss rate, w mean window (segments).
"""

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import AN_ACK_EACH, OF_EVEN_LOSS_ALONE, RENO, needs_reno
from ackclock.models.domain import UP_TO_ONE, check
from ackclock.models.model import Array, Input, Model, Output
from ackclock.models.path import loss_and_rtt

LOSS = Input("loss", "p", "", "loss rate", domain=UP_TO_ONE)
RTT = Input("rtt", "R", "s", "round-trip time, assumed independent of the window")
WINDOW = Output("window", "w", "segments", "mean window", "cwnd")
RATE = Output("rate", "w/R", "segments/s", "sending rate")


def window(p: ArrayLike) -> Array:
    """Returns the mean window 1.2/sqrt(p), in segments."""
    p = np.asarray(p, float)
    check(p=(p, UP_TO_ONE))
    return np.asarray(1.2 / np.sqrt(p))


MODEL = Model(
    name="reno_response",
    label="Reno response",
    summary="Mean window of standard TCP, as tabulated by the RFCs on fast networks.",
    reference="RFC 3649 section 2",
    formula="w = 1.2 / sqrt(p)",
    inputs=(LOSS, RTT),
    outputs=(WINDOW, RATE),
    goodput="rate",
    assumptions=(
        RENO,
        AN_ACK_EACH,
        *OF_EVEN_LOSS_ALONE,
    ),
    evaluate=lambda loss, rtt: {"window": window(loss), "rate": window(loss) / rtt},
    inputs_of=loss_and_rtt,
    refusal=needs_reno,
    accuracy=(
        Accuracy(
            ("rate", "window"),
            0.15,
            "measured",
            "Reno at 0.02 to 5 % independent loss, 10 to 200 ms, five presets, three recoveries",
        ),
    ),
)
