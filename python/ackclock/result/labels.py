"""Names of controls for people; results keep the names that one types."""

from typing import Any

from ackclock.elements.registry import kinds, label
from ackclock.result.flows import UNCONTROLLED


def control_label(control: str) -> str:
    """Returns the name of a control for people."""
    if control == UNCONTROLLED:
        return control.upper()
    return label(control, "controls", "rate_controls")


# The kinds of elements that a field of a scenario takes, where its name is not that of a kind.
_KINDS = {"control": ("controls", "rate_controls"), "impairments": ("impairments",)}


def value_label(path: str, value: Any) -> str:
    """Returns a swept value for people: of an element its label, else the value as text.

    Args:
        path: The path that is swept, such as `flows.main.transport.control.kind`.
        value: Its value.
    """
    *_, owner, last = ("", *path.split("."))
    if last != "kind":
        return str(value)
    every = _KINDS.get(owner, (f"{owner}s",))
    return label(str(value), *(kind for kind in every if kind in kinds()))
