"""General additive increase and multiplicative decrease: by alpha segments a round up, to beta w down.

Delayed ACKs are alpha = 1/b: a window grows by a segment in b rounds if one ACK answers b segments and each ACK counts
once. Yang and Lam, "General AIMD congestion control", ICNP 2000; Floyd, Handley and Padhye, "A comparison of
equation-based and AIMD congestion control", 2000; RFC 5681 on ACKs; RFC 8511 (beta = 0.8 after a mark).
"""

from dataclasses import dataclass

import numpy as np

from ackclock.models.aimd_chain.growth import SMALLEST, Array, Indices, fall_to
from ackclock.models.refusal import refuse


@dataclass(frozen=True)
class GeneralAimd:
    """AIMD(alpha, beta); beta is what is kept.

    Attributes:
        alpha: Growth in segments per round.
        beta: Share of the window kept after a loss.
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


def delayed_acks(b: float, beta: float = 0.5) -> GeneralAimd:
    """Reno behind a receiver that acknowledges every b-th segment."""
    if not 1 <= b < np.inf:
        refuse("b", b, "must be at least 1, in segments; write for example 2")
    return GeneralAimd(1 / b, beta)
