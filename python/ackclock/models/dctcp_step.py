"""DCTCP behind a step: the fixed point of flows whose packets are marked above a threshold.

Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3, equations 3 to 10. There are
N synchronised flows, and the queue marks every packet that finds more than K waiting. A flow's
window rises by one segment per round trip. It is W* when the queue reaches K. The marks of that
round trip arrive one later, at a window of W* + 1, which then falls to (1 - alpha/2) of it. The
utilisation, if the queue runs empty, is derived here.

Letters: C link rate (segments/s), T round-trip time without queueing (s; RTT in the paper), K
threshold (segments), N number of flows.
"""

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    NO_RANDOM_LOSS,
    QUEUE_ALONE_DELAYS,
    burst_elsewhere,
    burst_segments,
    long_run,
    needs_tcp,
    not_received,
    rate_varies,
    unless,
    unlike_competitors,
)
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath

# Newton's method on alpha^2 (1 - alpha/4) converges from 1: it is convex and rises on (0, 8/3).
_STEPS = 60


def marked_share(window: Array) -> Array:
    """Returns alpha for W* segments per flow: the root of equation 6 in (0, 1]; 1 if W* is small.

    Args:
        window: W*, not negative.
    """
    aim = np.minimum((2 * window + 1) / (window + 1) ** 2, 0.75)  # 0.75 is the value at alpha = 1
    alpha = np.ones_like(aim)
    for _ in range(_STEPS):
        value, slope = alpha**2 * (1 - alpha / 4), 2 * alpha - 0.75 * alpha**2
        alpha = alpha - (value - aim) / slope
    return np.asarray(alpha)


def fixed_point(rate: Array, rtt: Array, threshold: Array, flows: Array) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    C, T, K, N = rate, rtt, threshold, flows
    window = (C * T + K) / N
    alpha = marked_share(window)
    D = (window + 1) * alpha / 2
    lowest = K + N - N * D
    # Below zero, the queue is empty for part of the cycle, in which the windows of all flows
    # together rise by N per round trip from less than C T.
    idle = np.maximum(-lowest, 0.0)
    lost = idle**2 / (2 * N)  # round trips times missing segments
    per_cycle = D * C * T
    utilisation = 1 - np.minimum(lost / per_cycle, 1.0)
    return {
        "goodput": utilisation * C / N,
        "utilisation": utilisation,
        "window": window,
        "alpha": alpha,
        "amplitude": N * D,
        "largest_queue": K + N,
        "smallest_queue": np.maximum(lowest, 0.0),
        "period": D * T,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck = path.bottleneck
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "threshold": bottleneck.marks_above_segments, "flows": float(bottleneck.flows),
    }  # fmt: skip


def _refusal(path: FlowPath) -> str:
    bottleneck, control = path.bottleneck, path.control
    if reason := needs_tcp(path) or rate_varies(bottleneck):
        return reason
    if control.unstated or control.kept_after_mark is None:
        return control.unstated or f"{control.name} does not state what a mark leaves"
    if control.kept_after_mark != "by_marks" or control.growth_segments != 1:
        return f"{control.name} is not DCTCP"
    if not path.sender.counts_marks:
        return "the sender does not learn the share of marks"
    if np.isnan(bottleneck.marks_above_segments):
        return "the bottleneck is not known to mark all packets above a threshold"
    if np.isnan(bottleneck.buffer_segments):
        return f"{bottleneck.queue} does not state how much it holds"
    if reason := unlike_competitors(path):
        return reason
    room = bottleneck.buffer_segments - bottleneck.marks_above_segments
    return unless(room > bottleneck.flows, "the queue overflows before all marks have an effect")


def _answer(path: FlowPath) -> dict[str, Array]:
    return fixed_point(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})


def _settling_s(path: FlowPath) -> float:
    """Returns the time in which a window grows again after the first mark, which halves it."""
    return float(_answer(path)["window"]) / 2 * path.full_queue_round_trip_s


def _bursts(path: FlowPath) -> str:
    threshold = path.bottleneck.marks_above_segments
    burst = burst_segments(path)
    return burst_elsewhere(path) or unless(
        burst <= threshold,
        f"the sender hands bursts of up to {burst:.3g} segments to its link, more than the "
        f"threshold of {threshold:.3g}",
    )


MODEL = Model(
    name="dctcp_step",
    label="DCTCP behind a step",
    summary="DCTCP with a queue that marks above a threshold: window, marks, queue and cycle.",
    reference="Alizadeh et al. 2010, equations 3 to 10",
    formula="""\
W* = (C T + K)/N,  alpha^2 (1 - alpha/4) = (2 W* + 1)/(W* + 1)^2
D = (W* + 1) alpha/2,  A = N D,  Qmax = K + N,  Qmin = Qmax - A,  period = D T
goodput = utilisation C/N""",
    inputs=(
        Input("rate", "C", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T", "s", "round-trip time without queueing"),
        Input(
            "threshold", "K", "segments", "queue above which packets are marked",
            domain=NOT_NEGATIVE, on_wire=True,
        ),
        Input("flows", "N", "", "flows that share the link, in step", 1, AT_LEAST_ONE, whole=True),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "rate of one flow"),
        Output("utilisation", "", "", "share of the link in use"),
        Output("window", "W*", "segments", "window of a flow at the threshold", "cwnd"),
        Output("alpha", "alpha", "", "share of marks"),
        Output("amplitude", "A", "segments", "amplitude of the queue"),
        Output("largest_queue", "Qmax", "segments", "largest queue"),
        Output("smallest_queue", "Qmin", "segments", "smallest queue, not below zero"),
        Output("period", "", "s", "length of a cycle, in round-trip times without queueing"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption(
            "in_step",
            "all flows have the same round-trip time and control, and are in step",
            lambda path: unless(
                path.bottleneck.flows == 1,
                f"{path.bottleneck.flows} flows may be out of step, which makes the queue calmer",
            ),
        ),
        Assumption(
            "smooth",
            "no burst of a sender reaches the threshold, or fills another queue, by itself",
            _bursts,
        ),
        Assumption(
            "no_window_limit", "the receive window is above the largest window",
            lambda path: not_received(path, float(_answer(path)["window"]) + 1),
        ),
        NO_RANDOM_LOSS,
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(lambda path: float(_answer(path)["period"]), _settling_s),
        QUEUE_ALONE_DELAYS,
        AN_ACK_EACH,
    ),
    evaluate=fixed_point,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.1,
            "measured",
            "one DCTCP flow, links of 20 to 600 segments, thresholds of 0.15 to 1 of "
            "that",
        ),
        Accuracy(("window",), 0.15, "measured", "the same paths"),
    ),
    usual=True,
)  # fmt: skip
