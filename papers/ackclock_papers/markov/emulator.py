"""The emulator of the validation as a scenario: nine sets of connections, side by side.

Each direction of a connection has a channel, as printed: an input queue of three packets, a link,
200 ms, then an error that drops each packet with the same probability. The sets ran one after the
other. Here every connection has its own hops (`scope = "per_flow"`) and shares nothing, so all can
run at once.

`Reading` has what the paper leaves open. Its rows contradict the text: connections of sets 1, 3 and
4 had 15 and more packets waiting where three fit. Those of sets 5 and 6 never got more than 53
segments/s of 108.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import units
from ackclock.scenario import Scenario
from ackclock_papers.markov import validation

#: IP and TCP without options, plus timestamps, which the printed capacities of sets 5 to 9 include.
HEADER_BYTES = 52
#: Printed.
QUEUE_PACKETS = 3
DELAY_S = 0.2

#: Chosen. In set 5, where losses are rarest, a connection then has some ten losses and the set
#: thirty. The square root of their number is then uncertain by a tenth; in the other sets by less.
#: An emulation takes as long as this.
DURATION_S = 600
#: Chosen: connections start at different times, as they did in the paper.
STARTS_S = 1
#: Table 7.1 prints nine of ten connections.
CONNECTIONS = {1: 10}
_CONNECTIONS = 3


@dataclass(frozen=True)
class Reading:
    """One reading of what the paper says, or leaves open, about its emulator.

    Attributes:
        name: Name in flows and in tables.
        extra_packets: Packets that fit behind the input queue before the link. The two queues in
            series drop the same packets at the same times as one queue of their summed length.
        fast_share: Share of its printed rate that the link of sets 5 to 9 has.
    """

    name: str
    extra_packets: int
    fast_share: float = 1.0

    def link_bit_per_s(self, data_set: validation.Set) -> float:
        """Returns the rate of a set's link."""
        return units.bit_per_s(data_set.link_rate) * (
            1.0 if _is_slow(data_set) else self.fast_share
        )

    def rate(self, data_set: validation.Set) -> float:
        """Returns the rate of a set's link in full segments/s, headers included."""
        return self.link_bit_per_s(data_set) / 8 / data_set.mtu_bytes

    def base_rtt_s(self, data_set: validation.Set) -> float:
        """Returns the round-trip time of a full segment with empty queues."""
        return 2 * DELAY_S + (data_set.mtu_bytes + HEADER_BYTES) * 8 / self.link_bit_per_s(data_set)

    @property
    def buffer_packets(self) -> int:
        """Packets that may wait before the link."""
        return QUEUE_PACKETS + self.extra_packets


# A drop by a full queue is a loss, too. FF and PFTK were computed with hardly more than the error
# probability, so queues hardly dropped anything: the buffer held the receiver's window.
ENOUGH = validation.RECEIVE_WINDOW

AS_PRINTED = Reading("as printed", 0)
MORE_BUFFER = Reading("more buffer", ENOUGH)
HALF_RATE = Reading("half rate", 0, 0.5)
BOTH = Reading("more buffer and half rate", ENOUGH, 0.5)


def scenario(readings: Sequence[Reading], preset: str, duration_s: float = DURATION_S) -> Scenario:
    """Returns a scenario with every set under each reading, all at once.

    Each set has a flow group for each reading; `preset` names their TCP.
    """
    hops: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for reading in readings:
        for data_set in validation.SETS:
            flow = flow_name(data_set, reading)
            methods = [f"{flow} {method}" for method in ("there", "back")]
            hops += [_channel(method, data_set, reading) for method in methods]
            flows.append(_flow(flow, methods, data_set, preset))
    tree = {
        "schema": 1,
        "name": "validation of the Markov model",
        "duration": f"{duration_s:g} s",
        "replicates": 1,
        "hops": hops,
        "flows": flows,
    }
    return Scenario(tree)


def flow_name(data_set: validation.Set, reading: Reading) -> str:
    """Returns the name of a set's flow group under a reading."""
    return f"set {data_set.number} {reading.name}"


def _channel(name: str, data_set: validation.Set, reading: Reading) -> dict[str, Any]:
    error = {"kind": "iid_loss", "probability": data_set.worked, "applies": "all"}
    return {
        "name": name,
        "scope": "per_flow",
        "queue": {"kind": "droptail", "limit": f"{reading.buffer_packets} packets"},
        "link": {"kind": "constant", "rate": f"{reading.link_bit_per_s(data_set):g} bit/s"},
        "delay": f"{DELAY_S:g} s",
        "impairments": [error],
    }


def _flow(name: str, methods: list[str], data_set: validation.Set, preset: str) -> dict[str, Any]:
    there, back = methods
    return {
        "name": name,
        "count": CONNECTIONS.get(data_set.number, _CONNECTIONS),
        "route": [there],
        "return": [back],
        "transport": {
            "kind": "tcp",
            "control": {"kind": "reno"},
            "preset": preset,
            "mss": f"{data_set.mtu_bytes - HEADER_BYTES} bytes",
            "receive_window": f"{validation.RECEIVE_WINDOW} packets",
        },
        "start": ["0 s", f"{STARTS_S} s"],
    }


def _is_slow(data_set: validation.Set) -> bool:
    return data_set.number <= 4
