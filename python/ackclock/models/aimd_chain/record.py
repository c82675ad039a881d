"""The record of the chain: Bernoulli losses, a constant round-trip time, any AIMD.

A round without loss adds alpha/b segments to the window, one with losses reduces it to beta w. A
round lasts as long as the round-trip time, or as long as the link needs to send the window. This
gives the law of the window by rounds, by segments and over time, and the law of the throughput.

The paper halves whole windows and rounds down, which takes 2 to 3 % off the throughput. With a
smaller decrease it takes up to a third (7 % at a loss rate of 1 % and beta = 0.9). A sender that
counts bytes does not round, so by default a fall ends at beta w (see `between`). `rounded_down` is
the paper's rule.

Every input may be an array, and inverse questions cover many orders of magnitude. Therefore two
things differ from `solve`. Without a limit on the window the chain ends at one that it hardly ever
reaches.
Surviving from beta w to w has a probability of about exp(-(1 - beta^2) p w^2/(2 alpha)), which is
e^-40 there. Long chains combine several rounds in one; for Reno without a limit that begins below p
= 5e-7. It changes means by less than 0.1 % for beta up to 0.95.

For a capture, it uses the whole distribution of measured round-trip times instead of their mean.
"""

from math import frexp, inf, sqrt
from typing import Any

import numpy as np

from ackclock.models import square_root
from ackclock.models.accuracy import Accuracy
from ackclock.models.aimd_chain import between, timeouts
from ackclock.models.aimd_chain import rtt as round_trip
from ackclock.models.aimd_chain.chain import WindowChain, round_lasts, solve, weighted_sum
from ackclock.models.aimd_chain.general_aimd import GeneralAimd
from ackclock.models.aimd_chain.loss import Bernoulli
from ackclock.models.aimd_chain.throughput import TIME_WEIGHTED, Throughput
from ackclock.models.assumptions import OF_RANDOM_LOSS, few_timeouts, needs_aimd, unless
from ackclock.models.domain import PROPER_SHARE, Domain
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath, RttLaw
from ackclock.models.pftk import TIMEOUT

_NEVER = 40.0

#: The paper halves whole windows and rounds down.
ROUNDED = Input(
    "rounded_down", "", "",
    "1 if a fall ends at the window of the path below beta w, 0 if at beta w",
    0.0, Domain(values=(0, 1)),
)  # fmt: skip


#: The questions of section 6.4: how often the throughput is above a level, and an interval of it.
LEVEL = Input(
    "level", "x", "segments/s", "rate that the throughput T is to exceed", 0.0, Domain(0, inf, "[]")
)
SHARE = Input(
    "share", "c", "", "share of time in which T is inside the central interval", 0.9, PROPER_SHARE
)


def _limit(p: float, w_max: float, alpha: float, beta: float) -> float:
    """Returns the window at which the chain ends."""
    return min(w_max, 2 + sqrt(2 * _NEVER * alpha / ((1 - beta**2) * p)))


def _solved(p: float, w_max: float, alpha: float, beta: float, rounded: float) -> WindowChain:
    limit = _limit(p, w_max, alpha, beta)
    return (
        between.rounded_down(p, limit, alpha, beta)
        if rounded
        else between.solve(p, limit, alpha, beta)
    )


def _answer(
    chain: WindowChain, p: float, R: float, L: float, T0: float, level: float, share: float
) -> list[Any]:
    """Returns the outputs in the record's order."""
    w, by_round = chain.windows, chain.round
    lasts = np.maximum(R, w / L)
    by_time = by_round * lasts
    T = w / lasts  # rises with w, up to L
    X = _throughput(chain, R, L)
    by_time = by_time / by_time.sum()
    reached = np.cumsum(by_time)
    ends = ((1 - share) / 2, (1 + share) / 2)
    low, high = T[np.minimum(np.searchsorted(reached, ends), w.size - 1)]
    throughput_sd = sqrt(weighted_sum(by_time, (T - X) ** 2))
    above = by_time[level < T].sum()
    mean_window = weighted_sum(by_time, w)
    spread = sqrt(weighted_sum(by_time, (w - mean_window) ** 2))
    with_timeouts = timeouts.renewal_rate(chain, p, round_trip.constant(R), T0, L)
    busy = by_time[w >= R * L].sum()
    round_window, segment_rate = weighted_sum(by_round, w), weighted_sum(chain.law("segment"), T)
    return [
        X,
        with_timeouts,
        low,
        high,
        throughput_sd,
        above,
        mean_window,
        spread,
        round_window,
        segment_rate,
        busy,
    ]


def _evaluate(
    loss: Array, rtt: Array, window: Array, link_rate: Array, timeout: Array,
    segments_per_ack: Array, additive_increase: Array, decrease_factor: Array, rounded_down: Array,
    level: Array, share: Array,
) -> dict[str, Array]:  # fmt: skip
    p, R, w_max, L, T0, alpha, beta, rounded, *asked = np.broadcast_arrays(
        loss,
        rtt,
        window,
        link_rate,
        timeout,
        additive_increase / segments_per_ack,
        decrease_factor,
        rounded_down,
        level,
        share,
    )
    answers = np.empty((len(OUTPUTS), *p.shape))
    solved: dict[tuple[float, ...], WindowChain] = {}
    for index in np.ndindex(p.shape):
        chain_of = tuple(float(values[index]) for values in (p, w_max, alpha, beta, rounded))
        if chain_of not in solved:
            solved = {chain_of: _solved(*chain_of)}  # neighbours share a chain; others are not kept
        given = _answer(
            solved[chain_of],
            chain_of[0],
            *(float(values[index]) for values in (R, L, T0, *asked)),
        )
        answers[(slice(None), *index)] = given
    return {output.name: answer for output, answer in zip(OUTPUTS, answers, strict=True)}


def _evaluate_goodput(
    loss: Array, rtt: Array, window: Array, link_rate: Array, timeout: Array,  # noqa: ARG001
    segments_per_ack: Array, additive_increase: Array, decrease_factor: Array, rounded_down: Array,
    level: Array, share: Array,
) -> Array:  # fmt: skip
    """Returns X alone; chains of similar length are solved together on the longest path."""
    loss = np.broadcast_arrays(loss, level, share)[0]
    given = np.broadcast_arrays(
        loss,
        rtt,
        window,
        link_rate,
        additive_increase / segments_per_ack,
        decrease_factor,
        rounded_down,
    )
    p, R, w_max, L, alpha, beta, rounded = (np.ravel(values) for values in given)
    limits = np.empty(p.size)
    together: dict[tuple[float, ...], list[int]] = {}
    for number in range(p.size):
        chain_of = float(w_max[number]), float(alpha[number]), float(beta[number])
        limits[number] = _limit(float(p[number]), *chain_of)
        together.setdefault(
            (*chain_of, float(rounded[number]), frexp(limits[number])[1]), []
        ).append(number)
    X = np.empty(p.size)
    for (most, growth, keeps, down, _), which in together.items():
        longest, shortest = float(limits[which].max()), float(limits[which].min())
        if between.on_path(shortest, longest, growth, keeps, rounded=down == 1):
            chain = solve(
                Bernoulli(p[which, None]),
                longest,
                GeneralAimd(growth, keeps, whole_steps=down == 1),
            )
            X[which] = _throughput(chain, R[which, None], L[which, None])
        else:
            for number in which:
                chain = _solved(float(p[number]), most, growth, keeps, down)
                X[number] = _throughput(chain, float(R[number]), float(L[number]))
    return X.reshape(given[0].shape)


def _throughput(chain: WindowChain, R: float | Array, L: float | Array) -> Array:
    """Returns X for each of the chains that were solved together."""
    lasts = np.maximum(R, chain.windows / L)
    return np.asarray(
        (chain.round * chain.windows).sum(axis=-1) / (chain.round * lasts).sum(axis=-1)
    )


def _evaluate_law(
    law: RttLaw, loss: float, window: float, link_rate: float, timeout: float,
    segments_per_ack: float, additive_increase: float, decrease_factor: float, rounded_down: float,
    level: float, share: float,
) -> dict[str, float]:  # fmt: skip
    """Returns the same as `_answer` for variable round-trip times."""
    chain = _solved(
        loss, window, additive_increase / segments_per_ack, decrease_factor, rounded_down
    )
    R, w = round_trip.empirical(law.times_s, law.weights), chain.windows
    over_time = Throughput(chain, R, link_rate, TIME_WEIGHTED)
    low, high = over_time.interval(share)
    by_time = chain.round * round_lasts(chain, R, link_rate)
    by_time = by_time / by_time.sum()
    mean_window = weighted_sum(by_time, w)
    return {
        "throughput": over_time.renewal_rate,
        "with_timeouts": timeouts.renewal_rate(chain, loss, R, timeout, link_rate),
        "low": low,
        "high": high,
        "throughput_sd": over_time.sd(),
        "above_level": float(over_time.exceeds(level)),
        "mean_window": mean_window,
        "window_sd": sqrt(weighted_sum(by_time, (w - mean_window) ** 2)),
        "round_window": weighted_sum(chain.round, w),
        "segment_rate": Throughput(chain, R, link_rate, "segment").mean(),
        "busy": over_time.atom,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    link = (
        path.bottleneck.link_bit_per_s / (path.sender.mss_bytes * 8)
        if path.sender.mss_bytes > 0
        else inf
    )
    limits = {
        "window": max(path.sender.receive_window_segments, 2.0),
        "link_rate": link,
        "timeout": path.sender.first_timeout_s,
    }
    return square_root.inputs_of(path) | limits


def _refusal(path: FlowPath) -> str:
    return needs_aimd(path) or unless(
        path.bottleneck.link_bit_per_s > 0, "the bottleneck sends nothing"
    )


OUTPUTS = (
    Output("throughput", "X", "segments/s", "long-run sending rate, without timeouts"),
    Output(
        "with_timeouts",
        "",
        "segments/s",
        "the same with timeouts, and a round trip of recovery after other losses",
    ),
    Output("low", "", "segments/s", "lower end of the interval of T over time"),
    Output("high", "", "segments/s", "upper end of the interval of T over time"),
    Output("throughput_sd", "", "segments/s", "standard deviation of T over time"),
    Output("above_level", "", "", "share of time in which T is above the level"),
    Output("mean_window", "", "segments", "mean window over time"),
    Output("window_sd", "", "segments", "standard deviation of the window over time"),
    Output("round_window", "", "segments", "mean window by rounds"),
    Output(
        "segment_rate",
        "ET",
        "segments/s",
        "mean of min(w/R, L) by segments, the paper's throughput",
    ),
    Output("busy", "", "", "share of time in which the window keeps the link busy"),
)

MODEL = Model(
    name="aimd_chain",
    label="Markov chain",
    summary="Window of any AIMD as a Markov chain over rounds: laws of window and throughput.",
    reference="Bogoiavlenskaia, Kojo, Mutka, Alanko 2002",
    formula="""\
s_w = (1-p)^w,  f_w = 1 - s_w,  M_w = f_w/p,  t0 = 1/L
w -> min(w + alpha/b, Wm) with s_w,  w -> max(2, beta w) with f_w
pi_k s_k = sum of f_w pi_w over w > k with beta w <= k
    (beta w rounded down to a window, or shared between two)
X = sum pi_w w / sum pi_w max(R, w t0)
T = min(w/R, L)
over time: pi_w max(R, w t0),  by segments: pi_w M_w,  each over its sum
with_timeouts: a loss adds Q f(p) T0/(1-p) and slow start, or a round trip (Q and f of PFTK)""",
    inputs=(
        Input("loss", "p", "", "loss rate of a segment", domain=PROPER_SHARE),
        Input("rtt", "R", "s", "round-trip time without queueing"),
        Input(
            "window", "Wm", "segments", "largest window, unlimited for none", inf,
            Domain(2, inf, "[]"),
        ),
        Input(
            "link_rate", "L", "segments/s", "the link's rate for the flow, unlimited for none", inf,
            Domain(0, inf, "(]"), on_wire=True,
        ),
        TIMEOUT,
        *square_root.AIMD_INPUTS,
        ROUNDED,
        LEVEL,
        SHARE,
    ),
    outputs=OUTPUTS,
    goodput="throughput",
    assumptions=(
        Assumption(
            "aimd", "additive increase; one multiplicative decrease for all losses of a round"
        ),
        Assumption("no_slow_start", "congestion avoidance only, with at least two segments"),
        few_timeouts(0.08),
        *OF_RANDOM_LOSS,
    ),
    evaluate=_evaluate,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("throughput",),
            0.15,
            "measured",
            "AIMD of TCP at 0.02 to 5 % independent loss, 10 to 200 ms, also at a "
            "receive window",
        ),
    ),
    evaluate_law=_evaluate_law,
    evaluate_goodput=_evaluate_goodput,
    points=201,
)  # fmt: skip
