"""Completion time of a transfer: handshake, slow start, first loss, congestion avoidance.

Cardwell, Savage and Anderson, "Modeling TCP latency", INFOCOM 2000, which extends PFTK to short
flows.

Letters: d transfer (segments), p loss rate of data, p_r of ACKs and SYN-ACKs, R round-trip time
(s). T0 is the first retransmission timeout (s), Ts the timer of a lost SYN (s). Wm is the largest
window and w1 the initial window (segments), b the segments acknowledged by one ACK. In slow start
the window grows by gamma = 1 + 1/b per round trip.
"""

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models import pftk
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    FREE_ACKS,
    FREQUENT_ACKS,
    INDEPENDENT_LOSSES,
    STEADY_LINK,
    jitter,
    needs_tcp,
    not_of_given_size,
    not_reno,
    unless,
)
from ackclock.models.domain import (
    AT_LEAST_ONE,
    BELOW_ONE,
    LIMIT,
    NOT_NEGATIVE,
    POSITIVE,
    Domain,
    check,
)
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath
from ackclock.models.refusal import refuse

# A SYN's timer doubles, so its mean is infinite if half of the SYNs are lost or more.
BELOW_HALF = Domain(0, 0.5, "[)")


def handshake_time(R: ArrayLike, Ts: ArrayLike, p: ArrayLike, p_r: ArrayLike = 0.0) -> Array:
    """Returns the mean time in s until the first data can be sent.

    A lost SYN or SYN-ACK waits for Ts, then twice that, and so on. Both loss rates must be below
    1/2 (`BELOW_HALF`).
    """
    R, Ts, p, p_r = (np.asarray(value, float) for value in (R, Ts, p, p_r))
    check(R=(R, POSITIVE), Ts=(Ts, POSITIVE), p=(p, BELOW_HALF), p_r=(p_r, BELOW_HALF))
    # (1-p)/(1-2p) - 1 = p/(1-2p), written so that nothing cancels.
    return np.asarray(R + Ts * (p / (1 - 2 * p) + p_r / (1 - 2 * p_r)))


def slow_start_segments(d: ArrayLike, p: ArrayLike) -> Array:
    """Returns E[d_ss], the number of the d segments sent up to and including the first loss."""
    d, p = np.asarray(d, float), np.asarray(p, float)
    check(d=(d, AT_LEAST_ONE), p=(p, BELOW_ONE))
    some = np.where(p > 0, p, 0.5)  # 0.5 avoids a division by zero; the result is unused
    until_loss = -np.expm1(d * np.log1p(-some)) * (1 - some) / some + 1
    return np.where(p > 0, np.minimum(d, until_loss), d)


def slow_start_window(d_ss: ArrayLike, w1: ArrayLike, b: ArrayLike) -> Array:
    """Returns E[W_ss], the window that slow start reaches with d_ss segments, without a limit."""
    d_ss, w1, gamma = np.asarray(d_ss, float), np.asarray(w1, float), 1 + 1 / np.asarray(b, float)
    return np.asarray(d_ss * (gamma - 1) / gamma + w1 / gamma)


def slow_start_time(
    d_ss: ArrayLike, R: ArrayLike, Wm: ArrayLike, b: ArrayLike, w1: ArrayLike
) -> Array:
    """Returns E[T_ss] in s: windows grow by gamma per round trip up to Wm, and stay there."""
    d_ss, R, Wm, b, w1 = (np.asarray(value, float) for value in (d_ss, R, Wm, b, w1))
    check(R=(R, POSITIVE), Wm=(Wm, LIMIT), b=(b, AT_LEAST_ONE), w1=(w1, AT_LEAST_ONE))
    if not (Wm >= w1).all():
        refuse("Wm", float(Wm.min()), "is below w1; give Wm ≥ w1", "contradiction")
    gamma = 1 + 1 / b
    is_limited = slow_start_window(d_ss, w1, b) > Wm
    top = np.where(is_limited, Wm, w1)  # finite where it is used
    limited = np.log(top / w1) / np.log(gamma) + 1 + (d_ss - (gamma * top - w1) / (gamma - 1)) / top
    rounds = np.where(is_limited, limited, np.log(d_ss * (gamma - 1) / w1 + 1) / np.log(gamma))
    return np.asarray(R * rounds)


def loss_time(d: ArrayLike, p: ArrayLike, w: ArrayLike, R: ArrayLike, T0: ArrayLike) -> Array:
    """Returns E[T_loss] in s, the mean recovery time from a first loss at a window of w."""
    d, p, w, R, T0 = (np.asarray(value, float) for value in (d, p, w, R, T0))
    check(d=(d, AT_LEAST_ONE), p=(p, BELOW_ONE), R=(R, POSITIVE), T0=(T0, POSITIVE))
    some = np.where(p > 0, p, 0.5)
    Q = pftk.timeout_probability(some, np.maximum(w, 1.0))
    recovery = Q * pftk.backoff(some) * T0 / (1 - some) + (1 - Q) * R
    return np.where(p > 0, -np.expm1(d * np.log1p(-some)) * recovery, 0.0)


def _evaluate(
    size: Array, loss: Array, rtt: Array, timeout: Array, window: Array, segments_per_ack: Array,
    initial_window: Array, syn_timer: Array, ack_loss: Array, handshake: Array,
    first_delayed_ack: Array,
) -> dict[str, Array]:  # fmt: skip
    d, p, R, T0, b = size, loss, rtt, timeout, segments_per_ack
    w1 = np.minimum(initial_window, window)
    d_ss = slow_start_segments(d, p)
    W_ss = slow_start_window(d_ss, w1, b)
    rest = d - d_ss
    steady = np.where(p > 0, pftk.goodput(np.where(p > 0, p, 0.5), R, T0, window, b), inf)
    parts = {
        "handshake_time": handshake * handshake_time(R, syn_timer, p, ack_loss) + 0 * d,
        "slow_start_time": slow_start_time(d_ss, R, window, b, w1),
        "loss_time": loss_time(d, p, W_ss, R, T0),
        "congestion_avoidance_time": rest / steady,
        "delayed_ack_time": first_delayed_ack + 0 * d,
    }
    time = sum(parts.values(), np.zeros(()))
    return {
        "time": time,
        **parts,
        "mean_rate": d / time,
        "slow_start_segments": d_ss,
        "slow_start_window": W_ss,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    sender, transfer = path.sender, path.transfer
    return {
        "size": transfer.size_segments, "loss": path.loss.rate, "rtt": path.round_trip.base_s,
        "timeout": sender.first_timeout_s, "window": max(sender.receive_window_segments, 1.0),
        "segments_per_ack": sender.segments_per_ack,
        "initial_window": transfer.initial_window_segments, "syn_timer": transfer.syn_timer_s,
        "ack_loss": path.loss.ack_rate, "handshake": float(transfer.has_handshake),
        "first_delayed_ack": transfer.first_delayed_ack_s,
    }  # fmt: skip


def _refusal(path: FlowPath) -> str:
    few = unless(max(path.loss.rate, path.loss.ack_rate) < 0.5, "half of the SYNs or more are lost")
    reno = (
        not_reno(path.control) if path.loss.rate > 0 else ""
    )  # without losses the control does not matter
    return needs_tcp(path) or not_of_given_size(path) or few or reno


def _filled(path: FlowPath) -> str:
    window = slow_start_window(
        slow_start_segments(path.transfer.size_segments, path.loss.rate),
        path.transfer.initial_window_segments,
        path.sender.segments_per_ack,
    )
    reached = min(float(window), path.sender.receive_window_segments)
    if path.bottleneck.unknown:
        return f"it is not known whether slow start fills the link: {path.bottleneck.unknown}"
    burst = max(
        min(path.transfer.initial_window_segments, path.transfer.size_segments), reached / 2
    )
    held = path.bottleneck.buffer_segments + 1
    if burst > held:
        return (
            f"slow start sends {burst:.3g} segments at once, but the queue and the link hold "
            f"{held:.4g}"
        )
    return unless(
        reached <= path.share_segments,
        f"slow start reaches {reached:.4g} segments, but the flow's share of the link holds "
        f"{path.share_segments:.4g}",
    )


# More, and times are up to a third too long: after the first loss the formula continues at PFTK's
# rate, while the sender still has half of slow start's window (`benches/accuracy.py`).
_MOST_AFTER_LOSS = 0.3


def _lossy(path: FlowPath) -> str:
    inputs = {
        name: np.asarray(value) for name, value in MODEL.completed(**_inputs_of(path)).items()
    }
    says = _evaluate(**inputs)
    share = float((says["loss_time"] + says["congestion_avoidance_time"]) / says["time"])
    return unless(
        share <= _MOST_AFTER_LOSS,
        f"{100 * share:.2g} % of the time follows the first loss, and the formula does not know "
        "the window that slow start leaves",
    )


# The formula has no whole round trips, so that it is off by up to half of one. Chosen here.
_FEWEST_ROUNDS = 4.0


def _few_rounds(path: FlowPath) -> str:
    inputs = {
        name: np.asarray(value) for name, value in MODEL.completed(**_inputs_of(path)).items()
    }
    rounds = float(_evaluate(**inputs)["time"]) / path.round_trip.base_s
    return unless(
        rounds >= _FEWEST_ROUNDS,
        f"the transfer takes {rounds:.2g} round trips, and the formula does not know whole ones",
    )


MODEL = Model(
    name="cardwell",
    label="Cardwell–Savage–Anderson",
    summary="Completion time: handshake, slow start, recovery from the first loss, then PFTK.",
    reference="Cardwell, Savage, Anderson 2000",
    formula="""\
gamma = 1 + 1/b
d_ss   = min(d, (1 - (1-p)^d) (1-p)/p + 1),  W_ss = d_ss (gamma-1)/gamma + w1/gamma
handshake_time  = R + Ts ((1-p_r)/(1-2 p_r) + (1-p)/(1-2 p) - 2)
slow_start_time = R (log_gamma(Wm/w1) + 1 + (d_ss - (gamma Wm - w1)/(gamma-1))/Wm)   if W_ss > Wm
                  R log_gamma(d_ss (gamma-1)/w1 + 1)                                 else
loss_time       = (1 - (1-p)^d) (Q(p, W_ss) f(p) T0/(1-p) + (1 - Q(p, W_ss)) R)
congestion_avoidance_time = (d - d_ss) / (PFTK's goodput)
Q and f are PFTK's.""",
    inputs=(
        Input("size", "d", "segments", "size of the transfer", domain=AT_LEAST_ONE),
        Input("loss", "p", "", "loss rate of data (and SYNs)", domain=BELOW_HALF),
        pftk.RTT,
        pftk.TIMEOUT,
        Input("window", "Wm", "segments", "largest window, unlimited for none", inf, LIMIT),
        pftk.SEGMENTS_PER_ACK,
        Input("initial_window", "w1", "segments", "initial window", 10, AT_LEAST_ONE),
        Input("syn_timer", "Ts", "s", "timer of the first SYN (RFC 6298: 1 s; the paper: 3 s)", 1),
        Input("ack_loss", "p_r", "", "loss rate of ACKs", 0, BELOW_HALF),
        Input(
            "handshake",
            "",
            "",
            "1 with a SYN exchange, 0 without",
            1,
            Domain(values=(0, 1)),
        ),
        Input(
            "first_delayed_ack", "", "s", "mean delay of the first ACK if w1 = 1", 0, NOT_NEGATIVE
        ),
    ),
    outputs=(
        Output("time", "", "s", "time from the first SYN to the last ACK", "completion_time"),
        Output("handshake_time", "", "s", "part of it: the SYN exchange"),
        Output("slow_start_time", "T_ss", "s", "part of it: slow start"),
        Output("loss_time", "T_loss", "s", "part of it: recovery from the first loss"),
        Output("congestion_avoidance_time", "T_ca", "s", "part of it: everything after that"),
        Output("delayed_ack_time", "T_delack", "s", "part of it: waiting for the first ACK"),
        Output("mean_rate", "", "segments/s", "size over completion time"),
        Output("slow_start_segments", "d_ss", "segments", "segments sent in slow start"),
        Output(
            "slow_start_window",
            "W_ss",
            "segments",
            "window reached in slow start without a limit",
        ),
    ),
    goodput="mean_rate",
    assumptions=(
        Assumption("reno", "after slow start: increase by one, decrease by half, as in PFTK"),
        pftk.RENO_RECOVERY,
        Assumption(
            "link_is_not_filled",
            "slow start does not fill the link, so that the queue stays empty",
            _filled,
        ),
        Assumption(
            "many_rounds",
            f"the transfer takes {_FEWEST_ROUNDS:g} round trips or more",
            _few_rounds,
        ),
        Assumption(
            "slow_start_decides",
            f"at most {100 * _MOST_AFTER_LOSS:g} % of the time follows the first loss",
            _lossy,
        ),
        FREE_ACKS,
        FREQUENT_ACKS,
        STEADY_LINK,
        INDEPENDENT_LOSSES,
        Assumption(
            "steady_rtt",
            "the round-trip time is constant",
            jitter,
        ),
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("mean_rate", "time"),
            0.15,
            "measured",
            "transfers of 5 kB to 4 MB, 10 to 200 ms, with and without random loss; "
            "completion time",
        ),
    ),
    usual=True,
)
