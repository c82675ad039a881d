"""Queue length at a router with offered load rho: drop-tail and RED.

Arrivals are Poisson and services exponential. The number n at the router, with the packet being
sent, therefore changes by one, and an arrival sees the time average. Drop-tail with K places is
M/M/1/K:

    pi(n) = rho^n (1 - rho)/(1 - rho^(K+1)),   p = pi(K);
    N = rho/(1 - rho) - (K + 1) rho^(K+1)/(1 - rho^(K+1)).

RED drops an arrival with probability d(n). A dropped packet does not enter, so the law is

    pi(n) ~ rho^n prod_{j<n} (1 - d(j)),   p = sum pi(n) d(n)

Both are families of laws with weights exp(n ln rho). This gives the slopes: d N/d ln rho is the
variance of n, d p/d ln rho the covariance of n and d(n).

The arguments are ln rho and ln p, because K may be a million and rho^K overflow. For rho > 1 the
law of drop-tail is that of the free places at 1/rho.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, UP_TO_ONE, check
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

_LOG_LEAST = float(np.log(np.finfo(float).tiny))


@dataclass(frozen=True)
class Occupancy:
    """The occupancy at rho; each array has its shape.

    Attributes:
        log_loss: ln p.
        mean: N, packets at the router, with the one being sent.
        variance: Variance of n, which is d N/d ln rho.
        log_loss_slope: d ln p/d ln rho.
    """

    log_loss: Array
    mean: Array
    variance: Array
    log_loss_slope: Array


@dataclass(frozen=True)
class DropTail:
    """M/M/1/K.

    Attributes:
        places: K, whole numbers of at least one.
    """

    places: Array

    def __post_init__(self) -> None:
        check(places=(self.places, AT_LEAST_ONE))
        if (np.asarray(self.places) % 1 != 0).any():
            refuse("places", float(np.ravel(self.places)[0]), "must be a whole number of packets")

    def occupancy(self, log_rho: Array) -> Occupancy:
        """Returns the occupancy at an offered load."""
        K, y = np.asarray(self.places, float), np.abs(log_rho)
        m = (K + 1) * y
        fewer = np.asarray(log_rho) <= 0
        with np.errstate(
            divide="ignore", invalid="ignore", over="ignore"
        ):  # in unused branches, near rho = 1
            # pi of the more likely end: an empty router below rho = 1, a full one above.
            log_end = np.where(y > 0, np.log(-np.expm1(-y)) - np.log(-np.expm1(-m)), -np.log1p(K))
            apart = m >= 1
            mean = np.where(
                apart, _odds(y) - (K + 1) * _odds(m), K / 2 + _rest(y) - (K + 1) * _rest(m)
            )
            variance = np.where(apart, _spread(y) - (K + 1) ** 2 * _spread(m), _near_even(y, m, K))
        mean, other = np.where(fewer, mean, K - mean), np.where(fewer, K - mean, mean)
        return Occupancy(log_end - np.where(fewer, K * y, 0), mean, variance, other)


# Coefficients of y, y^3, ... in 1/(e^y - 1) - 1/y + 1/2: Bernoulli numbers over factorials. What
# follows is below 2e-11 for y up to 1.
_ODDS_SERIES = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
)  # fmt: skip


def _odds(y: Array) -> Array:
    """Returns 1/(e^y - 1)."""
    return np.asarray(np.exp(-y) / -np.expm1(-y))


def _spread(y: Array) -> Array:
    """Returns e^y/(e^y - 1)^2."""
    return np.asarray(np.exp(-y) / np.expm1(-y) ** 2)


def _rest(y: Array) -> Array:
    """Returns 1/(e^y - 1) - 1/y + 1/2 for y up to 1, by its series.

    In the difference of two `_odds` the terms 1/y cancel, and this remains.
    """
    return np.asarray(y * np.polynomial.polynomial.polyval(y * y, _ODDS_SERIES))


def _near_even(y: Array, m: Array, K: Array) -> Array:
    """Returns the variance for m up to 1, without the terms 1/y^2 of two `_spread`, which cancel.

    The series of `_spread` is that of `_odds`, differentiated, with the other sign.
    """
    series = [-(2 * k + 1) * coefficient for k, coefficient in enumerate(_ODDS_SERIES)]

    def rest(x: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(x * x, series))

    return np.asarray(rest(y) - (K + 1) ** 2 * rest(m))


@dataclass(frozen=True)
class Red:
    """RED without averaging: an arrival that finds n packets is dropped with probability d(n).

    The probability d(n) is 0 up to `low`, rises linearly to `p_max` at `high`, and is 1 above or if
    the router is full.

    Attributes:
        places: K, a whole number of at least one.
        low: min_th in packets.
        high: max_th in packets, above `low`.
        p_max: Drop probability at `high`. Not given in the publication; Adaptive RED keeps it
            between 0.01 and 0.5.
        shortcut: True if n has the law of M/M/1/K, as in the publication, as if dropped packets had
            entered.
    """

    places: int
    low: float
    high: float
    p_max: float
    shortcut: bool = False

    def __post_init__(self) -> None:
        check(
            places=(self.places, AT_LEAST_ONE),
            low=(self.low, NOT_NEGATIVE),
            high=(self.high, NOT_NEGATIVE),
            p_max=(self.p_max, UP_TO_ONE),
        )
        if self.places % 1 != 0:
            refuse("places", self.places, "must be a whole number of packets")
        if not self.low < self.high:
            refuse("low", self.low, f"is not below high; give less than {self.high:g}")

    @cached_property
    def drops(self) -> Array:
        """d(n) for n from 0 to K."""
        n = np.arange(self.places + 1.0)
        rising = np.clip(self.p_max * (n - self.low) / (self.high - self.low), 0, None)
        return np.where((n > self.high) | (n == self.places), 1.0, rising)

    @cached_property
    def _logs(self) -> tuple[Array, Array]:
        """Logarithms of d(n), and of the probability to enter at 0, 1, ... n - 1 packets."""
        with np.errstate(divide="ignore"):  # ln 0 of impossible events
            log_d, log_entering = np.log(self.drops), np.log1p(-self.drops[:-1])
        if self.shortcut:
            return log_d, np.zeros_like(log_d)
        return log_d, np.concatenate([[0.0], np.cumsum(log_entering)])

    def occupancy(self, log_rho: Array) -> Occupancy:
        """Returns the occupancy at an offered load."""
        n, (log_d, entered) = np.arange(self.places + 1.0), self._logs
        weights = np.asarray(log_rho, float)[..., np.newaxis] * n + entered
        weights = weights - _log_sum(weights)[..., np.newaxis]
        log_loss = _log_sum(weights + log_d)
        pi = _shares(weights)
        mean = (pi * n).sum(-1)  # not `@`: BLAS threads wait for each other on a busy machine
        variance = (pi * (n - mean[..., np.newaxis]) ** 2).sum(-1)
        of_dropped = (_shares(weights + log_d - log_loss[..., np.newaxis]) * n).sum(-1)
        return Occupancy(log_loss, mean, variance, of_dropped - mean)


def _log_sum(logs: Array) -> Array:
    """Returns the logarithm of the sum of exponentials, along the last axis."""
    largest = logs.max(-1, keepdims=True)
    return np.asarray(largest[..., 0] + np.log(_shares(logs - largest).sum(-1)))


def _shares(logs: Array) -> Array:
    """Returns exponentials of non-positive logarithms, with subnormal results set to zero.

    Processors are slow with subnormal numbers.
    """
    return np.exp(logs, where=~(logs < _LOG_LEAST), out=np.zeros_like(logs))
