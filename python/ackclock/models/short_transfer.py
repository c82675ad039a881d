"""Completion time of a transfer alone on a link whose queue its slow start may overflow.

Barakat and Altman, "Performance of short TCP transfers", Networking 2000, derive the window at
which the queue overflows and the remaining threshold (`ackclock.models.slow_start_overflow`). For
throughputs they only plot simulations. The times here are a deterministic model of ackclock's own,
for the same network, and the number of window reductions is re-derived. The phases are:

- Slow start sends windows of w1, alpha w1, ... segments, one per max(T, W/mu), until W_D is reached
  or everything is sent. A transfer of at most sent(W_B) segments has no loss. Neither has any if
  the threshold is at most W_B.
- With SACK the loss is detected when all before it and three later segments are acknowledged. It
  is repaired a round trip later, with the queue full.
- Elsewhere detection takes half a round trip with the queue full, and each fast retransmit a
  round trip without queueing. Classic Reno has two of them, or one if the second lacks duplicate
  ACKs. If more was lost it waits for its timer, then goes back to the first hole. With NewReno,
  slow but steady (RFC 6582 section 4), recovery takes a round trip per loss. A hole followed by
  fewer than three segments needs the timer, with SACK, too.
- A transfer that ends before W_D is reached has lost its share of L. Reno then has time for only
  one fast retransmit. The last segment leaves the queue after the earlier ones of its mini-cycle,
  and is acknowledged T later. This was inferred from reference values.
- After a timeout slow start goes to the threshold. From there the window grows by 1/d_ca per max(T,
  W/mu), and is reduced where it exceeds B + mu T.

New data sent during recovery is ignored. The tables below explain the letters; L is the loss of a
transfer that continues until W_D is reached.
"""

from collections.abc import Mapping
from math import ceil, floor, inf, sqrt
from typing import NamedTuple

import numpy as np

from ackclock.models import slow_start_overflow as overflowing
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    FREE_ACKS,
    FREQUENT_ACKS,
    QUEUE_ALONE_DELAYS,
    STEADY_LINK,
    needs_tcp,
    no_droptail,
    not_aimd,
    not_cubic,
    not_of_given_size,
    unless,
    violated_if,
)
from ackclock.models.domain import AT_LEAST_ONE, LIMIT, NOT_NEGATIVE, PROPER_SHARE, Domain
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule
from ackclock.models.path import FlowPath
from ackclock.models.refusal import refuse_inputs

# Kinds of loss recovery, as numbers of the record's input.
RENO, NEWRENO, SACK = 0, 1, 2
_RECOVERIES = {"reno": RENO, "newreno": NEWRENO, "sack": SACK}

# After this many cycles of congestion avoidance, further ones repeat. Each loss brings the windows
# in which cycles begin closer together, to one or a few that alternate. Chosen here.
_CYCLES = 64

# Rounds whose sum equals the target up to rounding are enough.
_SAME = 1e-12


class Transfer(NamedTuple):
    """The parts of a transfer's time in s, and its retransmissions.

    Attributes:
        slow_start: First slow start, until the loss is detected or everything is acknowledged.
        recovery: Detection, fast retransmits and the timer.
        rest: Everything after that.
        fast_retransmits: Number of fast retransmits; for NewReno and SACK, of retransmissions that
            take a round trip.
        timeouts: Number of timeouts, 0 or 1.
    """

    slow_start: float
    recovery: float
    rest: float
    fast_retransmits: int
    timeouts: int


class Sender(NamedTuple):
    """A sender and its path.

    Attributes:
        mu: The link's rate in segments/s.
        T: Round-trip time without queueing in s.
        B: Queue limit in segments.
        d: Segments acknowledged per segment by which slow start opens the window.
        d_ca: Round trips in which congestion avoidance opens the window by a segment. It is d if
            the receiver decides, and 2 if the receiver acknowledges every other segment and the
            sender counts bytes only in slow start.
        w1: Initial window.
        W_th: Initial threshold.
        decrease_factor: Share of the window kept at a reduction.
        RTO: Timeout in s with the queue full.
        recovery: `RENO`, `NEWRENO` or `SACK`.
        Wc: Window from which slow start has `d_later` instead of d.
        d_later: d from there.
    """

    mu: float
    T: float
    B: float
    d: float
    d_ca: float
    w1: float
    W_th: float
    decrease_factor: float
    RTO: float
    recovery: float
    Wc: float = inf
    d_later: float = 1.0

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product in segments."""
        return self.mu * self.T

    def round(self, W: float) -> float:
        """Returns the duration of a round with a window W."""
        return max(self.T, W / self.mu)

    def opened(self, W: float) -> float:
        """Returns the window of the round of the first slow start after that with a window W."""
        until = min(max((self.Wc - W) * self.d, 0.0), W)
        return W + until / self.d + (W - until) / self.d_later

    def sent(self, W: Array) -> float:
        """Returns the segments that slow start has sent when the window is W."""
        return float(overflowing.sent(W, self.d, self.w1, self.Wc, self.d_later))

    def last(self, rest: float) -> float:
        """Returns the time until the last of `rest` segments, at most a window, is acknowledged."""
        return self.T + max(rest - 1, 0) / self.mu


class Loss(NamedTuple):
    """The loss of a transfer that continues until the loss is detected.

    Attributes:
        W_B: Window at the overflow.
        W_D: Window when the loss is detected.
        L: Segments lost; 0 if slow start ends before the overflow.
        reductions: Number of window reductions until it opens again.
    """

    W_B: Array
    W_D: Array
    L: Array
    reductions: Array

    def threshold(self, decrease_factor: Array) -> Array:
        """Returns the threshold after the reductions of W_D, at least two segments (RFC 5681)."""
        return np.where(
            self.L > 0, np.maximum(2.0, self.W_D * decrease_factor**self.reductions), self.W_D
        )


def loss(
    B: Array,
    bdp: Array,
    d: Array,
    w1: Array,
    W_th: Array,
    decrease_factor: Array,
    recovery: Array,
    reductions: Array,
    Wc: Array,
    d_later: Array,
) -> Loss:
    """Returns the loss at the overflow; `reductions` of 0 means as many as recovery takes."""
    W_B = overflowing.overflow(B, bdp, d, w1, Wc, d_later).window
    W_D = overflowing.detected_window(W_B, d, W_th, Wc, d_later)
    L = overflowing.lost(B, bdp, d, w1, W_th, Wc, d_later)
    of_recovery = np.where(
        recovery == RENO, overflowing.reductions(L, W_D, decrease_factor), np.sign(L)
    )
    return Loss(W_B, W_D, L, np.where(reductions > 0, reductions, of_recovery))


def transfer(S: float, sender: Sender, met: Loss) -> Transfer:
    """Returns the time of S segments for a sender that would have this loss."""
    if met.L == 0:
        return Transfer(_undisturbed(sender, S), 0.0, 0.0, 0, 0)
    before = sender.sent(met.W_B)
    if before >= S:
        return Transfer(_slow_start(sender, S, sender.w1, inf)[0], 0.0, 0.0, 0, 0)
    until = sender.sent(met.W_D)
    L = float(met.L) * min(1.0, (S - before) / (until - before))
    retransmits, timeouts = _retransmissions(sender, met, L, S, before, until)
    reductions = (
        float(met.reductions) if until <= S else min(float(met.reductions), retransmits + timeouts)
    )
    if sender.recovery == SACK and retransmits:
        slow_start, recovery = _repaired_by_sack(sender, before)
    else:
        slow_start = _until_detection(sender, S, until)
        detection = (sender.T + sender.B / sender.mu) / 2
        recovery = detection + retransmits * sender.T
    recovery += timeouts * sender.RTO
    threshold = max(2.0, float(met.W_D) * sender.decrease_factor**reductions)
    rest = 0.0
    if timeouts:
        # Go-back-N: a partial ACK of each fast retransmit has advanced the hole by the segments
        # that one ACK releases.
        left = max(1.0, S - before - retransmits * (sender.d + 1))
        rest, left = _slow_start(sender._replace(Wc=inf), left, 1.0, threshold)
    else:
        left = S - until
    if left > 0:
        rest += _congestion_avoidance(sender, left, threshold)
    return Transfer(slow_start, recovery, rest, retransmits, timeouts)


def _undisturbed(sender: Sender, S: float) -> float:
    """Returns the time if slow start ends at its threshold, before the queue overflows."""
    time, left = _slow_start(sender, S, sender.w1, sender.W_th)
    return time + (
        _congestion_avoidance(sender, left, max(sender.w1, sender.W_th)) if left > 0 else 0.0
    )


def _slow_start(sender: Sender, left: float, W: float, top: float) -> tuple[float, float]:
    """Returns the time until the window is `top` or all is acknowledged, and the segments left."""
    time = 0.0
    while top > W:
        if left <= W:
            return time + sender.last(left), 0.0
        left, time, W = left - W, time + sender.round(W), min(top, sender.opened(W))
    return time, left


def _repaired_by_sack(sender: Sender, before: float) -> tuple[float, float]:
    """Returns the times until the loss is detected, and from there until all of it is repaired.

    What came before the overflow is acknowledged first, then three further segments tell of it. The
    retransmissions take a round trip, of which the first finds the queue full.
    """
    time, _ = _slow_start(sender, before, sender.w1, inf)
    return time + overflowing.DUPLICATES / sender.mu, sender.T + sender.B / sender.mu


def _until_detection(sender: Sender, S: float, until: float) -> float:
    """Returns the time of slow start until the loss is detected or everything is acknowledged."""
    time, left, W = 0.0, min(S, until), sender.w1
    while left > W:
        left, time, W = left - W, time + sender.round(W), sender.opened(W)
    return time + (sender.round(left) if until <= S else left / sender.mu + sender.T)


def _retransmissions(
    sender: Sender, met: Loss, L: float, S: float, before: float, until: float
) -> tuple[int, int]:
    """Returns the number of round trips of retransmissions, and of timeouts."""
    if min(S, until) - before < overflowing.DUPLICATES:
        return 0, 1
    if sender.recovery == SACK:
        return 1, 0
    if sender.recovery == NEWRENO:
        return ceil(L), 0
    second = until <= S and sender.decrease_factor * float(met.W_D) - L >= overflowing.DUPLICATES
    retransmits = min(2 if second else 1, ceil(L))
    return retransmits, int(retransmits < L)


def _congestion_avoidance(sender: Sender, left: float, W: float) -> float:
    """Returns the time of `left` > 0 segments in windows of W, W + 1/d_ca, ... and reductions."""
    time, step, top, cycles, settled = 0.0, 1 / sender.d_ca, sender.B + sender.bdp, 0, (0.0, 0.0)
    while True:
        if cycles == _CYCLES:
            settled = time, left
        elif cycles == 2 * _CYCLES:
            taken, done = time - settled[0], settled[1] - left
            repeats = max(ceil(left / done) - 1, 0)
            time, left = time + repeats * taken, left - repeats * done
        rounds = max(floor((top - W) / step) + 1, 1)
        whole = _segments(W, step, rounds)
        if left <= whole:
            # The smallest k whose k rounds suffice, from k W + step k (k - 1)/2 = left.
            linear = W - step / 2
            k = max(ceil(2 * left / (linear + sqrt(linear**2 + 2 * step * left)) * (1 - _SAME)), 1)
            return (
                time
                + _time_of(sender, W, step, k - 1)
                + sender.last(left - _segments(W, step, k - 1))
            )
        time, left = time + _time_of(sender, W, step, rounds), left - whole
        W, cycles = (W + rounds * step) * sender.decrease_factor, cycles + 1


def _segments(W: float, step: float, rounds: int) -> float:
    return rounds * (W + step * (rounds - 1) / 2)


def _time_of(sender: Sender, W: float, step: float, rounds: int) -> float:
    """Returns the time of rounds: T each below the pipe, the link's sending time above."""
    below = min(max(ceil((sender.bdp - W) / step), 0), rounds)
    return below * sender.T + (_segments(W, step, rounds) - _segments(W, step, below)) / sender.mu


def _evaluate(
    size: Array, rate: Array, rtt: Array, buffer: Array, segments_per_ack: Array,
    avoidance_segments_per_ack: Array, initial_window: Array, initial_threshold: Array,
    decrease_factor: Array, recovery: Array, reductions: Array, overflow_timeout: Array,
    handshake: Array, way_back: Array, change_window: Array, later_segments_per_ack: Array,
) -> dict[str, Array]:  # fmt: skip
    (
        S, mu, T, B, d, d_ca, w1, W_th, decrease_factor, recovery, reductions, RTO, handshake, Wc,
        d_later,
    ) = np.broadcast_arrays(
        size, rate, rtt, buffer, segments_per_ack, avoidance_segments_per_ack, initial_window,
        initial_threshold, decrease_factor, recovery, reductions, overflow_timeout, handshake,
        change_window, later_segments_per_ack,
    )  # fmt: skip
    if (w1 > B + 1).any():
        index = np.flatnonzero((w1 > B + 1).ravel())[0]
        refuse_inputs(
            "contradiction",
            "{initial_window} overflow a buffer of {buffer} before any ACK; "
            "give at most {most_initial_window}",
            initial_window=float(w1.flat[index]),
            buffer=float(B.flat[index]),
            most_initial_window=float(B.flat[index]) + 1,
        )
    met = loss(B, mu * T, d, w1, W_th, decrease_factor, recovery, reductions, Wc, d_later)
    times = np.empty((len(Transfer._fields), *S.shape))
    for index in np.ndindex(S.shape):
        each_of = (mu, T, B, d, d_ca, w1, W_th, decrease_factor, RTO, recovery, Wc, d_later)
        sender = Sender(*(float(each[index]) for each in each_of))
        times[(slice(None), *index)] = transfer(
            float(S[index]), sender, Loss(*(each[index] for each in met))
        )
    slow_start, recovering, rest, retransmits, timeouts = times
    time = handshake * T + slow_start + recovering + rest
    return {
        "time": time,
        "delivery_time": time - np.minimum(way_back, T),
        "slow_start_time": slow_start,
        "recovery_time": recovering,
        "rest_time": rest,
        "mean_rate": S / time,
        "overflow_mini_cycle": overflowing.overflow(B, mu * T, d, w1, Wc, d_later).n,
        "overflow_window": met.W_B,
        "overflow_segments": overflowing.sent(met.W_B, d, w1, Wc, d_later),
        "detected_window": met.W_D,
        "lost": met.L,
        "threshold": met.threshold(decrease_factor),
        "fast_retransmits": retransmits,
        "timeouts": timeouts,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    sender, transfer, bottleneck, control = (
        path.sender,
        path.transfer,
        path.bottleneck,
        path.control,
    )
    return {
        "size": transfer.size_segments, "rate": bottleneck.segments_per_s,
        "rtt": path.round_trip.base_s, "buffer": bottleneck.buffer_segments,
        "segments_per_ack": sender.segments_per_ack,
        "avoidance_segments_per_ack":
            sender.segments_per_ack / (control.growth_segments if control.is_aimd else 1.0),
        "initial_window": transfer.initial_window_segments,
        "initial_threshold": max(sender.initial_threshold_segments, 1.0),
        **_early_end(path),
        "decrease_factor": control.kept_share, "recovery": _RECOVERIES[sender.recovery],
        "overflow_timeout": sender.full_queue_timeout_s,
        "handshake": float(transfer.has_handshake),
        "way_back": path.round_trip.back_s,
    }  # fmt: skip


def _early_end(path: FlowPath) -> dict[str, float]:
    """Returns the inputs that say where the control ends slow start, or slows it down."""
    end = path.control.early_end
    if end is None:
        return {}
    if end.kind == "slower":
        return {
            "change_window": end.from_segments,
            "later_segments_per_ack": path.sender.segments_per_ack * end.divisor,
        }
    sender, product = path.sender, path.bottleneck.segments_per_s * path.round_trip.base_s
    if product < end.least_acks * sender.segments_acked:
        return {}
    return {"initial_threshold": max(min(sender.initial_threshold_segments, product), 1.0)}


def _refusal(path: FlowPath) -> str:
    control = path.control
    is_modelled = not (not_aimd(control) and not_cubic(control))
    return (
        needs_tcp(path)
        or not_of_given_size(path)
        or unless(path.sender.recovery in _RECOVERIES, f"loss recovery is {path.sender.recovery}")
        or control.unstated
        or unless(is_modelled, f"{control.name} is neither AIMD nor CUBIC")
        or no_droptail(path.bottleneck)
        or unless(path.bottleneck.segments_per_s > 0, "the bottleneck sends nothing")
    )


def _limited(path: FlowPath) -> str:
    window = path.sender.receive_window_segments
    fits = path.bottleneck.segments_per_s * path.round_trip.base_s + path.bottleneck.buffer_segments
    return unless(
        window > fits, f"the receive window is {window:g} segments, but the path holds {fits:.4g}"
    )


def _slow_repair(path: FlowPath) -> str:
    given = _inputs_of(path)
    if given["initial_window"] > given["buffer"] + 1:
        return ""  # no answer
    completed = MODEL.completed(**given)
    outputs = _evaluate(**{name: np.asarray(value) for name, value in completed.items()})
    lost, timeouts, window = (
        float(outputs[name]) for name in ("lost", "timeouts", "detected_window")
    )
    if path.sender.recovery == "newreno" and lost > 1:
        return f"newreno repairs {lost:.3g} segments one at a time, and sends new data meanwhile"
    if timeouts > 0:
        # Simulated, such transfers take up to 18 % longer or 13 % less (`benches/accuracy.py`).
        return "the repair waits for a timer, and when that starts is a guess"
    sent = _sent(completed, window)
    if lost > 0 and float(outputs["overflow_segments"]) < given["size"] < sent:
        return "the transfer ends while segments are lost, and the last ones may need the timer"
    meanwhile = given["decrease_factor"] * window - lost if lost > 0 else 0.0
    return unless(
        meanwhile <= _MOST_MEANWHILE * given["size"],
        f"about {meanwhile:.3g} new segments are sent during the repair, and are ignored",
    )


def _small_queue(path: FlowPath) -> str:
    held, elsewhere = path.bottleneck.buffer_segments, path.bottleneck.other_places
    if held < _FEWEST_PLACES:
        return f"the queue holds {held:.3g} segments, and windows are whole"
    return unless(
        elsewhere >= held,
        f"another queue on the way holds {elsewhere:.3g} segments, and this one {held:.3g}",
    )


def _sent(completed: Mapping[str, Array], window: float) -> float:
    """Returns the segments that slow start has sent at a window."""
    names = ("segments_per_ack", "initial_window", "change_window", "later_segments_per_ack")
    return float(overflowing.sent(window, *(completed[name] for name in names)))


#: Share of a transfer that may be sent during the repair: less than its accuracy.
_MOST_MEANWHILE = 0.1

# With fewer places, windows of whole segments differ from the model's.
_FEWEST_PLACES = 3.0


_INPUTS = (
    Input("size", "S", "segments", "size of the transfer", domain=AT_LEAST_ONE),
    Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
    Input("rtt", "T", "s", "round-trip time without queueing, one segment's service included"),
    Input(
        "buffer", "B", "segments", "queue limit, without the segment being sent",
        domain=NOT_NEGATIVE, on_wire=True,
    ),
    Input(
        "segments_per_ack", "d", "segments",
        "segments acknowledged per segment of growth in slow start (1 with byte counting)", 1,
        overflowing.SEGMENTS_PER_ACK, backwards=False,
    ),
    Input(
        "avoidance_segments_per_ack", "d_ca", "",
        "round trips in which congestion avoidance opens the window by one segment; 2 with "
        "delayed ACKs if the sender counts bytes only in slow start",
        Rule("d", lambda inputs: inputs["segments_per_ack"]),
    ),
    Input("initial_window", "w1", "segments", "initial window", 10, AT_LEAST_ONE),
    Input(
        "initial_threshold", "W_th", "segments",
        "window at which slow start ends without a loss, as by HyStart; unlimited for none", inf,
        LIMIT,
    ),
    Input(
        "decrease_factor", "beta", "", "share of the window kept at a reduction (CUBIC: 0.7)", 0.5,
        PROPER_SHARE,
    ),
    Input(
        "recovery", "", "", "0 for classic Reno, 1 for slow but steady NewReno, 2 for SACK", 0,
        Domain(values=(0, 1, 2)),
    ),
    Input(
        "reductions", "k", "",
        "window reductions in recovery; 3 for the paper's W_D/8, 0 to compute them", 0,
        Domain(values=(0, 1, 2, 3)),
    ),
    Input(
        "overflow_timeout", "RTO", "s", "retransmission timeout with the queue full",
        Rule(
            "max(1 s, T + B/mu + 0.5 s), by RFC 6298 with a clock of 0.5 s",
            lambda inputs: np.maximum(1.0, inputs["rtt"] + inputs["buffer"] / inputs["rate"] + 0.5),
        ),
    ),
    Input("handshake", "", "", "1 with a SYN exchange, 0 without", 1, Domain(values=(0, 1))),
    Input(
        "way_back", "", "s", "time that an ACK takes from the receiver to the sender",
        Rule("half of T", lambda inputs: inputs["rtt"] / 2), NOT_NEGATIVE,
    ),
    Input(
        "change_window", "Wc", "segments",
        "window at which the first slow start changes its d, unlimited for never", inf, LIMIT,
    ),
    Input(
        "later_segments_per_ack", "d2", "segments", "d from the window Wc on", 2,
        overflowing.SEGMENTS_PER_ACK, backwards=False,
    ),
)  # fmt: skip

_OUTPUTS = (
    Output("time", "", "s", "time from the SYN or first segment to the last ACK"),
    Output(
        "delivery_time", "", "s", "the same to the arrival of the last segment", "completion_time"
    ),
    Output("slow_start_time", "", "s", "part of it: the first slow start"),
    Output("recovery_time", "", "s", "part of it: detection, fast retransmits and timeout"),
    Output(
        "rest_time", "", "s", "part of it: slow start after a timeout, and congestion avoidance"
    ),
    Output("mean_rate", "", "segments/s", "size over completion time"),
    Output(
        "overflow_mini_cycle",
        "n_B",
        "",
        "round trip of slow start in which the queue overflows, from 0",
    ),
    Output("overflow_window", "W_B", "segments", "window at the overflow"),
    Output(
        "overflow_segments",
        "sent(W_B)",
        "segments",
        "largest transfer whose slow start loses nothing",
    ),
    Output("detected_window", "W_D", "segments", "window when the loss is detected"),
    Output("lost", "L", "segments", "segments lost by a transfer that continues until W_D"),
    Output("threshold", "", "segments", "slow-start threshold after the loss"),
    Output("fast_retransmits", "", "", "fast retransmits of this transfer"),
    Output("timeouts", "", "", "timeouts of this transfer due to the overflow"),
)

_ASSUMPTIONS = (
    Assumption(
        "alone",
        "no other flow uses the link",
        lambda path: unless(
            path.bottleneck.flows == 1, f"{path.bottleneck.flows} flows share the link"
        ),
    ),
    Assumption(
        "no_random_loss",
        "segments are lost only if the queue overflows, and no ACK is lost",
        lambda path: unless(
            max(path.loss.rate, path.loss.ack_rate) == 0, "there is random loss too"
        ),
    ),
    Assumption(
        "slow_start_to_threshold",
        "slow start ends at its threshold, at a known window, or with a loss",
        lambda path: violated_if(
            path.control.early_end is None and path.control.slow_start_ends_early,
            "the control ends it earlier or slows it down",
            "a sign of a queue ends slow start",
        ),
    ),
    Assumption(
        "repaired_at_once",
        "what the overflow loses is repaired by SACK or by one fast retransmit, without a timer",
        _slow_repair,
    ),
    Assumption(
        "overflows_first",
        "the queue holds several segments, and another queue on the way as many",
        _small_queue,
    ),
    Assumption("no_window_limit", "the receive window does not limit the transfer", _limited),
    Assumption(
        "no_delayed_ack_timer",
        "no ACK waits for the receiver's timer",
        lambda path: unless(
            path.transfer.first_delayed_ack_s == 0, "the ACK of the first segment waits for it"
        ),
    ),
    Assumption(
        "aimd",
        "after the overflow the window grows linearly",
        lambda path: unless(path.control.is_aimd, f"{path.control.name} does not grow linearly"),
    ),
    FREE_ACKS,
    FREQUENT_ACKS,
    STEADY_LINK,
    QUEUE_ALONE_DELAYS,
)

MODEL = Model(
    name="short_transfer",
    label="slow-start overflow",
    summary="Completion time of a transfer alone on a link whose drop-tail queue it may overflow.",
    reference=(
        "Barakat, Altman 2000 (W_B and the threshold); the times are ackclock's own model of the "
        "same network"
    ),
    formula="""\
alpha = (d+1)/d,  n_B = min {n >= 0: w1 alpha^n >= B (d+1)}
W_B = B + min(mu T, w1 alpha^(n_B - 1)),  W_D = min(W_th, alpha W_B),  no loss if W_th <= W_B
sent(W) = (d+1) W - d w1
d2 for d from the window Wc on: the queue overflows where a burst opens the window by B
L1 = (w1 alpha^n_B - B (d+1))/(d+1)
L  = W_D - W_B                  if w1 alpha^n_B - L1 > mu T
     min(L1 + B/d, W_D - W_B)   else
threshold = W_D beta^k,  k = 3 if L >= 3 and beta W_D - L >= 3, else 2 if L > 1, else 1
                         k = 1 with NewReno and SACK
slow_start_time = sum of max(T, W/mu) over W = w1 alpha^n up to sent(W_D) segments
recovery_time   = (T + B/mu)/2 + fast_retransmits T + timeouts RTO
                  with SACK T + B/mu, after the slow start of sent(W_B) segments and 3/mu
rest_time       = sum of max(T, W/mu) over W = alpha^n up to threshold, then in steps of 1/d_ca,
                  times beta where it exceeds B + mu T""",
    inputs=_INPUTS,
    outputs=_OUTPUTS,
    goodput="mean_rate",
    assumptions=_ASSUMPTIONS,
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(("mean_rate",), 0.15, "measured", "as the completion time, to the last ACK"),
        Accuracy(
            ("delivery_time",),
            0.15,
            "measured",
            "transfers of 10 kB to 4 MB at links of 5 to 300 segments, buffers of 0.2 to 3 of that",
        ),
    ),
    usual=True,
)
