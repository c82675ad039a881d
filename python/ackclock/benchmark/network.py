"""The dumbbell on which programs are compared."""

from pathlib import Path
from typing import Any

#: The dumbbell with 10 flows, as a scenario; `dumbbell.tcl` beside it is the same for ns-2.
DUMBBELL = Path(__file__).parent / "dumbbell.toml"
#: Simulated seconds by number of flows, for about a million packets each.
SECONDS = {1: 600, 10: 100, 100: 20, 1000: 5, 10000: 2}
#: Simulated seconds of a run that is nothing but start-up.
START_UP_S = 0.001


def dumbbell(flows: int, seconds: float) -> dict[str, Any]:
    """Returns what differs from the file with other flows. Rate and queue grow with them."""
    return {
        "duration": f"{seconds} s",
        "flows.bulk.count": flows,
        "hops.bottleneck.link.rate": f"{10 * flows} Mbit/s",
        "hops.bottleneck.queue.limit": f"{50 * flows} packets",
        "hops.bottleneck back.link.rate": f"{10 * flows} Mbit/s",
    }
