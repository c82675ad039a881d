"""Senders of our own figures of rate controls: rate controls and today's TCPs, on one path."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ackclock.reproduction import Origin, Setting, figure
from ackclock_papers.scenarios import Tree, constant, hop, packets

GROUP = "rates"
SOURCE = "ackclock, guide “Rate control by equation”, 2026"
entry = partial(figure, GROUP, SOURCE)

REPLICATES = 5
#: Tolerance for the guide's numbers.
WITHIN = "within the 95 % interval, or half of the last digit"
#: Size of a packet on the wire, and of its header: that of Linux's TCP with timestamps.
PACKET_BYTES, HEADER_BYTES = 1500, 52
#: One-way delay.
DELAY_S = 0.050
RATE_MBIT_PER_S = 10.0

SIZES: Tree = {"mss": f"{PACKET_BYTES - HEADER_BYTES} bytes", "header": f"{HEADER_BYTES} bytes"}


class Sender(NamedTuple):
    """A sender.

    Attributes:
        label: Label in figures and tables; name of the flow.
        transport: Transport, as in a scenario.
    """

    label: str
    transport: Tree


def tcp(label: str, control: str = "reno", preset: str = "linux-2012", **more: Any) -> Sender:
    """Returns a TCP sender."""
    return Sender(
        label, {"kind": "tcp", "preset": preset, "control": {"kind": control}} | SIZES | more
    )


def controlled(label: str, kind: str, **more: Any) -> Sender:
    """Returns a sender under rate control."""
    return Sender(label, {"kind": "udp", "control": {"kind": kind} | more} | SIZES)


#: Its timeouts are as short as those of the competing TCPs. Linux delays ACKs but counts bytes, so
#: b is 1.
TFRCP = controlled("TFRCP", "tfrcp", rto_minimum="200 ms")
TFRC = controlled("TFRC", "tfrc")
AIMD = controlled("AIMD on a rate", "rap")
RENO, CUBIC = tcp("Reno"), tcp("CUBIC", "cubic")
SENDERS = (TFRCP, TFRC, AIMD, RENO, CUBIC)


def hops(
    buffer_packets: int, *, link: Tree | None = None, impairments: Sequence[Tree] = ()
) -> list[Tree]:
    """Returns the hops of both directions."""
    there = link or constant(RATE_MBIT_PER_S)
    return [
        hop("bottleneck", there, packets(buffer_packets), DELAY_S, impairments=list(impairments)),
        hop("return", constant(100), "unlimited", DELAY_S),
    ]


def flow(sender: Sender, *, name: str = "", count: int = 1) -> Tree:
    """Returns a flow; its packets leave late by up to the bottleneck's service time of a packet."""
    jitter = {"send_jitter": f"{PACKET_BYTES * 8 / RATE_MBIT_PER_S:.0f} us"}
    route = {"route": ["bottleneck"], "return": ["return"]}
    named = {"name": name or sender.label, "count": count, "start": ["0 s", "1 s"]}
    return named | {"transport": sender.transport | jitter} | route


def settings(own: Mapping[str, str]) -> tuple[Setting, ...]:
    """Returns the settings; all are our choice."""
    shared = {
        "path": f"{RATE_MBIT_PER_S:g} Mbit/s, {DELAY_S * 1000:g} ms one way, drop-tail",
        "packets": f"{PACKET_BYTES} bytes",
        "TCP": "preset linux-2012",
        "TFRCP": (
            "M = 2 s, b = 1, timeouts of 200 ms at least, growth to no more than twice the rate "
            "acknowledged"
        ),
        "TFRC": "RFC 5348's defaults",
        "AIMD on a rate": "1 and 1/2, as TCP",
    }
    return tuple(Setting(name, value, Origin.CHOSEN) for name, value in {**shared, **own}.items())
