"""Names of controls for people; results keep the names that one types."""

from ackclock.elements.registry import label
from ackclock.result.flows import UNCONTROLLED


def control_label(control: str) -> str:
    """Returns the name of a control for people."""
    if control == UNCONTROLLED:
        return control.upper()
    return label(control, "controls", "rate_controls")
