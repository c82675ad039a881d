"""What Figures 5 and 6 share: a few monitored senders over the central path, beside traffic that grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.scenario import Scenario
from ackclock_reproductions.scenarios import Tree
from ackclock_reproductions.tfrcp.path import CENTRAL, Path
from ackclock_reproductions.tfrcp.senders import OTHER, RENO, TCP, Sender, flow, scenario

#: How many of either kind are monitored. Guessed.
MONITORED = 5
BACKGROUND = "background"


@dataclass(frozen=True)
class Beside:
    """Monitored senders beside background traffic.

    Attributes:
        other: Who is monitored besides Reno.
        background: The flow group that is not, at its first load.
        varied: What of that group varies with the load: the path of a field.
        values: Its value at each load.
        path: Over which all go.
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
