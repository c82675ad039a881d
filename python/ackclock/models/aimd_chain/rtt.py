"""Laws of the round-trip time, and the means of them that the throughput law needs.

Letters: R round-trip time (s), w window (segments), L rate of the link (segments/s), a = w/L. All
methods take arrays that are broadcast with the windows, since the law may depend on the window.

A round-trip time is positive. If a law has mass at or below zero (the paper's normal one), there
are two treatments. With "cap" it is kept, and such a round is as fast as the link allows, as in the
paper's formula (5.3). With "truncate" it is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.models.aimd_chain.continuous import Continuous
from ackclock.models.model import Array
from ackclock.models.refusal import refuse


class RoundTrip(Protocol):
    """A law of the round-trip time, as used by the models."""

    def cdf(self, r: Array, windows: Array) -> Array:
        """Returns P(R <= r), r positive."""
        ...

    def below(self, r: Array, windows: Array) -> Array:
        """Returns P(R < r), r positive."""
        ...

    def upper_mean(self, r: Array, windows: Array) -> Array:
        """Returns E(R; R >= r) in s, r >= 0: the mean times the time share of rounds >= r."""
        ...

    def mean_at_least(self, a: Array, windows: Array) -> Array:
        """Returns E max(R, a) in s, a not negative."""
        ...

    def capped_rate(self, m: float, rate: float, windows: Array) -> Array:
        """Returns E min(w/R, L)^m in (segments/s)^m for each window; infinite if undefined."""
        ...


@dataclass(frozen=True, eq=False)
class Empirical:
    """A weighted sample: each value has its share of the mass.

    It is sorted once. Every mean is then a look-up in cumulative sums without subtraction.

    Attributes:
        samples: Round-trip times in s.
        weights: As many weights, with a positive sum; equal ones by default.
    """

    samples: ArrayLike
    weights: ArrayLike | None = None
    _sorted: Array = field(init=False, repr=False)
    _shares: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        samples = np.atleast_1d(np.asarray(self.samples, float)).ravel()
        if samples.size == 0:
            refuse("samples", "()", "is empty; give at least one round-trip time in s")
        _all(
            "samples",
            samples,
            (samples > 0) & (samples < np.inf),
            "must be positive and finite, in s",
        )
        weights = (
            np.ones_like(samples)
            if self.weights is None
            else np.atleast_1d(np.asarray(self.weights, float))
        )
        if weights.shape != samples.shape:
            refuse(
                "weights", f"{weights.size} values", f"must be as many as samples, {samples.size}"
            )
        _all(
            "weights",
            weights,
            (weights >= 0) & (weights < np.inf),
            "must not be negative, and finite",
        )
        if not weights.sum() > 0:
            refuse("weights", 0.0, "is the sum; at least one must be positive")
        order = np.argsort(samples, kind="stable")
        object.__setattr__(self, "_sorted", samples[order])
        object.__setattr__(self, "_shares", weights[order] / weights.sum())

    @cached_property
    def _mass_below(self) -> Array:
        return np.append(0, np.cumsum(self._shares))

    @cached_property
    def _mean_from(self) -> Array:
        return _sum_from(self._shares * self._sorted)

    def cdf(self, r: Array, windows: Array) -> Array:  # noqa: ARG002 (the same for all windows)
        """Returns P(R <= r)."""
        return self._mass_below[np.searchsorted(self._sorted, r, side="right")]

    def below(self, r: Array, windows: Array) -> Array:  # noqa: ARG002
        """Returns P(R < r)."""
        return self._mass_below[np.searchsorted(self._sorted, r, side="left")]

    def upper_mean(self, r: Array, windows: Array) -> Array:  # noqa: ARG002
        """Returns E(R; R >= r)."""
        return self._mean_from[np.searchsorted(self._sorted, r, side="left")]

    def mean_at_least(self, a: Array, windows: Array) -> Array:
        """Returns E max(R, a)."""
        return a * self.below(a, windows) + self.upper_mean(a, windows)

    def capped_rate(self, m: float, rate: float, windows: Array) -> Array:
        """Returns E min(w/R, L)^m."""
        first = np.searchsorted(self._sorted, windows / rate, side="right")
        capped = np.where(first > 0, self._mass_below[first] * rate**m if rate < np.inf else 0, 0)
        return capped + windows**m * _sum_from(self._shares * self._sorted**-m)[first]

    def inverse_moved(self, m: float, first: Array, moved: Array) -> Array:
        """Returns E (max(R, first) + moved)^-m for each pair."""
        lasts = np.maximum(self._sorted, first[:, None]) + moved[:, None]
        return np.asarray((lasts**-m) @ self._shares)


@dataclass(frozen=True)
class PerWindow:
    """A law for each window.

    Attributes:
        function: Maps a window in segments to its law. It is called once for each window.
    """

    function: Callable[[float], RoundTrip]

    @cached_property
    def _law(self) -> Callable[[float], RoundTrip]:
        return cache(self.function)

    def cdf(self, r: Array, windows: Array) -> Array:
        """Returns P(R <= r)."""
        return self._each("cdf", r, windows)

    def below(self, r: Array, windows: Array) -> Array:
        """Returns P(R < r)."""
        return self._each("below", r, windows)

    def upper_mean(self, r: Array, windows: Array) -> Array:
        """Returns E(R; R >= r)."""
        return self._each("upper_mean", r, windows)

    def mean_at_least(self, a: Array, windows: Array) -> Array:
        """Returns E max(R, a)."""
        return self._each("mean_at_least", a, windows)

    def capped_rate(self, m: float, rate: float, windows: Array) -> Array:
        """Returns E min(w/R, L)^m."""
        each = [self._law(float(w)).capped_rate(m, rate, np.array([w])) for w in windows]
        return np.concatenate(each)

    def _each(self, name: str, r: Array, windows: Array) -> Array:
        r, windows = np.broadcast_arrays(r, windows)
        answer = np.empty(r.shape)
        distinct, number_of = np.unique(windows, return_inverse=True)
        number_of = number_of.reshape(windows.shape)
        for index, w in enumerate(distinct):
            here = number_of == index
            answer[here] = getattr(self._law(float(w)), name)(r[here], windows[here])
        return answer


@dataclass(frozen=True)
class Growing:
    """A law that the window moves: max(R, 0) + g w, as if each segment waited for those before it.

    Attributes:
        law: Law of R.
        per_segment: g, in s.
    """

    law: Empirical | Continuous
    per_segment: float

    def cdf(self, r: Array, windows: Array) -> Array:
        """Returns P(R + g w <= r)."""
        rest = r - self.per_segment * windows
        return np.where(rest >= 0, self.law.cdf(np.maximum(rest, 0), windows), 0.0)

    def below(self, r: Array, windows: Array) -> Array:
        """Returns P(R + g w < r)."""
        rest = r - self.per_segment * windows
        return np.where(rest > 0, self.law.below(np.maximum(rest, 0), windows), 0.0)

    def upper_mean(self, r: Array, windows: Array) -> Array:
        """Returns E(R + g w; R + g w >= r)."""
        moved = self.per_segment * windows
        longer = self.law.upper_mean(np.maximum(r - moved, 0), windows)
        return longer + moved * (1 - self.below(r, windows))

    def mean_at_least(self, a: Array, windows: Array) -> Array:
        """Returns E max(R + g w, a)."""
        moved = self.per_segment * windows
        return moved + self.law.mean_at_least(np.maximum(a - moved, 0), windows)

    def capped_rate(self, m: float, rate: float, windows: Array) -> Array:
        """Returns E min(w/(R + g w), L)^m."""
        moved = self.per_segment * windows
        first = np.maximum(windows / rate - moved, 0)
        return windows**m * self.law.inverse_moved(m, first, moved)


def constant(r: float) -> Empirical:
    """Returns the law of a constant round-trip time of r seconds."""
    if not 0 < r < np.inf:
        refuse("rtt", r, "must be positive and finite, in s; for example 0.1")
    return Empirical(r)


def normal(mean: float, sd: float, negative: Literal["cap", "truncate"] = "cap") -> Continuous:
    """Returns a normal law; mean and standard deviation in s are those before `negative`."""
    _positive("mean", mean, "s")
    _positive("sd", sd, "s")
    return _normal(float(mean), float(sd), negative)


# A curve asks for one law again and again, and its quantiles take long.
@lru_cache(maxsize=32)
def _normal(mean: float, sd: float, negative: Literal["cap", "truncate"]) -> Continuous:
    return Continuous(_stats().norm(mean, sd), negative)


def gamma(shape: float, scale: float) -> Continuous:
    """Returns a gamma law of mean shape * scale, scale in s."""
    _positive("shape", shape, "")
    _positive("scale", scale, "s")
    return Continuous(_stats().gamma(shape, scale=scale))


def frozen(law: Any, negative: Literal["cap", "truncate"] = "cap") -> Continuous:
    """Returns the law of any frozen continuous distribution of `scipy.stats`, in s.

    It is slow if scipy has no closed form of its `cdf`.
    """
    return Continuous(law, negative)


def empirical(samples: ArrayLike, weights: ArrayLike | None = None) -> Empirical:
    """Returns the law of a sample of round-trip times in s, each with its weight."""
    return Empirical(samples, weights)


def per_window(function: Callable[[float], RoundTrip]) -> PerWindow:
    """Returns a law for each window: `function` maps segments to a law."""
    return PerWindow(function)


def growing(law: Empirical | Continuous, per_segment: float) -> Growing:
    """Returns a law that is `per_segment` seconds longer for each segment of the window."""
    _positive("per_segment", per_segment, "s")
    return Growing(law, per_segment)


def _stats() -> Any:
    from scipy import stats  # slow to import, and not all models need it

    return stats


def _sum_from(values: Array) -> Array:
    """Returns the sums from each index to the end, and a final zero."""
    return np.append(np.cumsum(values[::-1])[::-1], 0)


def _all(letter: str, values: Array, inside: NDArray[np.bool_], remedy: str) -> None:
    if not inside.all():
        refuse(letter, float(values[~inside][0]), remedy)


def _positive(letter: str, value: float, unit: str) -> None:
    if not 0 < value < np.inf:
        refuse(letter, value, f"must be positive and finite{', in ' if unit else ''}{unit}")
