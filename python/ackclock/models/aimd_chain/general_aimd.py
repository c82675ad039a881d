"""General additive increase and multiplicative decrease: by alpha segments a round, to beta w.

Delayed ACKs correspond to alpha = 1/b. If one ACK covers b segments and each ACK counts once, a
window grows by a segment in b rounds. Yang and Lam, "General AIMD congestion control", ICNP 2000;
Floyd, Handley and Padhye, "A comparison of equation-based and AIMD congestion control", 2000; RFC
5681 on ACKs; RFC 8511 (beta = 0.8 after a mark).
"""

from dataclasses import dataclass

import numpy as np

from ackclock.models.aimd_chain.growth import SMALLEST, Falls
from ackclock.models.model import Array
from ackclock.models.refusal import refuse


@dataclass(frozen=True)
class GeneralAimd:
    """AIMD(alpha, beta), where beta is the share kept.

    Attributes:
        alpha: Growth in segments per round.
        beta: Share of the window kept after a loss.
        whole_steps: True if a fall ends on the window of the path at or below beta w, as in the
            paper, which halves whole windows. Otherwise it is shared between the windows of the
            path next to beta w, and the largest window is the last of the path.
    """

    alpha: float = 1.0
    beta: float = 0.5
    whole_steps: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            refuse("alpha", self.alpha, "must be positive, in segments; for example 1")
        if not 0 <= self.beta < 1:
            refuse("beta", self.beta, "must be at least 0 and below 1; for example 0.5")

    def path(self, w_max: float) -> tuple[Array, Falls]:
        """Returns the windows 2 + alpha j, and the fall from each."""
        steps = int(np.floor((w_max - SMALLEST) / self.alpha * (1 + 1e-12)))
        windows = np.asarray(SMALLEST + self.alpha * np.arange(steps + 1), np.float64)
        if self.whole_steps:
            return windows, Falls.onto(windows, self.beta * windows)
        if w_max > windows[-1] * (1 + 1e-12):
            windows = np.append(windows, w_max)
        return windows, Falls.between(windows, self.beta * windows)


#: Reno as in the paper: up by one segment, down to a half, with whole windows.
HALVING = GeneralAimd(whole_steps=True)


def delayed_acks(b: float, beta: float = 0.5) -> GeneralAimd:
    """Returns Reno for a receiver that acknowledges every b-th segment, on the paper's path."""
    if not 1 <= b < np.inf:
        refuse("b", b, "must be at least 1, in segments; for example 2")
    return GeneralAimd(1 / b, beta, whole_steps=True)
