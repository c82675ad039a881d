"""A queue that drops at random, with a probability that is adapted until the delay meets a target.

PIE (RFC 8033) and PI2 (RFC 9332 appendix A) integrate the distance of the delay from the target D.
So in steady state the mean delay is D, and the link is always busy. N flows with round-trip time T
then have windows W = mu (T + D)/N each. The drop probability is the one at which the square-root
law gives that window: p = (C/W)^2 (Mathis, Semke, Mahdavi and Ott 1997; C is `square_root`'s). PI2
squares a base probability p', which is therefore C/W. Derived here; no paper prints it so.
"""

from math import nan

import numpy as np

from ackclock.models import square_root
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    FIRST_REPAIR,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    MARKS_AS_LOSSES,
    NO_RANDOM_LOSS,
    PEAK_RECEIVED,
    QUICK_RECOVERY,
    SAME_ROUND_TRIPS,
    STEADY_FLOWS,
    jitter,
    lacks,
    long_run,
    needs_tcp,
    not_aimd,
    not_received,
    rate_varies,
    unless,
    unlike_competitors,
)
from ackclock.models.domain import AT_LEAST_ONE, BELOW_ONE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath

#: Below this window, drops lead to timeouts, which the law ignores.
FEWEST_SEGMENTS = 16

# With fewer flows, or longer round trips, the probability swings and the queue runs empty: goodput
# is up to 10 % lower and the delay up to 29 % lower (`benches/accuracy.py`).
_FEWEST_FLOWS, _LONGEST_RTT_S = 3, 0.1


def steady_state(
    rate: Array,
    rtt: Array,
    target: Array,
    flows: Array,
    segments_per_ack: Array,
    additive_increase: Array,
    decrease_factor: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    C = square_root.constant(segments_per_ack, additive_increase, decrease_factor)
    R = rtt + target
    W = rate * R / flows
    base = np.minimum(C / W, 1.0)
    p = base**2
    return {
        "goodput": rate * (1 - p) / flows,
        "loss_rate": p,
        "base_probability": base,
        "window": W,
        "mean_rtt": R,
        "mean_queue": rate * target,
        "queueing_delay": np.broadcast_to(target, np.shape(W)),
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, control = path.bottleneck, path.control
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "target": bottleneck.steering.target_s if bottleneck.steering else 0.0,
        "flows": float(bottleneck.flows),
        "segments_per_ack": path.sender.segments_per_ack,
        "additive_increase": control.growth_segments,
        "decrease_factor": control.kept_share,
    }  # fmt: skip


def _state(path: FlowPath) -> dict[str, Array]:
    return steady_state(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})


def _between_losses_s(path: FlowPath) -> float:
    state = _state(path)
    per_s = float(state["loss_rate"] * state["window"] / state["mean_rtt"])
    return 1 / per_s if per_s > 0 else nan


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    steering = bottleneck.steering
    if reason := needs_tcp(path) or not_aimd(path.control) or rate_varies(bottleneck):
        return reason
    if not steering:
        return lacks(bottleneck, steering, "a law that steers its delay to a target")
    if steering.law != "random":
        return f"{bottleneck.queue} does not drop at random to steer its delay"
    return unlike_competitors(path)


def _swings(path: FlowPath) -> str:
    flows, rtt_s = path.bottleneck.flows, path.round_trip.base_s
    return unless(
        flows >= _FEWEST_FLOWS and rtt_s <= _LONGEST_RTT_S,
        f"the queue runs empty with {flows} flow{'s' if flows > 1 else ''} at a round-trip time of "
        f"{rtt_s * 1e3:.3g} ms",
    )


def _small_windows(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    if not bottleneck.steering:
        return ""
    delay = path.round_trip.base_s + bottleneck.steering.target_s
    window = bottleneck.segments_per_s * delay / bottleneck.flows
    return unless(
        window >= FEWEST_SEGMENTS,
        f"windows are {window:.3g} segments, and timeouts are ignored",
    )


MODEL = Model(
    name="steered_queue",
    label="steered queue",
    summary="AIMD flows through PIE or PI2: window, drop probability and delay in steady state.",
    reference="RFC 8033; RFC 9332 appendix A; Mathis, Semke, Mahdavi, Ott 1997",
    formula="""\
R = T + D,  W = mu R / N,  p' = C / W,  loss_rate = p'^2
goodput = mu (1 - loss_rate) / N,  mean_rtt = R,  mean_queue = mu D
C = sqrt(alpha (1 + beta) / (2 b (1 - beta)))""",
    inputs=(
        Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T", "s", "round-trip time without queueing"),
        Input("target", "D", "s", "delay to which the queue steers"),
        Input("flows", "N", "", "AIMD flows that share the link", 1, AT_LEAST_ONE, whole=True),
        Input(
            "segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, AT_LEAST_ONE
        ),
        Input(
            "additive_increase", "alpha", "segments",
            "growth of the window per round trip if b = 1", 1,
        ),
        Input(
            "decrease_factor", "beta", "", "share of the window kept after a loss", 0.5, BELOW_ONE
        ),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "rate of new data of a flow"),
        Output("loss_rate", "", "", "drop or mark probability"),
        Output("base_probability", "p'", "", "PI2's base probability, before it is squared"),
        Output("window", "W", "segments", "mean window of a flow", "cwnd"),
        Output("mean_rtt", "R", "s", "mean round-trip time", "rtt"),
        Output("mean_queue", "", "segments", "mean number of packets in the queue"),
        Output("queueing_delay", "", "s", "mean queueing delay"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption("aimd", "additive increase, multiplicative decrease"),
        Assumption(
            "steered", "the mean delay is the target, and the link is always busy: the flows can "
            "fill it, and the probability is not cut off at 0", _swings,
        ),
        FIRST_REPAIR,
        QUICK_RECOVERY,
        Assumption(
            "no_window_limit", "the receive window is above the windows that drops leave",
            lambda path: not_received(path, float(_state(path)["window"]) * PEAK_RECEIVED),
        ),
        Assumption("few_timeouts", "windows are large: there are no timeouts", _small_windows),
    FREE_ACKS,
    FREQUENT_ACKS,
        GREEDY,
        long_run(_between_losses_s),
        STEADY_FLOWS,
        MARKS_AS_LOSSES,
        NO_RANDOM_LOSS,
        SAME_ROUND_TRIPS,
        Assumption("steady_rtt", "the round-trip time is nearly constant", jitter),
    ),
    evaluate=steady_state,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.05,
            "measured",
            "3 to 8 AIMD flows through PIE and PI2, bandwidth-delay products of 30 to "
            "600 segments, 8 to 100 ms",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
        Accuracy(("window",), 0.15, "measured", "the same paths"),
    ),
    usual=True,
)  # fmt: skip
