"""What a model says of itself."""

from collections.abc import Callable
from dataclasses import dataclass

from ackclock.models.path import FlowPath


@dataclass(frozen=True)
class Input:
    """One input of a model.

    Attributes:
        letter: In the paper's formula.
        unit: Its unit, empty for a plain number.
        meaning: What it is.
    """

    letter: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Verdict:
    """Whether a model can be asked about a flow.

    Attributes:
        applies: Whether its formula has an answer at all.
        notes: Why not; or which of its assumptions the flow does not meet.
    """

    applies: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """The record of one model.

    Attributes:
        name: As in tables and on the command line.
        label: As in figures.
        summary: One sentence.
        reference: Paper or RFC.
        inputs: What the formula takes.
        assumptions: What it takes for granted.
        goodput: Segments delivered per second on a path that limits by random loss alone.
        applies: Whether it can be asked, and what the flow does not meet.
    """

    name: str
    label: str
    summary: str
    reference: str
    inputs: tuple[Input, ...]
    assumptions: tuple[str, ...]
    goodput: Callable[[FlowPath], float]
    applies: Callable[[FlowPath], Verdict]


def needs_random_loss(path: FlowPath) -> Verdict:
    """The verdict of models of random loss: no, without any."""
    if path.transport != "tcp":
        return Verdict(False, ("does not apply: no TCP",))
    if path.loss == 0:
        return Verdict(False, ("does not apply: no random loss",))
    if path.loss == 1:
        return Verdict(False, ("does not apply: everything is lost",))
    if path.round_trip_s == 0:
        return Verdict(False, ("does not apply: no round-trip time without queueing",))
    return Verdict(True, path.notes)
