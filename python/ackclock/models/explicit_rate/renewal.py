"""Throughput as a Markov renewal process.

A cycle is an interval without loss, or one with a loss and its recovery.

Letters: pi stationary law of the state at the beginning of a cycle, P its transition matrix, U(x)
and V(x) mean length of a cycle and packets credited to it. By the renewal-reward theorem the
throughput is E V / E U.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ackclock.models.explicit_rate.link import HIGH, LOW, TwoRateLink
from ackclock.models.explicit_rate.loop import Indices, slow_start
from ackclock.models.explicit_rate.states import REWARDS, States
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# Slow to import, and not all models need it.
if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


# Probability of a move in a cycle that rounding may lose when others are eliminated.
_RARE = 1e-12


@dataclass(frozen=True, eq=False)
class Renewal:
    """The process in steady state.

    Attributes:
        states: Its states.
        link: Transitions of the link.
        law: pi.
    """

    states: States
    link: TwoRateLink
    law: Array

    def throughput(self, reward: str = "conservative") -> float:
        """Returns packets per round trip.

        Args:
            reward: Rule for the credit of an interval with a loss; one of `REWARDS`, as in
                `States`.
        """
        if reward not in REWARDS:
            refuse(
                "reward", reward, f"is unknown; choose from {', '.join(REWARDS)}", "unknown-name"
            )
        return self._mean(self.states.rewards[reward]) / self._mean(self.states.intervals)

    def efficiency(self, reward: str = "conservative") -> float:
        """Returns the throughput over the link's mean capacity in whole packets per round trip.

        With the optimistic rule it may exceed one: it is a bound, and is not capped. With the
        conservative rule it may exceed one by a few percent. This happens if more waits at a loss
        than the link sends before slow start, as with a buffer of many slow round trips.
        """
        return self.throughput(reward) / float(
            (self.link.shares * self.states.loop.capacities).sum()
        )

    @property
    def losses(self) -> float:
        """Losses per round trip; each ends in a timeout."""
        return self._mean(self.states.loss) / self._mean(self.states.intervals)

    @property
    def loss_after_fall(self) -> float:
        """Probability of a loss in an interval after a fall of the link; zero if it never falls."""
        fallen = self.states.pair == 2 * LOW + HIGH
        share = float(self.law[fallen].sum())
        return float((self.law * self.states.loss)[fallen].sum()) / share if share > 0 else 0.0

    @property
    def window_at_loss(self) -> float:
        """Mean window w reached at a loss; zero without losses."""
        losses = self._mean(self.states.loss)
        return self._mean(self.states.window_at_loss) / losses if losses > 0 else 0.0

    def _mean(self, values: Array) -> float:
        return float((self.law * values).sum())


def solve(states: States, link: TwoRateLink) -> Renewal:
    """Returns the law of the states on a link, by one sparse direct solution of pi = pi P.

    States that are enumerated once may be solved on any number of links.
    """
    P = transitions(states, link)
    recurrent = _recurrent(P)
    # The window falls at a loss only. By window P is therefore nearly triangular, and its factors
    # have few more entries than P, fewest in the order by d of the orders that were tried.
    order = np.lexsort((-states.state.d[recurrent], states.state.window[recurrent]))
    recurrent = _with_common_last(P, recurrent[order])
    inner = P[recurrent][:, recurrent]
    law = np.zeros(P.shape[0])
    law[recurrent] = _stationary(inner)
    return Renewal(states, link, law)


def transitions(states: States, link: TwoRateLink) -> "csr_matrix":
    """Returns P, the transition matrix between cycles."""
    from scipy.sparse import csr_matrix

    begin, *ends = states.moves.T
    moved = [link.step[states.state.link[begin], rate] * states.move_chance for rate in (HIGH, LOW)]
    lossy, m = states.losses.T
    L = slow_start(m)
    after = _powers(link, states.loop.recovery, int(L.max(initial=0)))[L, states.pair[lossy]]
    rows = np.concatenate([begin, begin, np.repeat(lossy, 4)])
    columns = np.concatenate([*ends, states.restarts[m].ravel()])
    values = np.concatenate([*moved, (states.loss_chance[:, None] * after).ravel()])
    n = states.loss.size
    P = csr_matrix((values, (rows, columns)), (n, n))
    P.eliminate_zeros()
    return P


def _powers(link: TwoRateLink, recovery: int, slow_starts: int) -> Array:
    """Returns Q^(recovery + L) for each L: the law of link and source when recovery ends."""
    powers = [np.linalg.matrix_power(link.pair_step, recovery)]
    for _ in range(slow_starts):
        powers.append(powers[-1] @ link.pair_step)
    return np.array(powers)


def _recurrent(P: "csr_matrix") -> Indices:
    """Returns the recurrent states: those of a class that the process never leaves."""
    from scipy.sparse.csgraph import connected_components

    count, class_of = connected_components(P, connection="strong")
    begin, end = P.nonzero()
    leaves = class_of[begin] != class_of[end]
    closed = np.setdiff1d(np.arange(count), class_of[begin[leaves]])
    return np.flatnonzero(class_of == closed[0])


def _with_common_last(P: "csr_matrix", states: Indices) -> Indices:
    """Returns the states with one at the end that is reached by moves that are not `_RARE`.

    Relative to a state that is hardly ever reached, the law of the others is singular.
    """
    common = P[states][:, states]
    common.data[common.data < _RARE] = 0
    common.eliminate_zeros()
    last = _recurrent(common)[-1]
    return np.append(np.delete(states, last), states[last])


def _stationary(P: "csr_matrix") -> Array:
    """Returns the law of an irreducible chain, relative to its last state and then normalised.

    States are eliminated in their order, without pivoting: I - P^T is an M-matrix.
    """
    from scipy.sparse import csc_matrix, identity
    from scipy.sparse.linalg import splu

    n = P.shape[0]
    balance = csc_matrix(identity(n) - P.T)
    law = np.ones(n)
    if n > 1:
        factors = splu(csc_matrix(balance[:-1, :-1]), permc_spec="NATURAL", diag_pivot_thresh=0.0)
        law[:-1] = factors.solve(-balance[:-1, [-1]].toarray().ravel())
    return np.asarray(law / law.sum())
