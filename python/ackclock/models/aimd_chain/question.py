"""The laws of loss and of the round-trip time that the inputs of the record choose.

The loss rate may depend on the window, p(w) = a^w p. Or losses come in bursts, by a channel of two
states whose overall loss rate is p. The round-trip time may be random, with the paper's normal law
or a gamma law, and grow with the window. A table replaces either: measured round-trip times, or the
probability that the next n segments are delivered. Its rows may be for windows from a given one up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from ackclock.errors import InputError
from ackclock.models.aimd_chain import between, gilbert_elliott
from ackclock.models.aimd_chain import rtt as round_trip
from ackclock.models.aimd_chain.chain import WindowChain, solve, weighted_sum
from ackclock.models.aimd_chain.general_aimd import GeneralAimd
from ackclock.models.aimd_chain.loss import Bernoulli, Independent, Memoryless, WindowDependent
from ackclock.models.aimd_chain.rtt import RoundTrip
from ackclock.models.model import Array
from ackclock.models.refusal import refuse_inputs

Columns = Mapping[str, Array]

_NEVER = 40.0
#: Largest windows beside a channel, in segments, with falls between two windows and rounded down.
#: Longer chains take more than seconds.
_LONGEST_WITH_CHANNEL = (3_000.0, 50_000.0)


@dataclass(frozen=True)
class Question:
    """The inputs of one answer, by their names in the record and in its units.

    `loss` and `rtt` are NaN where a table replaces them.
    """

    loss: float
    rtt: float
    window: float
    link_rate: float
    timeout: float
    segments_per_ack: float
    additive_increase: float
    decrease_factor: float
    rounded_down: float
    level: float
    share: float
    rtt_sd: float
    rtt_gamma: float
    rtt_growth: float
    loss_growth: float
    bad_loss: float
    bad_run: float
    good_loss: float

    @property
    def aimd(self) -> GeneralAimd:
        """Growth by round and fall of the window."""
        alpha = self.additive_increase / self.segments_per_ack
        return GeneralAimd(alpha, self.decrease_factor, whole_steps=self.rounded_down == 1)

    @property
    def of_chain(self) -> tuple[float, ...]:
        """The inputs that determine the chain: questions with the same ones share it."""
        return (
            self.loss,
            self.window,
            self.additive_increase / self.segments_per_ack,
            self.decrease_factor,
            self.rounded_down,
            self.loss_growth,
            self.bad_loss,
            self.bad_run,
            self.good_loss,
        )

    @property
    def is_steady(self) -> bool:
        """True if the round-trip time is the same in all rounds."""
        return self.rtt_sd == 0 and self.rtt_growth == 0

    @property
    def channel(self) -> gilbert_elliott.GilbertElliott | None:
        """The channel of two states; None if losses are independent."""
        if self.bad_loss == 0:
            return None
        if self.loss_growth != 1:
            refuse_inputs(
                "contradiction",
                "{loss_growth} is for independent losses; leave it out, or bad_loss",
                loss_growth=self.loss_growth,
            )
        if not self.good_loss < self.loss < self.bad_loss:
            refuse_inputs(
                "contradiction",
                "{bad_loss} and good_loss of {most_good_loss} are the rates of the two states; "
                "loss, the rate of both, must be between them, not {most_loss}",
                bad_loss=self.bad_loss, most_good_loss=self.good_loss, most_loss=self.loss,
            )  # fmt: skip
        try:
            return gilbert_elliott.GilbertElliott.of_bursts(
                self.loss, self.bad_loss, self.bad_run, self.good_loss
            )
        except InputError as error:
            raise InputError(error.code, "bad_run", error.message, self.bad_run) from None

    @property
    def independent(self) -> Independent:
        """The law of independent losses."""
        if self.loss_growth == 1:
            return Bernoulli(self.loss)
        if self.loss_growth < 1 and self.window == inf:
            refuse_inputs(
                "contradiction",
                "{loss_growth} lets losses end as the window grows; give the largest window",
                loss_growth=self.loss_growth,
            )
        law = WindowDependent(self.loss, self.loss_growth)
        if law.rate(np.array([2.0]))[0] >= 1:
            refuse_inputs(
                "contradiction",
                "{loss_growth} loses every segment of the smallest window; give less",
                loss_growth=self.loss_growth,
            )
        return law

    def chain(self) -> WindowChain:
        """Returns the chain of windows; it ends at one that it hardly ever reaches."""
        channel = self.channel
        if channel is not None:
            return self._in_channel(channel)
        loss, aimd = self.independent, self.aimd
        limit = self._limit(self.loss * min(1.0, self.loss_growth**self.window))
        if self.loss_growth > 1:  # where every segment is lost, no window grows
            limit = min(limit, -log(self.loss) / log(self.loss_growth) + aimd.alpha)
        if self.rounded_down:
            return between.rounded_down(loss, limit, aimd.alpha, aimd.beta)
        return between.solve(loss, limit, aimd.alpha, aimd.beta)

    def loss_rates(self, chain: WindowChain) -> Array:
        """Returns the loss rate of a segment at each window of the chain."""
        if self.bad_loss > 0:
            return np.full_like(chain.windows, self.loss)
        return np.broadcast_to(self.independent.rate(chain.windows), chain.windows.shape)

    def round_trip(self) -> RoundTrip:
        """Returns the law of the round-trip time."""
        law: RoundTrip
        if self.rtt_sd == 0:
            law = round_trip.constant(self.rtt)
        elif self.rtt_gamma:
            law = round_trip.gamma((self.rtt / self.rtt_sd) ** 2, self.rtt_sd**2 / self.rtt)
        else:
            law = round_trip.normal(self.rtt, self.rtt_sd)
        return law if self.rtt_growth == 0 else round_trip.growing(law, self.rtt_growth)

    def _in_channel(self, channel: gilbert_elliott.GilbertElliott) -> WindowChain:
        limit, most = self._limit(channel.decay), _LONGEST_WITH_CHANNEL[self.rounded_down == 1]
        if limit > most:
            refuse_inputs(
                "out-of-range",
                "{window} is too large beside bursts of losses; give at most {most_window}",
                window=self.window, most_window=most,
            )  # fmt: skip
        return gilbert_elliott.solve(channel, limit, self.aimd)

    def _limit(self, p: float) -> float:
        """Returns the window at which a chain with at least this loss rate ends."""
        return longest_window(p, self.window, self.aimd.alpha, self.aimd.beta) if p else self.window


def longest_window(p: float, w_max: float, alpha: float, beta: float) -> float:
    """Returns the window at which the chain ends: `w_max`, or one that it hardly ever reaches."""
    return min(w_max, 2 + sqrt(2 * _NEVER * alpha / ((1 - beta**2) * p)))


def measured(columns: Columns, question: Question) -> RoundTrip:
    """Returns the law of measured round-trip times."""
    if question.rtt_sd > 0 or question.rtt_growth > 0:
        name = "rtt_sd" if question.rtt_sd > 0 else "rtt_growth"
        refuse_inputs(
            "contradiction",
            f"{{{name}}} is for a round-trip time given by its mean; leave out one of the two",
            **{name: getattr(question, name)},
        )
    laws = [_empirical(rows) for rows in _by_window(columns)]
    if "window" not in columns:
        return laws[0]
    starts = np.unique(columns["window"])

    def law(window: float) -> RoundTrip:
        return laws[max(int(np.searchsorted(starts, window, side="right")) - 1, 0)]

    return round_trip.per_window(law)


def mean_round_trip(columns: Columns) -> float:
    """Returns the mean of measured round-trip times, in s."""
    return float(_empirical(columns).mean_at_least(np.zeros(1), np.zeros(1))[0])


def _empirical(rows: Columns) -> round_trip.Empirical:
    try:
        return round_trip.empirical(rows["rtt_s"], rows.get("weight"))
    except InputError as error:
        name = "rtt_s" if error.field == "samples" else "weight"
        raise InputError(
            error.code, "rtt_samples", f"column {name}: {error.message}", error.value
        ) from None


def pattern_chain(columns: Columns, question: Question) -> tuple[WindowChain, Array]:
    """Returns the chain of a loss pattern, and the overall loss rate at each window."""
    for name, default in (("loss_growth", 1), ("bad_loss", 0)):
        if getattr(question, name) != default:
            refuse_inputs(
                "contradiction",
                f"{{{name}}} is for losses given by their rate; leave out one of the two",
                **{name: getattr(question, name)},
            )
    starts = np.unique(columns.get("window", np.zeros(1)))
    shares = [_pattern(rows) for rows in _by_window(columns)]
    longest = min(each.size - 1 for each in shares)
    if question.window > longest:
        refuse_inputs(
            "out-of-range",
            "{window} is beyond the loss pattern, which ends at {most_window}; give at most that",
            window=question.window, most_window=float(longest),
        )  # fmt: skip

    def delivered(window: float, counts: Array) -> Array:
        row = max(int(np.searchsorted(starts, window, side="right")) - 1, 0)
        return np.asarray(shares[row][counts.astype(int)])

    chain = solve(Memoryless(delivered), question.window, question.aimd)
    lost = weighted_sum(chain.round, chain.lose) / weighted_sum(chain.round, chain.segments)
    if lost == 0:
        raise InputError("out-of-range", "delivered", "nothing is lost up to the largest window")
    return chain, np.full_like(chain.windows, lost)


def mean_loss(columns: Columns) -> float:
    """Returns the loss rate of a pattern: one over the mean number of segments up to a loss."""
    return float(1 / _pattern(_by_window(columns)[0]).sum())


def _pattern(rows: Columns) -> Array:
    """Returns the probability that n segments are delivered, for n = 0, 1, 2 and so on."""
    counts, shares = rows["segments"], rows["delivered"]
    if not np.array_equal(counts, np.arange(1, counts.size + 1)):
        raise InputError("out-of-range", "delivered", "column segments must count 1, 2, 3, ...")
    if not (np.diff(shares, prepend=1.0) <= 0).all() or shares[-1] < 0:
        raise InputError("out-of-range", "delivered", "column delivered must fall from 1 towards 0")
    return np.concatenate([[1.0], shares])


def _by_window(columns: Columns) -> list[Columns]:
    """Returns the rows for each window of the column `window`, ascending; all rows without one."""
    if "window" not in columns:
        return [columns]
    return [
        {name: values[columns["window"] == start] for name, values in columns.items()}
        for start in np.unique(columns["window"])
    ]
