"""Common parts of Figures 2 to 4: one sender alone on a path that changes twice, and its rate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, plot
from ackclock.metrics import series
from ackclock.reproduction import Run
from ackclock_papers.own.rate_control.senders import SENDERS, flow
from ackclock_papers.scenarios import Tree, scenario

Array = NDArray[np.float64]

#: Times of the change and of its end, in seconds.
FROM_S, UNTIL_S = 100.0, 160.0
DURATION_S, WARMUP_S = 280.0, 40.0
#: Length of the intervals over which rates are means, in seconds.
SCALE_S = 1.0
REPLICATES = 12
EDGES_S = np.arange(WARMUP_S, DURATION_S + SCALE_S / 2, SCALE_S)

#: Rates in Mbit/s between `EDGES_S`, a row per replicate, by sender.
Rates = Mapping[str, Array]


@dataclass(frozen=True)
class Change:
    """A temporary change of the path.

    Attributes:
        hops: Hops, with the change.
        until_s: Time at which the path is as before, in seconds.
    """

    hops: list[Tree]
    until_s: float = UNTIL_S

    def runs(self) -> Mapping[str, Run]:
        """Returns runs of each sender alone."""
        return {
            sender.label: Run(
                scenario(
                    f"{sender.label} alone", self.hops, [flow(sender)], duration_s=DURATION_S,
                    warmup_s=WARMUP_S, sample_interval_s=SCALE_S, replicates=REPLICATES,
                )
            )
            for sender in SENDERS
        }  # fmt: skip


def rates(results: Mapping[str, Result], quantity: str = "sent") -> Rates:
    """Returns the rates of each sender."""
    return {
        label: np.array([replicate.rates(EDGES_S) for replicate in series(result, quantity)]) / 1e6
        for label, result in results.items()
    }


def draw(title: str, by_sender: Rates, change: Change) -> Callable[[], Figure]:
    """Returns a drawing of rates over time, as means over replicates."""
    return partial(_draw, title, by_sender, change)


def _draw(title: str, by_sender: Rates, change: Change) -> Figure:
    shown = EDGES_S[1:] > FROM_S - 30
    shown &= EDGES_S[1:] <= change.until_s + 90
    time_s = (EDGES_S[1:] - SCALE_S / 2)[shown] - FROM_S
    curves = [
        plot.Curve(label, time_s, values.mean(axis=0)[shown]) for label, values in by_sender.items()
    ]
    return plot.curves(curves, "time since the change (s)", "sent, mean of runs (Mbit/s)", title)
