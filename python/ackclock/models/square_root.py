"""The square-root law: the rate of a flow that only random losses limit.

Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
algorithm", Computer Communication Review 27(3), 1997. General increase and decrease are as in
Floyd, Handley and Padhye, "A comparison of equation-based and AIMD congestion control", 2000.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    OF_EVEN_LOSS_ALONE,
    needs_aimd,
    needs_loss_and_round_trip,
    not_aimd,
)
from ackclock.models.domain import AT_LEAST_ONE, BELOW_ONE, POSITIVE, UP_TO_ONE, check
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath, loss_and_rtt

# C for evenly spaced losses, one ACK per segment, increase by one, decrease by half.
PERIODIC = math.sqrt(3 / 2)


def constant(b: ArrayLike = 1.0, alpha: ArrayLike = 1.0, beta: ArrayLike = 0.5) -> Array:
    """Returns the constant C of the law for evenly spaced losses.

    A saw-tooth between beta W and W that rises by alpha/b per round trip carries (1 - beta^2) b W^2
    / (2 alpha) segments between losses, which is 1/p. Its mean window (1 + beta) W / 2 is therefore
    C / sqrt(p).

    Args:
        b: Segments acknowledged by one ACK: 1, or 2 with delayed ACKs. C is 1.2247 and 0.8660.
        alpha: Growth in segments per round trip if b = 1.
        beta: Share of the window kept after a loss.
    """
    b, alpha, beta = np.asarray(b, float), np.asarray(alpha, float), np.asarray(beta, float)
    check(b=(b, AT_LEAST_ONE), alpha=(alpha, POSITIVE), beta=(beta, BELOW_ONE))
    return np.asarray(np.sqrt(alpha * (1 + beta) / (2 * b * (1 - beta))))


def rate(p: ArrayLike, R: ArrayLike, C: ArrayLike = PERIODIC) -> Array:
    """Returns the rate C / (R sqrt(p)).

    Args:
        p: Loss rate, in (0, 1].
        R: Round-trip time in s, positive.
        C: Constant of the law, as `constant` returns it.

    Returns:
        Segments per second; the arguments are broadcast.
    """
    p, R, C = np.asarray(p, float), np.asarray(R, float), np.asarray(C, float)
    check(p=(p, UP_TO_ONE), R=(R, POSITIVE), C=(C, POSITIVE))
    return np.asarray(C / (R * np.sqrt(p)))


def _evaluate(
    loss: Array,
    rtt: Array,
    segments_per_ack: Array,
    additive_increase: Array,
    decrease_factor: Array,
) -> dict[str, Array]:
    C = constant(segments_per_ack, additive_increase, decrease_factor)
    return {"rate": rate(loss, rtt, C), "window": C / np.sqrt(loss)}


def inputs_of(path: FlowPath) -> dict[str, float]:
    """Returns the inputs of a model of any AIMD."""
    aimd = {
        "segments_per_ack": path.sender.segments_per_ack,
        "additive_increase": path.control.growth_segments,
        "decrease_factor": path.control.kept_share,
    }
    return loss_and_rtt(path) | aimd


def _refusal(path: FlowPath) -> str:
    """Returns the reason why it does not apply: no AIMD on the window, or on the rate for UDP."""
    of_a_rate = path.sender.transport != "tcp" and path.control.is_aimd
    of_rates = needs_loss_and_round_trip(path) or not_aimd(path.control)
    return of_rates if of_a_rate else needs_aimd(path)


#: The inputs of all models of any AIMD besides loss rate and round-trip time.
AIMD_INPUTS = (
    Input("segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, AT_LEAST_ONE),
    Input(
        "additive_increase", "alpha", "segments", "growth of the window per round trip if b = 1", 1
    ),
    Input("decrease_factor", "beta", "", "share of the window kept after a loss", 0.5, BELOW_ONE),
)

MODEL = Model(
    name="square_root",
    label="square root",
    summary="C/(R sqrt p): rate of any AIMD in congestion avoidance, with evenly spaced losses.",
    reference="Mathis, Semke, Mahdavi, Ott 1997; Floyd, Handley, Padhye 2000",
    formula="rate = W / R,  W = C / sqrt(p),  C = sqrt(alpha (1 + beta) / (2 b (1 - beta)))",
    inputs=(
        Input("loss", "p", "", "loss rate", domain=UP_TO_ONE),
        Input("rtt", "R", "s", "round-trip time without queueing"),
        *AIMD_INPUTS,
    ),
    outputs=(
        Output("rate", "", "segments/s", "sending rate"),
        Output("window", "W", "segments", "mean window", "cwnd"),
    ),
    goodput="rate",
    assumptions=(
        Assumption("aimd", "additive increase, multiplicative decrease"),
        *OF_EVEN_LOSS_ALONE,
    ),
    evaluate=_evaluate,
    inputs_of=inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("rate", "window"),
            0.15,
            "measured",
            "AIMD of TCP at 0.02 to 5 % independent loss, 10 to 200 ms, five presets, "
            "three recoveries",
        ),
    ),
    usual=True,
)
