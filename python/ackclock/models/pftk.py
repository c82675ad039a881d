"""PFTK: the throughput of TCP Reno with timeouts and a window limit.

Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Reno performance: a simple model and its empirical validation",
IEEE/ACM Transactions on Networking 8(2), 2000 (SIGCOMM 1998).

Letters: p loss rate, R round-trip time (s), b segments acknowledged by one ACK, T0 first retransmission timeout (s),
Wm largest window (segments). All rates are in segments per second; arguments are broadcast.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.models.domain import check
from ackclock.models.model import Input, Model, Verdict, needs_random_loss
from ackclock.models.path import FlowPath

Array = NDArray[np.float64]


def window(p: ArrayLike, b: ArrayLike = 2) -> Array:
    """The mean window at a loss when nothing limits it, W(p) in segments."""
    p, b = _loss_and_b(p, b)
    k = (2 + b) / (3 * b)
    return np.asarray(k + np.sqrt(8 * (1 - p) / (3 * b * p) + k**2))


def timeout_probability(p: ArrayLike, w: ArrayLike) -> Array:
    """The share of loss indications that are timeouts when the window is w segments, Q(p, w); about min(1, 3/w)."""
    p, w = np.asarray(p, float), np.asarray(w, float)
    check(p=(p, (p > 0) & (p < 1)), w=(w, w >= 1))
    # 1 - (1-p)^n without cancellation for small p.
    some_lost_of_three, some_lost_of_others, some_lost = (-np.expm1(n * np.log1p(-p)) for n in (3, w - 3, w))
    q = some_lost_of_three * (1 + (1 - p) ** 3 * some_lost_of_others) / some_lost
    return np.where(w <= 3, 1.0, np.minimum(1.0, q))


def backoff(p: ArrayLike) -> Array:
    """The mean length of a series of timeouts over T0/(1-p), f(p): doubled up to 64 T0."""
    p = np.asarray(p, float)
    return np.asarray(1 + p * (1 + p * (2 + p * (4 + p * (8 + p * (16 + p * 32))))))


def triple_duplicate_only(p: ArrayLike, R: ArrayLike, b: ArrayLike = 2) -> Array:
    """Sending rate if duplicate ACKs reveal every loss (first regime)."""
    p, b = _loss_and_b(p, b)
    R = _positive("R", R)
    W = window(p, b)
    return np.asarray(((1 - p) / p + W) / (R * (b * W / 2 + 1)))


def full(p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2) -> Array:
    """Sending rate with timeouts, below and at the window limit (second and third regime)."""
    return _with_timeouts(p, R, T0, Wm, b, received=False)


def goodput(p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2) -> Array:
    """What the receiver gets where `full` is sent."""
    return _with_timeouts(p, R, T0, Wm, b, received=True)


def approximate(p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike = np.inf, b: ArrayLike = 2) -> Array:
    """The short form of `full`."""
    p, b = _loss_and_b(p, b)
    R, T0, Wm = _positive("R", R), _positive("T0", T0), _positive("Wm", Wm)
    timeouts = T0 * np.minimum(1, 3 * np.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    return np.asarray(np.minimum(Wm / R, 1 / (R * np.sqrt(2 * b * p / 3) + timeouts)))


def _with_timeouts(p: ArrayLike, R: ArrayLike, T0: ArrayLike, Wm: ArrayLike, b: ArrayLike, *, received: bool) -> Array:
    p, b = _loss_and_b(p, b)
    R, T0, Wm = _positive("R", R), _positive("T0", T0), np.asarray(Wm, float)
    check(Wm=(Wm, Wm >= 1))
    W = window(p, b)
    limited = Wm <= W
    w = np.where(limited, Wm, W)
    Q = timeout_probability(p, w)
    # Segments per period between loss indications that end in a timeout or not. The receiver gets half of the last
    # window, and one segment of a series of timeouts.
    segments = (1 - p) / p + (w / 2 + Q if received else w + Q / (1 - p))
    rounds = np.where(limited, b * w / 8 + (1 - p) / (p * w) + 2, b * w / 2 + 1)
    return np.asarray(segments / (R * rounds + Q * backoff(p) * T0 / (1 - p)))


def _loss_and_b(p: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    p, b = np.asarray(p, float), np.asarray(b, float)
    check(p=(p, (p > 0) & (p < 1)), b=(b, b >= 1))
    return p, b


def _positive(letter: str, value: ArrayLike) -> Array:
    value = np.asarray(value, float)
    check(**{letter: (value, value > 0)})
    return value


def _goodput(path: FlowPath) -> float:
    Wm = max(path.receive_window_segments, 1.0)
    return float(goodput(path.loss, path.round_trip_s, path.first_timeout_s, Wm, path.segments_per_ack))


def _applies(path: FlowPath) -> Verdict:
    verdict = needs_random_loss(path)
    if verdict.applies and not (path.is_aimd and path.growth_segments == 1 and path.kept_share == 0.5):
        return Verdict(False, (f"does not apply: {path.control} is not AIMD(1, 1/2)",))
    if verdict.applies and path.recovery != "reno":
        return Verdict(True, (*verdict.notes, f"loss recovery is {path.recovery}, the formula's is Reno's"))
    return verdict


MODEL = Model(
    name="pftk",
    label="PFTK",
    summary="TCP Reno with timeouts and a window limit, as the receiver sees it.",
    reference="Padhye, Firoiu, Towsley, Kurose 1998, 2000",
    inputs=(
        Input("p", "", "loss rate"),
        Input("R", "s", "round-trip time without queueing"),
        Input("T0", "s", "first retransmission timeout"),
        Input("Wm", "segments", "largest window"),
        Input("b", "segments", "segments acknowledged by one ACK"),
    ),
    assumptions=(
        "additive increase by one, multiplicative decrease by a half",
        "after the first loss in a round trip all that follows in it is lost; rounds are independent",
        "Reno's recovery: losses that leave fewer than three duplicate ACKs end in a timeout",
        "the round-trip time does not depend on the window",
        "always data to send, no slow start",
    ),
    goodput=_goodput,
    applies=_applies,
)
