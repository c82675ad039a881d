"""Growth paths: the windows a chain visits as it grows, and the fall from each.

A window grows from two segments along w_0, w_1, …, by one of them per round. After a loss the
control keeps a window that is rarely on the path. The fall is therefore shared between the two
windows next to it, so that its mean is right. The paper's windows are whole instead: there a fall
ends on the window at or below the kept one (`Falls.onto`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock.models.model import Array

Indices = NDArray[np.int64]

#: The smallest window of congestion avoidance, in segments.
SMALLEST = 2.0
#: Equal values may differ by this share due to rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Falls:
    """The fall from each window of a path.

    Attributes:
        down: Index of the window to which it falls.
        above: Share of the falls that end one window higher, below one; empty for all zeros.
    """

    down: Indices
    above: Array

    @classmethod
    def onto(cls, windows: Array, kept: Array) -> "Falls":
        """Returns falls to the highest window at or below `kept`, or to the lowest one."""
        below = np.searchsorted(windows, kept * (1 + _ROUNDING), side="right") - 1
        return cls(np.maximum(below, 0).astype(np.int64), np.empty(0))

    @classmethod
    def between(cls, windows: Array, kept: Array) -> "Falls":
        """Returns falls shared between the windows next to `kept`, with `kept` as their mean.

        If `kept` is below the lowest window, they end there.
        """
        down = cls.onto(windows, kept).down
        following = np.minimum(down + 1, windows.size - 1)
        step = np.where(following > down, windows[following] - windows[down], 1.0)
        above = np.clip((kept - windows[down]) / step, 0, 1 - _ROUNDING)
        return cls(down, np.where((above > _ROUNDING) & (following > down), above, 0.0))


class Response(Protocol):
    """Growth of a window in a round without loss, and its fall in one with a loss."""

    def path(self, w_max: float) -> tuple[Array, Falls]:
        """Returns the windows up to `w_max`, and the fall from each."""
        ...
