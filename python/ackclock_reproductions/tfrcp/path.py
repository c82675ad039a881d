"""The topology of the paper, Figure 1: one drop-tail bottleneck that all flows share, and ample links elsewhere."""

from dataclasses import dataclass
from itertools import product
from math import floor

from ackclock_reproductions.scenarios import AMPLE_PACKETS, Tree, constant, hop, packets

BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Path:
    """A bottleneck and the way back.

    Attributes:
        rate_mbit_per_s: A T1 link; its digits are lost but for their number, its name is not.
        delay_s: Of the bottleneck, one way: half of the round trip. Guessed; the paper tried "other
            delays".
        pipes: How many bandwidth-delay products may wait. Four is printed, of the second scenario.
        packet_bytes: Of all data packets, headers included. Guessed.
        loss: Share of data packets that the bottleneck loses at random. The paper's loses none.
    """

    rate_mbit_per_s: float = 1.5
    delay_s: float = 0.050
    pipes: float = 4.0
    packet_bytes: int = 1000
    loss: float = 0.0

    @property
    def buffer_packets(self) -> int:
        """How many may wait."""
        pipe = self.rate_mbit_per_s * 1e6 * 2 * self.delay_s / 8 / self.packet_bytes
        return max(1, floor(self.pipes * pipe + 1e-9))

    @property
    def service_time_s(self) -> float:
        """Of a packet."""
        return self.packet_bytes * 8e-6 / self.rate_mbit_per_s

    @property
    def hops(self) -> list[Tree]:
        """There and back, as in a scenario."""
        lossy = (
            {"impairments": [{"kind": "iid_loss", "probability": self.loss}]} if self.loss else {}
        )
        return [
            hop(BOTTLENECK, constant(self.rate_mbit_per_s), self.limit, self.delay_s, **lossy),
            hop("return", constant(100), packets(AMPLE_PACKETS), self.delay_s),
        ]

    @property
    def rate(self) -> str:
        """As in a scenario."""
        return f"{self.rate_mbit_per_s:g} Mbit/s"

    @property
    def limit(self) -> str:
        """Of the queue, as in a scenario."""
        return packets(self.buffer_packets)

    @property
    def label(self) -> tuple[str, str, str]:
        """What is guessed of it: packet, delay, buffer."""
        return f"{self.packet_bytes} B", f"{self.delay_s * 1000:g} ms", f"{self.pipes:g} × BDP"


ROUTE = {"route": [BOTTLENECK], "return": ["return"]}

#: What each figure shows, and what else it is asked of: how far it depends on what is guessed.
CENTRAL = Path()
PACKET_BYTES, DELAYS_S, PIPES = (1000, 500), (0.02, 0.05, 0.1), (4.0, 1.0)


def guesses() -> list[Path]:
    """Every length of packets, delay and buffer."""
    return [
        Path(packet_bytes=packet, delay_s=delay, pipes=pipes)
        for packet, delay, pipes in product(PACKET_BYTES, DELAYS_S, PIPES)
    ]
