"""Paths of the paper's experiments, as hops of a scenario.

Buffers count packets of 1040 bytes, 40 of them header. The paper's "pipe" is the bandwidth-delay
product: 5 Mbit/s and 70 ms hold 42 such packets, as it says (with 1000 bytes they would be 44). A
buffer of four overflows "when the window exceeds 46", the pipe plus the buffer. So the packet on
the link counts among the buffer's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from ackclock_papers import scenarios
from ackclock_papers.scenarios import AMPLE_PACKETS, Tree, constant, packets

PAYLOAD_BYTES = 1000
HEADER_BYTES = 40
PACKET_BYTES = PAYLOAD_BYTES + HEADER_BYTES


class Hop(NamedTuple):
    """A link, the buffer before it, and the delay and loss behind it.

    Attributes:
        name: Name in the scenario.
        rate_mbit_per_s: Rate of the link, in Mbit/s.
        delay_s: One-way delay, in seconds.
        buffer_packets: Limit of the buffer, in packets.
        loss: Probability that a data packet is lost behind the link.
        counts_in_service: True if the packet on the link counts among the buffer's.
    """

    name: str
    rate_mbit_per_s: float
    delay_s: float
    buffer_packets: int
    loss: float = 0.0
    counts_in_service: bool = True

    @property
    def tree(self) -> Tree:
        """The hop, as in a scenario."""
        lossy = [{"kind": "iid_loss", "probability": self.loss}] if self.loss else []
        link = constant(self.rate_mbit_per_s)
        hop = scenarios.hop(
            self.name, link, packets(self.buffer_packets), self.delay_s, impairments=lossy
        )
        if self.counts_in_service:
            hop["queue"]["counts_packet_in_service"] = True
        return hop


@dataclass(frozen=True)
class Path:
    """The two directions of a path.

    Attributes:
        there: Hops of the data, in order.
        back: Hops of the ACKs.
    """

    there: tuple[Hop, ...]
    back: tuple[Hop, ...]

    @property
    def hops(self) -> list[Tree]:
        """All hops, as in a scenario."""
        return [hop.tree for hop in (*self.there, *self.back)]

    @property
    def route(self) -> dict[str, list[str]]:
        """The routes of a flow from end to end."""
        return {
            "route": [hop.name for hop in self.there],
            "return": [hop.name for hop in self.back],
        }

    @property
    def reversed_route(self) -> dict[str, list[str]]:
        """The routes of a flow in the reverse direction."""
        return {"route": self.route["return"], "return": self.route["route"]}

    @property
    def rate_mbit_per_s(self) -> float:
        """Rate of the slowest link for data, in Mbit/s."""
        return min(hop.rate_mbit_per_s for hop in self.there)

    @property
    def goodput_mbit_per_s(self) -> float:
        """Payload rate of the slowest link, in Mbit/s."""
        return self.rate_mbit_per_s * PAYLOAD_BYTES / PACKET_BYTES

    @property
    def round_trip_s(self) -> float:
        """Propagation delay of the round trip, in seconds."""
        return sum(hop.delay_s for hop in (*self.there, *self.back))

    @property
    def pipe_packets(self) -> int:
        """The bandwidth-delay product, in whole packets."""
        return floor(pipe_packets(self.rate_mbit_per_s, self.round_trip_s))

    @property
    def service_time_s(self) -> float:
        """Service time of a packet at the slowest link, in seconds."""
        return PACKET_BYTES * 8e-6 / self.rate_mbit_per_s


def pipe_packets(rate_mbit_per_s: float, round_trip_s: float) -> float:
    """Returns the bandwidth-delay product, in packets."""
    return rate_mbit_per_s * 1e6 * round_trip_s / 8 / PACKET_BYTES


def one_bottleneck(
    rate_mbit_per_s: float,
    buffer_packets: int | None = None,
    round_trip_s: float = 0.07,
    loss: float = 0.0,
    *,
    counts_in_service: bool = True,
) -> Path:
    """Returns a path with one link each way; the buffer is one pipe by default.

    The return path has room for every ACK.
    """
    if buffer_packets is None:
        buffer_packets = floor(pipe_packets(rate_mbit_per_s, round_trip_s))
    one_way_s = round_trip_s / 2
    return Path(
        (Hop("bottleneck", rate_mbit_per_s, one_way_s, buffer_packets, loss, counts_in_service),),
        (Hop("return", rate_mbit_per_s, one_way_s, AMPLE_PACKETS, 0.0, counts_in_service),),
    )


def two_way(rate_mbit_per_s: float, round_trip_s: float = 0.07, loss: float = 0.0) -> Path:
    """Returns a path with equal links for the two directions.

    Data and ACKs share a buffer of one pipe, which counts packets of any size.
    """
    buffer_packets = floor(pipe_packets(rate_mbit_per_s, round_trip_s))
    one_way_s = round_trip_s / 2
    return Path(
        (Hop("forward", rate_mbit_per_s, one_way_s, buffer_packets, loss),),
        (Hop("reverse", rate_mbit_per_s, one_way_s, buffer_packets),),
    )


def wired_wireless(loss: float, one_way_s: float = 0.035, wireless_mbit_per_s: float = 11) -> Path:
    """Returns a path of 45 Mbit/s with a delay, then a lossy wireless link without delay.

    The buffers hold the pipe of the slower link.
    """
    wired = 45
    slower = min(wired, wireless_mbit_per_s)
    buffer_packets = floor(pipe_packets(slower, 2 * one_way_s))
    return Path(
        (
            Hop("wired", wired, one_way_s, buffer_packets),
            Hop("wireless", wireless_mbit_per_s, 0, buffer_packets, loss),
        ),
        (
            Hop("wireless return", wireless_mbit_per_s, 0, AMPLE_PACKETS),
            Hop("wired return", wired, one_way_s, AMPLE_PACKETS),
        ),
    )


def several_hops(rates_mbit_per_s: Sequence[float], round_trip_s: float = 0.07) -> Path:
    """Returns a path of several links that share the delay evenly.

    Each has a buffer of the pipe of the slowest.
    """
    buffer_packets = floor(pipe_packets(min(rates_mbit_per_s), round_trip_s))
    each_s = round_trip_s / 2 / len(rates_mbit_per_s)
    there = [
        Hop(f"hop {number}", rate, each_s, buffer_packets)
        for number, rate in enumerate(rates_mbit_per_s, 1)
    ]
    back = [
        Hop(f"{hop.name} return", hop.rate_mbit_per_s, each_s, AMPLE_PACKETS)
        for hop in reversed(there)
    ]
    return Path(tuple(there), tuple(back))
