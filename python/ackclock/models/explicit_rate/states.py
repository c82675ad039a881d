"""The states that a loop can reach, enumerated once, independently of the link's transitions.

From each state an interval either leads without loss to another state, as the window grows by N, or
loses a packet. In that case the window reached determines how long recovery and slow start last and
where they end (`loop` has the source). Only the link's state at that time depends on its chain,
which `renewal` adds.

Letters: p(x) probability of a loss in the interval that begins in state x, N growth of the window
in it. At a loss, w is the window reached, m = floor(w/2) the threshold of slow start after it,
u_x(m) the probability of a loss that leaves m. L(m) is the number of intervals of slow start. V(x)
are the packets credited to the interval and the recovery it may begin, U(x) is the length of both.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from ackclock.models.explicit_rate.link import HIGH, LOW
from ackclock.models.explicit_rate.loop import Indices, Interval, Loop, Source, State, slow_start
from ackclock.models.model import Array

#: More states are refused, as they take minutes. Chosen here.
MOST_STATES = 20_000

#: Rules for the credit of an interval with a loss, as in `_credits`.
REWARDS = ("zero", "conservative", "sequence", "optimistic")

# Smaller probabilities are ignored: they are below the rounding of a sum of probabilities, and are
# most of a wide law's outcomes.
_NEGLIGIBLE = 1e-16

# Binary digits of each of a, b and d in a state's key.
_BITS = 20


@dataclass(frozen=True, eq=False)
class States:
    """The states and their transitions.

    Attributes:
        loop: The loop.
        source: The source.
        state: All states.
        moves: Lossless transitions, one row each: first state, and next state if the link is then
            high, or low.
        move_chance: Their probabilities, without the link's factor.
        losses: Rows of a state and a threshold after a loss in it.
        loss_chance: u_x(m) of each.
        restarts: State at the end of recovery, by threshold and pair of rates (2 * link + source).
        loss: p(x).
        window_at_loss: E(w; loss).
        rewards: V(x) by rule.
        intervals: U(x), in round trips.
    """

    loop: Loop
    source: Source
    state: State
    moves: Indices
    move_chance: Array
    losses: Indices
    loss_chance: Array
    restarts: Indices
    loss: Array
    window_at_loss: Array
    rewards: dict[str, Array]
    intervals: Array

    @property
    def pair(self) -> Indices:
        """Index 2 * link + source of each state."""
        return 2 * self.state.link + self.state.source


class TooManyStatesError(ValueError):
    """A loop has too many states to enumerate; the message has the limit and the remedy."""

    def __init__(self) -> None:
        super().__init__(
            f"there are more than {MOST_STATES} states; take fewer in a round trip, or a smaller "
            "buffer or window"
        )


# A curve over psi, or an inverse question, asks for the same states again and again.
@lru_cache(maxsize=32)
def enumerate_states(loop: Loop, source: Source) -> States:
    """Returns all reachable states, breadth first from a slow start that ends at one packet.

    Raises:
        TooManyStatesError: There are more than `MOST_STATES`.
    """
    outline = _outline(loop, source.at_even_odds())
    state, kept, lost = outline.state, outline.kept, outline.lost
    weights = np.array([weight for weight, _ in source.quotas(loop)])
    kept_chance = weights[kept.quota] * kept.chance
    lost_chance = weights[lost.quota] * lost.chance * lost.share

    def total(rows: Indices, values: Array) -> Array:
        return np.asarray(np.bincount(rows, values, state.a.size), float)

    unlost = total(kept.row, kept_chance)
    credited = _credits(_rows(state, lost.row), lost.accepted, lost.m)
    return States(
        loop=loop,
        source=source,
        state=state,
        moves=outline.moves,
        move_chance=kept_chance,
        losses=outline.losses,
        loss_chance=np.asarray(np.bincount(outline.loss, lost_chance), float),
        restarts=outline.restarts,
        loss=total(lost.row, lost_chance),
        window_at_loss=total(lost.row, lost_chance * lost.w),
        rewards={
            rule: unlost * state.d + total(lost.row, lost_chance * credit)
            for rule, credit in credited.items()
        },
        intervals=unlost + total(lost.row, lost_chance * (loop.recovery + slow_start(lost.m))),
    )


class _Kept(NamedTuple):
    """Outcomes without loss: state before, index of the quota, probability with this quota."""

    row: Indices
    quota: Indices
    chance: Array


class _Lost(NamedTuple):
    """Outcomes with a loss: as in `_Kept`, the share with this w of that probability, q, w, m."""

    row: Indices
    quota: Indices
    chance: Array
    share: Array
    accepted: Array
    w: Indices
    m: Indices


class _Outline(NamedTuple):
    """States and their outcomes, whatever the probabilities of quotas; the rest is as in `States`.

    `loss` is the row in `losses` of each outcome with a loss.
    """

    state: State
    moves: Indices
    losses: Indices
    restarts: Indices
    kept: _Kept
    lost: _Lost
    loss: Indices


# Constant rates between the same whole numbers have the same.
@lru_cache(maxsize=8)
def _outline(loop: Loop, source: Source) -> _Outline:
    largest = loop.round_trip + loop.buffer + (loop.window if loop.window < inf else 0)
    if largest >= 1 << _BITS:
        raise TooManyStatesError
    book, levels = _Book(), []
    restarts = {1: book.numbers(_restart(loop, source, 1))}
    while book.has_new:
        first, state = book.new()
        kept, ends, lost = _outcomes(loop, source, state)
        kept, lost = kept._replace(row=first + kept.row), lost._replace(row=first + lost.row)
        moves = [
            book.numbers(ends._replace(link=np.full_like(kept.row, link))) for link in (HIGH, LOW)
        ]
        for m in np.unique(lost.m).tolist():
            if m not in restarts:
                restarts[m] = book.numbers(_restart(loop, source, m))
        levels.append((kept, np.column_stack([kept.row, *moves]), lost))
    table = np.zeros((max(restarts) + 1, 4), np.int64)
    table[list(restarts)] = list(restarts.values())
    each_kept, each_moves, each_lost = zip(*levels, strict=True)
    lost = _Lost(*map(np.concatenate, zip(*each_lost, strict=True)))
    pairs, loss = np.unique(lost.row * len(table) + lost.m, return_inverse=True)
    return _Outline(
        state=book.all(),
        moves=np.concatenate(each_moves),
        losses=np.column_stack(np.divmod(pairs, len(table))),
        restarts=table,
        kept=_Kept(*map(np.concatenate, zip(*each_kept, strict=True))),
        lost=lost,
        loss=loss,
    )


def _outcomes(loop: Loop, source: Source, state: State) -> tuple[_Kept, State, _Lost]:
    """Returns the outcomes of an interval from these states, and where those without loss end."""
    row, growth, chance = _growths(state, loop.window)
    each, quotas = _rows(state, row), source.quotas(loop)
    intervals = [source.interval(loop, each, growth, quota) for _, quota in quotas]
    interval = Interval(*map(np.concatenate, zip(*intervals, strict=True)))
    quota = np.repeat(np.arange(len(quotas)), row.size)
    row, growth = np.tile(row, len(quotas)), np.tile(growth, len(quotas))
    chance = np.tile(chance, len(quotas))
    unlost, lost = np.flatnonzero(~interval.lost), np.flatnonzero(interval.lost)
    kept = _Kept(row[unlost], quota[unlost], chance[unlost])
    ends = State(
        interval.a[unlost], interval.b[unlost], interval.d[unlost], kept.row, state.link[kept.row]
    )
    which, w, share = _windows_at_loss(
        loop, _rows(state, row[lost]), growth[lost], interval.accepted[lost]
    )
    lost = lost[which]
    m = np.maximum(w // 2, 1)
    return kept, ends, _Lost(
        row[lost], quota[lost], chance[lost], share, interval.accepted[lost], w, m
    )  # fmt: skip


def _credits(before: State, accepted: Array, m: Indices) -> dict[str, Array]:
    """Returns the packets credited to an interval with a loss and its recovery, by rule.

    - `zero`: No packets, a lower bound.
    - `conservative`: The d + b packets sent in earlier intervals. All packets of this interval are
      sent again later. It is the least certain reading of the publication (55 % sure), and the one
      that agrees best with simulation.
    - `sequence`: The d + b + q packets of the unbroken sequence before the lost packet.
    - `optimistic`: In addition W, the most that was sent after the lost packet, and slow start's
      2^L - 1. It is a bound: the efficiency may exceed one if the window is far above the capacity
      of the loop.
    """
    earlier = (before.d + before.b).astype(float)
    return {
        "zero": np.zeros(m.size),
        "conservative": earlier,
        "sequence": earlier + accepted,
        "optimistic": earlier + accepted + before.window + 2.0 ** slow_start(m) - 1,
    }


def _windows_at_loss(
    loop: Loop, before: State, growth: Indices, accepted: Array
) -> tuple[Indices, Indices, Array]:
    """Returns the window w reached at a loss: indices of the outcomes, w, shares of the outcomes.

    The ACKs of packets in propagation, and of those that the bottleneck accepts before the loss,
    are an unbroken sequence. All of them therefore enlarge the window.
    """
    window = before.window + growth
    if loop.growth == "by_chance":
        which, further, share = _binomials(
            np.floor(before.b + accepted + 0.5).astype(np.int64), 1 / window
        )
    else:
        which, share = np.arange(window.size), np.ones(window.size)
        further = np.full_like(window, loop.growth == "by_one")
    return which, _limited(window[which] + further, loop.window), share


def _growths(state: State, largest: float) -> tuple[Indices, Indices, Array]:
    """Returns the growth of the window: indices of the states, N, probabilities.

    Each of the d ACKs of an interval enlarges the window by one with probability 1/W, where W is
    the window at its beginning (A5, 90 % sure).
    """
    row, growth, chance = _binomials(state.d, 1 / state.window)
    return row, _limited(state.window[row] + growth, largest) - state.window[row], chance


def _limited(windows: Indices, largest: float) -> Indices:
    return windows if largest == inf else np.minimum(windows, int(largest))


def _binomials(trials: Indices, share: Array) -> tuple[Indices, Indices, Array]:
    """Returns all outcomes of binomial laws that are not negligible.

    They are indices of the laws, outcomes and probabilities.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # slow to import; not all models need it

    # Chernoff: P(K >= k) <= (e np/k)^k, below 1e-19 there.
    outcomes = np.minimum(trials, (8 * trials * share).astype(np.int64) + 16) + 1
    which = np.repeat(np.arange(trials.size), outcomes)
    starts = np.cumsum(outcomes) - outcomes
    k = np.arange(which.size) - starts[which]
    n, p = trials[which], share[which]
    log_factorial = gammaln(np.arange(trials.max(initial=0) + 1) + 1)
    combinations = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
    chance = np.exp(combinations + xlogy(k, p) + xlog1py(n - k, -p))
    some = chance > _NEGLIGIBLE
    return which[some], k[some], chance[some]


def _rows(state: State, rows: Indices) -> State:
    return State(*(part[rows] for part in state))


def _restart(loop: Loop, source: Source, m: int) -> State:
    """Returns the state at the end of recovery with a window of m packets, by pair of rates."""
    link, before = np.divmod(np.arange(4), 2)
    return source.restart(loop, np.full(4, m), link, before)


class _Book:
    """States in order of discovery, each with a number."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._keys: list[int] = []
        self._handed_out = 0

    def numbers(self, state: State) -> Indices:
        """Returns the numbers of these states; new states get one."""
        key = (
            ((state.a << _BITS | state.b) << _BITS | state.d) << 1 | state.link
        ) << 1 | state.source
        keys, places = np.unique(key, return_inverse=True)
        for key in keys.tolist():
            if key not in self._numbers:
                self._numbers[key] = len(self._keys)
                self._keys.append(key)
        if len(self._keys) > MOST_STATES:
            raise TooManyStatesError
        return np.array([self._numbers[key] for key in keys.tolist()], np.int64)[places]

    @property
    def has_new(self) -> bool:
        """True if there are states that `new` has not returned."""
        return self._handed_out < len(self._keys)

    def new(self) -> tuple[int, State]:
        """Returns the states not returned before, and the number of the first."""
        first, self._handed_out = self._handed_out, len(self._keys)
        return first, self._states(first)

    def all(self) -> State:
        """Returns all states, by number."""
        return self._states(0)

    def _states(self, first: int) -> State:
        key, mask = np.array(self._keys[first:], np.int64), (1 << _BITS) - 1
        return State(
            key >> 2 * _BITS + 2, key >> _BITS + 2 & mask, key >> 2 & mask, key >> 1 & 1, key & 1
        )
