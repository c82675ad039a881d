"""Quantiles of the queueing delay at a hop, over time."""

import math
from collections.abc import Callable

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.hops import Combine, per_hop
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.subjects import HOPS, Subjects
from ackclock.metrics.tables import Columns
from ackclock.result.result import Result


def queueing_delay_quantile(share: float) -> Metric:
    """Makes the metric of the queueing delay that is not exceeded for a share of the time.

    The delay is the backlog divided by the link's rate, at the sampling times after the warm-up. So
    it is a quantile over time, not over packets: a burst of packets that finds a full queue counts
    no more than its duration.

    Args:
        share: The share of the time, between 0 and 1.

    Raises:
        InputError: `share` is not between 0 and 1.
    """
    return quantile_of(
        "queueing delay", share,
        "Backlog divided by the link's rate, not exceeded at {} % of the sampling times: a "
        "quantile over time, not over packets.",
        HOPS, per_hop(("backlog_bytes", "rate_bit_per_s"), _quantile(share)),
    )  # fmt: skip


def quantile_of(
    delay: str, share: float, meaning: str, about: Subjects, values: Callable[[Result], list[Value]]
) -> Metric:
    """Makes the metric of a quantile of a delay; `meaning` has braces for the percentage.

    Raises:
        InputError: `share` is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise InputError("out-of-range", "share", f"{share} is not between 0 and 1; try 0.99")
    percent = f"{share * 100:g}"
    name = f"{delay.replace(' ', '_')}_p{percent.replace('.', '_')}"
    label = f"p{percent} {delay}"
    return Metric(name, label, meaning.format(percent), "s", "ms", 1e3, about, values)


def _quantile(share: float) -> Combine:
    def combine(rows: Columns, warmup_s: float) -> float:
        after = (rows["time_s"] > warmup_s) & (rows["rate_bit_per_s"] > 0)
        delays = rows["backlog_bytes"][after] * 8 / rows["rate_bit_per_s"][after]
        return float(np.quantile(delays, share)) if delays.size else math.nan

    return combine
