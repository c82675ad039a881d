"""A continuous law of the round-trip time: its means by quadrature of its distribution function.

With the distribution function F, integration by parts gives

    E(R; R >= r)      = r (1 - F(r)) + integral from r of 1 - F
    E min(w/R, L)^m   = w^m integral from w/L of m r^(-m-1) F(r)

Both integrands are bounded for any density. They are integrated by the Gauss-Legendre rule of 16
points on panels. Panels end at every limit asked for, at quantiles, and where r has grown by half.
The relative error is about 1e-12 for smooth F.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ackclock.models.model import Array
from ackclock.models.refusal import refuse

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Tail probabilities at which panels end; between them panels end at every percent.
_TAILS = np.array([1e-250, 1e-100, 1e-40, 1e-25, 1e-18, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3])
_GROWTH = 1.5
#: Longer round-trip times are not physical and are ignored.
_LONGEST = 1e60


@dataclass(frozen=True)
class Continuous:
    """A law from a frozen distribution of `scipy.stats`.

    Attributes:
        distribution: It must have `cdf`, `sf`, `ppf`, `isf`, `pdf` and `mean`, in s.
        negative: Treatment of mass at or below zero: "cap" counts it as rounds that only the link
            limits, "truncate" leaves it out.
    """

    distribution: Any
    negative: str = "cap"

    def __post_init__(self) -> None:
        missing = [
            name
            for name in ("cdf", "sf", "ppf", "isf", "pdf", "mean")
            if not hasattr(self.distribution, name)
        ]
        if missing:
            refuse(
                "law",
                repr(self.distribution),
                "is not a frozen continuous distribution of scipy.stats",
            )
        if self.negative not in ("cap", "truncate"):
            refuse("negative", self.negative, "is unknown; write cap or truncate", "unknown-name")
        if not self.distribution.sf(0.0) > 0:  # also for invalid parameters of the distribution
            refuse("law", repr(self.distribution), "has no mass above zero")

    def cdf(self, r: Array, windows: Array) -> Array:  # noqa: ARG002 (the same for all windows)
        """Returns P(R <= r)."""
        return self._cdf(r)

    def below(self, r: Array, windows: Array) -> Array:  # noqa: ARG002
        """Returns P(R < r)."""
        return self._cdf(r)

    def upper_mean(self, r: Array, windows: Array) -> Array:  # noqa: ARG002
        """Returns E(R; R >= r)."""
        return r * self._sf(r) + self._sf_integral(r)

    def mean_at_least(self, a: Array, windows: Array) -> Array:  # noqa: ARG002
        """Returns E max(R, a)."""
        return a + self._sf_integral(a)

    def capped_rate(self, m: float, rate: float, windows: Array) -> Array:
        """Returns E min(w/R, L)^m."""
        if rate == np.inf:
            return windows**m * self._inverse_moment(m)
        a = windows / rate
        return windows**m * self._inverse_from(m, a)

    def inverse_moved(self, m: float, first: Array, moved: Array) -> Array:
        """Returns E (max(R, first) + moved)^-m for each pair; moved is positive."""
        answers = np.empty(first.shape)
        for number, (start, more) in enumerate(zip(first, moved, strict=True)):

            def density(r: Array, more: float = more) -> Array:
                return m * (r + more) ** (-m - 1) * self._cdf(r)

            # Panels also end where r + more has grown by half. Beyond the panels F is one.
            steps = np.log(max(self._end / (start + more), 1)) / np.log(_GROWTH)
            starts = (start + more) * _GROWTH ** np.arange(np.ceil(steps) + 1) - more
            starts[0] = start
            rest = (max(start, self._end) + more) ** -m
            answers[number] = self._integral(density, starts)[0] + rest
        return answers

    def _cdf(self, r: Array) -> Array:
        F = np.asarray(self.distribution.cdf(r))
        return np.maximum(F - self._left_out, 0) / (1 - self._left_out)

    def _sf(self, r: Array) -> Array:
        return np.asarray(self.distribution.sf(r)) / (1 - self._left_out)

    @cached_property
    def _left_out(self) -> float:
        return float(self.distribution.cdf(0.0)) if self.negative == "truncate" else 0.0

    @cached_property
    def _quantiles(self) -> Array:
        """Positive quantiles in ascending order, including both far tails."""
        tails = (
            _TAILS if self._left_out == 0 else _TAILS[_TAILS >= 1e-12]
        )  # F - F(0) has only so many digits
        middle = np.arange(0.01, 1, 0.01)
        left = self._left_out + (1 - self._left_out) * np.concatenate([tails, middle])
        ends = np.array([float(end) for end in self.distribution.support()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = self.distribution.isf((1 - self._left_out) * _TAILS)
            # Some distributions of scipy are inaccurate in the far tail; points with no mass beyond
            # them are dropped.
            right = right[self.distribution.sf(right) > 0]
            candidates = np.concatenate([ends, self.distribution.ppf(left), right])
        return np.unique(candidates[(candidates > 0) & (candidates < _LONGEST)])

    @property
    def _end(self) -> float:
        return float(self._quantiles[-1])

    def _sf_integral(self, r: Array) -> Array:
        if not np.isfinite(self.distribution.mean()):
            return np.full(np.shape(r), np.inf)
        return self._integral(self._sf, r)

    def _integral(self, integrand: Callable[[Array], Array], start: Array) -> Array:
        """Returns the integrals of one function from each start to the far right of the law."""
        start = np.asarray(start, float)
        if start.size == 0:
            return start
        distinct, start_of = np.unique(np.minimum(start, self._end), return_inverse=True)
        first = max(distinct[0], self._quantiles[0])
        steps = np.ceil(np.log(self._end / first) / np.log(_GROWTH))
        between = first * _GROWTH ** np.arange(steps + 1)
        edges = np.unique(np.concatenate([distinct, self._quantiles, between]))
        edges = edges[(edges >= distinct[0]) & (edges <= self._end)]
        half = np.diff(edges) / 2
        nodes = edges[:-1, None] + half[:, None] * (1 + _NODES)
        panels = half * (integrand(nodes) @ _WEIGHTS)
        sums = np.append(np.cumsum(panels[::-1])[::-1], 0)
        return np.asarray(sums[np.searchsorted(edges, distinct)][start_of].reshape(start.shape))

    def _inverse_moment(self, m: float) -> float:
        """Returns E R^-m; infinite if too much mass is near zero, F(r) ~ r^k with k <= m."""
        if self._cdf(np.zeros(())) > 0:
            return np.inf
        r0 = np.asarray(self._quantiles[0])
        F = float(self._cdf(r0))
        near_zero = 0.0
        if F > 0:
            k = float(r0) * float(self.distribution.pdf(r0)) / (1 - self._left_out) / F
            if k <= m * (1 + 1e-6):
                return np.inf
            near_zero = float(m * F * r0**-m / (k - m))
        return near_zero + float(self._inverse_from(m, r0))

    def _inverse_from(self, m: float, a: Array) -> Array:
        """Returns the integral of m r^(-m-1) F(r) from a; beyond the panels F is one."""
        return (
            self._integral(lambda r: m * r ** (-m - 1) * self._cdf(r), a)
            + np.maximum(a, self._end) ** -m
        )
