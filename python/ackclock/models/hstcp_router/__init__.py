"""HighSpeed TCP at a router: how much of the link its flows use with how large a buffer, by four models.

    fixed_point.solve(DropTail(1250), rate=125_000, round_trips=np.arange(115.5, 125) /
    1e3).utilisation window_simulation.simulate(125_000, np.arange(115.5, 125) / 1e3, buffers=1250,
    seeds=[1, 2, 3]).utilisation

D. Barman, G. Smaragdakis, I. Matta, "The effect of router buffer size on HighSpeed TCP
performance", IEEE Globecom
2004. The paper was not at hand; what is here was re-derived from a later account of it, whose
      misprints are not kept,
and each docstring says what is a guess.

`occupancy` holds the laws of what a router holds, drop-tail and RED; `fixed_point` finds where they
agree with the windows, for any round-trip times; `window_simulation` moves windows step by step.
The records are `mm1k`, `red`, `saw_tooth` and `simulated`.
"""

from ackclock.models.hstcp_router import (
    fixed_point,
    mm1k,
    red,
    saw_tooth,
    simulated,
    window_simulation,
)
from ackclock.models.hstcp_router.fixed_point import FixedPoint
from ackclock.models.hstcp_router.occupancy import DropTail, Occupancy, Red
from ackclock.models.hstcp_router.window_simulation import Simulated, Timing

MODELS = (mm1k.MM1K, mm1k.MM1K_BURST, red.RED, saw_tooth.MODEL, simulated.MODEL)

__all__ = [
    "MODELS",
    "DropTail",
    "FixedPoint",
    "Occupancy",
    "Red",
    "Simulated",
    "Timing",
    "fixed_point",
    "mm1k",
    "red",
    "saw_tooth",
    "simulated",
    "window_simulation",
]
