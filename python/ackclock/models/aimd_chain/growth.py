"""Growth paths: the windows a chain visits on its way up, and where it falls from each.

A window grows from two segments on along w_0, w_1, …; a loss takes it to the highest of these at or below what the
control keeps. So the chain still climbs one state per step and falls by a non-decreasing map.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock.models.aimd_chain.refusal import refuse

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


@dataclass(frozen=True)
class GeneralAimd:
    """Additive increase by alpha segments a round, multiplicative decrease to beta w.

    Delayed ACKs are alpha = 1/b with one ACK for b segments. Yang and Lam, "General AIMD congestion control", ICNP
    2000; Floyd, Handley and Padhye, "A comparison of equation-based and AIMD congestion control", 2000.
    """

    alpha: float = 1.0
    beta: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            refuse("alpha", self.alpha, "must be positive, in segments; write for example 1")
        if not 0 <= self.beta < 1:
            refuse("beta", self.beta, "must be at least 0 and below 1; write for example 0.5")

    def path(self, w_max: float) -> tuple[Array, Indices]:
        """The windows 2 + alpha j, and what each falls to."""
        steps = int(np.floor((w_max - SMALLEST) / self.alpha * (1 + 1e-12)))
        windows = np.asarray(SMALLEST + self.alpha * np.arange(steps + 1), np.float64)
        return windows, fall_to(windows, self.beta * windows)


#: Reno: by one segment up, to a half down.
HALVING = GeneralAimd()
