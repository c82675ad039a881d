"""Paths of a resolved scenario's flows, derived from its hops, elements and flows."""

from dataclasses import replace
from typing import Any

from ackclock.models.path import FlowPath
from ackclock.models.resolved import hops, losses, senders
from ackclock.models.resolved.acks import ack_path
from ackclock.models.resolved.cells import cells
from ackclock.models.resolved.controls import control
from ackclock.models.resolved.crowds import Crowds, crowds
from ackclock.models.resolved.topology import measured_time, route_of

__all__ = ["control", "flow_path", "flow_paths"]


def flow_paths(scenario: dict[str, Any]) -> list[FlowPath]:
    """Returns the paths of all flows of a resolved scenario without a sweep."""
    crossing = crowds(scenario)
    paths = [_flow_path(scenario, flow, crossing) for flow in scenario.get("flows", [])]
    return [
        replace(path, cell=cell) for path, cell in zip(paths, cells(scenario, paths), strict=True)
    ]


def flow_path(scenario: dict[str, Any], flow: dict[str, Any]) -> FlowPath:
    """Returns one flow's path.

    Args:
        scenario: Resolved and without a sweep.
        flow: One of its flows.
    """
    return next(path for path in flow_paths(scenario) if path.flow == flow["name"])


def _flow_path(scenario: dict[str, Any], flow: dict[str, Any], crossing: Crowds) -> FlowPath:
    route = route_of(scenario, flow)
    measured_s = measured_time(scenario)
    round_trip = hops.round_trip(flow, route)
    bottleneck = hops.bottleneck(crossing, flow, route)
    sender = senders.sender(flow, round_trip.base_s, round_trip.base_s + bottleneck.drain_s)
    return FlowPath(
        flow=flow["name"],
        instances=flow.get("count"),
        round_trip=round_trip,
        loss=losses.loss(
            route, measured_s, sender.control, round_trip.base_s, sender.segments_per_ack
        ),
        sender=sender,
        transfer=senders.transfer(flow, measured_s, int(scenario["replicates"])),
        bottleneck=bottleneck,
        acks=ack_path(crossing, flow, route),
    )
