"""The paper's testbed as a scenario: senders, the hosts' servers, the bottleneck that moves, and the way back.

All of the round trip is on the way back, one for each session. The bottleneck's rate is the same
function of time whoever sends over it and whatever is fed back, so that schemes are compared on the
very same link.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from ackclock.scenario import Scenario
from ackclock_reproductions.abr.paper import (
    CELLS,
    HEADER_BYTES,
    HIGH_KB_PER_S,
    LOW_KB_PER_S,
    PAYLOAD_BYTES,
    PERIOD_S,
    ROUND_TRIP_S,
    TRANSFER_BYTES,
    TRANSFERS,
    WINDOW_PACKETS,
)
from ackclock_reproductions.scenarios import Tree, hop, packets

BOTTLENECK = "bottleneck"
#: The name of a session that is alone.
SESSION = "session 1"

REPLICATES = 8
#: Not measured, of each run.
WARMUP_SHARE = 0.05


class Feedback(NamedTuple):
    """What the bottleneck feeds back to the hosts.

    Attributes:
        label: In figures and tables.
        algorithm: As in a scenario; None if nothing is fed back and no host has a server of its
            own.
    """

    label: str
    algorithm: Tree | None

    @property
    def cells(self) -> float:
        """What is left of the link for packets: with feedback they are in ATM cells."""
        return CELLS if self.algorithm else 1.0


NONE = Feedback("TCP alone", None)
INSTCAP = Feedback("INSTCAP", {"kind": "instcap"})


def effcap(m: int = 7, n: int = 49) -> Feedback:
    """EFFCAP; by default with a mean over a round trip of 200 ms and a memory of eight of them."""
    return Feedback(f"EFFCAP ({m}, {n})", {"kind": "effcap", "m": m, "n": n})


def round_trip_of_measurements(round_trip_s: float) -> int:
    """M, the measurements of a round trip, rounded up: inferred from the four pairs of M and N that are known."""
    return ceil(round(round_trip_s / PERIOD_S, 9))


def effcap_of(round_trip_s: float, memory: int) -> Feedback:
    """EFFCAP with a mean over a round trip and a memory of so many: N = (k - 1) M, inferred likewise; 1 at least."""
    m = round_trip_of_measurements(round_trip_s)
    return effcap(m, max(1, (memory - 1) * m))


@dataclass(frozen=True)
class Sender:
    """Who sends, and when it gives up waiting.

    Attributes:
        label: In figures and tables.
        transport: What of it is other than in the preset.
        preset: See `ackclock show presets`.
    """

    label: str
    transport: Tree = field(default_factory=dict)
    preset: str = "jacobson1988"

    @property
    def tree(self) -> Tree:
        """As in a scenario."""
        return {
            "kind": "tcp",
            "preset": self.preset,
            "control": {"kind": "reno"},
            "mss": f"{PAYLOAD_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
            "receive_window": f"{WINDOW_PACKETS} packets",
        } | self.transport


#: Which timer the testbed's TCP had is not known; most numbers of the text come out with that of
#: BSD: a second at least, in ticks of half a second.
COARSE = Sender("coarse timer")
#: The same but for round trips of more than half a second, as they are with a full host: what the
#: reference simulation, whose numbers ours are compared with, turned out to have.
TIMED_EXACTLY = Sender(
    "coarse timer, round trips timed exactly", {"clock_granularity": "0 s", "rto_minimum": "1 s"}
)
LINUX_TIMER = Sender("timer of Linux", {"clock_granularity": "10 ms", "rto_minimum": "200 ms"})


def fixed_timer(round_trip_s: float = ROUND_TRIP_S) -> Sender:
    """A timeout of one and a half round trips for ever: nearest to what the renewal analysis assumes."""
    transport = {
        "rto_initial": _milliseconds(1.5 * round_trip_s),
        "rto_adaptive": False,
        "rto_minimum": "1 ms",
        "clock_granularity": "0 s",
    }
    return Sender("timer of 1.5 round trips", transport)


#: What one asks for beside the paper's.
NEWRENO_TODAY = Sender("Reno with SACK, today", preset="linux")
CUBIC_TODAY = Sender("CUBIC with SACK, today", {"control": {"kind": "cubic"}}, "linux")


class Session(NamedTuple):
    """One sender.

    Attributes:
        name: Of the flow.
        round_trip_s: Delta, its own.
        feedback: What its host follows.
    """

    name: str = SESSION
    round_trip_s: float = ROUND_TRIP_S
    feedback: Feedback = NONE


class Point(NamedTuple):
    """What is run of a loop, for how long.

    Attributes:
        sojourn_s: tau, the mean time that the link stays at a rate.
        duration_s: Of each replicate.
    """

    sojourn_s: float
    duration_s: float


@dataclass(frozen=True)
class Loop:
    """Everything but how fast the link changes.

    Attributes:
        sessions: Who sends; they share what is fed back.
        buffer: How many packets may wait at the bottleneck, besides the one in service.
        sender: Of every session.
        exact: Whether the link changes at multiples of the round trip alone, and a host has its
            rate of one round trip ago, as in the renewal analysis. If not the link may change every
            30 ms, is measured as often, and what was measured is known a round trip later. Of
            sessions that have one round trip.
    """

    sessions: tuple[Session, ...]
    buffer: int
    sender: Sender = COARSE
    exact: bool = False

    def scenario(
        self, points: Sequence[Point], replicates: int = REPLICATES, **more: object
    ) -> Scenario:
        """A sweep over how fast the link changes.

        Args:
            points: Of the sweep.
            replicates: How many.
            more: Fields of the scenario.
        """
        # Samples where measuring begins and where it ends say what the link could have sent in
        # between.
        varied = (f"hops.{BOTTLENECK}.link.mean_sojourn", "duration", "warmup", "sample_interval")
        swept = [
            [_milliseconds(one.sojourn_s)]
            + [f"{part * one.duration_s:g} s" for part in (1, WARMUP_SHARE, WARMUP_SHARE)]
            for one in points
        ]
        sojourn, *times = swept[0]
        tree = {
            "schema": 1,
            "name": self.name,
            "replicates": replicates,
            **dict(zip(varied[1:], times, strict=True)),
            "hops": self._hops(sojourn),
            "flows": [self._flow(one) for one in self.sessions],
            "sweep": {",".join(varied): swept},
        }
        return Scenario(tree | more)

    def transfers(self, sojourns_s: Sequence[float]) -> Scenario:
        """The paper's protocol: four transfers of 10 MB, headers included."""
        payload = TRANSFER_BYTES * PAYLOAD_BYTES // (PAYLOAD_BYTES + HEADER_BYTES)
        # A fifth of the low rate is less than anybody gets.
        duration_s = TRANSFER_BYTES / (LOW_KB_PER_S * 1000 / 5)
        points = [Point(one, duration_s) for one in sojourns_s]
        flows = [
            self._flow(one) | {"traffic": {"kind": "transfer", "size": f"{payload} bytes"}}
            for one in self.sessions
        ]
        return self.scenario(points, TRANSFERS, flows=flows)

    @property
    def name(self) -> str:
        """Of the scenario: what tells it from others."""
        fed_back = ", ".join(dict.fromkeys(one.feedback.label for one in self.sessions))
        return (
            f"{fed_back}, buffer of {self.buffer}, "
            f"{self.sender.label}{', exact' if self.exact else ''}"
        )

    @property
    def _period_s(self) -> float:
        return self.sessions[0].round_trip_s if self.exact else PERIOD_S

    def _hops(self, sojourn: str) -> list[Tree]:
        link = {
            "kind": "markov",
            "rates": [f"{HIGH_KB_PER_S} kB/s", f"{LOW_KB_PER_S} kB/s"],
            "mean_sojourn": sojourn,
            "step": _milliseconds(self._period_s),
        }
        hops = [hop(BOTTLENECK, link, packets(self.buffer))]
        for session in self.sessions:
            if session.feedback.algorithm:
                hops.append(hop(_host(session), self._server(session), "unlimited"))
            back = {"kind": "constant", "rate": "400 Gbit/s"}
            hops.append(hop(_back(session), back, "unlimited", session.round_trip_s))
        return hops

    def _server(self, session: Session) -> Tree:
        return {
            "kind": "feedback",
            "from": BOTTLENECK,
            "algorithm": session.feedback.algorithm,
            "period": _milliseconds(self._period_s),
            # What was measured over a round trip is, at its end, one round trip old.
            "delay": "0 s" if self.exact else _milliseconds(session.round_trip_s),
            "sessions": len(self.sessions),
        }

    def _flow(self, session: Session) -> Tree:
        hosts = [_host(session)] if session.feedback.algorithm else []
        return {
            "name": session.name,
            "route": [*hosts, BOTTLENECK],
            "return": [_back(session)],
            "transport": self.sender.tree,
        }


def alone(feedback: Feedback, buffer: int, sender: Sender = COARSE, *, exact: bool = False) -> Loop:
    """One session with a round trip of 200 ms."""
    return Loop((Session(feedback=feedback),), buffer, sender, exact)


def _host(session: Session) -> str:
    return f"host of {session.name}"


def _back(session: Session) -> str:
    return f"return of {session.name}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:g} ms"
