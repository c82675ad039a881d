"""Growth paths: the windows a chain visits on its way up, and where it falls from each.

A window grows from two segments on along w_0, w_1, …; a loss takes it to the highest of these at or below what the
control keeps. So the chain still climbs one state per step and falls by a non-decreasing map.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: The smallest window of congestion avoidance, in segments.
SMALLEST = 2.0


class Response(Protocol):
    """How a window grows in a round without loss and falls in one with."""

    def path(self, w_max: float) -> tuple[Array, Indices]:
        """The windows up to `w_max`, and for each the index of the one it falls to."""
        ...


def fall_to(windows: Array, kept: Array) -> Indices:
    """Index of the highest window at or below `kept`, the lowest one if there is none."""
    # What should be equal may have been rounded apart.
    below = np.searchsorted(windows, kept * (1 + 1e-12), side="right") - 1
    return np.maximum(below, 0).astype(np.int64)
