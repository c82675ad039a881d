"""One transfer alone on a link, in the engine and in the model: the network of the paper, and who sends.

The paper's Reno reduces the window it has, not what is in flight, and retransmits fast again right
after a partial ACK, else there is no second reduction before the timeout; but not for duplicates of
what go-back-N sends twice after that.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ackclock.models import model
from ackclock.reproduction import Cell
from ackclock.result import Result
from ackclock.scenario import Scenario
from ackclock_reproductions import scenarios
from ackclock_reproductions.replicates import of_replicates
from ackclock_reproductions.scenarios import AMPLE_PACKETS, Tree, hop, packets
from ackclock_reproductions.short_transfers.paper import PIPE, RATE, ROUND_TRIP_S, SEGMENT_BYTES

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
#: There and back: all but the packet's service.
ONE_WAY_S = (PIPE - 1) / RATE / 2


class Sender(NamedTuple):
    """Who sends.

    Attributes:
        label: In figures.
        transport: What differs from the paper's sender.
        control: Its congestion control.
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
HYSTART = Sender("CUBIC, SACK, HyStart++", CUBIC.transport, {"kind": "cubic", "hystart": True})


def scenario(
    sender: Sender,
    acks: int,
    sizes: Sequence[int],
    buffers: Sequence[int],
    duration_s: float,
    sample_s: float,
) -> Scenario:
    """Transfers of these sizes, each in an empty network, over links with these buffers: a sweep over both.

    Args:
        sender: Who sends.
        acks: Segments that the receiver acknowledges at a time.
        sizes: In segments.
        buffers: In packets, without the one that is being sent.
        duration_s: Long enough for the largest.
        sample_s: Sampling interval.
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
        f"hops.{LINK}.queue.limit": [packets(one) for one in buffers],
        f"flows.{FLOW}.traffic.size": traffic,
    }
    return scenarios.scenario(
        f"{sender.label}, {acks} a time", hops, [flow], duration_s=duration_s, warmup_s=0,
        sample_interval_s=sample_s, replicates=1, sweep=swept,
    )  # fmt: skip


def rates(result: Result, sizes: Sequence[int]) -> list[float]:
    """Segments per second of transfers that were swept over: until the last ACK is back."""
    times = [
        of_replicates(result, "completion_time", FLOW, point)[0] + ONE_WAY_S
        for point in range(len(sizes))
    ]
    return [size / time for size, time in zip(sizes, times, strict=True)]


def modelled(output: str, **inputs: float | Sequence[float]) -> list[float]:
    """What the model says, of the paper's network."""
    answered = model("short_transfer").answer(
        rate=RATE, rtt=ROUND_TRIP_S, **({"initial_window": 1, "handshake": 0} | inputs)
    )  # fmt: skip
    return [float(one) for one in answered[output].reshape(-1)]


def number(
    text: str, row: tuple[str, ...], quantity: str, ours: float, share: float, excepted: str = ""
) -> Cell:
    """A number that is met within a share of it."""
    return Cell(row, quantity, text, ours, share * float(text), excepted)
