"""How far an average over one long record can be off: the circular block bootstrap.

What happens in successive intervals of a connection hangs together: a loss halves the window for
many round trips. So blocks of intervals are drawn, with replacement and wrapped around the end, and
not single ones (Politis and Romano, "A circular block-resampling procedure for stationary data",
1992). The draws are the same each time.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Of numpy's default generator. Any would do; a fixed one makes the same record give the same
#: interval.
SEED = 1

#: With fewer blocks than this there is no saying how blocks differ. Chosen here.
FEWEST_BLOCKS = 8


def resampled_sums(parts: Array, block: int, resamples: int) -> Array | None:
    """Sums over resampled records.

    Args:
        parts: What each interval adds to each sum; intervals along the last axis.
        block: How many successive intervals stay together.
        resamples: How many records are drawn.

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
    """The ends between which that share of the values lies; not a number where none is known."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
