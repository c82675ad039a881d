"""The paper's topology, Figure 1: one shared drop-tail bottleneck, and ample links elsewhere."""

from dataclasses import dataclass
from itertools import product
from math import floor

from ackclock_papers.scenarios import AMPLE_PACKETS, Tree, constant, hop, packets

BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Path:
    """A bottleneck and the return path.

    Attributes:
        rate_mbit_per_s: Rate of a T1 link. The name is printed; of the digits only their number is
            known.
        delay_s: One-way delay of the bottleneck, in seconds: half of the round trip. Guessed; the
            paper tried "other delays".
        pipes: Buffer in bandwidth-delay products. Four is printed for the second scenario.
        packet_bytes: Size of all data packets, headers included. Guessed.
        loss: Share of data packets that the bottleneck loses at random. The paper's loses none.
    """

    rate_mbit_per_s: float = 1.5
    delay_s: float = 0.050
    pipes: float = 4.0
    packet_bytes: int = 1000
    loss: float = 0.0

    @property
    def buffer_packets(self) -> int:
        """Buffer in packets."""
        pipe = self.rate_mbit_per_s * 1e6 * 2 * self.delay_s / 8 / self.packet_bytes
        return max(1, floor(self.pipes * pipe + 1e-9))

    @property
    def service_time_s(self) -> float:
        """Service time of a packet, in seconds."""
        return self.packet_bytes * 8e-6 / self.rate_mbit_per_s

    @property
    def hops(self) -> list[Tree]:
        """Hops of both directions, as in a scenario."""
        lossy = (
            {"impairments": [{"kind": "iid_loss", "probability": self.loss}]} if self.loss else {}
        )
        return [
            hop(BOTTLENECK, constant(self.rate_mbit_per_s), self.limit, self.delay_s, **lossy),
            hop("return", constant(100), packets(AMPLE_PACKETS), self.delay_s),
        ]

    @property
    def rate(self) -> str:
        """Rate, as in a scenario."""
        return f"{self.rate_mbit_per_s:g} Mbit/s"

    @property
    def limit(self) -> str:
        """Limit of the queue, as in a scenario."""
        return packets(self.buffer_packets)

    @property
    def label(self) -> tuple[str, str, str]:
        """The guessed parameters: packet size, delay, buffer."""
        return f"{self.packet_bytes} B", f"{self.delay_s * 1000:g} ms", f"{self.pipes:g} × BDP"


ROUTE = {"route": [BOTTLENECK], "return": ["return"]}

#: Path of each figure, and the other paths that show how much depends on guesses.
CENTRAL = Path()
PACKET_BYTES, DELAYS_S, PIPES = (1000, 500), (0.02, 0.05, 0.1), (4.0, 1.0)


def guesses() -> list[Path]:
    """Returns the paths with every packet size, delay and buffer."""
    return [
        Path(packet_bytes=packet, delay_s=delay, pipes=pipes)
        for packet, delay, pipes in product(PACKET_BYTES, DELAYS_S, PIPES)
    ]
