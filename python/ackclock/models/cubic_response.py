"""CUBIC's response function, with its Reno-friendly region.

RFC 9438 section 5.1 equation 5 (section 5 equation 6 of RFC 8312). With losses every 1/p segments
the window follows one branch of the cubic after each loss. Where AIMD(3 (1 - beta)/(1 + beta),
beta) would have a larger window, the Reno-friendly region follows that instead (section 4.3).

If losses are independent, some windows grow large, and the mean is larger. For each of the two laws
alone the windows at p are those at another loss rate times a constant, so that the mean is a
constant times that of evenly spaced losses. The constants are ours: means over 800,000 losses of
the laws of the RFC, with a standard error of 0.1 %. They depend on beta, on fast convergence
(section 4.7) and on whether the Reno-friendly window grows as Reno's above the last maximum
(section 4.3).

Letters: p loss rate, RTT round-trip time (s), C steepness (segments/s^3), beta_cubic share of the
window kept after a loss.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    OF_RANDOM_LOSS_ALONE,
    needs_random_loss,
    not_cubic,
    unless,
)
from ackclock.models.domain import POSITIVE, PROPER_SHARE, UP_TO_ONE, Domain, check
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


# Mean windows with independent over those with evenly spaced losses, by beta: of the cubic with and
# without fast convergence, of the Reno-friendly window with and without its speed-up.
_BETAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_CUBIC = {
    1: (1.027, 1.050, 1.074, 1.103, 1.135, 1.179, 1.236),
    0: (1.148, 1.161, 1.184, 1.207, 1.234, 1.271, 1.323),
}
_FRIENDLY = {
    1: (1.026, 1.045, 1.069, 1.104, 1.153, 1.230, 1.372),
    0: (1.100, 1.084, 1.070, 1.055, 1.039, 1.026, 1.013),
}


def _constant(table: Mapping[int, tuple[float, ...]], beta: Array, has: Array) -> Array:
    return np.where(has == 1, np.interp(beta, _BETAS, table[1]), np.interp(beta, _BETAS, table[0]))


def _evaluate(
    loss: Array,
    rtt: Array,
    steepness: Array,
    cubic_decrease_factor: Array,
    fast_convergence: Array,
    friendly_speedup: Array,
) -> dict[str, Array]:
    cubic, friendly = (
        cubic_window(loss, rtt, steepness, cubic_decrease_factor),
        friendly_window(loss, cubic_decrease_factor),
    )
    w = np.maximum(cubic, friendly)
    beta = cubic_decrease_factor
    random = np.maximum(
        _constant(_CUBIC, beta, fast_convergence) * cubic,
        _constant(_FRIENDLY, beta, friendly_speedup) * friendly,
    )
    return {
        "window": random,
        "rate": random / rtt,
        "even_window": w,
        "even_rate": w / rtt,
        "cubic_window": cubic,
        "friendly_window": friendly,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    return loss_and_rtt(path) | {
        "steepness": path.control.cubic_c,
        "cubic_decrease_factor": path.control.kept_share,
        "fast_convergence": float(bool(path.control.fast_convergence)),
        "friendly_speedup": float(bool(path.control.reno_friendly_speedup)),
    }


def _refusal(path: FlowPath) -> str:
    control = path.control
    if reason := needs_random_loss(path) or not_cubic(control):
        return reason
    stated = None not in (control.fast_convergence, control.reno_friendly_speedup)
    return unless(stated, f"{control.name} does not state all of its growth")


STEEPNESS = Input("steepness", "C", "segments/s^3", "steepness of the cubic growth", 0.4)
FAST_CONVERGENCE = Input(
    "fast_convergence",
    "",
    "",
    "1 if a loss below the last maximum lowers the maximum further, 0 if not",
    1,
    Domain(values=(0, 1)),
)

MODEL = Model(
    name="cubic_response",
    label="CUBIC response",
    summary="Mean window of CUBIC under random loss, or of its Reno-friendly region if larger.",
    reference="RFC 9438 sections 4.3 and 5.1",
    formula="""\
W = max(k1 W_cubic, k2 W_friendly);  with evenly spaced losses k1 = k2 = 1
k1 = 1.135, or 1.234 without fast convergence;  k2 = 1.153, or 1.039 without speed-up  [beta = 0.7]
W_cubic    = (C (3 + beta)/(4 (1 - beta)))^(1/4) (RTT/p)^(3/4)    [1.054 (RTT/p)^0.75 by default]
W_friendly = sqrt(alpha (1 + beta)/(2 (1 - beta) p)),  alpha = 3 (1 - beta)/(1 + beta)""",
    inputs=(
        LOSS,
        Input("rtt", "RTT", "s", RTT.meaning),
        STEEPNESS,
        Input(
            "cubic_decrease_factor",
            "beta",
            "",
            "share of the window kept by CUBIC after a loss",
            0.7,
            Domain(0.3, 0.9, "[]"),
        ),
        FAST_CONVERGENCE,
        Input(
            "friendly_speedup",
            "",
            "",
            "1 if the Reno-friendly window grows as Reno's above the last maximum (RFC 9438), 0 if "
            "not (RFC 8312, Linux)",
            1,
            Domain(values=(0, 1)),
        ),
    ),
    outputs=(
        Output("window", "W", "segments", "mean window if losses are independent", "cwnd"),
        Output("rate", "W/RTT", "segments/s", "sending rate if losses are independent"),
        Output("even_window", "", "segments", "mean window if losses are evenly spaced"),
        Output("even_rate", "", "segments/s", "sending rate if losses are evenly spaced"),
        Output("cubic_window", "W_cubic", "segments", "mean window of the cubic alone"),
        Output(
            "friendly_window", "W_friendly", "segments", "mean window of the Reno-friendly region"
        ),
    ),
    goodput="rate",
    assumptions=(
        Assumption("cubic", "the control is CUBIC, and one of its two laws decides all the time"),
        AN_ACK_EACH,
        *OF_RANDOM_LOSS_ALONE,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("rate", "window"),
            0.15,
            "measured",
            "CUBIC at 0.02 to 5 % independent loss, 10 to 200 ms, five presets, three recoveries",
        ),
    ),
    usual=True,
)
