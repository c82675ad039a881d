"""A lone transfer on a link, in the engine and in the model: the paper's network and its senders.

The paper's Reno reduces its window, not its flight size. It can retransmit fast again right after a
partial ACK; otherwise there would be no second reduction before the timeout. But after a timeout
duplicate ACKs for what go-back-N sends twice do not trigger a fast retransmit.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ackclock import Result
from ackclock.models import model
from ackclock.reproduction import Cell
from ackclock.scenario import Scenario
from ackclock_papers import scenarios
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import AMPLE_PACKETS, Tree, hop, packets
from ackclock_papers.short_transfers.paper import PIPE, RATE, ROUND_TRIP_S, SEGMENT_BYTES

__all__ = [
    "BYTE_COUNTING",
    "CUBIC",
    "HYSTART",
    "NEWRENO",
    "RENO",
    "SACK",
    "Sender",
    "modelled",
    "rates",
    "scenario",
]

LINK, FLOW = "link", "main"
#: One-way delay: half the round trip, less the service of the packet.
ONE_WAY_S = (PIPE - 1) / RATE / 2


class Sender(NamedTuple):
    """A sender.

    Attributes:
        label: Label in figures.
        transport: Differences from the paper's sender.
        control: Congestion control.
    """

    label: str
    transport: Tree
    control: Tree


_CLASSIC = {
    "recovery": "reno", "ssthresh_from": "window",
    "avoid_multiple_fast_retransmits": "after_timeout",
    "limited_transmit": False,
    "after_timeout": "go_back_n", "clock_granularity": "500 ms",
}  # fmt: skip
_RENO = {"kind": "reno"}
RENO = Sender("Reno", {"byte_counting": "per_ack", **_CLASSIC}, _RENO)
BYTE_COUNTING = Sender("byte counting", {"byte_counting": "all", **_CLASSIC}, _RENO)
NEWRENO = Sender("NewReno", {"byte_counting": "per_ack", "recovery": "newreno"}, _RENO)
SACK = Sender("SACK", {"byte_counting": "per_ack", "recovery": "sack"}, _RENO)
CUBIC = Sender("CUBIC, SACK", {"byte_counting": "per_ack", "recovery": "sack"}, {"kind": "cubic"})
HYSTART = Sender(
    "CUBIC, SACK, HyStart++",
    CUBIC.transport,
    {"kind": "cubic", "slow_start_exit": "hystart++"},
)


def scenario(
    sender: Sender,
    acks: int,
    sizes: Sequence[int],
    buffers: Sequence[int],
    duration_s: float,
    sample_s: float,
) -> Scenario:
    """Returns a sweep of transfers of these sizes over links with these buffers.

    Each transfer has an empty network.

    Args:
        sender: Sender.
        acks: Segments that one ACK covers.
        sizes: Sizes in segments.
        buffers: Buffers in packets, without the one in service.
        duration_s: Duration, long enough for the largest transfer, in seconds.
        sample_s: Sampling interval, in seconds.
    """
    transport = {
        "kind": "tcp", "preset": "rfc", "control": sender.control, "mss": f"{SEGMENT_BYTES} bytes",
        "header": "0 bytes",
        "handshake": False, "initial_window": "1 packet", "rto_minimum": "1 s",
        "delayed_ack": {"every": f"{acks} packets", "timeout": "100 ms"}, **sender.transport,
    }  # fmt: skip
    rate = {"kind": "constant", "rate": f"{RATE * SEGMENT_BYTES * 8} bit/s"}
    ample = {"kind": "constant", "rate": "400 Gbit/s"}
    hops = [
        hop(LINK, rate, packets(buffers[0]), ONE_WAY_S),
        hop("return", ample, packets(AMPLE_PACKETS), ONE_WAY_S),
    ]
    traffic = [f"{size * SEGMENT_BYTES} bytes" for size in sizes]
    flow = {
        "name": FLOW, "route": [LINK], "return": ["return"], "transport": transport,
        "traffic": {"kind": "transfer", "size": traffic[0]},
    }  # fmt: skip
    swept = {
        f"hops.{LINK}.queue.limit": [packets(buffer) for buffer in buffers],
        f"flows.{FLOW}.traffic.size": traffic,
    }
    return scenarios.scenario(
        f"{sender.label}, {acks} a time", hops, [flow], duration_s=duration_s, warmup_s=0,
        sample_interval_s=sample_s, replicates=1, sweep=swept,
    )  # fmt: skip


def rates(result: Result, sizes: Sequence[int]) -> list[float]:
    """Returns the segments per second of a sweep's transfers, timed until the last ACK is back."""
    times = [
        of_replicates(result, "completion_time", FLOW, point)[0] + ONE_WAY_S
        for point in range(len(sizes))
    ]
    return [size / time for size, time in zip(sizes, times, strict=True)]


def modelled(output: str, **inputs: float | Sequence[float]) -> list[float]:
    """Returns an output of the model for the paper's network."""
    answered = model("short_transfer").answer(
        **({"rate": RATE, "rtt": ROUND_TRIP_S, "initial_window": 1, "handshake": 0} | inputs)
    )  # fmt: skip
    return [float(value) for value in answered[output].reshape(-1)]


def number(
    text: str, row: tuple[str, ...], quantity: str, ours: float, share: float, excepted: str = ""
) -> Cell:
    """Returns a cell whose number is met within a share of it."""
    return Cell(row, quantity, text, ours, share * float(text), excepted)
