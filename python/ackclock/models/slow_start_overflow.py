"""Slow start that overflows a drop-tail queue: at which window, how much is lost, what threshold is left.

Barakat and Altman, "Performance of short TCP transfers", Networking 2000 (their Theorem 1), for any
number of segments acknowledged by one ACK. Only the abstract was at hand: the theorem is re-derived
from a later retelling, and so is the number of losses. The paper's rule for the threshold is W_D/8,
sometimes W_D/4; our own for which it is, `reductions`.

A round trip of slow start is a mini-cycle. Mini-cycle n sends w1 alpha^n segments, alpha = (d+1)/d,
released by ACKs that come at the link's rate: a burst arrives at the queue at alpha times that rate
and fills it at mu/d. A burst of B (d+1) segments fills an empty queue. A queue that has not emptied
since the burst before, whose window exceeds the pipe, has B - (W - mu T) places left, and the
window opens by as many.

Letters: mu link rate (segments/s), T round-trip time without queueing, the segment's own service
included (s), bdp = mu T, B buffer without the segment being sent, d segments acknowledged for each
by which slow start opens the window, w1 initial window, W_th initial threshold, W_B window at the
overflow, W_D window when the loss is detected, L segments lost.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import AT_LEAST_ONE, LIMIT, NOT_NEGATIVE, POSITIVE, Domain, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# Windows grow by a share of 1/d in a mini-cycle, of which an overflow then takes d times as many.
# An ACK that stands for more than this is none of a connection in slow start; chosen here.
SEGMENTS_PER_ACK = Domain(0, 100, "(]")

# B (d+1) may be a power of alpha exactly; products of powers come that close to it.
_SAME = 1e-12

# Duplicate ACKs that make a fast retransmit (RFC 5681 section 3.2).
DUPLICATES = 3


class Overflow(NamedTuple):
    """The mini-cycle in which the queue overflows.

    Attributes:
        n: Its number; that of the initial window is zero.
        burst: What it would send in all, w1 alpha^n segments.
        window: W_B, the window at the first loss.
    """

    n: Array
    burst: Array
    window: Array


def overflow(B: ArrayLike, bdp: ArrayLike, d: ArrayLike, w1: ArrayLike = 1.0) -> Overflow:
    """Theorem 1: n = min {n >= 0: w1 alpha^n >= B (d+1)}, W_B = B + min(bdp, w1 alpha^(n-1)).

    A buffer of bdp/d or more always gives B + bdp, one below bdp/(d+1) a window that depends on
    neither mu nor T. The theorem is about windows that grow: one so small that the next growth
    overflows it gives w1 + 1, which is two for a buffer of nothing, since two segments back to back
    do not fit.

    Raises:
        ValueError: Something is out of its domain, or the initial window overflows the buffer
        before any ACK.
    """
    B, bdp, d, w1 = np.broadcast_arrays(*(np.asarray(value, float) for value in (B, bdp, d, w1)))
    check(B=(B, NOT_NEGATIVE), bdp=(bdp, POSITIVE), d=(d, SEGMENTS_PER_ACK), w1=(w1, AT_LEAST_ONE))
    if (w1 > B + 1).any():
        refuse(
            "w1",
            float(w1[w1 > B + 1].flat[0]),
            "overflows the buffer before any ACK; give at most B + 1",
            "contradiction",
        )
    alpha, full = (d + 1) / d, B * (d + 1) * (1 - _SAME)
    n, burst = np.zeros(B.shape), np.array(w1)
    while (fits := burst < full).any():
        n, burst = n + fits, np.where(fits, burst * alpha, burst)
    return Overflow(n, burst, np.maximum(w1 + 1, B + np.minimum(bdp, burst / alpha)))


def sent(W: ArrayLike, d: ArrayLike, w1: ArrayLike = 1.0) -> Array:
    """How many segments slow start has sent when the window is W: each d that are acknowledged release d + 1."""
    W, d, w1 = (np.asarray(value, float) for value in (W, d, w1))
    return np.asarray((d + 1) * W - d * w1)


def detected_window(W_B: ArrayLike, d: ArrayLike, W_th: ArrayLike = inf) -> Array:
    """W_D = min(W_th, alpha W_B): what was sent before the loss goes on opening the window for a round trip."""
    W_B, d, W_th = (np.asarray(value, float) for value in (W_B, d, W_th))
    check(W_th=(W_th, LIMIT))
    return np.asarray(np.minimum(W_th, (d + 1) / d * W_B))


def lost(
    B: ArrayLike, bdp: ArrayLike, d: ArrayLike, w1: ArrayLike = 1.0, W_th: ArrayLike = inf
) -> Array:
    """L, the segments lost until slow start ends; none where its threshold is not above W_B.

    Of the overflowing burst a share of 1/(d+1) is lost from the overflow on. If what got through
    fills the pipe, the next burst loses all that it is above the one before. Else that begins with
    an empty queue, and only the B (d+1) segments before the first hole open the window for it.
    """
    B, bdp, d, w1, W_th = (np.asarray(value, float) for value in (B, bdp, d, w1, W_th))
    _, burst, W_B = overflow(B, bdp, d, w1)
    more = np.maximum(detected_window(W_B, d, W_th) - W_B, 0)
    of_burst = np.maximum(burst - B * (d + 1), 0) / (d + 1)
    return np.asarray(np.where(burst - of_burst > bdp, more, np.minimum(of_burst + B / d, more)))


def reductions(L: ArrayLike, W_D: ArrayLike, kept: ArrayLike = 0.5) -> Array:
    """How often Reno reduces its window before it slow-starts again: W_D/8 is three times, by half.

    Two fast retransmits and a timeout, if three segments or more are lost and the first recovery
    lets out enough new ones for the second: its window is inflated by the W_D - L that have
    arrived, so kept W_D - L, of which three must come back as duplicate ACKs. With d = 1 and a
    large buffer L = W_D/2, nothing is let out, and W_D/4 is left. A single loss costs one
    reduction, none no reduction.
    """
    L, W_D, kept = (np.asarray(value, float) for value in (L, W_D, kept))
    again = (L >= DUPLICATES) & (kept * W_D - L >= DUPLICATES)
    return np.select([again, L > 1, L > 0], [3.0, 2.0, 1.0], 0.0)
