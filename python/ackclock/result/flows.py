"""The control of a flow: the congestion control of TCP, the rate control of UDP, or none."""

from collections.abc import Iterable, Mapping
from typing import Any

from ackclock.elements import facts

#: Stands in place of a control's name in tables: UDP without a control.
UNCONTROLLED = "udp"


def control_of(flow: Mapping[str, Any]) -> str:
    """Returns the name of a flow's control; `udp` for UDP without one."""
    return facts.control(flow)[0] or UNCONTROLLED


def is_controlled(flow: Mapping[str, Any]) -> bool:
    """True if a control limits the flow; fairness compares such flows."""
    return control_of(flow) != UNCONTROLLED


def rivals(flows: Iterable[Mapping[str, Any]]) -> int:
    """Returns the number of instances under a control, without those that arrive and end."""
    return sum(flow.get("count", 0) for flow in flows if is_controlled(flow))
