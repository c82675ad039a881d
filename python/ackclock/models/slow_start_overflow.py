"""Slow start that overflows a drop-tail queue: window at the overflow, loss, and threshold.

Barakat and Altman, "Performance of short TCP transfers", Networking 2000 (their Theorem 1), for any
number of segments acknowledged by one ACK. Only the abstract was available. The theorem and the
number of losses are re-derived from a later summary. The paper's threshold is W_D/8, sometimes
W_D/4; the rule that decides between them, `reductions`, is ackclock's own.

A round trip of slow start is a mini-cycle. Mini-cycle n sends w1 alpha^n segments, alpha = (d+1)/d,
released by ACKs that come at the link's rate. A burst therefore arrives at the queue at alpha times
that rate and fills it at mu/d. A burst of B (d+1) segments fills an empty queue. If the queue has
not emptied since the burst before, whose window exceeds the pipe, it has room for B - (W - mu T)
segments, and the window opens by as many.

In other words, the queue overflows in the first mini-cycle in which the window opens by more than
the room of B - max(W - mu T, 0) that it finds. Put so, it also holds where d changes at a window Wc
(`d_later` from there). The paper advises that for small buffers: begin with a small d, and change
to a larger one before the overflow.

Letters: mu link rate (segments/s), T round-trip time without queueing, the segment's own service
included (s), bdp = mu T. B is the buffer without the segment being sent, d the segments
acknowledged per segment by which slow start opens the window. W_th is the initial threshold, w1 the
initial window, W_B the window at the overflow, W_D the window when the loss is detected, L the
segments lost.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import AT_LEAST_ONE, LIMIT, NOT_NEGATIVE, POSITIVE, Domain, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# Windows grow by a share of 1/d per mini-cycle, so that the mini-cycles until an overflow increase
# with d. No ACK in slow start covers more segments than this. Chosen here.
SEGMENTS_PER_ACK = Domain(0, 100, "(]")

# B (d+1) may be an exact power of alpha; computed powers differ from it by at most this.
_SAME = 1e-12

# Duplicate ACKs that trigger a fast retransmit (RFC 5681 section 3.2).
DUPLICATES = 3


class Overflow(NamedTuple):
    """The mini-cycle in which the queue overflows.

    Attributes:
        n: Its number; the initial window has number 0.
        burst: Segments that it would send in total, w1 alpha^n.
        window: W_B, the window at the first loss.
        growth: Segments by which the window would open in it.
    """

    n: Array
    burst: Array
    window: Array
    growth: Array


def overflow(
    B: ArrayLike,
    bdp: ArrayLike,
    d: ArrayLike,
    w1: ArrayLike = 1.0,
    Wc: ArrayLike = inf,
    d_later: ArrayLike = 1.0,
) -> Overflow:
    """Returns Theorem 1: n = min {n >= 0: w1 alpha^n >= B (d+1)}, with its burst and window.

    The window is W_B = B + min(bdp, w1 alpha^(n-1)).

    A buffer of at least bdp/d always gives B + bdp. One below bdp/(d+1) gives a window independent
    of mu and T. The theorem holds for windows that grow. If the first growth already overflows the
    queue, the window is w1 + 1. For a buffer of 0 that is 2, since two segments back to back do not
    fit. If d changes, d is `d_later` from the window Wc on.

    Raises:
        ValueError: An argument is out of its domain, or the initial window overflows the buffer
            before any ACK.
    """
    B, bdp, d, w1, Wc, d_later = np.broadcast_arrays(
        *(np.asarray(value, float) for value in (B, bdp, d, w1, Wc, d_later))
    )
    check(B=(B, NOT_NEGATIVE), bdp=(bdp, POSITIVE), d=(d, SEGMENTS_PER_ACK), w1=(w1, AT_LEAST_ONE))
    check(Wc=(Wc, LIMIT), d_later=(d_later, SEGMENTS_PER_ACK))
    if (w1 > B + 1).any():
        refuse(
            "w1",
            float(w1[w1 > B + 1].flat[0]),
            "overflows the buffer before any ACK; give at most B + 1",
            "contradiction",
        )
    # The window of mini-cycle n, and that before it. In a mini-cycle that begins below the pipe the
    # queue overflows where the window has opened by B.
    n, burst, before = np.zeros(B.shape), np.array(w1), np.zeros(B.shape)
    first = B * (d + 1) * (1 - _SAME)
    while (fits := np.where(n == 0, burst < first, burst - before < B * (1 - _SAME))).any():
        following = opened(burst, d, Wc, d_later)
        n, before = n + fits, np.where(fits, burst, before)
        burst = np.where(fits, following, burst)
    growth = np.where(n > 0, burst - before, burst / (d + 1))
    before = np.where(n > 0, before, burst * d / (d + 1))
    return Overflow(n, burst, np.maximum(w1 + 1, B + np.minimum(bdp, before)), growth)


def opened(W: ArrayLike, d: ArrayLike, Wc: ArrayLike = inf, d_later: ArrayLike = 1.0) -> Array:
    """Returns the window that the ACKs of a window W lead to in slow start."""
    W, d, Wc, d_later = (np.asarray(value, float) for value in (W, d, Wc, d_later))
    with np.errstate(invalid="ignore"):  # no change: infinity less infinity is not used
        until = np.clip((Wc - W) * d, 0, W)
    return np.asarray(W + until / d + (W - until) / d_later)


def sent(
    W: ArrayLike,
    d: ArrayLike,
    w1: ArrayLike = 1.0,
    Wc: ArrayLike = inf,
    d_later: ArrayLike = 1.0,
) -> Array:
    """Returns the segments that slow start has sent when the window is W.

    Each d segments acknowledged release d + 1.
    """
    W, d, w1, Wc, d_later = (np.asarray(value, float) for value in (W, d, w1, Wc, d_later))
    change = np.clip(Wc, w1, np.maximum(W, w1))
    return np.asarray((d + 1) * change - d * w1 + (d_later + 1) * (W - change))


def detected_window(
    W_B: ArrayLike,
    d: ArrayLike,
    W_th: ArrayLike = inf,
    Wc: ArrayLike = inf,
    d_later: ArrayLike = 1.0,
) -> Array:
    """Returns W_D = min(W_th, alpha W_B).

    Segments sent before the loss continue to open the window for a round trip.
    """
    W_th = np.asarray(W_th, float)
    check(W_th=(W_th, LIMIT))
    return np.asarray(np.minimum(W_th, opened(W_B, d, Wc, d_later)))


def lost(
    B: ArrayLike,
    bdp: ArrayLike,
    d: ArrayLike,
    w1: ArrayLike = 1.0,
    W_th: ArrayLike = inf,
    Wc: ArrayLike = inf,
    d_later: ArrayLike = 1.0,
) -> Array:
    """Returns L, the segments lost until slow start ends; 0 if its threshold is not above W_B.

    The overflowing burst loses a share of 1/(d+1) from the overflow on. If the rest fills the pipe,
    the next burst loses its whole growth over the previous one. Otherwise the next burst begins
    with an empty queue, and only the B (d+1) segments before the first hole open the window for it.
    If d changes, it is that at the overflow.
    """
    B, bdp, d, w1, W_th, Wc = (np.asarray(value, float) for value in (B, bdp, d, w1, W_th, Wc))
    _, burst, W_B, growth = overflow(B, bdp, d, w1, Wc, d_later)
    more = np.maximum(detected_window(W_B, d, W_th, Wc, d_later) - W_B, 0)
    d = np.where(Wc <= W_B, d_later, d)
    of_burst = np.maximum(growth - B, 0)
    return np.asarray(np.where(burst - of_burst > bdp, more, np.minimum(of_burst + B / d, more)))


def reductions(L: ArrayLike, W_D: ArrayLike, kept: ArrayLike = 0.5) -> Array:
    """Returns the number of Reno's window reductions before it slow-starts again.

    Three halvings give W_D/8: two fast retransmits and a timeout. They need at least three losses,
    and a first recovery that releases enough new segments for the second. The window is inflated by
    the W_D - L segments that arrived, so it releases kept W_D - L, of which three must return as
    duplicate ACKs. With d = 1 and a large buffer L = W_D/2, nothing is released, and W_D/4 remains.
    A single loss causes one reduction.
    """
    L, W_D, kept = (np.asarray(value, float) for value in (L, W_D, kept))
    again = (L >= DUPLICATES) & (kept * W_D - L >= DUPLICATES)
    return np.select([again, L > 1, L > 0], [3.0, 2.0, 1.0], 0.0)
