"""Bursty losses: the window chain combined with a channel of two states.

The channel takes a step with each segment sent. The segment is lost with the probability of the
present state, then the channel moves. Gilbert, Bell System Technical Journal 39, 1960; Elliott,
ibid. 42, 1963; for AIMD: Altman, Avrachenkov and Barakat, "A stochastic model of TCP/IP with
stationary random losses", SIGCOMM 2000.

Letters: P is the channel's step, D = diag(delivered) P the step of one delivered segment. A round
of w segments survives with the matrix D^w G, where G = P^idle for the channel's steps between
rounds. Its losses are summed loss by loss, without subtraction: F_{w+1} = F_w P + D^w diag(lost) P.
"""

from dataclasses import dataclass

import numpy as np

from ackclock.models.aimd_chain import compiled
from ackclock.models.aimd_chain.chain import WindowChain, check_largest_window
from ackclock.models.aimd_chain.general_aimd import HALVING
from ackclock.models.aimd_chain.growth import Falls, Indices, Response
from ackclock.models.aimd_chain.loss import check_probability
from ackclock.models.model import Array
from ackclock.models.refusal import refuse


@dataclass(frozen=True)
class GilbertElliott:
    """The channel.

    Attributes:
        good_to_bad: Probability per segment to leave the good state.
        bad_to_good: Probability per segment to leave the bad state.
        loss_in_good: Loss rate in the good state.
        loss_in_bad: Loss rate in the bad state.
    """

    good_to_bad: float
    bad_to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0

    def __post_init__(self) -> None:
        for name in ("good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad"):
            check_probability(name, getattr(self, name))
        if self.good_to_bad == self.bad_to_good == 0:
            refuse(
                "good_to_bad",
                self.good_to_bad,
                "and bad_to_good are both zero: the channel must be able to change",
            )
        if self.good_to_bad == self.bad_to_good == 1:
            refuse(
                "good_to_bad",
                self.good_to_bad,
                "and bad_to_good are both one: take less, so that the channel mixes",
            )

    @classmethod
    def of_bursts(
        cls, mean_loss: float, loss_in_bad: float, bad_sojourn: float, loss_in_good: float = 0.0
    ) -> "GilbertElliott":
        """Returns a channel with this loss rate.

        Args:
            mean_loss: Overall loss rate.
            loss_in_bad: Loss rate in the bad state, above `mean_loss`.
            bad_sojourn: Mean number of consecutive segments in the bad state, at least 1.
            loss_in_good: Loss rate in the good state, below `mean_loss`.
        """
        if not 0 < mean_loss < loss_in_bad <= 1:
            refuse(
                "mean_loss", mean_loss, "must be positive and below loss_in_bad, which is at most 1"
            )
        if not 0 <= loss_in_good < mean_loss:
            refuse("loss_in_good", loss_in_good, "must be below mean_loss, and not negative")
        if not bad_sojourn >= 1:
            refuse("bad_sojourn", bad_sojourn, "must be at least 1, in segments")
        bad = (mean_loss - loss_in_good) / (loss_in_bad - loss_in_good)
        leave_good = bad / (1 - bad) / bad_sojourn
        if leave_good > 1:
            refuse("bad_sojourn", bad_sojourn, "is too short for so much loss; take a longer one")
        return cls(leave_good, 1 / bad_sojourn, loss_in_good, loss_in_bad)

    @property
    def mean_loss(self) -> float:
        """Overall loss rate."""
        bad = self.good_to_bad / (self.good_to_bad + self.bad_to_good)
        return (1 - bad) * self.loss_in_good + bad * self.loss_in_bad

    @property
    def decay(self) -> float:
        """Share by which each segment more lowers the probability that all are delivered."""
        delivered = np.array([[1 - self.loss_in_good], [1 - self.loss_in_bad]]) * self.step
        return float(1 - np.abs(np.linalg.eigvals(delivered)).max())

    @property
    def step(self) -> Array:
        """P, from rows to columns in the order good, bad."""
        leave, back = self.good_to_bad, self.bad_to_good
        return np.array([[1 - leave, leave], [back, 1 - back]])


def solve(
    channel: GilbertElliott, w_max: float, response: Response = HALVING, idle: int = 0
) -> WindowChain:
    """Solves the chain of (window, channel), and sums over the channel.

    It takes O(w_max) steps if falls end on windows of the path, and O(w_max^2) if they are shared.

    Args:
        channel: The channel.
        w_max: Largest window in segments, at least 2.
        response: Growth and fall of the window; a round sends the whole segments of its window.
        idle: Steps of the channel between rounds; with 0 it stands still while nothing is sent.

    Returns:
        The chain. Its `survive`, `lose` and `segments` are means over the channel's state at the
        start of a round; they are zero for windows that are never reached.
    """
    check_largest_window(w_max)
    if idle < 0 or idle != int(idle):
        refuse("idle", idle, "must be a whole number of steps, not negative")
    windows, falls = response.path(w_max)
    survive, lose, sent = _rounds(channel, np.floor(windows).astype(np.int64), idle)
    if falls.above.any():
        law = _shared(survive, lose, falls)
    else:
        law = compiled.stationary_with_channel(survive, lose, falls.down)
    by_round = law.sum(axis=1)
    start = law / np.where(by_round > 0, by_round, 1)[:, None]
    return WindowChain(
        windows,
        by_round,
        (start * sent).sum(axis=1),
        np.einsum("wi,wij->w", start, survive),
        np.einsum("wi,wij->w", start, lose),
    )


def _shared(survive: Array, lose: Array, falls: Falls) -> Array:
    """Returns the law of (level, channel state) if falls are shared between two windows."""
    levels = falls.down.size
    level, _, there = np.meshgrid(np.arange(levels), (0, 1), (0, 1), indexing="ij")
    above = falls.above[:, None, None]
    down = falls.down[level]
    targets = (
        np.stack([np.minimum(level + 1, levels - 1), down, np.minimum(down + 1, level)], axis=2) * 2
        + there[:, :, None]
    )
    chances = np.stack([survive, lose * (1 - above), lose * above], axis=2)
    offsets = np.arange(2 * levels + 1) * targets[0, 0].size
    return compiled.stationary_of_jumps(offsets, targets.ravel(), chances.ravel()).reshape(
        levels, 2
    )


def _rounds(channel: GilbertElliott, counts: Indices, idle: int) -> tuple[Array, Array, Array]:
    """Returns D^w G, F_w G and mean segments until a loss or the round's end, by channel state."""
    P = channel.step
    lost = np.array([channel.loss_in_good, channel.loss_in_bad])[:, None] * P
    D = np.array([1 - channel.loss_in_good, 1 - channel.loss_in_bad])[:, None] * P
    survived, failed, sent = np.eye(2), np.zeros((2, 2)), np.zeros(2)
    kept = {}
    for n in range(int(counts.max()) + 1):
        kept[n] = survived, failed, sent
        sent = sent + survived.sum(axis=1)
        failed = failed @ P + survived @ lost
        survived = survived @ D
    G = np.linalg.matrix_power(P, int(idle))
    rounds = [kept[int(n)] for n in counts]
    return (
        np.array([s @ G for s, _, _ in rounds]),
        np.array([f @ G for _, f, _ in rounds]),
        np.array([m for _, _, m in rounds]),
    )
