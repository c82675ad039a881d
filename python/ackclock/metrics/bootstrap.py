"""Confidence intervals for averages over one long record: the circular block bootstrap.

Successive intervals of a connection are correlated: a loss halves the window for many round trips.
Blocks of intervals are drawn instead of single intervals, with replacement and wrapped around the
end (Politis and Romano, "A circular block-resampling procedure for stationary data", 1992). The
draws are the same each time.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Seed of numpy's default generator. Its value does not matter; a fixed one gives the same interval
#: for the same record.
SEED = 1

#: With fewer blocks the spread between blocks is unknown. Chosen here.
FEWEST_BLOCKS = 8


def resampled_sums(parts: Array, block: int, resamples: int) -> Array | None:
    """Returns sums over resampled records.

    Args:
        parts: Contribution of each interval to each sum; intervals along the last axis.
        block: Number of successive intervals that stay together.
        resamples: Number of records drawn.

    Returns:
        Resamples along the last axis; None if there are fewer than `FEWEST_BLOCKS` blocks.
    """
    intervals = parts.shape[-1]
    blocks = -(-intervals // block)
    if intervals < FEWEST_BLOCKS * block:
        return None
    reached = np.cumsum(
        np.concatenate([np.zeros_like(parts[..., :1]), parts, parts[..., :block]], axis=-1), axis=-1
    )
    of_block = reached[..., block : block + intervals] - reached[..., :intervals]
    starts = np.random.default_rng(SEED).integers(intervals, size=(resamples, blocks))
    return np.asarray(of_block[..., starts].sum(axis=-1))


def middle(values: Array, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the ends of the central range with that share of the values; NaN if all are NaN."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return float("nan"), float("nan")
    # Between infinite values there is nothing to interpolate.
    method: Literal["linear", "nearest"] = "linear" if np.isfinite(present).all() else "nearest"
    low, high = np.quantile(present, [(1 - confidence) / 2, (1 + confidence) / 2], method=method)
    return float(low), float(high)
