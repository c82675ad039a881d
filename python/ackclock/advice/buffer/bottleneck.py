"""The hop whose buffer is sized: its rate, packet size and flows, and its rules of thumb."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan, sqrt
from typing import Any

import numpy as np

from ackclock import units
from ackclock.advice.buffer.measures import mean_rate, values
from ackclock.elements import facts
from ackclock.errors import ScenarioError
from ackclock.models import FlowPath, flow_path
from ackclock.models.hstcp_response import kept_share
from ackclock.result.result import Result


@dataclass(frozen=True)
class Bottleneck:
    """The hop whose buffer is sized.

    Attributes:
        name: Name of the hop.
        queue: Its queue as in the resolved scenario, for display.
        rate_bit_per_s: Mean rate that its link can send over the measured time.
        is_steady: True if the rate is constant.
        packet_bytes: Size of the largest full packet that crosses it, headers included.
        paths: Paths of the flows under a control that cross it.
    """

    name: str
    queue: dict[str, Any]
    rate_bit_per_s: float
    is_steady: bool
    packet_bytes: float
    paths: tuple[FlowPath, ...]

    @property
    def packet_s(self) -> float:
        """Transmission time of a full packet at the mean rate."""
        return self.packet_bytes * 8 / self.rate_bit_per_s

    @property
    def is_droptail(self) -> bool:
        """True if the queue of the scenario is drop-tail."""
        return self._queue["drops"] == "tail" and self._capacity.get("kind") == "limit"

    @property
    def queue_name(self) -> str:
        """Name of its queue."""
        return facts.kind(self.queue)

    @property
    def is_unlimited(self) -> bool:
        """True if its queue is known to have no limit."""
        return bool(self._capacity.get("limit") == "unlimited")

    @property
    def counts_packet_in_service(self) -> bool:
        """True if the limit of its queue counts the packet in service; false if that is unknown."""
        return bool(self._capacity.get("counts_packet_in_service"))

    @property
    def long_flows(self) -> int:
        """Number of flow instances that always have data to send."""
        return sum(path.instances or 0 for path in self.paths if path.transfer.is_greedy)

    @property
    def saw_teeth(self) -> tuple[FlowPath, ...]:
        """Long flows whose window grows until a loss cuts it to a known share."""
        cut = (
            path
            for path in self.paths
            if not isnan(_kept_share(path)) and path.control.reacts_to_delay is False
        )
        return tuple(
            path for path in cut if path.transfer.is_greedy and path.sender.transport == "tcp"
        )

    @property
    def round_trip_s(self) -> float:
        """Mean base round-trip time of the long flows.

        Without long flows it is that of all flows, and NaN without any flow.
        """
        chosen = [path for path in self.paths if path.transfer.is_greedy] or list(self.paths)
        weights = [path.instances or 1 for path in chosen]
        times_s = [path.round_trip.base_s for path in chosen]
        return float(np.average(times_s, weights=weights)) if chosen else float("nan")

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product."""
        return self.round_trip_s / self.packet_s

    def present_packets(self) -> float | None:
        """Returns the limit of the scenario's queue in packets.

        None if there is no limit, if it varies, or if it is unknown.
        """
        written = self._capacity.get("limit", "unlimited")
        if written == "unlimited":
            return None
        limit = units.parse(written)
        in_packets = {"packets": 1.0, "bytes": 1 / self.packet_bytes, "s": 1 / self.packet_s}
        return limit.amount * in_packets[limit.base]

    @property
    def _queue(self) -> facts.Facts:
        return facts.element(self.queue)

    @property
    def _capacity(self) -> Mapping[str, Any]:
        return self._queue["capacity"] or {}


@dataclass(frozen=True)
class Rule:
    """A rule of thumb.

    Attributes:
        name: Name in tables.
        says: Source of the rule.
        packets: Buffer that it gives.
    """

    name: str
    says: str
    packets: int


def bottleneck(present: Result, name: str | None) -> Bottleneck:
    """Returns the hop of that name, by default the shared hop with the highest utilisation.

    Args:
        present: A simulation of the scenario as it is.
        name: Name of the hop; None for the default.

    Raises:
        ScenarioError: The hop is unknown, no queue is shared, or its link has no mean rate.
    """
    scenario = present.points[0]["scenario"]
    shared = [hop["name"] for hop in scenario["hops"] if hop["scope"] == "shared"]
    crossed = [hop for hop in shared if any(hop in flow["route"] for flow in scenario["flows"])]
    if not crossed:
        raise ScenarioError(
            "no-data",
            "hops",
            'no hop on a data route has a shared queue; set scope = "shared" on one',
        )
    if name is not None and name not in crossed:
        raise ScenarioError(
            "unknown-name",
            "--hop",
            f'"{name}" is not a shared hop on a data route; choose from {", ".join(crossed)}',
        )
    contends = {other["name"]: facts.link(other)[1]["contends"] for other in scenario["hops"]}
    unknown = next((hop for hop in crossed if contends[hop] is not facts.NONE), None)
    if name is None and unknown is not None:
        does = "contends" if contends[unknown] else "may contend"
        raise ScenarioError(
            "no-data",
            f"hops.{unknown}.link",
            f"{does} for a medium, so its utilisation is unknown; choose a hop with --hop",
        )
    used = {
        hop: float(np.mean(list(values(present, hop)["utilisation"].values()))) for hop in crossed
    }
    chosen = name or max(crossed, key=lambda hop: -1.0 if isnan(used[hop]) else used[hop])
    rate = mean_rate(present, chosen)
    if isnan(rate) or rate <= 0:
        raise ScenarioError(
            "no-data",
            f"hops.{chosen}.link",
            "has no mean rate to size a buffer by; choose another hop with --hop",
        )
    crossing = [flow for flow in scenario["flows"] if chosen in flow["route"]]
    hop = next(other for other in scenario["hops"] if other["name"] == chosen)
    sizes = [facts.packet_bytes(flow) for flow in crossing]
    paths = tuple(
        path for path in (flow_path(scenario, flow) for flow in crossing) if path.control.name
    )
    is_steady = facts.link(hop)[1]["varies"] is False
    return Bottleneck(chosen, facts.whole(hop, "queue"), rate, is_steady, max(sizes), paths)


def rules(hop: Bottleneck) -> list[Rule]:
    """Returns the rules of thumb for the flows at a hop; empty if none is under a control."""
    bdp = hop.bdp_packets
    if isnan(bdp):
        return []
    thumb = [Rule("BDP", "one bandwidth-delay product (Villamizar and Song 1994)", _whole(bdp))]
    for controls, kept in _kept(hop):
        says = (
            f"BDP (1 - β)/β: one saw-tooth of {controls}, which keeps {kept:.3g} of its window, "
            "just fills the link"
        )
        thumb.append(Rule(f"BDP(1-β)/β, {controls}", says, _whole(bdp * (1 - kept) / kept)))
    if hop.long_flows > 1:
        says = f"BDP/√n of {hop.long_flows} long flows (Appenzeller, Keslassy and McKeown 2004)"
        thumb.append(Rule("BDP/√n", says, _whole(bdp / sqrt(hop.long_flows))))
    return thumb


def _kept(hop: Bottleneck) -> Iterator[tuple[str, float]]:
    """Yields controls of long flows and the share of the window that they keep at a loss.

    Controls that keep the same share come together.
    """
    by_kept: dict[float, list[str]] = {}
    for path in hop.saw_teeth:
        by_kept.setdefault(round(_kept_share(path), 3), []).append(path.control.name)
    for kept, controls in by_kept.items():
        yield " and ".join(dict.fromkeys(controls)), kept


def _kept_share(path: FlowPath) -> float:
    """Returns the share of the window that a loss leaves; NaN if the control does not state it.

    The window is the one that fills the flow's share of the link.
    """
    return kept_share(path.control, path.share_segments)


def _whole(packets: float) -> int:
    return max(1, round(packets))
