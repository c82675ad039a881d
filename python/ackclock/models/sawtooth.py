"""The deterministic saw-tooth: flows that lose only when a drop-tail queue overflows.

The window of all flows together rises by a = N alpha/b per round trip from beta Wm to Wm = P + B,
at which the queue overflows; P = mu T is the bandwidth-delay product. A round trip with window W
takes T while W < P, and W/mu above, where the link is always busy. L is max(beta Wm, P). The fluid
limit is:

    Segments per cycle:  S = (Wm^2 - (beta Wm)^2) / (2 a)
    Length of a cycle:   t = ((L - beta Wm) T + (Wm^2 - L^2)/(2 mu)) / a
    Queue x time:        A = ((Wm^3 - L^3)/3 - P (Wm^2 - L^2)/2) / (a mu)

For alpha = 1, beta = 1/2 these are the classical results on one flow and one buffer. Villamizar and
Song, "High performance TCP in ANSNET", Computer Communication Review 24(5), 1994, show that a
buffer of P keeps the link busy. Lakshman and Madhow, "The performance of TCP/IP for networks with
high bandwidth-delay products and random loss", IEEE/ACM Transactions on Networking 5(3), 1997,
derive the two phases of the cycle. General alpha and beta follow by the same integrals.

The fluid limit leaves out whole segments. The loss rate does not: the window reaches Wm + 1 + a, as
a segment is being sent and the sender hears of a loss a round trip later. One more window of about
(1 + beta)/2 of it is sent while the loss is repaired. This is derived here.

Letters: mu link rate (segments/s), T base round-trip time (s), B buffer (segments). N is the number
of synchronised flows, alpha the growth per round trip (segments), beta the share of the window kept
after a loss, b the segments acknowledged by one ACK.
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
    first_repair,
    long_run,
    needs_tcp,
    no_droptail,
    not_aimd,
    rate_varies,
    slow_recovery,
    unless,
)
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, PROPER_SHARE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath


def cycle(
    rate: Array,
    rtt: Array,
    buffer: Array,
    flows: Array,
    additive_increase: Array,
    decrease_factor: Array,
    segments_per_ack: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    mu, T, B, beta = rate, rtt, buffer, decrease_factor
    a, P = flows * additive_increase / segments_per_ack, mu * T
    Wm = P + B
    W0 = beta * Wm
    L = np.maximum(W0, P)
    # Differences of squares and cubes are factored, to avoid cancellation for beta near one or
    # small buffers.
    squares = (Wm - L) * (Wm + L)
    S = (Wm - W0) * (Wm + W0) / (2 * a)
    idle = (L - W0) * T  # the link is idle for part of that time
    t = (idle + squares / (2 * mu)) / a
    # Integral of (W - P) W/mu over W from L to Wm, written with x = W - P from low to B.
    low = L - P
    A = ((B**3 - low**3) / 3 + P * (B**2 - low**2) / 2) / (a * mu)
    queue = A / t
    top = Wm + 1 + a
    sent = (top - beta * top) * (top + beta * top) / (2 * a) + (1 + beta) / 2 * top
    utilisation = np.where(W0 >= P, 1.0, S / (mu * t))
    return {
        "goodput": utilisation * mu / flows,
        "utilisation": utilisation,
        "mean_queue": queue,
        "queueing_delay": queue / mu,
        "mean_rtt": T + queue / mu,
        "largest_rtt": T + B / mu,
        "loss_rate": flows * np.maximum(additive_increase / segments_per_ack, 1.0) / sent,
        "period": t,
        "peak_window": Wm / flows,
        "full_buffer": P * (1 - beta) / beta,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, control = path.bottleneck, path.control
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "buffer": bottleneck.buffer_segments, "flows": float(bottleneck.flows),
        "additive_increase": control.growth_segments,
        "decrease_factor": control.kept_share,
        "segments_per_ack": path.sender.segments_per_ack,
    }  # fmt: skip


def period_s(path: FlowPath) -> float:
    """Returns the time between overflows."""
    inputs = {name: np.asarray(value) for name, value in _inputs_of(path).items()}
    return float(cycle(**inputs)["period"])


def _cycle_segments(path: FlowPath) -> float:
    """Returns the segments of one flow between overflows."""
    return float(
        (1 - path.control.kept_share**2)
        * _top(path) ** 2
        * path.sender.segments_per_ack
        / (2 * path.control.growth_segments)
    )


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    reason = (
        needs_tcp(path)
        or not_aimd(path.control)
        or rate_varies(bottleneck)
        or no_droptail(bottleneck)
    )
    if reason:
        return reason
    if bottleneck.segments_per_s == 0:
        return "the bottleneck sends nothing"
    return overflow_refusal(path, _cycle_segments(path))


def overflow_refusal(path: FlowPath, cycle_segments: float) -> str:
    """Returns the reason why the queue does not overflow; empty if it does.

    Args:
        path: The path of the flow.
        cycle_segments: Segments of the flow between overflows.
    """
    reasons = {
        "the receive window keeps the queue from overflowing": path.sender.receive_window_segments
        <= _top(path),
        "random loss occurs before the queue overflows": path.loss.rate * cycle_segments > 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _top(path: FlowPath) -> float:
    """Returns a flow's window at the overflow."""
    return path.share_segments + path.bottleneck.buffer_segments / path.bottleneck.flows


def _out_of_step(path: FlowPath) -> str:
    alike = "" if path.bottleneck.flows_are_alike else "differ, and "
    return unless(
        path.bottleneck.flows == 1,
        f"{path.bottleneck.flows} flows {alike}may lose at different times",
    )


# Smaller queues lose to bursts: goodput is then up to 11 % lower (`benches/accuracy.py`).
_FEWEST_PLACES = 5.0

# More lost segments per overflow violate that it loses one. Chosen here.
_FEW_LOST = 1.3

#: A smaller window at the overflow may yield too few duplicate ACKs after a reduction.
FEWEST_SEGMENTS = 8.0


def slow_repair(path: FlowPath, lost: float = 1.0, least: float = FEWEST_SEGMENTS) -> str:
    """Returns why the repair of an overflow takes long; empty if it does not.

    Args:
        path: The path of the flow.
        lost: Segments of the flow that an overflow loses.
        least: Smallest window at the overflow.
    """
    recovery, top = path.sender.recovery, _top(path)
    if reason := slow_recovery(path):
        return reason
    if recovery in ("reno", "newreno") and lost > _FEW_LOST:
        return f"an overflow loses about {lost:.3g} segments, and {recovery} repairs one at a time"
    held, burst = path.bottleneck.buffer_segments, burst_segments(path)
    if held < max(_FEWEST_PLACES, 2 * burst):
        return f"a queue of {held:.3g} segments has no room for bursts"
    if reason := burst_elsewhere(path):
        return reason
    return first_repair(path, top) or unless(
        top >= least,
        f"windows of {top:.3g} segments are small, and losses need the timer",
    )


IN_STEP = Assumption(
    "in_step", "all flows at the bottleneck are identical and lose at the same time", _out_of_step
)
QUICK_REPAIR = Assumption(
    "one_loss_at_an_overflow",
    "each flow reduces its window once per overflow, and recovery takes no time",
    slow_repair,
)

#: What both saw-tooth models know of the path.
OF_A_DROPTAIL_QUEUE = (
    Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
    Input("rtt", "T", "s", "round-trip time without queueing, one segment's service included"),
    Input(
        "buffer",
        "B",
        "segments",
        "queue limit, without the segment being sent",
        domain=NOT_NEGATIVE,
        on_wire=True,
    ),
    Input(
        "flows",
        "N",
        "",
        "flows that share the link, all identical",
        1,
        AT_LEAST_ONE,
        whole=True,
    ),
)

MODEL = Model(
    name="sawtooth",
    label="saw-tooth",
    summary="AIMD with a drop-tail queue: link utilisation, queue length and time between losses.",
    reference="Villamizar, Song 1994; Lakshman, Madhow 1997",
    formula="""\
a = N alpha/b,  P = mu T,  Wm = P + B,  W0 = beta Wm,  L = max(W0, P)
S = (Wm^2 - W0^2)/(2 a)
t = ((L - W0) T + (Wm^2 - L^2)/(2 mu))/a
utilisation = S/(mu t),  goodput = S/(N t),  period = t
W+ = Wm + 1 + a,  loss_rate = N max(alpha/b, 1)/(W+^2 (1 - beta^2)/(2 a) + W+ (1 + beta)/2)
mean_queue = ((Wm^3 - L^3)/3 - P (Wm^2 - L^2)/2)/(a mu t),  mean_rtt = T + mean_queue/mu
full_buffer = P (1 - beta)/beta""",
    inputs=(
        *OF_A_DROPTAIL_QUEUE,
        Input(
            "additive_increase",
            "alpha",
            "segments",
            "growth of a flow's window per round trip if b = 1",
            1,
        ),
        Input(
            "decrease_factor",
            "beta",
            "",
            "share of the window kept after a loss",
            0.5,
            PROPER_SHARE,
        ),
        Input(
            "segments_per_ack",
            "b",
            "segments",
            "segments acknowledged by one ACK (1 with byte counting)",
            1,
            AT_LEAST_ONE,
        ),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "goodput of each flow"),
        Output("utilisation", "", "", "share of the link's rate used by all flows"),
        Output("mean_queue", "", "segments", "queue length, mean over time"),
        Output("queueing_delay", "", "s", "queueing delay, mean over time"),
        Output("mean_rtt", "", "s", "round-trip time, mean over time", "rtt"),
        Output("largest_rtt", "", "s", "round-trip time with a full queue"),
        Output(
            "loss_rate",
            "",
            "",
            "losses per segment after slow start",
        ),
        Output("period", "t", "s", "time between overflows"),
        Output("peak_window", "Wm/N", "segments", "a flow's window at the overflow"),
        Output("full_buffer", "", "segments", "smallest buffer that keeps the link always busy"),
    ),
    goodput="goodput",
    assumptions=(
        NO_RANDOM_LOSS,
        IN_STEP,
        AN_ACK_EACH,
        QUICK_REPAIR,
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(period_s),
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=cycle,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.1,
            "measured",
            "Reno in buffers of 0.1 to 3 bandwidth-delay products of 8 to 600 "
            "segments, 8 to 200 ms",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
        Accuracy(("loss_rate",), 0.1, "measured", "the same paths, after the warm-up"),
    ),
    usual=True,
)
