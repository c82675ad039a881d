"""PFTK: the throughput of TCP Reno with timeouts and a window limit.

Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Reno performance: a simple model and its empirical
validation", IEEE/ACM Transactions on Networking 8(2), 2000 (SIGCOMM 1998).

Letters: p loss rate, R round-trip time (s), b segments acknowledged by one ACK, T0 first
retransmission timeout (s), Wm largest window (segments). All rates are in segments per second;
arguments are broadcast.
"""

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import OF_RANDOM_LOSS, RENO, needs_reno, unless
from ackclock.models.domain import AT_LEAST_ONE, LIMIT, POSITIVE, PROPER_SHARE, check
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule
from ackclock.models.path import FlowPath


def unlimited_window(p: ArrayLike, b: ArrayLike = 2) -> Array:
    """Returns W(p), the mean window at a loss in segments, without a window limit."""
    p, b = _loss_and_b(p, b)
    k = (2 + b) / (3 * b)
    return np.asarray(k + np.sqrt(8 * (1 - p) / (3 * b * p) + k**2))


def timeout_probability(p: ArrayLike, w: ArrayLike) -> Array:
    """Returns Q(p, w), the share of loss indications that are timeouts at a window of w segments.

    It is about min(1, 3/w).
    """
    p, w = np.asarray(p, float), np.asarray(w, float)
    check(p=(p, PROPER_SHARE), w=(w, LIMIT))
    return _timeout_probability(p, w)


def _timeout_probability(p: Array, w: Array) -> Array:
    # Sums of positive terms, so that nothing cancels for small p: 1 - (1-p)^3 = p (3 - p (3 - p)),
    # and 1 - (1-p)^w = 1 - (1-p)^3 + (1-p)^3 (1 - (1-p)^(w-3)).
    some_lost_of_three = p * (3 - p * (3 - p))
    some_lost_of_others = (1 - p) ** 3 * -np.expm1((w - 3) * np.log1p(-p))
    q = some_lost_of_three * (1 + some_lost_of_others) / (some_lost_of_three + some_lost_of_others)
    return np.where(w <= 3, 1.0, np.minimum(1.0, q))


def backoff(p: ArrayLike) -> Array:
    """Returns f(p), the mean length of a series of timeouts over T0/(1-p), doubled up to 64 T0."""
    p = np.asarray(p, float)
    return np.asarray(1 + p * (1 + p * (2 + p * (4 + p * (8 + p * (16 + p * 32))))))


def triple_duplicate_only(p: ArrayLike, R: ArrayLike, b: ArrayLike = 2) -> Array:
    """Returns the sending rate if duplicate ACKs reveal every loss (first regime)."""
    p, b = _loss_and_b(p, b)
    R = np.asarray(R, float)
    check(R=(R, POSITIVE))
    return _triple_duplicate_only(p, R, b, unlimited_window(p, b))


def _triple_duplicate_only(p: Array, R: Array, b: Array, W: Array) -> Array:
    return np.asarray(((1 - p) / p + W) / (R * (b * W / 2 + 1)))


def full(
    p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2
) -> Array:
    """Returns the sending rate with timeouts, below and at the window limit (regimes 2 and 3)."""
    return _with_timeouts(p, R, T0, Wm, b, received=False)


def goodput(
    p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2
) -> Array:
    """Returns the receiver's goodput at the sending rate `full`."""
    return _with_timeouts(p, R, T0, Wm, b, received=True)


def approximate(
    p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2
) -> Array:
    """Returns the short form of `full`."""
    p, b = _loss_and_b(p, b)
    R, T0, Wm = _times_and_limit(R, T0, Wm)
    timeouts = T0 * np.minimum(1, 3 * np.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    return np.asarray(np.minimum(Wm / R, 1 / (R * np.sqrt(2 * b * p / 3) + timeouts)))


def _with_timeouts(
    p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike, b: ArrayLike, *, received: bool
) -> Array:
    p, b = _loss_and_b(p, b)
    R, T0, Wm = _times_and_limit(R, T0, Wm)
    W = unlimited_window(p, b)
    sent, got, period = _period(p, R, T0, Wm, b, W, _timeout_probability(p, np.minimum(Wm, W)))
    return np.asarray((got if received else sent) / period)


def _period(
    p: Array, R: Array, T0: Array, Wm: Array, b: Array, W: Array, Q: Array
) -> tuple[Array, Array, Array]:
    """Returns segments sent and received per loss indication, with timeouts, and its time in s."""
    limited = Wm <= W
    w = np.minimum(Wm, W)
    before = (1 - p) / p
    # The receiver gets half of the last window, and one segment of a series of timeouts.
    sent, got = before + w + Q / (1 - p), before + w / 2 + Q
    rounds = b * w / 2 + 1
    if limited.any():
        rounds = np.where(limited, b * w / 8 + before / w + 2, rounds)
    return sent, got, R * rounds + Q * backoff(p) * T0 / (1 - p)


def _loss_and_b(p: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    p, b = np.asarray(p, float), np.asarray(b, float)
    check(p=(p, PROPER_SHARE), b=(b, AT_LEAST_ONE))
    return p, b


def _times_and_limit(R: ArrayLike, T0: ArrayLike, Wm: ArrayLike) -> tuple[Array, Array, Array]:
    R, T0, Wm = np.asarray(R, float), np.asarray(T0, float), np.asarray(Wm, float)
    check(R=(R, POSITIVE), T0=(T0, POSITIVE), Wm=(Wm, LIMIT))
    return R, T0, Wm


def _evaluate(
    loss: Array, rtt: Array, timeout: Array, window: Array, segments_per_ack: Array
) -> dict[str, Array]:
    p, R, T0, Wm, b = loss, rtt, timeout, window, segments_per_ack
    W = unlimited_window(p, b)
    w = np.minimum(Wm, W)
    Q = _timeout_probability(p, w)
    sent, got, period = _period(p, R, T0, Wm, b, W, Q)
    return {
        "throughput": sent / period,
        "goodput": got / period,
        "triple_duplicate_only": _triple_duplicate_only(p, R, b, W),
        "approximate": approximate(p, R, T0, Wm, b),
        "peak_window": w,
        "timeout_share": Q,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    return {
        "loss": path.loss.rate, "rtt": path.round_trip.base_s,
        "timeout": path.sender.first_timeout_s,
        "window": max(path.sender.receive_window_segments, 1.0),
        "segments_per_ack": path.sender.segments_per_ack,
    }  # fmt: skip


RENO_RECOVERY = Assumption(
    "reno_recovery",
    "recovery is Reno's: a loss with fewer than three duplicate ACKs ends in a timeout",
    lambda path: unless(
        path.sender.recovery == "reno" or path.loss.rate == 0,
        f"loss recovery is {path.sender.recovery}, but the formula is for Reno's",
    ),
)

# The share of the time in timeouts at which the formula becomes too low: it counts more losses as
# timeouts than senders have (`benches/accuracy.py`).
_MOST_TIMEOUTS = 0.4


def _timeouts_dominate(path: FlowPath) -> str:
    inputs = {name: np.asarray(value, float) for name, value in _inputs_of(path).items()}
    p, R, T0, Wm, b = inputs.values()
    if not 0 < p < 1:
        return ""
    W = unlimited_window(p, b)
    Q = _timeout_probability(p, np.minimum(Wm, W))
    _, _, period = _period(p, R, T0, Wm, b, W, Q)
    share = float(Q * backoff(p) * T0 / (1 - p) / period)
    return unless(
        share <= _MOST_TIMEOUTS,
        f"timeouts take {100 * share:.2g} % of the time by the formula, which counts too many",
    )


TIMEOUTS_DO_NOT_DOMINATE = Assumption(
    "timeouts_do_not_dominate",
    f"timeouts take at most {100 * _MOST_TIMEOUTS:g} % of the time",
    _timeouts_dominate,
)

LOSS = Input(
    "loss",
    "p",
    "",
    "loss rate: share of segments that begin a loss indication",
    domain=PROPER_SHARE,
)
RTT = Input("rtt", "R", "s", "round-trip time, assumed independent of the window")
TIMEOUT = Input(
    "timeout", "T0", "s", "first retransmission timeout",
    Rule(
        "max(1 s, R), by RFC 6298 at a constant round-trip time",
        lambda inputs: np.maximum(1.0, inputs["rtt"]),
    ),
)  # fmt: skip
WINDOW = Input("window", "Wm", "segments", "largest window, unlimited for none", inf, LIMIT)
SEGMENTS_PER_ACK = Input(
    "segments_per_ack",
    "b",
    "segments",
    "segments acknowledged by one ACK (1 with byte counting, 2 without)",
    1,
    AT_LEAST_ONE,
)

MODEL = Model(
    name="pftk",
    label="PFTK",
    summary="TCP Reno with timeouts and a window limit: sending rate and goodput.",
    reference="Padhye, Firoiu, Towsley, Kurose 1998, 2000",
    formula="""\
k = (2 + b)/(3 b),  W(p) = k + sqrt(8 (1-p)/(3 b p) + k^2)
Q(p, w) = min(1, (1 - (1-p)^3) (1 + (1-p)^3 (1 - (1-p)^(w-3))) / (1 - (1-p)^w))
f(p) = 1 + p + 2 p^2 + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6

B = ((1-p)/p + w + Q(p, w)/(1-p)) / (R rounds + Q(p, w) f(p) T0/(1-p))
    w = W(p), rounds = b W(p)/2 + 1                if W(p) < Wm
    w = Wm,   rounds = b Wm/8 + (1-p)/(p Wm) + 2   else
goodput:               numerator (1-p)/p + w/2 + Q(p, w)
triple_duplicate_only: ((1-p)/p + W(p)) / (R (b W(p)/2 + 1))
approximate:
    min(Wm/R, 1/(R sqrt(2 b p/3) + T0 min(1, 3 sqrt(3 b p/8)) p (1 + 32 p^2)))""",
    inputs=(LOSS, RTT, TIMEOUT, WINDOW, SEGMENTS_PER_ACK),
    outputs=(
        Output("throughput", "B", "segments/s", "sending rate, with timeouts and window limit"),
        Output("goodput", "T", "segments/s", "goodput of the receiver"),
        Output(
            "triple_duplicate_only",
            "",
            "segments/s",
            "sending rate without timeouts and window limit",
        ),
        Output("approximate", "", "segments/s", "the short form of the sending rate"),
        Output("peak_window", "w", "segments", "mean window at a loss"),
        Output("timeout_share", "Q", "", "share of loss indications that are timeouts"),
    ),
    goodput="goodput",
    assumptions=(
        RENO,
        Assumption(
            "losses_to_the_end_of_a_round",
            "after the first loss in a round trip the rest of the round is lost; rounds are "
            "independent",
        ),
        RENO_RECOVERY,
        TIMEOUTS_DO_NOT_DOMINATE,
        *OF_RANDOM_LOSS,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=needs_reno,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.15,
            "measured",
            "recovery of Reno at 0.02 to 5 % independent loss, 10 to 200 ms, timeouts "
            "of 2 to 60 round trips",
        ),
    ),
    usual=True,
)
