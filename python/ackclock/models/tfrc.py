"""The throughput equation of TCP Friendly Rate Control (TFRC).

RFC 5348 section 3.1: PFTK's short form without its window limit, with t_RTO = 4 R and b = 1
recommended. Rates here are in segments per second. The RFC's X_Bps is that times the segment size s
in bytes.

Letters: p loss event rate, R round-trip time (s), t_RTO retransmission timeout (s), b segments
acknowledged by one ACK.
"""

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    OF_RANDOM_LOSS,
    few_timeouts,
    needs_equation,
    needs_reno,
    unless,
)
from ackclock.models.domain import AT_LEAST_ONE, POSITIVE, UP_TO_ONE, check
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule
from ackclock.models.path import FlowPath, loss_and_rtt


def rate(p: ArrayLike, R: ArrayLike, t_RTO: ArrayLike | None = None, b: ArrayLike = 1) -> Array:
    """Returns X in segments per second; t_RTO is 4 R by default. The arguments are broadcast."""
    p, R, b = np.asarray(p, float), np.asarray(R, float), np.asarray(b, float)
    t_RTO = 4 * R if t_RTO is None else np.asarray(t_RTO, float)
    check(p=(p, UP_TO_ONE), R=(R, POSITIVE), t_RTO=(t_RTO, POSITIVE), b=(b, AT_LEAST_ONE))
    timeouts = t_RTO * 3 * np.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
    return np.asarray(1 / (R * np.sqrt(2 * b * p / 3) + timeouts))


def _evaluate(
    loss: Array, rtt: Array, tcp_timeout: Array, segments_per_ack: Array
) -> dict[str, Array]:
    sent = rate(loss, rtt, tcp_timeout, segments_per_ack)
    return {"rate": sent, "goodput": (1 - loss) * sent}


#: The loss rate that TFRC's equation uses.
TFRC = "loss_intervals"

# A timeout within this factor of the RFC's 4 R does not violate the assumption.
_ABOUT = 1.5


def _other_timeout(path: FlowPath) -> str:
    ratio = path.sender.first_timeout_s / (4 * path.round_trip.base_s)
    return unless(
        1 / _ABOUT <= ratio <= _ABOUT,
        f"the first timeout is {path.sender.first_timeout_s:.4g} s, but 4 R is "
        f"{4 * path.round_trip.base_s:.4g} s",
    )


# The equation has Reno's timeouts, but not all of its recovery: where that takes more of the time,
# Reno's rate is up to 17 % lower (`benches/accuracy.py`).
_MOST_RECOVERY = 0.08


def _slow_recovery(path: FlowPath) -> str:
    return few_timeouts(_MOST_RECOVERY).violation(path) if path.sender.transport == "tcp" else ""


def _inputs_of(path: FlowPath) -> dict[str, float]:
    """Returns a TFRC flow's own timeout and b; for a TCP flow the recommended ones."""
    if path.sender.transport == "tcp":
        return loss_and_rtt(path)
    return loss_and_rtt(path) | {
        "tcp_timeout": path.sender.first_timeout_s,
        "segments_per_ack": path.sender.segments_per_ack,
    }


def _refusal(path: FlowPath) -> str:
    is_tfrc = path.control.equation == TFRC
    return needs_equation(path, TFRC, "tfrc") if is_tfrc else needs_reno(path)


MODEL = Model(
    name="tfrc",
    label="RFC 5348",
    summary="Sending rate of TCP Friendly Rate Control (TFRC) at a loss event rate, and goodput.",
    reference="RFC 5348 section 3.1",
    formula="""\
X = 1 / (R sqrt(2 b p/3) + t_RTO 3 sqrt(3 b p/8) p (1 + 32 p^2))
goodput = (1 - p) X""",
    inputs=(
        Input(
            "loss",
            "p",
            "",
            "loss event rate: losses within a round trip count once",
            domain=UP_TO_ONE,
        ),
        Input("rtt", "R", "s", "round-trip time"),
        Input(
            "tcp_timeout",
            "t_RTO",
            "s",
            "estimate of TCP's retransmission timeout",
            Rule("4 R", lambda inputs: 4 * inputs["rtt"]),
        ),
        Input(
            "segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, AT_LEAST_ONE
        ),
    ),
    outputs=(
        Output("rate", "X", "segments/s", "allowed sending rate"),
        Output("goodput", "", "segments/s", "what of it is not lost, if each loss is an event"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption("reno", "the competing TCP is Reno: increase by one, decrease by half"),
        Assumption(
            "timeout_of_four_round_trips",
            "the retransmission timeout is four round-trip times",
            _other_timeout,
        ),
        Assumption(
            few_timeouts(_MOST_RECOVERY).name,
            few_timeouts(_MOST_RECOVERY).sentence,
            _slow_recovery,
        ),
        AN_ACK_EACH,
        Assumption(
            "losses_are_events",
            "at most one packet is lost per round trip, so that each loss is an event",
        ),
        *OF_RANDOM_LOSS,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.2,
            "measured",
            "Reno and TFRC at 0.05 to 5 % independent loss, 10 to 200 ms",
        ),
    ),
)
