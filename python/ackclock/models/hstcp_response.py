"""HighSpeed TCP: its response function w(p), and the increase a(w) and decrease b(w) that give it.

RFC 3649 sections 4 and 5. Up to Low_Window it is standard TCP. From there to High_Window the
response function is a straight line on logarithmic axes, through (Low_P, Low_Window) and (High_P,
High_Window).

Letters: p loss rate, w window (segments), a(w) increase per round trip (segments), b(w) share of
the window given up at a loss.
"""

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    OF_RANDOM_LOSS_ALONE,
    needs_random_loss,
    not_highspeed,
)
from ackclock.models.domain import AT_LEAST_ONE, UP_TO_ONE, check
from ackclock.models.model import Array, Assumption, Model, Output
from ackclock.models.path import Control, FlowPath, loss_and_rtt
from ackclock.models.reno_response import LOSS, RATE, RTT, WINDOW

LOW_WINDOW, HIGH_WINDOW = 38.0, 83000.0
LOW_P, HIGH_P = 1e-3, 1e-7
HIGH_DECREASE = 0.1

# The slope of the straight line; the RFC rounds it to -0.835.
S = float(np.log(HIGH_WINDOW / LOW_WINDOW) / np.log(HIGH_P / LOW_P))


def window(p: ArrayLike) -> Array:
    """Returns w(p) = Low_Window (p/Low_P)^S in segments; above Low_P standard TCP's window.

    Both pass through (Low_P, Low_Window).
    """
    p = np.asarray(p, float)
    check(p=(p, UP_TO_ONE))
    return np.asarray(LOW_WINDOW * (p / LOW_P) ** np.where(p <= LOW_P, S, -0.5))


def log_window(log_p: ArrayLike) -> Array:
    """Returns ln w(p) from ln p, for loss rates too small for a double."""
    above_low = np.asarray(log_p, float) - np.log(LOW_P)
    return np.asarray(np.log(LOW_WINDOW) + above_low * log_slope(log_p))


def log_slope(log_p: ArrayLike) -> Array:
    """Returns the slope d ln w/d ln p: S up to Low_P, standard TCP's -1/2 above."""
    return np.where(np.asarray(log_p, float) <= np.log(LOW_P), S, -0.5)


def rounded_window(p: ArrayLike) -> Array:
    """Returns w(p) with the RFC's rounded constants, 0.12/p^0.835, as in its tables and RFC 9438's.

    Above Low_P it is standard TCP's 1.2/sqrt(p).
    """
    p = np.asarray(p, float)
    check(p=(p, UP_TO_ONE))
    return np.where(p <= LOW_P, 0.12 / p**0.835, 1.2 / np.sqrt(p))


def loss_rate(w: ArrayLike) -> Array:
    """Returns p(w), the inverse of `window`; about 0.078/w^1.2 above Low_Window."""
    w = np.asarray(w, float)
    check(w=(w, AT_LEAST_ONE))
    return np.asarray(LOW_P * (w / LOW_WINDOW) ** np.where(w >= LOW_WINDOW, 1 / S, -2.0))


def decrease(w: ArrayLike) -> Array:
    """Returns b(w): 1/2 up to Low_Window, then linear in log w, to High_Decrease at High_Window.

    It stays constant beyond. The RFC does not define larger windows, for which the straight line
    would become negative.
    """
    w = np.asarray(w, float)
    check(w=(w, AT_LEAST_ONE))
    along = np.log(np.maximum(w, LOW_WINDOW) / LOW_WINDOW) / np.log(HIGH_WINDOW / LOW_WINDOW)
    return np.asarray(0.5 + (HIGH_DECREASE - 0.5) * np.minimum(along, 1.0))


def increase(w: ArrayLike) -> Array:
    """Returns a(w) in segments per round trip: 1 up to Low_Window, then from the response function.

    There it is w^2 p(w) 2 b(w)/(2 - b(w)).
    """
    w = np.asarray(w, float)
    b = decrease(w)
    return np.where(w <= LOW_WINDOW, 1.0, w**2 * loss_rate(w) * 2 * b / (2 - b))


def kept_share(control: Control, window: float) -> float:
    """Returns the share of a window that a control keeps after a loss; NaN if it is not stated.

    Args:
        control: A control that reacts to losses, or states that it does not.
        window: Window in segments.
    """
    if control.is_highspeed:
        return 1 - float(decrease(max(window, 1.0)))
    return 1.0 if control.kept == "all" else control.kept_share


def _evaluate(loss: Array, rtt: Array) -> dict[str, Array]:
    w = window(loss)
    at_least_one = np.maximum(w, 1.0)
    return {
        "window": w,
        "rate": w / rtt,
        "increase": increase(at_least_one),
        "decrease": decrease(at_least_one),
    }


def _refusal(path: FlowPath) -> str:
    return needs_random_loss(path) or not_highspeed(path.control)


MODEL = Model(
    name="hstcp_response",
    label="HSTCP response",
    summary="Mean window of HighSpeed TCP, which depends on loss more steeply than Reno's.",
    reference="RFC 3649 sections 4 and 5",
    formula="""\
w(p) = 38 (p/10^-3)^S,  S = ln(83000/38)/ln(10^-7/10^-3)   if p <= 10^-3
       38 sqrt(10^-3/p)                                    else
p(w) is its inverse, about 0.078/w^1.2
b(w) = 0.5 - 0.4 ln(w/38)/ln(83000/38) from 38 to 83000 segments, constant below and above
a(w) = w^2 p(w) 2 b(w)/(2 - b(w))""",
    inputs=(LOSS, RTT),
    outputs=(
        WINDOW,
        RATE,
        Output("increase", "a(w)", "segments", "growth of the mean window per round trip"),
        Output("decrease", "b(w)", "", "share of the mean window given up at a loss"),
    ),
    goodput="rate",
    assumptions=(
        Assumption(
            "hstcp",
            "the control is HighSpeed TCP with the RFC's parameters; losses are evenly spaced",
        ),
        AN_ACK_EACH,
        *OF_RANDOM_LOSS_ALONE,
    ),
    evaluate=_evaluate,
    inputs_of=loss_and_rtt,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("rate", "window"),
            0.15,
            "measured",
            "HighSpeed TCP at 0.01 to 5 % independent loss, 10 to 200 ms",
        ),
    ),
)
