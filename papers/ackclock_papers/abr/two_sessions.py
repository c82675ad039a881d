"""Two sessions, one near and one far, over one bottleneck: the runs of Figures 20 to 23."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Run
from ackclock_papers.abr.efficiency import as_published, efficiencies
from ackclock_papers.abr.loop import (
    COARSE,
    CUBIC_TODAY,
    INSTCAP,
    NONE,
    REPLICATES,
    TIMED_EXACTLY,
    Feedback,
    Loop,
    Point,
    Sender,
    Session,
    effcap_of,
)
from ackclock_papers.abr.over_psi import COMPARED_REPLICATES, Part
from ackclock_papers.replicates import of_replicates, quotient

NAMES = NEAR, FAR = ("session 1", "session 2")
ROUND_TRIPS_S = (0.240, 0.360)
MEAN_ROUND_TRIP_S = 0.300
BUFFER = 18
#: k: EFFCAP's memory in round trips.
MEMORY = 12
#: psi is in units of the longer round trip.
FAST = Part("fast", (0.1, 0.3, 1.0, 2.0, 3.0), 1000.0)
SLOW = Part("slow", (5.0, 10.0, 20.0, 60.0, 100.0), 2000.0)
PARTS = (FAST, SLOW)
PSIS = FAST.psis + SLOW.psis


class Pair(NamedTuple):
    """Two sessions.

    Attributes:
        label: Label in figures and tables.
        feedbacks: Feedback that each host follows.
        sender: Sender of both sessions.
    """

    label: str
    feedbacks: tuple[Feedback, Feedback]
    sender: Sender = COARSE

    @property
    def loop(self) -> Loop:
        """The set-up of the pair."""
        sessions = zip(NAMES, ROUND_TRIPS_S, self.feedbacks, strict=True)
        return Loop(tuple(Session(*session) for session in sessions), BUFFER, self.sender)

    @property
    def cells(self) -> float:
        """Share of the efficiency that cells leave; today's senders have no cells."""
        return 1.0 if self.sender is CUBIC_TODAY else self.feedbacks[0].cells

    @property
    def timed_exactly(self) -> "Pair":
        """The same pair with the timer of the reference simulation."""
        return self._replace(label=f"{self.label}, timed exactly", sender=TIMED_EXACTLY)

    def run_of(self, part: Part) -> str:
        """Returns the name of its run."""
        return f"{self.label}, {part.name}"

    def transfers_of(self, part: Part) -> str:
        """Returns the name of its run by the paper's protocol."""
        return f"{self.run_of(part)}, transfers"


def _both(feedback: Feedback) -> tuple[Feedback, Feedback]:
    return feedback, feedback


_OWN = (effcap_of(ROUND_TRIPS_S[0], MEMORY), effcap_of(ROUND_TRIPS_S[1], MEMORY))
CASE_1 = Pair("EFFCAP, case 1", _OWN)
CASE_2 = Pair("EFFCAP, case 2", _both(effcap_of(MEAN_ROUND_TRIP_S, MEMORY)))
WITH_INSTCAP = Pair(INSTCAP.label, _both(INSTCAP))
ALONE = Pair(NONE.label, _both(NONE))
#: The jitter of 2 ms is less than half the service time of a packet, yet enough to break up the
#: order of arrivals.
JITTERED = Sender("coarse timer, jittered", {"send_jitter": "2 ms"})
ALONE_JITTERED = Pair("TCP alone, sent up to 2 ms later", _both(NONE), JITTERED)
#: Today's senders, for comparison with the paper's.
TODAY_ALONE = Pair("CUBIC today, alone", _both(NONE), CUBIC_TODAY)
TODAY = Pair("CUBIC today, EFFCAP, case 1", _OWN, CUBIC_TODAY)


def runs(pairs: Iterable[Pair], more: Iterable[Pair]) -> dict[str, Run]:
    """Returns the runs over all psi.

    The paper's pairs have long runs, runs with the timer of the reference simulation, and runs by
    the paper's protocol. The others have long runs only.
    """
    by_name: dict[str, Run] = {}
    for pair in pairs:
        by_name |= _long(pair) | _long(pair.timed_exactly, COMPARED_REPLICATES)
        for part in PARTS:
            by_name[pair.transfers_of(part)] = Run(
                pair.loop.transfers([psi * ROUND_TRIPS_S[1] for psi in part.psis])
            )
    for pair in more:
        by_name |= _long(pair)
    return by_name


def _long(pair: Pair, replicates: int = REPLICATES) -> dict[str, Run]:
    points = {
        part: [Point(psi * ROUND_TRIPS_S[1], part.duration_s) for psi in part.psis]
        for part in PARTS
    }
    return {pair.run_of(part): Run(pair.loop.scenario(points[part], replicates)) for part in PARTS}


class Shares(NamedTuple):
    """Efficiencies of a pair at one psi, by replicate, over the whole capacity of the bottleneck.

    Attributes:
        near: Efficiency of session 1.
        far: Efficiency of session 2, over the same link in each replicate.
        jain: Jain's index of the two.
    """

    near: list[float]
    far: list[float]
    jain: list[float]

    @property
    def ratio(self) -> Interval:
        """Mean ratio of session 1 to session 2."""
        return quotient(self.near, self.far)

    @property
    def ratios(self) -> list[float]:
        """Ratio of session 1 to session 2 in each replicate."""
        return list(np.divide(self.near, self.far))

    @property
    def total(self) -> list[float]:
        """Sum of both sessions in each replicate."""
        return list(np.add(self.near, self.far))

    @property
    def row(self) -> dict[str, Interval]:
        """One row of a table."""
        return {
            NEAR: interval(self.near), FAR: interval(self.far), "1 over 2": self.ratio,
            "total": interval(self.total),
            "Jain's index": interval(self.jain),
        }  # fmt: skip


def simulated(results: Mapping[str, Result], pair: Pair) -> dict[float, Shares]:
    """Returns the shares by psi."""
    shares = {}
    for part in PARTS:
        result = results[pair.run_of(part)]
        for point, psi in enumerate(part.psis):
            near, far = (efficiencies(result, point, pair.cells, name) for name in NAMES)
            shares[psi] = Shares(near, far, of_replicates(result, "fairness", "all flows", point))
    return shares


def published(results: Mapping[str, Result], pair: Pair) -> dict[float, dict[str, Interval]]:
    """Returns the efficiency by the paper's protocol, by psi and session."""
    rows: dict[float, dict[str, Interval]] = {}
    for part in PARTS:
        result = results[pair.transfers_of(part)]
        for name in NAMES:
            for psi, efficiency in zip(
                part.psis, as_published(result, pair.cells, name), strict=True
            ):
                rows.setdefault(psi, {})[name] = efficiency
    return rows
