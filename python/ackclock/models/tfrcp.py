"""TFRCP: the sending rate that PFTK's formula allows at a loss rate, and the resulting goodput.

Padhye, Kurose, Towsley and Koodli, "A model based TCP-friendly rate control protocol", NOSSDAV
1999. In each round the sender counts the share of its packets that was lost, and sends at f(Wmax,
R, p, B) in the next round. There are no retransmissions.

Letters: as in `pftk`; p share of packets lost in a round, B the sender's timeout (s).
"""

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models import pftk
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import OF_RANDOM_LOSS, needs_equation, unless
from ackclock.models.domain import AT_LEAST_ONE, POSITIVE, PROPER_SHARE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath


def rate(
    p: ArrayLike, R: ArrayLike, B: ArrayLike, Wmax: ArrayLike = np.inf, b: ArrayLike = 1
) -> Array:
    """Returns packets per second; the arguments are broadcast."""
    return pftk.full(p, R, B, Wmax, b)


def _evaluate(
    loss: Array, rtt: Array, timeout: Array, window: Array, segments_per_ack: Array
) -> dict[str, Array]:
    allowed = rate(loss, rtt, timeout, window, segments_per_ack)
    return {"rate": allowed, "goodput": (1 - loss) * allowed}


def _inputs_of(path: FlowPath) -> dict[str, float]:
    return {
        "loss": path.loss.rate, "rtt": path.round_trip.base_s,
        "timeout": path.sender.first_timeout_s,
        "window": max(path.sender.receive_window_segments, 1.0),
        "segments_per_ack": path.sender.segments_per_ack,
    }  # fmt: skip


def _short_rounds(path: FlowPath) -> str:
    per_s = path.loss.rate * path.loss.window_segments / max(path.round_trip.base_s, 1e-9)
    return unless(
        per_s >= _FEWEST_LOSSES_PER_S,
        f"only {per_s:.2g} losses a second are expected, and most rounds lose nothing",
    )


# With fewer, rates are up to 36 % higher than by the formula (`benches/accuracy.py`).
_FEWEST_LOSSES_PER_S = 1.0

MODEL = Model(
    name="tfrcp",
    label="TFRCP",
    summary="Sending rate of TFRCP at a packet loss rate, and the receiver's goodput.",
    reference="Padhye, Kurose, Towsley, Koodli 1999",
    formula="f(Wmax, R, p, B) = the sending rate of PFTK with T0 = B;  goodput (1 - p) f",
    inputs=(
        Input("loss", "p", "", "share of packets lost", domain=PROPER_SHARE),
        pftk.RTT,
        Input(
            "timeout",
            "B",
            "s",
            "first retransmission timeout, without backoff",
            pftk.TIMEOUT.default,
            POSITIVE,
        ),
        pftk.WINDOW,
        Input(
            "segments_per_ack",
            "b",
            "segments",
            "segments acknowledged by one ACK of the competing TCP",
            1,
            AT_LEAST_ONE,
        ),
    ),
    outputs=(
        Output("rate", "f", "segments/s", "allowed sending rate"),
        Output("goodput", "", "segments/s", "goodput of the receiver"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption(
            "long_rounds",
            "rounds are so long that each loses the share p of its packets",
            _short_rounds,
        ),
        *OF_RANDOM_LOSS,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=lambda path: needs_equation(path, "last_round", "tfrcp"),
    accuracy=(
        Accuracy(
            ("goodput",),
            0.25,
            "measured",
            "TFRCP at 0.05 to 5 % independent loss, 20 to 200 ms",
        ),
    ),
)
