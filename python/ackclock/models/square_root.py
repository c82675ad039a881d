"""The square-root law: what one flow gets when its window is cut at random and nothing else holds it back.

Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm", Computer
Communication Review 27(3), 1997; with general increase and decrease as in Floyd, Handley and Padhye, "A comparison of
equation-based and AIMD congestion control", 2000.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.models.domain import check
from ackclock.models.model import Input, Model, Verdict, needs_random_loss
from ackclock.models.path import FlowPath

# C for evenly spaced losses, an ACK for each segment, growth by one, decrease by a half.
PERIODIC = math.sqrt(3 / 2)


def constant(b: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> float:
    """C of the law for deterministic, evenly spaced losses.

    A saw-tooth between beta W and W, rising by alpha/b a round trip, carries (1 - beta^2) b W^2 / (2 alpha) segments
    between losses, which is 1/p. Its mean window (1 + beta) W / 2 is therefore C / sqrt(p).

    Args:
        b: Segments acknowledged by one ACK: 1, or 2 with delayed ACKs. C is 1.2247 and 0.8660.
        alpha: Growth in segments per round trip if b = 1.
        beta: What is left of the window after a loss.
    """
    check(b=(b, b >= 1), alpha=(alpha, alpha > 0), beta=(beta, 0 <= beta < 1))
    return math.sqrt(alpha * (1 + beta) / (2 * b * (1 - beta)))


def rate(R: ArrayLike, p: ArrayLike, C: ArrayLike = PERIODIC) -> NDArray[np.float64]:
    """C / (R sqrt(p)).

    Args:
        R: Round-trip time in s, positive.
        p: Loss rate, in (0, 1].
        C: See `constant`.

    Returns:
        Segments per second; the arguments are broadcast.
    """
    R, p, C = np.asarray(R, float), np.asarray(p, float), np.asarray(C, float)
    check(R=(R, R > 0), p=(p, (p > 0) & (p <= 1)), C=(C, C > 0))
    return np.asarray(C / (R * np.sqrt(p)))


# A window of W leaves W - 1 duplicate ACKs at best; half a mean window is what there is after a loss. Three are needed.
_FEW_SEGMENTS = 10


def _mean_window(path: FlowPath) -> float:
    return constant(path.segments_per_ack, path.growth_segments, path.kept_share) / math.sqrt(path.loss)


def _goodput(path: FlowPath) -> float:
    C = constant(path.segments_per_ack, path.growth_segments, path.kept_share)
    return float(rate(path.round_trip_s, path.loss, C))


def _applies(path: FlowPath) -> Verdict:
    verdict = needs_random_loss(path)
    if verdict.applies and not path.is_aimd:
        return Verdict(False, (f"does not apply: {path.control} is no AIMD",))
    if verdict.applies and _mean_window(path) < _FEW_SEGMENTS:
        few = f"windows are small (below {_FEW_SEGMENTS} segments), so that timeouts, which it leaves out, count"
        return Verdict(True, (*verdict.notes, few))
    return verdict


MODEL = Model(
    name="square_root",
    label="square root",
    summary="C/(R sqrt p): congestion avoidance alone, with evenly spaced losses.",
    reference="Mathis, Semke, Mahdavi, Ott 1997; Floyd, Fall 1999",
    inputs=(
        Input("R", "s", "round-trip time without queueing"),
        Input("p", "", "loss rate"),
        Input("b", "segments", "segments acknowledged by one ACK"),
        Input("C", "", "sqrt(alpha (1 + beta) / (2 b (1 - beta)))"),
    ),
    assumptions=(
        "additive increase, multiplicative decrease",
        "losses are few and far between: no timeouts, no loss of a retransmission",
        "the round-trip time does not depend on the window",
        "always data to send, no slow start, no window limit",
    ),
    goodput=_goodput,
    applies=_applies,
)
