"""The emulator of the validation as a scenario: nine sets of connections, side by side.

A connection has a channel for each way, as printed: an input queue of three packets, a link, 200
ms, then an error that drops packets with the same probability each. The sets ran one after the
other; here every connection has hops of its own (`scope = "per_flow"`) and shares nothing with
others, so that all can run at once.

What the paper leaves open is in `Reading`. Its rows contradict the text: connections of sets 1, 3
and 4 had 15 and more packets waiting where three fit, and those of sets 5 and 6 never got more than
53 segments/s of 108.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import units
from ackclock.scenario import Scenario
from ackclock_reproductions.markov import validation

#: IP and TCP without options, and timestamps, which the printed capacities of sets 5 to 9 count.
HEADER_BYTES = 52
#: Printed.
QUEUE_PACKETS = 3
DELAY_S = 0.2

#: Chosen. In set 5, where losses are rarest, a connection then has some ten and the set thirty,
#: which leaves the square root of their number uncertain by a tenth; in the other sets by less. An
#: emulation takes as long.
DURATION_S = 600
#: Chosen: connections do not begin at the same instant, as they did not.
STARTS_S = 1
#: Table 7.1 prints nine of ten connections.
CONNECTIONS = {1: 10}
_CONNECTIONS = 3


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper says, or does not say, of its emulator.

    Attributes:
        name: In names of flows and in tables.
        extra_packets: How many packets fit behind the input queue before the link. A second queue
            in series: what the two drop, and when, is what one of their summed length drops.
        fast_share: Which share of its printed rate the link of sets 5 to 9 has.
    """

    name: str
    extra_packets: int
    fast_share: float = 1.0

    def link_bit_per_s(self, of: validation.Set) -> float:
        """Rate of a set's link."""
        return units.bit_per_s(of.link_rate) * (1.0 if _is_slow(of) else self.fast_share)

    def rate(self, of: validation.Set) -> float:
        """What the link passes in full segments/s, headers counted."""
        return self.link_bit_per_s(of) / 8 / of.mtu_bytes

    def base_rtt_s(self, of: validation.Set) -> float:
        """The round-trip time of a full segment with nothing queued."""
        return 2 * DELAY_S + (of.mtu_bytes + HEADER_BYTES) * 8 / self.link_bit_per_s(of)

    @property
    def buffer_packets(self) -> int:
        """What may wait before the link."""
        return QUEUE_PACKETS + self.extra_packets


# An overflow is a loss too. FF and PFTK were computed with hardly more than the error probability,
# so hardly anything overflowed: the buffer held what the receiver's window allows.
ENOUGH = validation.RECEIVE_WINDOW

AS_PRINTED = Reading("as printed", 0)
MORE_BUFFER = Reading("more buffer", ENOUGH)
HALF_RATE = Reading("half rate", 0, 0.5)
BOTH = Reading("more buffer and half rate", ENOUGH, 0.5)


def scenario(readings: Sequence[Reading], duration_s: float = DURATION_S) -> Scenario:
    """Every set under each reading, all at once, one flow group for a set and a reading."""
    hops: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for reading in readings:
        for of in validation.SETS:
            flow = flow_name(of, reading)
            methods = [f"{flow} {method}" for method in ("there", "back")]
            hops += [_channel(method, of, reading) for method in methods]
            flows.append(_flow(flow, methods, of))
    tree = {
        "schema": 1,
        "name": "validation of the Markov model",
        "duration": f"{duration_s:g} s",
        "replicates": 1,
        "hops": hops,
        "flows": flows,
    }
    return Scenario(tree)


def flow_name(of: validation.Set, reading: Reading) -> str:
    """What a set's connections are called under a reading."""
    return f"set {of.number} {reading.name}"


def _channel(name: str, of: validation.Set, reading: Reading) -> dict[str, Any]:
    error = {"kind": "iid_loss", "probability": of.worked, "applies": "all"}
    return {
        "name": name,
        "scope": "per_flow",
        "queue": {"kind": "droptail", "limit": f"{reading.buffer_packets} packets"},
        "link": {"kind": "constant", "rate": f"{reading.link_bit_per_s(of):g} bit/s"},
        "delay": f"{DELAY_S:g} s",
        "impairments": [error],
    }


def _flow(name: str, methods: list[str], of: validation.Set) -> dict[str, Any]:
    there, back = methods
    return {
        "name": name,
        "count": CONNECTIONS.get(of.number, _CONNECTIONS),
        "route": [there],
        "return": [back],
        "transport": {
            "kind": "tcp",
            "control": {"kind": "reno"},
            "preset": "linux",
            "mss": f"{of.mtu_bytes - HEADER_BYTES} bytes",
            "receive_window": f"{validation.RECEIVE_WINDOW} packets",
        },
        "start": ["0 s", f"{STARTS_S} s"],
    }


def _is_slow(of: validation.Set) -> bool:
    return of.number <= 4
