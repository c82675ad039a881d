"""Effective capacity: the largest constant rate at which a varying server's queue is rarely long.

The server carries C_1, C_2, ... packets in successive slots, and gamma packets arrive in each. For
large x the queue X of an infinite buffer has log P(X > x) <= -delta x if and only if gamma <
gamma_eff(delta). A buffer B then overflows with a probability of about e^(-delta B). Here

    gamma_eff(delta) = lim -1/(n delta) log E exp(-delta (C_1 + ... + C_n))
                     = -1/delta log rho(diag(e^(-delta c_i)) P)   for a Markov server,

where rho is the Perron root. It falls from the mean capacity at delta = 0 to the smallest mean
capacity that the server can sustain for ever.

Sources: for arrivals, G. Kesidis, J. Walrand, C.-S. Chang, "Effective bandwidths for multiclass
Markov fluids and other ATM sources", IEEE/ACM Transactions on Networking 1(4), 1993. For servers,
S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control and
stochastic available capacity", ibid. 9(4), 2001.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ackclock.errors import InputError
from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import NOT_NEGATIVE, UP_TO_ONE, check
from ackclock.models.explicit_rate import on_a_path
from ackclock.models.explicit_rate.record import LOW_PSI, LOW_RATE, PSI, RATE, RTT
from ackclock.models.model import Array, Assumption, Input, Model, Output, TableInput
from ackclock.models.refusal import refuse, refuse_inputs

# A row of probabilities adds up to one to this precision.
_SUM = 1e-9

# An answer for so many states takes about two seconds.
_MOST_STATES = 300


def of_two_rates(
    high: ArrayLike, low: ArrayLike, fall: ArrayLike, rise: ArrayLike, decay: ArrayLike
) -> Array:
    """Returns the effective capacity of a server of two rates, in closed form and broadcast.

    Args:
        high: Packets in a high slot, c0.
        low: Packets in a low slot, c1, at most c0.
        fall: Probability p01 that a low slot follows a high one.
        rise: Probability p10 that a high slot follows a low one.
        decay: The decay rate delta, per packet.
    """
    c0, c1, p01, p10, delta = (
        np.asarray(values, float) for values in (high, low, fall, rise, decay)
    )
    check(
        low=(c1, NOT_NEGATIVE),
        fall=(p01, UP_TO_ONE),
        rise=(p10, UP_TO_ONE),
        decay=(delta, NOT_NEGATIVE),
    )
    check(high_minus_low=(c0 - c1, NOT_NEGATIVE))
    c0, c1, p01, p10, delta = np.broadcast_arrays(c0, c1, p01, p10, delta)
    above = delta * (c0 - c1)
    e = np.exp(-above)
    # rho = 1 - x of the chain with c1 factored out, where x^2 - s x + t = 0. This avoids
    # cancellation for small delta.
    t = -p10 * np.expm1(-above)
    s = -np.expm1(-above) + p01 * e + p10
    x = 2 * t / (s + np.sqrt(np.maximum(s * s - 4 * t, 0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # If rho is small because the low state is left at once, it is computed in logarithms, as e
        # may underflow.
        stays = np.log1p(-p10)
        root = (
            np.logaddexp(
                2 * np.log(np.abs((1 - p01) * e - (1 - p10))), np.log(4 * p01 * p10) - above
            )
            / 2
        )
        small = np.logaddexp(np.logaddexp(np.log1p(-p01) - above, stays), root) - np.log(2)
        gained = -np.where(x < 0.5, np.log1p(-x), small) / delta
    mean = (c0 * p10 + c1 * p01) / (p01 + p10)
    return np.asarray(np.where(above > 0, np.minimum(c1 + gained, mean), mean))


def of_server(capacities: ArrayLike, transitions: ArrayLike, decay: float) -> float:
    """Returns the effective capacity of any finite Markov server, by the Perron root.

    Args:
        capacities: c_i, packets that each state carries in a slot.
        transitions: P, with rows of the probabilities of the next slot's state. Every state must
            lead to every other in the end.
        decay: delta, per packet.
    """
    server = _Server(*_checked(capacities, transitions))
    check(decay=(decay, NOT_NEGATIVE))
    return server.effective(decay)


class _Server:
    """A Markov server whose effective capacity is asked at any decay.

    The smallest mean is factored out before exponentiation. A similarity transform by the cheapest
    paths makes all relevant exponents non-negative. For any delta no entry overflows, and a cycle
    of that mean does not underflow.
    """

    def __init__(self, c: Array, P: Array) -> None:
        self.mean, self.least = float((stationary(P) * c).sum()), _least_mean(c, P)
        cost = np.where(P > 0, (c - self.least)[:, None], inf)
        ways = _cheapest_ways(cost)
        self._transitions = P
        self._exponents = np.where(P > 0, np.maximum(cost + ways[:, None] - ways[None, :], 0), inf)

    def effective(self, decay: float) -> float:
        if decay == 0:
            return self.mean
        scaled = self._transitions * np.exp(-decay * self._exponents)
        root = float(np.abs(np.linalg.eigvals(scaled)).max())
        return float(np.clip(self.least - np.log(root) / decay, self.least, self.mean))


def decay_of(rate: float, capacities: ArrayLike, transitions: ArrayLike) -> float:
    """Returns the inverse: the smallest delta at which the effective capacity is a rate.

    Args:
        rate: Packets in a slot.
        capacities: As for `of_server`.
        transitions: As for `of_server`.

    Returns:
        Zero from the mean capacity on, and infinite up to the smallest sustainable mean.
    """
    c, P = _checked(capacities, transitions)
    check(rate=(rate, NOT_NEGATIVE))
    server = _Server(c, P)
    if rate >= server.mean:
        return 0.0
    if rate <= server.least:
        return inf

    from scipy.optimize import brentq  # slow to import, and not all models need it

    def miss(log_decay: float) -> float:
        return server.effective(float(np.exp(log_decay))) - rate

    low = high = -float(np.log(np.ptp(c)))
    while miss(low) < 0:
        low -= 2
    while miss(high) > 0:
        high += 2
    return float(np.exp(brentq(miss, low, high, xtol=1e-12)))


def _least_mean(c: Array, P: Array) -> float:
    """Returns the smallest mean capacity that the server can sustain: that of its worst cycle.

    It is the smallest capacity, unless a server must leave that state. R. Karp, "A characterization
    of the minimum cycle mean in a digraph", Discrete Mathematics 23, 1978.
    """
    n = c.size
    cost = np.where(P > 0, c[:, None], inf)
    costs = np.full((n + 1, n), inf)  # of the cheapest path of k steps from the first state
    costs[0, 0] = 0
    for k in range(n):
        costs[k + 1] = (costs[k][:, None] + cost).min(axis=0)
    left = n - np.arange(n)
    with np.errstate(invalid="ignore"):
        means = (costs[n] - costs[:n]) / left[:, None]
    means[~np.isfinite(costs[:n])] = -inf
    return float(means.max(axis=0).min())


def stationary(transitions: ArrayLike) -> Array:
    """Returns the shares of time of the states."""
    P = np.asarray(transitions, float)
    n = len(P)
    balance = np.vstack([P.T - np.eye(n), np.ones(n)])
    return np.asarray(np.linalg.lstsq(balance, np.append(np.zeros(n), 1.0), rcond=None)[0])


def _cheapest_ways(cost: Array) -> Array:
    """Returns the cheapest cost to each state from the first (Bellman-Ford).

    A cost may be negative, but that of a cycle is not.
    """
    ways = np.full(len(cost), inf)
    ways[0] = 0
    for _ in range(len(cost)):
        ways = np.minimum(ways, (ways[:, None] + cost).min(axis=0))
    return ways


def _checked(capacities: ArrayLike, transitions: ArrayLike) -> tuple[Array, Array]:
    from scipy.sparse.csgraph import connected_components

    c, P = (
        np.atleast_1d(np.asarray(capacities, float)),
        np.atleast_2d(np.asarray(transitions, float)),
    )
    check(capacities=(c, NOT_NEGATIVE))
    if P.shape != (c.size, c.size):
        refuse(
            "transitions",
            f"of shape {P.shape}",
            f"must have a row and a column for each of {c.size} capacities",
        )
    if (P < 0).any() or not np.allclose(P.sum(axis=1), 1, rtol=0, atol=_SUM):
        refuse("transitions", P.tolist(), "must have rows of probabilities that add up to 1")
    if connected_components(P > 0, connection="strong")[0] > 1:
        refuse("transitions", P.tolist(), "must connect every state with every other")
    return c, P


def _evaluate(
    rate: Array, low_rate: Array, rtt: Array, psi: Array, low_psi: Array, decay: Array
) -> dict[str, Array]:
    low, high = np.broadcast_arrays(low_rate, rate)
    if (above := low > high).any():
        refuse_inputs(
            "contradiction",
            "{low_rate} is above the high rate; give at most {rate}",
            low_rate=float(low[above][0]),
            rate=float(high[above][0]),
        )
    fall, rise = 1 / psi, 1 / low_psi
    mean = (rate * rise + low_rate * fall) / (fall + rise)
    gamma = of_two_rates(rate * rtt, low_rate * rtt, fall, rise, decay) / rtt
    return {"effective_capacity": gamma, "mean_capacity": mean, "share": gamma / mean}


def _of_transitions(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns the rate of each state, in segments per second, and P, from the rows of a file.

    A row is a transition; what is not listed does not happen. A state without its own rows, or with
    two rates, is refused.
    """
    states, row = np.unique(columns["state"], return_inverse=True)
    if states.size > _MOST_STATES:
        raise InputError(
            "out-of-range", "transitions", f"has {states.size} states; at most {_MOST_STATES}"
        )
    rates = columns["segments_per_s"][np.unique(row, return_index=True)[1]]
    if (other := rates[row] != columns["segments_per_s"]).any():
        state = columns["state"][other][0]
        raise InputError("contradiction", "transitions", f"state {state:g} has two rates")
    if (unknown := ~np.isin(columns["next"], states)).any():
        state = columns["next"][unknown][0]
        raise InputError("missing", "transitions", f"state {state:g} has no row of its own")
    P = np.zeros((states.size, states.size))
    np.add.at(P, (row, np.searchsorted(states, columns["next"])), columns["probability"])
    try:
        rates, P = _checked(rates, P)
    except InputError as error:
        raise InputError(error.code, "transitions", error.message, error.value) from None
    if not rates.any():
        raise InputError("out-of-range", "transitions", "no state carries anything")
    return rates, P


def _means(columns: Mapping[str, Array]) -> tuple[float, ...]:
    """Returns the mean rate for both rates, and changes at each round trip."""
    rates, P = _of_transitions(columns)
    mean = float(stationary(P) @ rates)
    return mean, mean, 1.0, 1.0


def _evaluate_tables(
    tables: Mapping[str, Mapping[str, Array]], rtt: float, decay: float
) -> dict[str, float]:
    """Returns the outputs for a link with the states of a table."""
    rates, P = _of_transitions(tables["transitions"])
    mean = float(stationary(P) @ rates)
    gamma = of_server(rates * rtt, P, decay) / rtt
    return {"effective_capacity": gamma, "mean_capacity": mean, "share": gamma / mean}


MODEL = Model(
    name="effective_capacity",
    label="effective capacity",
    summary=(
        "Constant rate of a link of two or more rates with an overflow probability of about "
        "e^(-delta B)."
    ),
    reference="Shakkottai, Kumar, Karnik, Anvekar 2001; Kesidis, Walrand, Chang 1993",
    formula="""\
c packets per round trip,  p01 = 1/psi,  p10 = 1/psi1
gamma = -1/delta log rho(diag(e^(-delta c_i)) P)
      = c1 - 1/delta log((u + v + sqrt((u - v)^2 + 4 p01 p10 e))/2)
e = e^(-delta (c0 - c1)),  u = (1 - p01) e,  v = 1 - p10""",
    inputs=(
        *(replace(field, backwards=True) for field in (RATE, LOW_RATE, RTT)), PSI, LOW_PSI,
        Input(
            "decay", "delta", "1/segments",
            "about ln(1/P)/B for an overflow probability P of a buffer B", domain=NOT_NEGATIVE,
        ),
    ),
    outputs=(
        Output("effective_capacity", "gamma", "segments/s", "largest constant rate"),
        Output("mean_capacity", "", "segments/s", "the link's mean rate, the limit for delta = 0"),
        Output("share", "", "", "effective over mean capacity"),
    ),
    goodput="effective_capacity",
    assumptions=(Assumption("epochs", "the link changes only at multiples of the round trip"),),
    evaluate=_evaluate,
    tables=(
        TableInput(
            "transitions",
            ("rate", "low_rate", "psi", "low_psi"),
            ("state", "segments_per_s", "next", "probability"),
            (),
            "states of the link, by number: the rate in each, and the probability of each state "
            "in the next round trip",
            _means,
        ),
    ),
    evaluate_tables=_evaluate_tables,
    inputs_of=on_a_path.inputs_of,
    refusal=on_a_path.refusal_of_effective_capacity,
    accuracy=(
        Accuracy(
            ("effective_capacity",),
            0.0,
            "proof",
            "the Perron root of the server, exact for large buffers",
        ),
    ),
)  # fmt: skip
