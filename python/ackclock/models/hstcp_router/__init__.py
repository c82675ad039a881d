"""HighSpeed TCP at a router: link utilisation as a function of buffer size, by four models.

Example:
    fixed_point.solve(
        DropTail(1250), rate=125_000, round_trips=np.arange(115.5, 125) / 1e3
    ).utilisation
    window_simulation.simulate(
        125_000, np.arange(115.5, 125) / 1e3, buffers=1250, seeds=[1, 2, 3]
    ).utilisation

D. Barman, G. Smaragdakis, I. Matta, "The effect of router buffer size on HighSpeed TCP
performance", IEEE Globecom 2004. The paper was not available. The models are re-derived from a
later summary of it, without its misprints, and each docstring says what is a guess.

The laws of the router's queue, drop-tail and RED, are in `occupancy`. In `fixed_point` is their
solution together with the windows, for any round-trip times. Windows are simulated step by step in
`window_simulation`. The records are `mm1k`, `red`, `saw_tooth` and `simulated`.
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
