"""The throughput law: windows over round-trip times, capped at the rate of the link.

Letters: omega_w law of the window (see `WindowChain.law`), R round-trip time (s), L rate of the
link (segments/s). T = min(w/R, L) is a mixture over windows, with an atom at L. All rates are in
segments per second.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.aimd_chain.chain import (
    MODES,
    WindowChain,
    check_rate,
    round_lasts,
    weighted_sum,
)
from ackclock.models.aimd_chain.rtt import RoundTrip
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

#: The throughput's own law over time: a random moment, which falls more often into long rounds.
TIME_WEIGHTED = "time_weighted"
#: Tolerance: w/R and w/x may differ by rounding where they are equal.
_ROUNDING = 4 * np.finfo(float).eps
_BLOCK = 1 << 20


def renewal_rate(chain: WindowChain, rtt: RoundTrip, rate: float = inf) -> float:
    """Returns the long-run rate in segments/s: mean segments over mean duration of a round.

    X = sum pi_w w / sum pi_w E max(R, w/L). The mean of a throughput law by rounds or segments is
    biased towards short rounds or long windows; this one is not. It is zero if the mean round-trip
    time is infinite.
    """
    lasts = weighted_sum(chain.round, round_lasts(chain, rtt, rate))
    if not lasts > 0:
        refuse("rtt", lasts, "is the mean in s; it must be positive")
    return weighted_sum(chain.round, chain.windows) / lasts


@dataclass(frozen=True)
class Throughput:
    """The law of T.

    Attributes:
        chain: The window.
        rtt: Law of the round-trip time.
        rate: L, infinite for no limit.
        mode: Viewpoint: one of `WindowChain.law`'s; or "time_weighted", a random moment for window
            and round-trip time together, whose mean is `renewal_rate`.
    """

    chain: WindowChain
    rtt: RoundTrip
    rate: float = inf
    mode: str = "segment"

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.mode not in (*MODES, TIME_WEIGHTED):
            refuse(
                "mode",
                self.mode,
                f"is unknown; choose from {', '.join((*MODES, TIME_WEIGHTED))}",
                "unknown-name",
            )

    @property
    def renewal_rate(self) -> float:
        """The result of the function `renewal_rate`, the same in all modes."""
        return renewal_rate(self.chain, self.rtt, self.rate)

    @cached_property
    def _weights(self) -> Array:
        """omega; for a random moment, the law of rounds over their mean duration."""
        if self.mode != TIME_WEIGHTED:
            return self.chain.law(self.mode, self.rtt, self.rate)
        return self.chain.round / weighted_sum(
            self.chain.round, round_lasts(self.chain, self.rtt, self.rate)
        )

    def cdf(self, x: ArrayLike) -> Array:
        """Returns P(T <= x); one from L on."""
        return self._shares(x, reaching=False)

    def exceeds(self, level: ArrayLike) -> Array:
        """Returns P(T > level); zero from L on."""
        return self._shares(level, reaching=True)

    @cached_property
    def atom(self) -> float:
        """P(T = L): the share in which the link is never idle."""
        if self.rate == inf:
            return 0.0
        windows = self.chain.windows
        a = windows / self.rate * (1 + _ROUNDING)
        inside = self.rtt.cdf(a, windows)
        return weighted_sum(
            self._weights, inside * windows / self.rate if self.mode == TIME_WEIGHTED else inside
        )

    def moment(self, m: float) -> float:
        """Returns E T^m for m > 0, in (segments/s)^m; infinite if it does not exist."""
        if not 0 < m < inf:
            refuse("m", m, "must be positive; for example 2")
        windows = self.chain.windows
        if self.mode == TIME_WEIGHTED:
            # E(U T^m) = w E T^(m-1) with U = max(R, w/L) = w/T.
            if m < 1:
                refuse("m", m, "must be at least 1 for the time-weighted law")
            means = windows * (self.rtt.capped_rate(m - 1, self.rate, windows) if m > 1 else 1.0)
        else:
            means = self.rtt.capped_rate(m, self.rate, windows)
        used = self._weights > 0
        return weighted_sum(self._weights[used], means[used])

    def mean(self) -> float:
        """Returns E T under the law of this mode; `renewal_rate` says which mean is unbiased."""
        return self.moment(1)

    def sd(self) -> float:
        """Returns the standard deviation of T."""
        mean = self.mean()
        if mean == inf:
            return inf
        return float(np.sqrt(max(self.moment(2) - mean**2, 0.0)))

    def quantile(self, q: ArrayLike) -> Array:
        """Returns x_q, the smallest x with P(T <= x) >= q, for 0 < q <= 1; relative error 1e-14."""
        q = np.asarray(q, float)
        if not ((q > 0) & (q <= 1)).all():
            refuse(
                "q",
                float(q[~((q > 0) & (q <= 1))][0]),
                "must be above 0 and at most 1; for example 0.5",
            )
        low, high = self._bracket(q.ravel())
        # Bisection on a logarithmic scale while the ends are far apart, as rates span many orders
        # of magnitude.
        for _ in range(200):
            middle = np.where(high > 2 * low, np.sqrt(low) * np.sqrt(high), low + (high - low) / 2)
            if ((high - low <= 1e-15 * high) | (middle <= low) | (middle >= high)).all():
                break
            enough = self.cdf(middle) >= q.ravel()
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high.reshape(q.shape)

    def interval(self, c: float) -> tuple[float, float]:
        """Returns the central range with share c: the quantiles at (1-c)/2 and (1+c)/2."""
        if not 0 < c < 1:
            refuse("c", c, "must be between 0 and 1; for example 0.9")
        low, high = self.quantile([(1 - c) / 2, (1 + c) / 2])
        return float(low), float(high)

    def _bracket(self, q: Array) -> tuple[Array, Array]:
        """Returns rates below and above the quantiles; infinite if no rate is high enough."""
        typical = self.renewal_rate
        low = np.full(q.shape, typical)
        while ((enough := self.cdf(low) >= q) & (low > 1e-300)).any():
            low = np.where(enough, low / 16, low)
        if self.rate < inf:
            return low, np.full(q.shape, self.rate)
        high = np.maximum(low, typical)
        while ((short := self.cdf(high) < q) & (high < 1e300)).any():
            high = np.where(short, high * 16, high)
        unreached = self.cdf(high) < q
        return np.where(unreached, inf, low), np.where(unreached, inf, high)

    def _shares(self, x: ArrayLike, *, reaching: bool) -> Array:
        x = np.asarray(x, float)
        if np.isnan(x).any():
            refuse("x", float("nan"), "is not a rate in segments/s")
        flat = x.ravel()
        result = np.where(flat >= self.rate, 0.0 if reaching else 1.0, 1.0 if reaching else 0.0)
        inner = np.flatnonzero((flat > 0) & (flat < self.rate) & (flat < inf))
        for block in np.array_split(inner, inner.size * self.chain.windows.size // _BLOCK + 1):
            result[block] = self._mixture(flat[block, None], reaching=reaching)
        result[flat == inf] = 0.0 if reaching else 1.0
        return result.reshape(x.shape)

    def _mixture(self, x: Array, *, reaching: bool) -> Array:
        """Returns shares of T > x or T <= x for 0 < x < L: rounds shorter than w/x, or others."""
        windows = self.chain.windows[None, :]
        r = windows / x * (1 - _ROUNDING)
        if self.mode == TIME_WEIGHTED:
            slow = self.rtt.upper_mean(r, windows)
            shares = round_lasts(self.chain, self.rtt, self.rate) - slow if reaching else slow
        else:
            fast = self.rtt.below(r, windows)
            shares = fast if reaching else 1 - fast
        return np.clip(shares @ self._weights, 0, 1)
