"""Two routers, ten flows across each, and the models' answers.

There is no slower link before the router, so a flow's packets reach it as ACKs release them. With a
small buffer it matters much whether they come in such trains or evenly spread over the round trip.
So both are run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock import Result, models
from ackclock.metrics import interval
from ackclock.reproduction import Cell, Run, Setting, Table
from ackclock.scenario import Scenario
from ackclock_papers.hstcp.paper import guessed, stated
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    scenario,
    seconds_run,
)

Array = NDArray[np.float64]

FLOWS = 10
MSS_BYTES, HEADER_BYTES = 960, 40
PACKET_BYTES = MSS_BYTES + HEADER_BYTES
BOTTLENECK, FLOW = "router", "highspeed"
#: One-way delay that all flows share, in seconds; the rest of a round trip is each flow's own.
DELAY_S = 0.010
#: A saw-tooth takes some 6 s.
DURATION_S, WARMUP_S = 100.0, 40.0
REPLICATES = 3
#: Buffers of the packet simulations, as shares of the largest.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
#: Buffers at which models are compared with a separate reference computation.
COMPARED = (0.005, *SHARES)
WITHIN = "half of the last digit"
#: The TCP of ns-2, which such studies used. Only the recovery differs: windows of a thousand
#: segments lose many at a time.
TCP: Tree = {
    "kind": "tcp",
    "preset": "ns2-2002",
    "recovery": "sack",
    "control": {"kind": "highspeed"},
}
#: Labels and values of pacing: a packet leaves when an ACK comes, or spread over the round trip.
CLOCKED, PACED = "ACK-clocked", "paced"
PACING = {CLOCKED: "off", PACED: "always"}


@dataclass(frozen=True)
class Router:
    """A bottleneck and its flows.

    Attributes:
        name: Name of its scenarios.
        mbit_per_s: Rate, in Mbit/s.
        shortest_ms: Smallest round-trip time without queueing, in ms; the flows' are evenly spread.
        longest_ms: Largest round-trip time without queueing, in ms.
        largest: Largest buffer in packets; the others are shares of it.
    """

    name: str
    mbit_per_s: float
    shortest_ms: float
    longest_ms: float
    largest: int

    @property
    def rate(self) -> float:
        """C in packets/s."""
        return self.mbit_per_s * 1e6 / (8 * PACKET_BYTES)

    def buffers(self, shares: Sequence[float] = SHARES) -> list[int]:
        """Returns buffers in packets."""
        return [int(share * self.largest) for share in shares]

    def answers(self, model: str, **more: ArrayLike) -> Mapping[str, Array]:
        """Returns a model's answer for the router, in segments and seconds."""
        ends = {"shortest": self.shortest_ms / 1000, "longest": self.longest_ms / 1000}
        return models.model(model).answer(
            rate=self.rate, flows=FLOWS, rtt=ends["shortest"], **ends, **more
        )

    def scenario(
        self,
        queues: Sequence[Tree],
        sending: str,
        tcp: Tree = TCP,
        access_mbit_per_s: float | None = None,
    ) -> Scenario:
        """Returns ten flows through each of these queues.

        Args:
            queues: Queues of the router, the points of a sweep.
            sending: Pacing, a key of `PACING`.
            tcp: Transport of the flows.
            access_mbit_per_s: Rate of each flow's own link before the router; None if there is no
                such link.
        """
        path = hops(self.mbit_per_s)
        more = [f"{end - 2000 * DELAY_S:g} ms" for end in (self.shortest_ms, self.longest_ms)]
        flow = highspeed(FLOW, more, tcp | {"pacing": PACING[sending]}) | {"count": FLOWS}
        if access_mbit_per_s is not None:
            path.append(
                hop("access", constant(access_mbit_per_s), packets(AMPLE_PACKETS), scope="per_flow")
            )
            flow["route"] = ["access", *flow["route"]]
        return scenario(
            f"{self.name}, {sending}", path, [flow], duration_s=DURATION_S, warmup_s=WARMUP_S,
            sample_interval_s=1.0, replicates=REPLICATES,
            sweep={f"hops.{BOTTLENECK}.queue": list(queues)},
        )  # fmt: skip

    def drop_tail(self, sending: str) -> Run:
        """Returns runs with drop-tail buffers of `SHARES`."""
        return Run(self.scenario(drop_tail(self.buffers()), sending))

    def settings(self, results: Mapping[str, Result]) -> tuple[Setting, ...]:
        """Returns the settings of its runs."""
        return stated(
            link=f"{self.mbit_per_s / 1000:g} Gbit/s, packets of {PACKET_BYTES} bytes",
            round_trips=(
                f"{FLOWS} flows, {self.shortest_ms:g} to {self.longest_ms:g} ms, evenly spread"
            ),
            buffers=f"shares of {self.largest} packets",
        ) + of_runs(results)


def drop_tail(buffers: Sequence[int]) -> list[Tree]:
    """Returns drop-tail queues of these sizes, in packets."""
    return [{"kind": "droptail", "limit": packets(buffer)} for buffer in buffers]


def highspeed(name: str, access_delay: str | list[str], tcp: Tree) -> Tree:
    """Returns a bulk flow through the router."""
    return {
        "name": name,
        "route": [BOTTLENECK],
        "return": ["back"],
        "access_delay": access_delay,
        "start": ["0 s", "1 s"],
        "transport": tcp | {"mss": f"{MSS_BYTES} bytes", "header": f"{HEADER_BYTES} bytes"},
        "traffic": {"kind": "bulk"},
    }


def hops(mbit_per_s: float) -> list[Tree]:
    """Returns the router and the return path, each with half of the shared delay."""
    link = constant(mbit_per_s)
    return [
        hop(BOTTLENECK, link, packets(1), DELAY_S),
        hop("back", link, packets(AMPLE_PACKETS), DELAY_S),
    ]


def of_runs(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    """Returns the choices common to all runs."""
    return guessed(
        TCP="as in ns-2 (preset ns2-2002) with SACK, no link before the router",
        starts="within a second",
        runs=(
            f"{seconds_run(results, 'duration')} s, the first {seconds_run(results, 'warmup')} s "
            f"not counted, {replicates_run(results)} times"
        ),
    )


SLOWER = Router("1 Gbit/s", 1000, 115.5, 124.5, 12_500)
FASTER = Router("2.5 Gbit/s", 2500, 38, 142, 6250)


def utilisation(result: Result) -> list[list[float]]:
    """Returns the utilisation of the bottleneck in percent, by point and replicate."""
    return [
        of_replicates(result, "utilisation", BOTTLENECK, point)
        for point in range(len(result.points))
    ]


def losses(result: Result) -> list[list[float]]:
    """Returns the share of packets that the bottleneck drops, by point and replicate."""
    return [
        [percent / 100 for percent in of_replicates(result, "hop_drops", BOTTLENECK, point)]
        for point in range(len(result.points))
    ]


def loss_table(router: Router, results: Mapping[str, Result]) -> Table:
    """Returns the dropped share of packets by buffer, with a column for each run."""
    by_run = {name: losses(result) for name, result in results.items()}
    rows = tuple(
        (str(buffer), *(f"{interval(lost[point]).mean:.1e}" for lost in by_run.values()))
        for point, buffer in enumerate(router.buffers())
    )
    return Table("Share of packets that the router drops", ("buffer", *by_run), rows)


def cells(
    router: Router, quantity: str, texts: Sequence[str], ours: Array, within: float | None = None
) -> tuple[Cell, ...]:
    """Compares a model's utilisation with the separate reference computation.

    The tolerance is half of the last digit by default.
    """
    rows = zip(router.buffers(COMPARED), texts, ours, strict=True)
    return tuple(
        Cell.of((str(buffer),), quantity, text, float(value))
        if within is None
        else Cell((str(buffer),), quantity, text, float(value), within)
        for buffer, text, value in rows
    )
