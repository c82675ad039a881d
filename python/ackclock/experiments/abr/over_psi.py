"""Sweeps over psi, the mean time that the link stays at a rate in round trips: what Figures 8 to 14 have in common."""

from collections.abc import Iterable, Mapping, Sequence
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from ackclock import quantity
from ackclock.experiments.abr.efficiency import as_published, efficiencies, timeouts_per_round_trip
from ackclock.experiments.abr.loop import COARSE, INSTCAP, NONE, Feedback, Loop, Point, Sender, alone, effcap
from ackclock.experiments.abr.paper import ROUND_TRIP_S
from ackclock.experiments.experiment import Run
from ackclock.experiments.outcome import Cell
from ackclock.metrics import Interval, interval
from ackclock.result import Result

X_LABEL = "psi: mean time at a rate (round trips)"

#: The paper's figures begin at 0.5; some of ours is less.
Y_FROM = 0.3

#: Sizes that the figures have, in packets, and the one with which everything is compared.
BUFFERS = (8, 10, 12)
BUFFER = 10
EFFCAP = effcap()


class Part(NamedTuple):
    """Values of psi that are run for as long.

    Attributes:
        name: Of runs.
        psis: From small to large.
        duration_s: Of each replicate.
    """

    name: str
    psis: tuple[float, ...]
    duration_s: float


#: The least psi is a link that changes nearly every 30 ms. Where a link changes every few seconds, runs differ most.
SMALL = Part("small psi", (0.16, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0), 1200.0)
LARGE = Part("large psi", (5.0, 10.0, 20.0, 50.0, 60.0, 80.0, 100.0, 150.0), 4000.0)


class Scheme(NamedTuple):
    """Who sends by which feedback.

    Attributes:
        feedback: Of the bottleneck.
        buffer: Of the bottleneck, in packets.
        sender: At the other end.
        exact: See `Loop`.
    """

    feedback: Feedback
    buffer: int = BUFFER
    sender: Sender = COARSE
    exact: bool = False

    @property
    def loop(self) -> Loop:
        """What is run."""
        return alone(self.feedback, self.buffer, self.sender, exact=self.exact)

    def run_of(self, part: Part) -> str:
        """The name of its run."""
        return f"{self.loop.name}, {part.name}"

    def transfers_of(self, part: Part) -> str:
        """The name of its run by the paper's protocol."""
        return f"{self.run_of(part)}, transfers"


def runs(schemes: Iterable[Scheme], *parts: Part) -> dict[str, Run]:
    """Each scheme over each part, long."""
    return {
        scheme.run_of(part): Run(
            scheme.loop.scenario([Point(psi * ROUND_TRIP_S, part.duration_s) for psi in part.psis])
        )
        for scheme in schemes
        for part in parts
    }


def transfers(schemes: Iterable[Scheme], *parts: Part) -> dict[str, Run]:
    """The same by the paper's protocol."""
    return {
        scheme.transfers_of(part): Run(scheme.loop.transfers([psi * ROUND_TRIP_S for psi in part.psis]))
        for scheme in schemes
        for part in parts
    }


#: Of each replicate, by psi.
Efficiencies = dict[float, list[float]]


def found(results: Mapping[str, Result], scheme: Scheme, *parts: Part, cells: float | None = None) -> Efficiencies:
    """Efficiencies of a scheme, with what cells leave of them unless told otherwise."""
    share = scheme.feedback.cells if cells is None else cells
    return {
        psi: efficiencies(results[scheme.run_of(part)], point, share)
        for part in parts
        for point, psi in enumerate(part.psis)
    }


def timeouts(results: Mapping[str, Result], scheme: Scheme, *parts: Part) -> Efficiencies:
    """How many a round trip has, of each replicate, by psi."""
    return {
        psi: timeouts_per_round_trip(results[scheme.run_of(part)], point)
        for part in parts
        for point, psi in enumerate(part.psis)
    }


def published(results: Mapping[str, Result], scheme: Scheme, part: Part) -> dict[float, Interval]:
    """By psi what the paper's protocol has of it."""
    of = as_published(results[scheme.transfers_of(part)], scheme.feedback.cells)
    return dict(zip(part.psis, of, strict=True))


def schemes(
    feedbacks: Sequence[Feedback] = (NONE, INSTCAP, EFFCAP), buffers: Sequence[int] = (BUFFER,)
) -> list[Scheme]:
    """Of the paper's sender."""
    return [Scheme(feedback, buffer) for feedback in feedbacks for buffer in buffers]


#: Of the other simulation, at most: 4 times 200 000 packets a number.
STANDARD_ERROR = 0.005
#: What is run to be compared alone has as many replicates as the other simulation.
COMPARED_REPLICATES = 4
#: Chance alone does it in one of four tables of a hundred cells.
CRITERION = "three standard errors of the difference; that of the other simulation is the most that it may be"


def beside(
    row: tuple[str, ...], quantity: str, text: str, standard_error: float, ours: Sequence[float], excepted: str = ""
) -> Cell:
    """A number of another simulation, of that standard error, beside our replicates."""
    error = hypot(standard_error, float(np.std(ours, ddof=1)) / sqrt(len(ours)))
    return Cell.simulated(row, quantity, text, interval(ours), 3 * error, excepted)


def lengths(results: Mapping[str, Result]) -> str:
    """How long the runs are but for transfers, in words."""
    long = [one for name, one in results.items() if not name.endswith("transfers")]
    seconds = sorted({one.points[0]["scenario"]["duration"] for one in long}, key=quantity.seconds)
    replicates = sorted({one.run["replicates"] for one in long})
    counts = " or ".join(str(one) for one in replicates)
    return f"{counts} replicates of {' or '.join(seconds)}, the first 5 % not measured"
