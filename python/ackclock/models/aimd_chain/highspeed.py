"""HighSpeed TCP in the chain: growth and decrease depend on the window.

RFC 3649, section 5. Letters: w window (segments), p(w) = 0.078/w^1.2 its loss rate, b(w) the share
given up at a loss. It falls with log w from 0.5 at 38 to 0.1 at 83 000 segments. The growth per
round, in segments, is a(w) = 2 w^2 p(w) b(w)/(2 - b(w)), at least one. Up to 38 segments it is
Reno.
"""

from dataclasses import dataclass

import numpy as np

from ackclock.models.aimd_chain.growth import SMALLEST, Falls
from ackclock.models.hstcp_response import LOW_WINDOW, decrease
from ackclock.models.model import Array


def increase(w: Array) -> Array:
    """Returns a(w) with p(w) as rounded by the RFC's appendix.

    In contrast, `hstcp_response.increase` has the exact inverse of w(p).
    """
    b = decrease(w)
    grown = 2 * w**2 * (0.078 / w**1.2) * b / (2 - b)
    return np.where(w <= LOW_WINDOW, 1, np.maximum(grown, 1))


@dataclass(frozen=True)
class HighSpeed:
    """The response of RFC 3649.

    Attributes:
        whole_steps: As in `GeneralAimd`.
    """

    whole_steps: bool = False

    def path(self, w_max: float) -> tuple[Array, Falls]:
        """Returns the windows w_{j+1} = w_j + a(w_j) up to `w_max`, and the fall from each."""
        visited = [SMALLEST]
        while (following := visited[-1] + float(increase(np.asarray(visited[-1])))) <= w_max:
            visited.append(following)
        windows = np.array(visited)
        kept = (1 - decrease(windows)) * windows
        return windows, Falls.onto(windows, kept) if self.whole_steps else Falls.between(
            windows, kept
        )
