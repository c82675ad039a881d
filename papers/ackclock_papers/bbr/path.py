"""The dumbbell of both experiments: one bottleneck, and flows of Linux's TCP."""

from collections.abc import Sequence
from typing import Any

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.scenario import Scenario
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import AMPLE_PACKETS, Tree, constant, hop, packets
from ackclock_papers.scenarios import scenario as scenario_of

#: Ethernet frames without their header.
PACKET_BITS = 12_000
#: Starts are spread, so that replicates differ.
STARTS = ["0 s", "1 s"]
THERE, BACK = "bottleneck", "back"


def product_packets(mbit_per_s: float, round_trip_s: float) -> float:
    """Returns the bandwidth-delay product in packets."""
    return mbit_per_s * 1e6 * round_trip_s / PACKET_BITS


#: Segments leave one by one, each at its time, and ACKs and timers have no further rules of Linux.
#: With them one statement about Figure 8 fails: from 1 to 16 CUBIC flows the share moves by 0.11.
SINGLE_SEGMENTS: Tree = {
    "segmentation_offload": False,
    "timer_tick": "0 s",
    "receive_buffer_growth": False,
    "delayed_ack": {"beyond_hole": "0 s"},
}


def tcp(name: str, control: str, count: int = 1, extra_s: float = 0.0) -> Tree:
    """Returns bulk flows of Linux's TCP without a limit of the receiver."""
    transport = {
        "kind": "tcp", "preset": "linux", "control": {"kind": control},
        "receive_window": "unlimited", **SINGLE_SEGMENTS,
    }  # fmt: skip
    return {
        "name": name, "count": count, "route": [THERE], "return": [BACK], "start": STARTS,
        "access_delay": f"{extra_s * 1000:g} ms", "transport": transport,
    }  # fmt: skip


def scenario(
    name: str, mbit_per_s: float, round_trip_s: float, flows: Sequence[Tree], *, duration_s: float,
    warmup_s: float, replicates: int, sweep: dict[str, Any],
) -> Scenario:  # fmt: skip
    """Returns flows over one drop-tail bottleneck."""
    return scenario_of(
        name,
        [
            hop(THERE, constant(mbit_per_s), packets(1), round_trip_s / 2),
            hop(BACK, constant(1000), packets(AMPLE_PACKETS), round_trip_s / 2),
        ],
        flows,
        duration_s=duration_s, warmup_s=warmup_s, sample_interval_s=1.0, replicates=replicates,
        sweep=sweep,
    )  # fmt: skip


def goodputs(result: Result, flow: str, point: int) -> list[float]:
    """Returns the goodput of a group of flows in Mbit/s, by replicate."""
    return of_replicates(result, "goodput", flow, point)


def share(result: Result, flow: str, other: str, point: int) -> Interval:
    """Returns one group's share of the goodput of both."""
    mine, others = goodputs(result, flow, point), goodputs(result, other, point)
    return interval([a / (a + b) for a, b in zip(mine, others, strict=True)])
