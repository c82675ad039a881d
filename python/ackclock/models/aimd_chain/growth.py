"""Growth paths: the windows a chain visits on its way up, and where it falls from each.

A window grows from two segments on along w_0, w_1, …, one of them per round. A loss takes it to
what the control keeps. That seldom is a window of the path, so the fall is shared between the two
next to it, such that its mean is right. The paper's windows are whole instead: there a fall ends on
the window at or below what is kept (`Falls.onto`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: The smallest window of congestion avoidance, in segments.
SMALLEST = 2.0
#: What should be equal may have been rounded apart by this share.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Falls:
    """Where a loss takes each window of a path.

    Attributes:
        down: Index of the window to which it falls.
        above: Share of the falls that end one window higher, below one; none are if it is empty.
    """

    down: Indices
    above: Array

    @classmethod
    def onto(cls, windows: Array, kept: Array) -> "Falls":
        """To the highest window at or below `kept`, the lowest one if there is none."""
        below = np.searchsorted(windows, kept * (1 + _ROUNDING), side="right") - 1
        return cls(np.maximum(below, 0).astype(np.int64), np.empty(0))

    @classmethod
    def between(cls, windows: Array, kept: Array) -> "Falls":
        """Shared between the windows next to `kept`, so that the mean is `kept`; the lowest one if that is above it."""
        down = cls.onto(windows, kept).down
        following = np.minimum(down + 1, windows.size - 1)
        step = np.where(following > down, windows[following] - windows[down], 1.0)
        above = np.clip((kept - windows[down]) / step, 0, 1 - _ROUNDING)
        return cls(down, np.where((above > _ROUNDING) & (following > down), above, 0.0))


class Response(Protocol):
    """How a window grows in a round without loss and falls in one with."""

    def path(self, w_max: float) -> tuple[Array, Falls]:
        """The windows up to `w_max`, and where a loss takes each of them."""
        ...
