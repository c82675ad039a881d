"""CUBIC's response function, with its Reno-friendly region.

RFC 9438 section 5.1 equation 5 (section 5 equation 6 of RFC 8312). With losses every 1/p segments
the window follows one branch of the cubic after each loss. Where AIMD(3 (1 - beta)/(1 + beta),
beta) would have a larger window, the Reno-friendly region follows that instead (section 4.3).

Letters: p loss rate, RTT round-trip time (s), C steepness (segments/s^3), beta_cubic share of the
window kept after a loss.
"""

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    OF_RANDOM_LOSS_ALONE,
    needs_random_loss,
    not_cubic,
)
from ackclock.models.domain import POSITIVE, PROPER_SHARE, UP_TO_ONE, check
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath, loss_and_rtt
from ackclock.models.reno_response import LOSS, RTT
from ackclock.models.square_root import constant


def cubic_window(p: ArrayLike, RTT: ArrayLike, C: ArrayLike = 0.4, beta: ArrayLike = 0.7) -> Array:
    """Returns the mean window of the cubic alone, in segments.

    It is (C (3 + beta)/(4 (1 - beta)))^(1/4) (RTT/p)^(3/4).
    """
    p, RTT = np.asarray(p, float), np.asarray(RTT, float)
    C, beta = np.asarray(C, float), np.asarray(beta, float)
    check(p=(p, UP_TO_ONE), RTT=(RTT, POSITIVE), C=(C, POSITIVE), beta=(beta, PROPER_SHARE))
    return np.asarray((C * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (RTT / p) ** 0.75)


def friendly_window(p: ArrayLike, beta: ArrayLike = 0.7) -> Array:
    """Returns the mean window of the Reno-friendly region: Reno's sqrt(3/2/p) for any beta."""
    p, beta = np.asarray(p, float), np.asarray(beta, float)
    check(p=(p, UP_TO_ONE), beta=(beta, PROPER_SHARE))
    alpha = 3 * (1 - beta) / (1 + beta)
    return np.asarray(constant(alpha=alpha, beta=beta) / np.sqrt(p))


def window(p: ArrayLike, RTT: ArrayLike, C: ArrayLike = 0.4, beta: ArrayLike = 0.7) -> Array:
    """Returns the larger of the two windows, in segments; the arguments are broadcast."""
    return np.maximum(cubic_window(p, RTT, C, beta), friendly_window(p, beta))


def _evaluate(
    loss: Array, rtt: Array, steepness: Array, cubic_decrease_factor: Array
) -> dict[str, Array]:
    cubic, friendly = (
        cubic_window(loss, rtt, steepness, cubic_decrease_factor),
        friendly_window(loss, cubic_decrease_factor),
    )
    w = np.maximum(cubic, friendly)
    return {"window": w, "rate": w / rtt, "cubic_window": cubic, "friendly_window": friendly}


def _inputs_of(path: FlowPath) -> dict[str, float]:
    return loss_and_rtt(path) | {
        "steepness": path.control.cubic_c,
        "cubic_decrease_factor": path.control.kept_share,
    }


def _refusal(path: FlowPath) -> str:
    return needs_random_loss(path) or not_cubic(path.control)


MODEL = Model(
    name="cubic_response",
    label="CUBIC response",
    summary="Mean window of CUBIC with evenly spaced losses, or Reno's where that is larger.",
    reference="RFC 9438 sections 4.3 and 5.1",
    formula="""\
W = max(W_cubic, W_friendly)
W_cubic    = (C (3 + beta)/(4 (1 - beta)))^(1/4) (RTT/p)^(3/4)    [1.054 (RTT/p)^0.75 by default]
W_friendly = sqrt(alpha (1 + beta)/(2 (1 - beta) p)),  alpha = 3 (1 - beta)/(1 + beta)""",
    inputs=(
        LOSS,
        Input("rtt", "RTT", "s", RTT.meaning),
        Input("steepness", "C", "segments/s^3", "steepness of the cubic growth", 0.4),
        Input(
            "cubic_decrease_factor",
            "beta",
            "",
            "share of the window kept by CUBIC after a loss",
            0.7,
            PROPER_SHARE,
        ),
    ),
    outputs=(
        Output("window", "W", "segments", "mean window", "cwnd"),
        Output("rate", "W/RTT", "segments/s", "sending rate"),
        Output("cubic_window", "W_cubic", "segments", "mean window of the cubic alone"),
        Output(
            "friendly_window", "W_friendly", "segments", "mean window of the Reno-friendly region"
        ),
    ),
    goodput="rate",
    assumptions=(
        Assumption(
            "cubic", "the control is CUBIC without fast convergence; losses are evenly spaced"
        ),
        AN_ACK_EACH,
        *OF_RANDOM_LOSS_ALONE,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(Accuracy(("rate",), 0.1, "measured", "TODO"),),
    usual=True,
)
