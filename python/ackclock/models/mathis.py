"""The macroscopic model of Mathis and others: C/(R sqrt p) with the paper's four constants.

Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
algorithm", Computer Communication Review 27(3), 1997. Table 1 lists C for periodic and random
losses, with and without delayed ACKs.

Letters: p loss rate, R round-trip time (s), b segments acknowledged by one ACK.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import OF_RANDOM_LOSS_ALONE, RENO, needs_reno, unless
from ackclock.models.domain import POSITIVE, UP_TO_ONE, Domain, check
from ackclock.models.model import Array, Input, Model, Output
from ackclock.models.path import FlowPath, loss_and_rtt

ONE_OR_TWO = Domain(values=(1, 2))

# C by b. For evenly spaced losses it is exact, from the area of a saw-tooth. For random losses it
# is the paper's numerical value.
PERIODIC = {1: math.sqrt(3 / 2), 2: math.sqrt(3 / 4)}
RANDOM = {1: 1.31, 2: 0.93}


def constant(b: ArrayLike = 1, *, random: bool = False) -> Array:
    """Returns C for b = 1 or 2 segments per ACK."""
    b = np.asarray(b, float)
    check(b=(b, ONE_OR_TWO))
    values = RANDOM if random else PERIODIC
    return np.where(b == 1, values[1], values[2])


def rate(p: ArrayLike, R: ArrayLike, C: ArrayLike = PERIODIC[1]) -> Array:
    """Returns C / (R sqrt p) in segments per second; the arguments are broadcast."""
    p, R, C = np.asarray(p, float), np.asarray(R, float), np.asarray(C, float)
    check(p=(p, UP_TO_ONE), R=(R, POSITIVE), C=(C, POSITIVE))
    return np.asarray(C / (R * np.sqrt(p)))


def _evaluate(loss: Array, rtt: Array, segments_per_ack: Array) -> dict[str, Array]:
    return {
        "periodic_losses": rate(loss, rtt, constant(segments_per_ack)),
        "random_losses": rate(loss, rtt, constant(segments_per_ack, random=True)),
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    return loss_and_rtt(path) | {"segments_per_ack": path.sender.segments_per_ack}


def _refusal(path: FlowPath) -> str:
    has_constant = path.sender.segments_per_ack in PERIODIC
    return needs_reno(path) or unless(
        has_constant,
        f"the paper has no constant for {path.sender.segments_per_ack:g} segments per ACK",
    )


MODEL = Model(
    name="mathis",
    label="Mathis",
    summary="C/(R sqrt p) with the paper's constants for evenly spaced and for random losses.",
    reference="Mathis, Semke, Mahdavi, Ott 1997",
    formula="""\
rate = C / (R sqrt(p))
periodic_losses: C = sqrt(3/2) = 1.22 if b = 1, sqrt(3/4) = 0.87 if b = 2
random_losses:   C = 1.31 if b = 1, 0.93 if b = 2""",
    inputs=(
        Input("loss", "p", "", "loss rate", domain=UP_TO_ONE),
        Input("rtt", "R", "s", "round-trip time, assumed independent of the window"),
        Input(
            "segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, ONE_OR_TWO
        ),
    ),
    outputs=(
        Output("periodic_losses", "", "segments/s", "sending rate if losses are evenly spaced"),
        Output("random_losses", "", "segments/s", "sending rate if losses are independent"),
    ),
    goodput="random_losses",
    assumptions=(
        RENO,
        *OF_RANDOM_LOSS_ALONE,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("random_losses",),
            0.15,
            "measured",
            "Reno at 0.02 to 5 % independent loss, 10 to 200 ms, five presets, three recoveries",
        ),
    ),
)
