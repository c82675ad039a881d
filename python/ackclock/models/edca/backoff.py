"""How often a station attempts that always has something to send: exponential backoff, and attempts that collide.

A frame is sent at the end of a number of slots drawn from 0 to W_k - 1, W_k = min((CWmin + 1) 2^k,
CWmax + 1) after k collisions, and given up after m retries. Each attempt collides with the same
probability p, whatever the station has behind it (the decoupling of Bianchi 2000), so that in each
slot, its own transmission counted as one, it attempts with

    tau(p) = sum_{k<=m} p^k / sum_{k<=m} p^k ((W_k - 1)/2 + 1).

With n stations p = 1 - (1 - tau)^(n-1). tau falls with p where windows grow, and p rises with tau:
what one makes of the other meets at one place, found by bisection. With m infinite this is
Bianchi's, whatever way it is written there.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, Domain, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

RETRIES = Domain(0, inf, "[]")

# Halvings of an interval of one until it is as short as numbers near one are apart.
_HALVINGS = 60


@dataclass(frozen=True)
class Backoff:
    """Contention windows, numbers or arrays of them; whole ones, if they are to be those of a station.

    Attributes:
        cw_min: CWmin, the largest draw at first.
        cw_max: CWmax, the largest draw at all.
        retries: m, infinite for frames that are never given up.
    """

    cw_min: ArrayLike
    cw_max: ArrayLike
    retries: ArrayLike = inf

    def __post_init__(self) -> None:
        low, high, m = self._arrays()
        check(cw_min=(low, NOT_NEGATIVE), cw_max=(high, NOT_NEGATIVE), retries=(m, RETRIES))
        if (bad := high < low).any():
            refuse(
                "cw_max",
                float(high[bad].flat[0]),
                f"is below cw_min; give at least {low[bad].flat[0]:g}",
                "contradiction",
            )

    def _arrays(self) -> tuple[Array, Array, Array]:
        given = (np.asarray(one, float) for one in (self.cw_min, self.cw_max, self.retries))
        low, high, m = np.broadcast_arrays(*given)
        return low, high, m

    def attempt_rate(self, p: ArrayLike) -> Array:
        """tau(p), for a collision probability from zero to one, one itself left out if there is no limit."""
        low, high, m = self._arrays()
        p = np.asarray(p, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            attempts = np.where(p < 1, -np.expm1((m + 1) * np.log(p)) / (1 - p), m + 1)  # per frame
        # Windows of stage k, less than the last one's by so much.
        mean, window, reached, k = high + 1.0 + 0 * p, low + 1.0, np.ones_like(p), 0
        while (growing := window < high + 1).any():
            mean = mean - np.where(growing & (k <= m), reached / attempts * (high + 1 - window), 0)
            window, reached, k = 2 * window, reached * p, k + 1
        return np.asarray(np.minimum(2 / (mean + 1), 1.0))  # but for rounding it is not above

    def coupled(self, stations: ArrayLike) -> tuple[Array, Array]:
        """Tau and p of n alike stations.

        Raises:
            ValueError: Fewer than one station.
        """
        n = np.asarray(stations, float)
        check(stations=(n, AT_LEAST_ONE))
        low = np.zeros(np.broadcast_shapes(n.shape, self._arrays()[0].shape))
        high = np.ones_like(low)
        for _ in range(_HALVINGS):
            p = (low + high) / 2
            above = collisions(self.attempt_rate(p), n) > p
            low, high = np.where(above, p, low), np.where(above, high, p)
        tau = self.attempt_rate((low + high) / 2)
        return tau, collisions(tau, n)


def collisions(tau: Array, n: Array) -> Array:
    """P = 1 - (1 - tau)^(n-1); none of a station that is alone, even if it attempts in each slot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, -np.expm1((n - 1) * np.log1p(-tau)), 0.0)
