"""Attempt rate of a saturated station: exponential backoff, coupled with collisions.

A frame is sent after a number of slots drawn from 0 to W_k - 1, W_k = min((CWmin + 1) 2^k, CWmax +
1) after k collisions. It is given up after m retries. Each attempt collides with the same
probability p, whatever its history (the decoupling of Bianchi 2000). A station therefore attempts
in each slot, with its own transmission counted as one, with the probability

    tau(p) = sum_{k<=m} p^k / sum_{k<=m} p^k ((W_k - 1)/2 + 1).

With n stations p = 1 - (1 - tau)^(n-1). As tau falls with p where windows grow, and p rises with
tau, there is one solution, found by bisection. With infinite m it is Bianchi's formula.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, Domain, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

RETRIES = Domain(0, inf, "[]")

# Halvings of the interval from 0 to 1 until it is as short as the spacing of doubles near 1.
_HALVINGS = 60


@dataclass(frozen=True)
class Backoff:
    """Contention windows as numbers or arrays; those of a real station are whole.

    Attributes:
        cw_min: CWmin, the largest first draw.
        cw_max: CWmax, the largest draw.
        retries: m, infinite for frames that are never given up.
    """

    cw_min: ArrayLike
    cw_max: ArrayLike
    retries: ArrayLike = inf

    def __post_init__(self) -> None:
        low, high, m = self._arrays
        check(cw_min=(low, NOT_NEGATIVE), cw_max=(high, NOT_NEGATIVE), retries=(m, RETRIES))
        if (bad := high < low).any():
            refuse(
                "cw_max",
                float(high[bad].flat[0]),
                f"is below cw_min; give at least {low[bad].flat[0]:g}",
                "contradiction",
            )

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array]:
        given = (np.asarray(values, float) for values in (self.cw_min, self.cw_max, self.retries))
        low, high, m = np.broadcast_arrays(*given)
        return low, high, m

    @cached_property
    def _growing(self) -> list[tuple[NDArray[np.bool_], Array]]:
        """The stages before the last: whether each exists, and what its window has less."""
        low, high, m = self._arrays
        window, stages = low + 1.0, list[tuple[NDArray[np.bool_], Array]]()
        while (growing := window < high + 1).any():
            stages.append((growing & (len(stages) <= m), high + 1 - window))
            window = 2 * window
        return stages

    def attempt_rate(self, p: ArrayLike) -> Array:
        """Returns tau(p) for p from 0 to 1; p = 1 is excluded without a retry limit."""
        _, high, m = self._arrays
        p = np.asarray(p, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            attempts = np.where(p < 1, -np.expm1((m + 1) * np.log(p)) / (1 - p), m + 1)  # per frame
        # Begin with the last stage's window, and subtract what each earlier stage has less.
        mean, reached = high + 1.0 + 0 * p, np.ones_like(p)
        for exists, less in self._growing:
            mean = mean - np.where(exists, reached / attempts * less, 0)
            reached = reached * p
        return np.asarray(np.minimum(2 / (mean + 1), 1.0))  # rounding may exceed 1

    def coupled(self, stations: ArrayLike) -> tuple[Array, Array]:
        """Returns tau and p of n identical stations.

        Raises:
            ValueError: Fewer than one station.
        """
        n = np.asarray(stations, float)
        check(stations=(n, AT_LEAST_ONE))
        low = np.zeros(np.broadcast_shapes(n.shape, self._arrays[0].shape))
        high = np.ones_like(low)
        for _ in range(_HALVINGS):
            p = (low + high) / 2
            above = collisions(self.attempt_rate(p), n) > p
            low, high = np.where(above, p, low), np.where(above, high, p)
        tau = self.attempt_rate((low + high) / 2)
        return tau, collisions(tau, n)


def collisions(tau: Array, n: Array) -> Array:
    """Returns p = 1 - (1 - tau)^(n-1); 0 for a single station, even if it attempts in each slot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, -np.expm1((n - 1) * np.log1p(-tau)), 0.0)
