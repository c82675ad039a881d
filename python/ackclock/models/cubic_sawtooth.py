"""CUBIC in a drop-tail queue: cycles between overflows, with fast convergence.

After a loss the window is beta of its last value. It then follows the larger of two curves of RFC
9438. The cubic is W(t) = C (t - K)^3 + W_max with K = ((W_max - beta w)/C)^(1/3) (section 4.2). The
Reno-friendly window grows by alpha = 3 (1 - beta)/(1 + beta) segments per round trip (section 4.3).
A round trip with a window w takes max(T, N w/mu). The queue overflows when all windows together
exceed P + B + 1, the bandwidth-delay product, the queue and the segment being sent. The sender
learns of it a round trip with a full queue later, and takes another one for the repair. Slow start
plays no part, and neither does HyStart.

Fast convergence (section 4.7) lowers W_max to (1 + beta)/2 of the window at a loss that comes below
the last W_max. The next cycle then has its plateau below the overflow, passes it fast, and ends
with a larger W_max. The one after it does not reach that. So long and short cycles alternate. The
model follows the cycles and averages over the last of them. Derived here from the RFC's rules; no
paper prints it so.

Letters: mu link rate (segments/s), T base round-trip time (s), B buffer (segments), N synchronised
flows, C steepness (segments/s^3), beta share of the window kept after a loss.
"""

from math import floor, inf, isnan
from typing import NamedTuple

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    NO_RANDOM_LOSS,
    QUEUE_ALONE_DELAYS,
    long_run,
    needs_tcp,
    no_droptail,
    not_cubic,
    rate_varies,
)
from ackclock.models.cubic_response import FAST_CONVERGENCE, STEEPNESS
from ackclock.models.domain import PROPER_SHARE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath
from ackclock.models.sawtooth import (
    IN_STEP,
    OF_A_DROPTAIL_QUEUE,
    QUICK_REPAIR,
    overflow_refusal,
    slow_repair,
)

# Cycles that are followed, and those at their end that are averaged: a multiple of the lengths of
# patterns that were seen (1 to 4).
_CYCLES, _AVERAGED = 36, 12

# Windows at the overflow below which whole segments matter: simulated round-trip times then differ
# by up to 12 % (`benches/accuracy.py`).
_FEWEST_SEGMENTS = 25.0

# Share of time in the Reno-friendly region from which overflows lose one segment. Chosen here.
_MOSTLY = 0.7

# Points of a cycle, and passes that make the round-trip times those of the window. Twice as many
# change results by less than 0.2 %.
_POINTS, _PASSES = 300, 5


class _Path(NamedTuple):
    """A link as one of N flows sees it; segments and seconds of that flow."""

    rate: float
    rtt: float
    buffer: float
    c: float
    beta: float
    fast_convergence: bool

    @property
    def product(self) -> float:
        return self.rate * self.rtt


class _Cycle(NamedTuple):
    """Integrals over a cycle, and how it ends."""

    lasts: float
    busy: float  # segments that the link sent
    queue: float  # integral of the queue
    friendly: float  # time at the Reno-friendly window
    lost: float  # segments
    window: float  # at the loss


def _cycle(path: _Path, start: float, w_max: float) -> _Cycle:
    """Follows the window from `start` until the overflow is repaired."""
    top = path.product + path.buffer + 1
    k = float(np.cbrt(max(w_max - start, 0.0) / path.c))
    origin = max(w_max, start)
    longest = k + float(np.cbrt(max(top - origin, 0.0) / path.c))
    if origin > top:
        longest = k - float(np.cbrt((origin - top) / path.c))
    alpha = 3 * (1 - path.beta) / (1 + path.beta)
    t = np.linspace(0.0, max(longest, path.rtt), _POINTS)
    cubic = origin + path.c * (t - k) ** 3
    window, friendly = cubic, cubic
    for _ in range(_PASSES):
        rounds = 1 / np.maximum(path.rtt, window / path.rate)
        grown = np.concatenate(([0.0], np.cumsum((rounds[1:] + rounds[:-1]) / 2 * np.diff(t))))
        friendly = start + alpha * grown
        window = np.maximum(cubic, friendly)
    over = int(np.argmax(window >= top)) if (window >= top).any() else _POINTS - 1
    t, window, cubic, friendly = (each[: over + 1] for each in (t, window, cubic, friendly))
    step = np.diff(t)
    sent = np.minimum(window / path.rtt, path.rate)
    queue = np.maximum(window - path.product, 0.0)
    full = max(path.rtt, top / path.rate)
    late = float(t[-1]) + full
    at_loss = max(float(origin + path.c * (late - k) ** 3), float(friendly[-1]) + alpha)
    # A round trip until the sender knows, one with half the reduction done for the repair.
    after = path.beta * at_loss
    repair = max(path.rtt, (top + after) / 2 / path.rate)
    drained = max(after - path.product, 0.0)
    return _Cycle(
        lasts=late + repair,
        busy=float(((sent[1:] + sent[:-1]) / 2 * step).sum()) + path.rate * full
        + min(path.rate, (top + after) / 2 / path.rtt) * repair,
        queue=float(((queue[1:] + queue[:-1]) / 2 * step).sum()) + path.buffer * full
        + (path.buffer + drained) / 2 * repair,
        friendly=float((step * (friendly[1:] > cubic[1:])).sum()),
        lost=1.0 + max(floor(at_loss - top), 0),
        window=at_loss,
    )  # fmt: skip


def _steady(path: _Path) -> dict[str, float]:
    """Returns the means over the last cycles."""
    window = path.product + path.buffer + 1
    w_max = window * (1 + path.beta) / 2  # a cycle that ends at its plateau is not stable
    cycles = []
    for _ in range(_CYCLES):
        cycle = _cycle(path, path.beta * window, w_max)
        lowered = path.fast_convergence and cycle.window < w_max
        window = cycle.window
        w_max = window * (1 + path.beta) / 2 if lowered else window
        cycles.append(cycle)
    last = cycles[-_AVERAGED:]
    lasts = sum(cycle.lasts for cycle in last)
    busy = sum(cycle.busy for cycle in last)
    queue = sum(cycle.queue for cycle in last) / lasts
    return {
        "utilisation": min(busy / lasts / path.rate, 1.0),
        "backlog": queue,
        "period": lasts / len(last),
        "loss_rate": sum(cycle.lost for cycle in last) / busy,
        "lost": sum(cycle.lost for cycle in last) / len(last),
        "window": sum(cycle.window for cycle in last) / len(last),
        "friendly": sum(cycle.friendly for cycle in last) / lasts,
    }


def cycles(
    rate: Array,
    rtt: Array,
    buffer: Array,
    flows: Array,
    steepness: Array,
    cubic_decrease_factor: Array,
    fast_convergence: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    given = np.broadcast_arrays(
        rate, rtt, buffer, flows, steepness, cubic_decrease_factor, fast_convergence
    )
    outputs = {output.name: np.empty(given[0].shape) for output in MODEL.outputs}
    for index in np.ndindex(given[0].shape):
        mu, T, B, N, c, beta, fast = (float(each[index]) for each in given)
        steady = _steady(_Path(mu / N, T, (B + 1) / N - 1, c, beta, fast == 1))
        queue = steady["backlog"] * N
        answer = {
            "goodput": steady["utilisation"] * mu / N,
            "utilisation": steady["utilisation"],
            "mean_queue": queue,
            "queueing_delay": queue / mu,
            "mean_rtt": T + queue / mu,
            "largest_rtt": T + B / mu,
            "loss_rate": steady["loss_rate"],
            "lost": steady["lost"],
            "period": steady["period"],
            "peak_window": steady["window"],
            "friendly_share": steady["friendly"],
        }
        for name, value in answer.items():
            outputs[name][index] = value
    return outputs


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, control = path.bottleneck, path.control
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "buffer": bottleneck.buffer_segments, "flows": float(bottleneck.flows),
        "steepness": control.cubic_c,
        "cubic_decrease_factor": control.kept_share,
        "fast_convergence": float(bool(control.fast_convergence)),
    }  # fmt: skip


def _answer(path: FlowPath) -> dict[str, Array]:
    return cycles(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})


def _period_s(path: FlowPath) -> float:
    return float(_answer(path)["period"])


def _slow_repair(path: FlowPath) -> str:
    answer = _answer(path)
    # Outside the Reno-friendly region every other overflow loses more than one.
    lost = 1.0 if answer["friendly_share"] > _MOSTLY else max(float(answer["lost"]), 2.0)
    return slow_repair(path, lost, _FEWEST_SEGMENTS)


def _refusal(path: FlowPath) -> str:
    bottleneck, control = path.bottleneck, path.control
    if reason := (
        needs_tcp(path) or not_cubic(control) or rate_varies(bottleneck) or no_droptail(bottleneck)
    ):
        return reason
    if control.fast_convergence is None:
        return f"{control.name} does not state whether it has fast convergence"
    if isnan(control.cubic_c) or not 0 < bottleneck.segments_per_s < inf:
        return "the bottleneck sends nothing"
    # A cycle of the cubic alone carries at most this much.
    top = path.share_segments + bottleneck.buffer_segments / bottleneck.flows
    k = float(np.cbrt(top * (1 - control.kept_share) / control.cubic_c))
    return overflow_refusal(path, k * bottleneck.segments_per_s / bottleneck.flows)


MODEL = Model(
    name="cubic_sawtooth",
    label="CUBIC saw-tooth",
    summary="CUBIC with a drop-tail queue: utilisation, queueing delay, time between losses.",
    reference="RFC 9438 sections 4.1 to 4.7",
    formula="""\
each flow:  Wm = (mu T + B + 1)/N,  R(w) = max(T, N w/mu)
after a loss at w:  W_max = w, or w (1 + beta)/2 if w < W_max before and fast convergence is on
K = ((W_max - beta w)/C)^(1/3),  W_cubic(t) = C (t - K)^3 + W_max
dW_est/dt = 3 (1 - beta)/(1 + beta)/R,  W_est(0) = beta w
w(t) = max(W_cubic, W_est) until Wm, a round trip with a full queue, and one for the repair
utilisation, mean_queue: means over the cycle;  lost = 1 + floor(w - Wm)
loss_rate = lost/segments per cycle""",
    inputs=(
        *OF_A_DROPTAIL_QUEUE,
        STEEPNESS,
        Input(
            "cubic_decrease_factor",
            "beta",
            "",
            "share of the window kept by CUBIC after a loss",
            0.7,
            PROPER_SHARE,
        ),
        FAST_CONVERGENCE,
    ),
    outputs=(
        Output("goodput", "", "segments/s", "goodput of each flow"),
        Output("utilisation", "", "", "share of the link's rate used by all flows"),
        Output("mean_queue", "", "segments", "queue length, mean over time"),
        Output("queueing_delay", "", "s", "queueing delay, mean over time"),
        Output("mean_rtt", "", "s", "round-trip time, mean over time", "rtt"),
        Output("largest_rtt", "", "s", "round-trip time with a full queue"),
        Output("loss_rate", "", "", "losses per segment after slow start"),
        Output("lost", "", "segments", "segments of a flow that an overflow loses, mean"),
        Output("period", "t", "s", "mean time between losses"),
        Output("peak_window", "", "segments", "a flow's window at the loss, mean"),
        Output("friendly_share", "", "", "share of time in the Reno-friendly region"),
    ),
    goodput="goodput",
    assumptions=(
        NO_RANDOM_LOSS,
        IN_STEP,
        Assumption(QUICK_REPAIR.name, QUICK_REPAIR.sentence, _slow_repair),
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(_period_s),
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=cycles,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.1,
            "measured",
            "CUBIC in buffers of 0.1 to 3 bandwidth-delay products of 8 to 600 "
            "segments, 8 to 200 ms",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
    ),
    usual=True,
    points=201,
)
