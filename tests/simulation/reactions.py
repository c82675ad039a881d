"""The cost of reactions to loss, by hand: an account of the rounds of RFC 6675, without an engine.

A segment is lost at place n of a window of w segments, behind n - 1 that arrive. The next round has
two parts:

* The n - 1 ACKs release as many new segments, and the first two duplicate ACKs one each (limited
  transmit, RFC 3042).
* The third one brings the retransmission and half the window. From then on each further ACK
  releases a segment once at most half of w is in flight. In total n + 2 segments are sent, or half
  of w if that is more.

Then the window is half of w, and congestion avoidance follows. If fewer than three segments came
behind the lost one, that round sends w - 1 segments (one for each ACK, by limited transmit or not),
and the reaction is in the next round. A lost retransmission (with probability p) waits for the
timer. Slow start from one segment then takes the window to half of what it was in the reaction.

All of this is for one loss at a time. What the account leaves out is of second order in the losses
per round: more losses in the window or in the reaction, and repeated timeouts. Each makes the rate
lower, so the account is also an upper bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ackclock.models.aimd_chain import WindowChain


class Account(NamedTuple):
    """Effect of the reactions.

    Attributes:
        ratio: Segments per round with reactions, over the same without.
        losses: Reactions begun per round of congestion avoidance. The account may be off by the
            square of it.
    """

    ratio: float
    losses: float


def account(chain: WindowChain, p: float, silence: float) -> Account:
    """Returns the reactions of a sender whose congestion avoidance is this chain.

    Args:
        chain: Chain under independent loss.
        p: Loss rate of a segment.
        silence: Waiting time of the timer, in rounds.
    """
    seen = chain.round * chain.lose > 1e-12
    extra = np.array([_reaction(round(w), p, silence) for w in chain.windows[seen]])
    lossy = chain.round[seen] * chain.lose[seen]
    rounds, segments = lossy @ extra
    mean = chain.mean("round")
    return Account(float((mean + segments) / (1 + rounds) / mean), float(lossy.sum()))


def _reaction(w: int, p: float, silence: float) -> tuple[float, float]:
    """Returns the mean rounds and segments of the reaction to a loss under w.

    The mean is over the place of the lost segment.
    """
    n = np.arange(1, w + 1)
    place = (1 - p) ** (n - 1)
    place /= place.sum()
    half, quarter = max(w // 2, 2), max(w // 4, 2)
    at_once = n <= w - 3
    late = place[~at_once].sum()
    rounds = 1 + late
    segments = place[at_once] @ np.maximum(n[at_once] + 2, half) + late * (w - 1 + max(half, 3))
    return rounds + p * (silence + math.log2(quarter)), segments + p * (quarter - 1)
