"""What reactions to loss cost, worked out by hand: an account of the rounds of RFC 6675, without an engine.

A segment is lost at place n of a window of w segments, behind n - 1 that arrive. In the next round

- n - 1 ACKs let as many new segments go, and the first two duplicate ACKs one each (limited
  transmit, RFC 3042);
- the third one brings the retransmission and half the window: from then on, one goes for each
  further ACK as soon as no more than half of w is on its way. All in all n + 2 segments go, or half
  of w if that is more.

Then the window is half of w, and what follows is congestion avoidance. If fewer than three segments
came behind the lost one, that round sends w - 1 segments (all of its ACKs', by limited transmit or
not) and the reaction is in the one behind it. A lost retransmission (with probability p) waits for
the timer; then slow start from one segment takes the window to half of what it was in the reaction.

All of this is for one loss at a time. What the account leaves out is of second order in the losses
per round: more losses in the window or in the reaction, and timers that go off again. Each makes
the rate lower, so the account is also an upper bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ackclock.models.aimd_chain import WindowChain


class Account(NamedTuple):
    """What the reactions do.

    Attributes:
        ratio: Segments per round with reactions over the same without.
        losses: Reactions begun per round of congestion avoidance. The account may be off by the
            square of it.
    """

    ratio: float
    losses: float


def account(chain: WindowChain, p: float, silence: float) -> Account:
    """The reactions of a sender whose congestion avoidance is this chain.

    Args:
        chain: Under independent loss.
        p: Loss rate of a segment.
        silence: How long a timer waits, in rounds.
    """
    seen = chain.round * chain.lose > 1e-12
    extra = np.array([_reaction(round(w), p, silence) for w in chain.windows[seen]])
    lossy = chain.round[seen] * chain.lose[seen]
    rounds, segments = lossy @ extra
    mean = chain.mean("round")
    return Account(float((mean + segments) / (1 + rounds) / mean), float(lossy.sum()))


def _reaction(w: int, p: float, silence: float) -> tuple[float, float]:
    """Rounds and segments of the reaction to a loss under w, on the mean over the place of the lost segment."""
    n = np.arange(1, w + 1)
    place = (1 - p) ** (n - 1)
    place /= place.sum()
    half, quarter = max(w // 2, 2), max(w // 4, 2)
    at_once = n <= w - 3
    late = place[~at_once].sum()
    rounds = 1 + late
    segments = place[at_once] @ np.maximum(n[at_once] + 2, half) + late * (w - 1 + max(half, 3))
    return rounds + p * (silence + math.log2(quarter)), segments + p * (quarter - 1)
