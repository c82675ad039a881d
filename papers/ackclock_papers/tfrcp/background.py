"""Common part of Figures 5 and 6: a few monitored senders beside growing background traffic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.scenario import Scenario
from ackclock_papers.scenarios import Tree
from ackclock_papers.tfrcp.path import CENTRAL, Path
from ackclock_papers.tfrcp.senders import OTHER, RENO, TCP, Sender, flow, scenario

#: Number of monitored senders of either kind. Guessed.
MONITORED = 5
BACKGROUND = "background"


@dataclass(frozen=True)
class Beside:
    """Monitored senders beside background traffic.

    Attributes:
        other: Sender that is monitored besides Reno.
        background: Background flow group at its first load.
        varied: Path of the field of that group that varies with the load.
        values: Its value at each load.
        path: Path of all flows.
    """

    other: Sender
    background: Tree
    varied: str
    values: Sequence[Any]
    path: Path = CENTRAL

    @property
    def scenario(self) -> Scenario:
        """A sweep over the background's load."""
        flows = [
            flow(TCP, RENO, self.path, count=MONITORED),
            flow(OTHER, self.other, self.path, count=MONITORED),
            self.background,
        ]
        sweep = {f"flows.{BACKGROUND}.{self.varied}": self.values}
        return scenario(f"Reno and {self.other.label} beside others", self.path, flows, sweep)
