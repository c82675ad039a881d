"""Sweeps over the round-trip time, on links that change every 1 s or 100 ms: Figures 16 to 19."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ackclock import Result
from ackclock.metrics import Interval
from ackclock.reproduction import Run
from ackclock_papers.abr.efficiency import as_published, efficiencies
from ackclock_papers.abr.loop import (
    COARSE,
    SESSION,
    TIMED_EXACTLY,
    Feedback,
    Loop,
    Point,
    Sender,
    Session,
)
from ackclock_papers.abr.over_psi import BUFFER, COMPARED_REPLICATES

#: tau of the figures, in ms.
SLOW_MS, FAST_MS = 1000, 100
SOJOURNS_MS = (SLOW_MS, FAST_MS)
DURATION_S = 600.0


class Scheme(NamedTuple):
    """A feedback at a round-trip time.

    Attributes:
        round_trip_ms: Delta, in ms.
        feedback: Feedback of the bottleneck.
        sender: Sender.
    """

    round_trip_ms: int
    feedback: Feedback
    sender: Sender = COARSE

    @property
    def loop(self) -> Loop:
        """The set-up of the scheme."""
        return Loop(
            (Session(SESSION, self.round_trip_ms / 1000, self.feedback),), BUFFER, self.sender
        )

    @property
    def run(self) -> str:
        """Name of its run."""
        return f"{self.loop.name}, Δ {self.round_trip_ms} ms"

    @property
    def transfers(self) -> str:
        """Name of its run by the paper's protocol."""
        return f"{self.run}, transfers"

    @property
    def timed_exactly(self) -> "Scheme":
        """The same scheme with the timer of the reference simulation."""
        return self._replace(sender=TIMED_EXACTLY)


def runs(schemes: Iterable[Scheme]) -> dict[str, Run]:
    """Returns runs of each scheme over both links.

    Each has long runs, runs by the paper's protocol, and runs with the timer of the reference
    simulation.
    """
    points = [Point(sojourn / 1000, DURATION_S) for sojourn in SOJOURNS_MS]
    by_name = {}
    for scheme in schemes:
        by_name[scheme.run] = Run(scheme.loop.scenario(points))
        by_name[scheme.timed_exactly.run] = Run(
            scheme.timed_exactly.loop.scenario(points, COMPARED_REPLICATES)
        )
        by_name[scheme.transfers] = Run(
            scheme.loop.transfers([sojourn / 1000 for sojourn in SOJOURNS_MS])
        )
    return by_name


def simulated(results: Mapping[str, Result], scheme: Scheme, sojourn_ms: int) -> list[float]:
    """Returns efficiencies of replicates over one of the links, less the overhead of cells."""
    return efficiencies(results[scheme.run], SOJOURNS_MS.index(sojourn_ms), scheme.feedback.cells)


def published(results: Mapping[str, Result], scheme: Scheme, sojourn_ms: int) -> Interval:
    """Returns the efficiency by the paper's protocol."""
    return as_published(results[scheme.transfers], scheme.feedback.cells)[
        SOJOURNS_MS.index(sojourn_ms)
    ]
