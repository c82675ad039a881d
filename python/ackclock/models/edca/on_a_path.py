"""What a scenario's flow means to the models of a cell: nothing yet, as a `FlowPath` names no shared medium."""

from ackclock.models.assumptions import needs_tcp
from ackclock.models.path import FlowPath


def inputs_of(_path: FlowPath) -> dict[str, float]:
    """The inputs about the cell."""
    return {}


def refusal(path: FlowPath) -> str:
    """Why there is no answer."""
    return needs_tcp(path) or "it is about stations that share a medium of 802.11, asked about with plain numbers alone"
