"""What Figures 5 and 6 share: a few monitored senders over the central path, beside traffic that grows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.experiments.scenarios import Tree
from ackclock.experiments.tfrcp.friendliness import F_LABEL, ByLoad, by_label
from ackclock.experiments.tfrcp.path import CENTRAL, Path
from ackclock.experiments.tfrcp.senders import OTHER, RENO, TCP, Sender, flow, scenario
from ackclock.scenario import Scenario

#: How many of either kind are monitored. Guessed.
MONITORED = 5
BACKGROUND = "background"


@dataclass(frozen=True)
class Beside:
    """Monitored senders beside background traffic.

    Attributes:
        other: Who is monitored besides Reno.
        background: The flow group that is not, at its first load.
        varied: What of the scenario varies with the load, by its place: a value for each load.
        path: Over which all go.
    """

    other: Sender
    background: Tree
    varied: Mapping[str, Sequence[Any]]
    path: Path = CENTRAL

    @property
    def scenario(self) -> Scenario:
        """A sweep over the background's load."""
        flows = [
            flow(TCP, RENO, self.path, count=MONITORED),
            flow(OTHER, self.other, self.path, count=MONITORED),
            self.background,
        ]
        points = [list(values) for values in zip(*self.varied.values(), strict=True)]
        sweep = {",".join(self.varied): points if len(self.varied) > 1 else [one for [one] in points]}
        return scenario(f"Reno and {self.other.label} beside others", self.path, flows, sweep)


def draw(title: str, x_label: str, found: Mapping[str, ByLoad]) -> Callable[[], Figure]:
    """F by what the background's load is called."""
    return partial(_draw, title, x_label, found)


def _draw(title: str, x_label: str, found: Mapping[str, ByLoad]) -> Figure:
    [first, *_] = found.values()
    ends = [min(first), max(first)]
    curves = [plot.Curve("1: as much as TCP", ends, [1, 1], "reference")]
    curves += [by_label(label, list(values), values) for label, values in found.items()]
    return plot.curves(curves, x_label, F_LABEL, title)
