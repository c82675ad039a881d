"""What controls a flow: the congestion control of TCP, the rate control of UDP, or nothing."""

from collections.abc import Iterable, Mapping
from typing import Any

from ackclock import facts

#: In place of a control's name, as in the tables: UDP that nothing controls.
UNCONTROLLED = "udp"


def control_of(flow: Mapping[str, Any]) -> str:
    """The name of the control of a flow of a resolved scenario; `udp` of UDP without one."""
    return facts.control(flow["transport"])[0] or UNCONTROLLED


def is_controlled(flow: Mapping[str, Any]) -> bool:
    """Whether anything controls it: what shares are compared of."""
    return control_of(flow) != UNCONTROLLED


def rivals(flows: Iterable[Mapping[str, Any]]) -> int:
    """How many instances share: those under a control, but for those that arrive and end."""
    return sum(flow.get("count", 0) for flow in flows if is_controlled(flow))
