"""The window chain: the congestion window from round to round, and its laws from other viewpoints.

Bogoiavlenskaia, Kojo, Mutka and Alanko, "Analytical Markovian model of TCP congestion avoidance
algorithm performance", University of Helsinki, Report C-2002-13, 2002.

It models congestion avoidance only: a round without loss adds a step, one with losses reduces the
window once. There is no slow start, and there are no timeouts.

Letters: w window (segments), pi_w its law by rounds (`round`). s_w and f_w = 1 - s_w are the
probabilities that a round survives or not (`survive`, `lose`). M_w is the mean number of segments
sent under w before the window changes (`segments`). L is the rate of the link (segments/s, `rate`),
t0 = 1/L.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ackclock.models.aimd_chain import compiled
from ackclock.models.aimd_chain.general_aimd import HALVING
from ackclock.models.aimd_chain.growth import Response
from ackclock.models.aimd_chain.loss import Loss
from ackclock.models.aimd_chain.rtt import RoundTrip
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

MODES = ("round", "segment", "segment_full", "time", "time1")


@dataclass(frozen=True, eq=False)
class WindowChain:
    """A solved chain. All arrays have one entry per window.

    Attributes:
        windows: Segments, from 2 upwards.
        round: pi, the share of rounds.
        segments: M_w, the mean number of segments sent under a window before it changes.
        survive: s_w.
        lose: f_w.
    """

    windows: Array
    round: Array
    segments: Array
    survive: Array
    lose: Array

    def law(self, mode: str, rtt: RoundTrip | None = None, rate: float = inf) -> Array:
        """Returns the law of the window from a viewpoint.

        Args:
            mode: Viewpoint. A random round is `round`. A random segment is `segment` if a round
                ends at its first loss, pi_w M_w (the paper's examples), and `segment_full` with
                whole rounds, pi_w w. A random moment is `time`, pi_w E max(RTT, w/L) (Theorem 2). A
                moment of the chain of segments is `time1`, pi_w M_w E max(RTT, w/L)/w (Theorem 1).
            rtt: Round-trip time; required by the two laws of time.
            rate: L in segments/s.

        Returns:
            Probabilities, one per window.
        """
        weights = self._weights(mode, rtt, rate)
        total = weights.sum()
        if not 0 < total < inf:
            refuse(
                "rtt", total, "is the mean in s; it must be positive and finite for a law of time"
            )
        return np.asarray(weights / total)

    def mean(self, mode: str, rtt: RoundTrip | None = None, rate: float = inf) -> float:
        """Returns the mean window in segments; arguments as for `law`."""
        return weighted_sum(self.law(mode, rtt, rate), self.windows)

    def sd(self, mode: str, rtt: RoundTrip | None = None, rate: float = inf) -> float:
        """Returns the standard deviation of the window in segments; arguments as for `law`."""
        law = self.law(mode, rtt, rate)
        return sqrt(weighted_sum(law, (self.windows - weighted_sum(law, self.windows)) ** 2))

    def _weights(self, mode: str, rtt: RoundTrip | None, rate: float) -> Array:
        if mode == "round":
            return self.round
        if mode == "segment":
            return self.round * self.segments
        if mode == "segment_full":
            return self.round * self.windows
        if mode not in MODES:
            refuse("mode", mode, f"is unknown; choose from {', '.join(MODES)}", "unknown-name")
        if rtt is None:
            refuse(
                "rtt",
                rtt,
                f"does not work with mode {mode}; give a round-trip time, for example "
                f"rtt.constant(0.1)",
            )
        lasts = round_lasts(self, rtt, rate)
        return (
            self.round * lasts
            if mode == "time"
            else self.round * self.segments * lasts / self.windows
        )


def weighted_sum(weights: Array, values: Array) -> float:
    """Returns the sum of weights times values.

    Not `weights @ values`: from 10 000 windows on BLAS distributes that to threads. This takes
    longer than the sum, on a busy machine a hundred times as long.
    """
    return float((weights * values).sum())


def round_lasts(chain: WindowChain, rtt: RoundTrip, rate: float = inf) -> Array:
    """Returns the mean length of a round, E max(RTT, w/L) in s, for each window.

    The paper's (8.2) has its branches swapped; its section 5 says what is meant.
    """
    check_rate(rate)
    return rtt.mean_at_least(chain.windows / rate, chain.windows)


def check_rate(rate: float) -> None:
    """Refuses an invalid link rate in segments/s."""
    if not rate > 0:
        refuse(
            "rate",
            rate,
            "must be positive, in segments/s; for example 1000, or inf for no limit",
        )


def check_largest_window(w_max: float) -> None:
    """Refuses an invalid largest window in segments."""
    if not 2 <= w_max < inf:
        refuse("w_max", w_max, "must be at least 2 segments; for example 64")


def solve(loss: Loss, w_max: float, response: Response = HALVING) -> WindowChain:
    """Solves the chain in O(w_max).

    Args:
        loss: Loss law.
        w_max: Largest window in segments, at least 2.
        response: Growth and fall of the window; by default by one and to a half.

    Returns:
        The chain. Every pi_w above about 1e-300 is accurate to about 1e-13.
    """
    return solve_many([loss], w_max, response)[0]


def solve_many(
    losses: Sequence[Loss], w_max: float, response: Response = HALVING
) -> list[WindowChain]:
    """Solves a chain for each loss law in one go; arguments as for `solve`."""
    check_largest_window(w_max)
    if not losses:
        return []
    windows, falls = response.path(w_max)
    survive = np.stack([loss.survive(windows) for loss in losses])
    lose = np.stack([loss.lose(windows) for loss in losses])
    laws = compiled.stationary(survive, lose, falls.down, falls.above)
    each = zip(losses, laws, survive, lose, strict=True)
    return [WindowChain(windows, law, loss.segments(windows), s, f) for loss, law, s, f in each]
