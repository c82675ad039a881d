"""The record of the chain: any AIMD, independent or bursty losses, any round-trip time.

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

By default losses are independent and the round-trip time is constant; `question` has the other
laws. A normal round-trip time below zero is a round that only the link limits, as in the paper. For
a capture, the model uses the whole distribution of measured round-trip times instead of their mean.
"""

from collections.abc import Mapping
from math import frexp, inf, nan, sqrt

import numpy as np

from ackclock.models import square_root
from ackclock.models.accuracy import Accuracy
from ackclock.models.aimd_chain import between, timeouts
from ackclock.models.aimd_chain import rtt as round_trip
from ackclock.models.aimd_chain.chain import WindowChain, round_lasts, solve, weighted_sum
from ackclock.models.aimd_chain.general_aimd import GeneralAimd
from ackclock.models.aimd_chain.loss import Bernoulli
from ackclock.models.aimd_chain.question import (
    Columns,
    Question,
    longest_window,
    mean_loss,
    mean_round_trip,
    measured,
    pattern_chain,
)
from ackclock.models.aimd_chain.rtt import RoundTrip
from ackclock.models.aimd_chain.throughput import TIME_WEIGHTED, Throughput
from ackclock.models.assumptions import OF_RANDOM_LOSS, few_timeouts, needs_aimd, unless
from ackclock.models.domain import AT_LEAST_ONE, BELOW_ONE, NOT_NEGATIVE, PROPER_SHARE, Domain
from ackclock.models.model import Array, Assumption, Input, Model, Output, TableInput
from ackclock.models.path import FlowPath
from ackclock.models.pftk import TIMEOUT
from ackclock.models.refusal import refuse_inputs

#: The paper halves whole windows and rounds down.
ROUNDED = Input(
    "rounded_down", "", "",
    "1 if a fall ends at the window of the path below beta w, 0 if at beta w",
    0.0, Domain(values=(0, 1)),
)  # fmt: skip


#: How the round-trip time and the loss rate vary: section 2, and figures 8.6, 8.11 and 8.12.
LAWS = (
    Input(
        "rtt_sd", "", "s", "standard deviation of the round-trip time", 0.0, NOT_NEGATIVE,
    ),
    Input(
        "rtt_gamma", "", "",
        "1 if a varying round-trip time has a gamma distribution, 0 if the paper's normal one",
        0.0, Domain(values=(0, 1)),
    ),
    Input(
        "rtt_growth", "g", "s", "time that each segment of the window adds to the round-trip time",
        0.0, NOT_NEGATIVE,
    ),
    Input(
        "loss_growth", "a", "",
        "factor on the loss rate for each segment of the window, the paper's alpha", 1.0,
    ),
    Input(
        "bad_loss", "", "",
        "loss rate in the bad state of a channel whose overall loss rate is p, 0 for no such state",
        0.0, Domain(0, 1, "[]"),
    ),
    Input(
        "bad_run", "", "segments", "mean number of segments that the channel stays bad", 1.0,
        AT_LEAST_ONE,
    ),
    Input("good_loss", "", "", "loss rate in its good state", 0.0, BELOW_ONE),
)  # fmt: skip

#: Tables that replace an input by a law: the procedure of section 5.
TABLES = (
    TableInput(
        "rtt_samples",
        ("rtt",),
        ("rtt_s",),
        ("weight", "window"),
        "measured round-trip times in s; with a column window, for windows from that size up",
        lambda columns: (mean_round_trip(columns),),
    ),
    TableInput(
        "delivered",
        ("loss",),
        ("segments", "delivered"),
        ("window",),
        "loss pattern: probability that the next segments, 1, 2, 3 and so on, are all delivered",
        lambda columns: (mean_loss(columns),),
    ),
)

#: The questions of section 6.4: how often the throughput is above a level, and an interval of it.
LEVEL = Input(
    "level", "x", "segments/s", "rate that the throughput T is to exceed", 0.0, Domain(0, inf, "[]")
)
SHARE = Input(
    "share", "c", "", "share of time in which T is inside the central interval", 0.9, PROPER_SHARE
)


def _answer(chain: WindowChain, question: Question) -> list[float]:
    """Returns the outputs in the record's order, for a round-trip time that is always the same."""
    w, by_round = chain.windows, chain.round
    R, L = question.rtt, question.link_rate
    lasts = np.maximum(R, w / L)
    by_time = by_round * lasts
    T = w / lasts  # rises with w, up to L
    X = _throughput(chain, R, L)
    by_time = by_time / by_time.sum()
    reached = np.cumsum(by_time)
    ends = ((1 - question.share) / 2, (1 + question.share) / 2)
    low, high = T[np.minimum(np.searchsorted(reached, ends), w.size - 1)]
    throughput_sd = sqrt(weighted_sum(by_time, (T - X) ** 2))
    above = by_time[question.level < T].sum()
    mean_window = weighted_sum(by_time, w)
    spread = sqrt(weighted_sum(by_time, (w - mean_window) ** 2))
    with_timeouts = timeouts.renewal_rate(
        chain, question.loss_rates(chain), round_trip.constant(R), question.timeout, L
    )
    busy = by_time[w >= R * L].sum()
    by_segment = chain.law("segment")
    round_window, segment_rate = weighted_sum(by_round, w), weighted_sum(by_segment, T)
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
        sqrt(weighted_sum(by_segment, (T - segment_rate) ** 2)),
        busy,
    ]


def _answer_law(chain: WindowChain, R: RoundTrip, rates: Array, question: Question) -> list[float]:
    """Returns the same for any law of the round-trip time, and loss rates by window."""
    w = chain.windows
    over_time = Throughput(chain, R, question.link_rate, TIME_WEIGHTED)
    by_segment = Throughput(chain, R, question.link_rate, "segment")
    spread_of_rate, spread_by_segment = over_time.sd(), by_segment.sd()
    if not np.isfinite(spread_of_rate + spread_by_segment):
        refuse_inputs(
            "contradiction",
            "{link_rate} leaves the mean of w/R infinite, since R may be next to nothing; give the "
            "rate of the link, or a round-trip time that varies less",
            link_rate=question.link_rate,
        )
    low, high = over_time.interval(question.share)
    by_time = chain.round * round_lasts(chain, R, question.link_rate)
    by_time = by_time / by_time.sum()
    mean_window = weighted_sum(by_time, w)
    return [
        over_time.renewal_rate,
        timeouts.renewal_rate(chain, rates, R, question.timeout, question.link_rate),
        low,
        high,
        spread_of_rate,
        float(over_time.exceeds(question.level)),
        mean_window,
        sqrt(weighted_sum(by_time, (w - mean_window) ** 2)),
        weighted_sum(chain.round, w),
        by_segment.mean(),
        spread_by_segment,
        over_time.atom,
    ]


def _evaluate(**inputs: Array) -> dict[str, Array]:
    names, values = list(inputs), np.broadcast_arrays(*inputs.values())
    answers = np.empty((len(OUTPUTS), *values[0].shape))
    solved: dict[tuple[float, ...], WindowChain] = {}
    for index in np.ndindex(values[0].shape):
        numbers = (float(each[index]) for each in values)
        question = Question(**dict(zip(names, numbers, strict=True)))
        if question.of_chain not in solved:
            # Neighbours share a chain; others are not kept.
            solved = {question.of_chain: question.chain()}
        chain = solved[question.of_chain]
        answers[(slice(None), *index)] = (
            _answer(chain, question)
            if question.is_steady
            else _answer_law(chain, question.round_trip(), question.loss_rates(chain), question)
        )
    return {output.name: answer for output, answer in zip(OUTPUTS, answers, strict=True)}


def _evaluate_goodput(**inputs: Array) -> Array:
    """Returns X alone; chains of similar length are solved together on the longest path."""
    if any((inputs[entry.name] != entry.default).any() for entry in LAWS):
        return _evaluate(**inputs)["throughput"]
    given = np.broadcast_arrays(
        np.broadcast_arrays(*inputs.values())[0],
        inputs["rtt"],
        inputs["window"],
        inputs["link_rate"],
        inputs["additive_increase"] / inputs["segments_per_ack"],
        inputs["decrease_factor"],
        inputs["rounded_down"],
    )
    p, R, w_max, L, alpha, beta, rounded = (np.ravel(values) for values in given)
    limits = np.empty(p.size)
    together: dict[tuple[float, ...], list[int]] = {}
    for number in range(p.size):
        chain_of = float(w_max[number]), float(alpha[number]), float(beta[number])
        limits[number] = longest_window(float(p[number]), *chain_of)
        together.setdefault(
            (*chain_of, float(rounded[number]), frexp(limits[number])[1]), []
        ).append(number)
    X = np.empty(p.size)
    for (_, growth, keeps, down, _), which in together.items():
        longest, shortest = float(limits[which].max()), float(limits[which].min())
        if between.on_path(shortest, longest, growth, keeps, rounded=down == 1):
            chain = solve(
                Bernoulli(p[which, None]),
                longest,
                GeneralAimd(growth, keeps, whole_steps=down == 1),
            )
            X[which] = _throughput(chain, R[which, None], L[which, None])
        else:
            solved = between.rounded_down if down else between.solve
            for number in which:
                chain = solved(Bernoulli(float(p[number])), limits[number], growth, keeps)
                X[number] = _throughput(chain, float(R[number]), float(L[number]))
    return X.reshape(given[0].shape)


def _throughput(chain: WindowChain, R: float | Array, L: float | Array) -> Array:
    """Returns X for each of the chains that were solved together."""
    lasts = np.maximum(R, chain.windows / L)
    return np.asarray(
        (chain.round * chain.windows).sum(axis=-1) / (chain.round * lasts).sum(axis=-1)
    )


def _evaluate_tables(tables: Mapping[str, Columns], **inputs: float) -> dict[str, float]:
    """Returns the outputs as numbers, with the laws of these tables."""
    question = Question(**({"loss": nan, "rtt": nan} | inputs))
    if "delivered" in tables:
        chain, rates = pattern_chain(tables["delivered"], question)
    else:
        chain = question.chain()
        rates = question.loss_rates(chain)
    R = (
        measured(tables["rtt_samples"], question)
        if "rtt_samples" in tables
        else question.round_trip()
    )
    return dict(
        zip(
            (output.name for output in OUTPUTS), _answer_law(chain, R, rates, question), strict=True
        )
    )


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
    Output("segment_rate_sd", "", "segments/s", "standard deviation of min(w/R, L) by segments"),
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
p is p a^w where it grows with the window; R + g w for R where that does
X = sum pi_w w / sum pi_w E max(R, w t0)
T = min(w/R, L)
over time: pi_w E max(R, w t0),  by segments: pi_w M_w,  each over its sum
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
        *LAWS,
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
    tables=TABLES,
    evaluate_tables=_evaluate_tables,
    evaluate_goodput=_evaluate_goodput,
    points=201,
)  # fmt: skip
