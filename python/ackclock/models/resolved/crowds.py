"""The flows that share the hops of a resolved scenario."""

from collections import Counter
from collections.abc import Iterable
from math import inf, isnan
from typing import Any, NamedTuple

from ackclock.elements import facts
from ackclock.models.path import Competitor
from ackclock.models.resolved.controls import control_of
from ackclock.models.resolved.losses import loss_rates
from ackclock.models.resolved.shares import most_bit_per_s
from ackclock.models.resolved.topology import (
    base_round_trip,
    codepoint_of,
    counts_marks,
    is_always_active,
    measured_time,
    route_of,
    service_bit_per_s,
)

Tree = dict[str, Any]

# Windows vary: they reach about this multiple of their mean under random loss.
_PEAK = 2.0


class Crowds(NamedTuple):
    """The flows of a scenario as others see them.

    Attributes:
        data: The competitors at each hop, by its name.
        flows: Each flow as a competitor, without its instances, by its name.
        acks: Rate of the ACKs over each hop in bit/s, by its name, if data arrives as fast as it
            may. By flow for an instance in `acks_of`.
        acks_of: Rate of the ACKs of an instance, by the name of the flow.
    """

    data: dict[str, tuple[Competitor, ...]]
    flows: dict[str, Competitor]
    acks: dict[str, float]
    acks_of: dict[str, float]


def crowds(scenario: Tree) -> Crowds:
    """Returns the flows of a scenario, at each hop grouped by all that competitors have."""
    flows = {flow["name"]: _competitor(scenario, flow) for flow in scenario.get("flows", [])}
    by_hop: dict[str, Counter[tuple[str, Competitor]]] = {}
    for flow in scenario.get("flows", []):
        control = facts.whole(flow, "transport", "control")
        alike = repr((facts.transport(flow)[0], control, flow.get("arrivals")))
        for name in flow["route"]:
            crossing = by_hop.setdefault(name, Counter())
            crossing[alike, flows[flow["name"]]] += int(flow.get("count", 1))
    data = {name: _in_order(counts.items()) for name, counts in by_hop.items()}
    acks_of = {
        flow["name"]: _acks_bit_per_s(scenario, data, flow, flows[flow["name"]])
        for flow in scenario.get("flows", [])
    }
    acks: dict[str, float] = {}
    for flow in scenario.get("flows", []):
        for name in flow.get("return", []):
            sent = acks_of[flow["name"]] * int(flow.get("count", 1))
            acks[name] = acks.get(name, 0.0) + sent
    return Crowds(data, flows, acks, acks_of)


def _competitor(scenario: Tree, flow: Tree) -> Competitor:
    route, control = route_of(scenario, flow), control_of(flow)
    round_trip_s = base_round_trip(flow, route)
    measured_s = measured_time(scenario)
    lost, _ = loss_rates(route, measured_s)
    greedy = facts.traffic(flow)["greedy"]
    return Competitor(
        transport=facts.transport(flow)[0],
        control=control,
        instances=0,
        round_trip_s=round_trip_s,
        arrive="arrivals" in flow,
        codepoint=codepoint_of(flow),
        counts_marks=counts_marks(flow),
        most_bit_per_s=most_bit_per_s(
            flow,
            control,
            round_trip_s,
            lost,
            min((service_bit_per_s(hop) for hop in route.data), default=inf),
        ),
        stays=greedy and is_always_active(flow, measured_s[0]),
    )


def _acks_bit_per_s(
    scenario: Tree, data: dict[str, tuple[Competitor, ...]], flow: Tree, own: Competitor
) -> float:
    """Returns the rate of an instance's ACKs if its data arrives as fast as it may."""
    stated = facts.transport(flow)[1]
    delayed, size = stated["delayed_acks"], stated["answer_bytes"]
    if not delayed or not size:
        return 0.0
    route = route_of(scenario, flow)
    shares = [
        service_bit_per_s(hop)
        / (sum(other.instances for other in data[hop["name"]]) if _is_shared(hop) else 1)
        for hop in route.data
    ]
    most = inf if isnan(own.most_bit_per_s) else _PEAK * own.most_bit_per_s
    packets_per_s = min([most, *shares]) / 8 / route.packet_bytes
    return float(packets_per_s / delayed["segments"] * size * 8)


def _is_shared(hop: Tree) -> bool:
    return bool(hop.get("scope", "shared") == "shared")


def _in_order(counts: Iterable[tuple[tuple[str, Competitor], int]]) -> tuple[Competitor, ...]:
    competitors = [competitor._replace(instances=count) for (_, competitor), count in counts]
    return tuple(
        sorted(competitors, key=lambda competitor: (competitor.round_trip_s, competitor.name))
    )
