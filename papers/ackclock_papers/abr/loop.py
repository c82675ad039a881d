"""The paper's testbed as a scenario: senders, their hosts, a varying bottleneck, a return path.

The whole round-trip delay is on the return path, one for each session. The bottleneck's rate is the
same function of time for every sender and every feedback, so schemes are compared on the very same
link.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from ackclock.scenario import Scenario
from ackclock_papers.abr.paper import (
    CELLS,
    HEADER_BYTES,
    HIGH_KB_PER_S,
    LOW_KB_PER_S,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    PERIOD_S,
    ROUND_TRIP_S,
    TRANSFER_BYTES,
    TRANSFERS,
    WINDOW_PACKETS,
)
from ackclock_papers.scenarios import Tree, hop, packets

BOTTLENECK = "bottleneck"
#: Name of a lone session.
SESSION = "session 1"

REPLICATES = 8
#: Share of each run that is warm-up.
WARMUP_SHARE = 0.05


class Feedback(NamedTuple):
    """Feedback of the bottleneck to the hosts.

    Attributes:
        label: Label in figures and tables.
        algorithm: Algorithm, as in a scenario. None if nothing is fed back.
        fixed_kb_per_s: Rate of a host that follows nothing. None without an algorithm either: then
            no host has a server.
        host: Other parameters of the link of a host that follows the feedback. None for those of
            the paper: its rate jumps to the one fed back.
    """

    label: str
    algorithm: Tree | None
    fixed_kb_per_s: float | None = None
    host: Tree | None = None

    @property
    def controls_rate(self) -> bool:
        """True if each host has a server, which sends ATM cells."""
        return self.algorithm is not None or self.fixed_kb_per_s is not None

    @property
    def cells(self) -> float:
        """Share of the link that is left for packets: a host with a server sends ATM cells."""
        return CELLS if self.controls_rate else 1.0


NONE = Feedback("TCP alone", None)
INSTCAP = Feedback("INSTCAP", {"kind": "instcap"})


def effcap(m: int = 7, n: int = 49) -> Feedback:
    """Returns EFFCAP, by default with means over a round trip of 200 ms and a memory of eight."""
    return Feedback(f"EFFCAP ({m}, {n})", {"kind": "effcap", "m": m, "n": n})


def constant(packets_per_round_trip: float) -> Feedback:
    """Returns no feedback, but hosts that send at one rate, for a round trip of 200 ms."""
    kb_per_s = packets_per_round_trip * PACKET_BYTES / 1000 / ROUND_TRIP_S
    return Feedback(f"constant rate of {packets_per_round_trip:g} packets", None, kb_per_s)


def round_trip_of_measurements(round_trip_s: float) -> int:
    """Returns M, the measurements in a round trip, rounded up.

    It is inferred from the four pairs of M and N that are known.
    """
    return ceil(round(round_trip_s / PERIOD_S, 9))


def effcap_of(round_trip_s: float, memory: int) -> Feedback:
    """Returns EFFCAP with means over one round trip and a memory of k = `memory` round trips.

    N = (k - 1) M, at least 1, is inferred from the same four pairs.
    """
    m = round_trip_of_measurements(round_trip_s)
    return effcap(m, max(1, (memory - 1) * m))


@dataclass(frozen=True)
class Sender:
    """A sender and its retransmission timer.

    Attributes:
        label: Label in figures and tables.
        transport: Parameters that differ from the preset.
        preset: Name of the preset: see `ackclock show presets`.
    """

    label: str
    transport: Tree = field(default_factory=dict)
    preset: str = "jacobson1988"

    @property
    def tree(self) -> Tree:
        """The transport, as in a scenario."""
        return {
            "kind": "tcp",
            "preset": self.preset,
            "control": {"kind": "reno"},
            "mss": f"{PAYLOAD_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
            "receive_window": f"{WINDOW_PACKETS} packets",
        } | self.transport


#: The timer of the testbed's TCP is not known. Most numbers of the text are reproduced with that of
#: BSD: at least a second, in ticks of half a second.
COARSE = Sender("coarse timer")
#: Differs from `COARSE` only for round trips over half a second, as with a long queue at the host.
#: The reference simulation that our numbers are compared with turned out to have this timer.
TIMED_EXACTLY = Sender(
    "coarse timer, round trips timed exactly", {"clock_granularity": "0 s", "rto_minimum": "1 s"}
)
LINUX_TIMER = Sender("timer of Linux", {"clock_granularity": "10 ms", "rto_minimum": "200 ms"})


def fixed_timer(round_trip_s: float = ROUND_TRIP_S) -> Sender:
    """Returns a sender whose timeout is always 1.5 round trips, closest to the renewal analysis."""
    transport = {
        "rto_initial": _milliseconds(1.5 * round_trip_s),
        "rto_adaptive": False,
        "rto_minimum": "1 ms",
        "clock_granularity": "0 s",
    }
    return Sender("timer of 1.5 round trips", transport)


#: Today's senders, for comparison with the paper's.
NEWRENO_TODAY = Sender("Reno with SACK, today", preset="linux")
CUBIC_TODAY = Sender("CUBIC with SACK, today", {"control": {"kind": "cubic"}}, "linux")


class Session(NamedTuple):
    """One session.

    Attributes:
        name: Name of the flow.
        round_trip_s: Delta, its round-trip time in seconds.
        feedback: Feedback that its host follows.
    """

    name: str = SESSION
    round_trip_s: float = ROUND_TRIP_S
    feedback: Feedback = NONE


class Point(NamedTuple):
    """One point of a sweep.

    Attributes:
        sojourn_s: tau, the mean time that the link stays at a rate, in seconds.
        duration_s: Duration of each replicate, in seconds.
    """

    sojourn_s: float
    duration_s: float


@dataclass(frozen=True)
class Loop:
    """The whole set-up except how fast the link changes.

    Attributes:
        sessions: Sessions; they share the rate that is fed back.
        buffer: Packets that may wait at the bottleneck, besides the one in service.
        sender: Sender of every session.
        exact: True if the timing is that of the renewal analysis: the link changes only at
            multiples of the round trip, and a host's rate is one round trip old. Otherwise the link
            may change every 30 ms, is measured as often, and a measurement is known one round trip
            later. Exact timing needs sessions of equal round-trip time.
    """

    sessions: tuple[Session, ...]
    buffer: int
    sender: Sender = COARSE
    exact: bool = False

    def scenario(
        self, points: Sequence[Point], replicates: int = REPLICATES, **more: object
    ) -> Scenario:
        """Returns a scenario that sweeps over how fast the link changes.

        Args:
            points: Points of the sweep.
            replicates: Number of replicates.
            more: Other fields of the scenario.
        """
        # The samples at the start and the end of the measurement tell what the link could have
        # sent.
        varied = (f"hops.{BOTTLENECK}.link.mean_sojourn", "duration", "warmup", "sample_interval")
        swept = [
            [_milliseconds(point.sojourn_s)]
            + [f"{part * point.duration_s:g} s" for part in (1, WARMUP_SHARE, WARMUP_SHARE)]
            for point in points
        ]
        sojourn, *times = swept[0]
        tree = {
            "schema": 1,
            "name": self.name,
            "replicates": replicates,
            **dict(zip(varied[1:], times, strict=True)),
            "hops": self._hops(sojourn),
            "flows": [self._flow(session) for session in self.sessions],
            "sweep": {",".join(varied): swept},
        }
        return Scenario(tree | more)

    def transfers(self, sojourns_s: Sequence[float]) -> Scenario:
        """Returns the paper's protocol: four transfers of 10 MB, headers included."""
        payload = TRANSFER_BYTES * PAYLOAD_BYTES // (PAYLOAD_BYTES + HEADER_BYTES)
        # Every session gets more than a fifth of the low rate.
        duration_s = TRANSFER_BYTES / (LOW_KB_PER_S * 1000 / 5)
        points = [Point(sojourn_s, duration_s) for sojourn_s in sojourns_s]
        flows = [
            self._flow(session) | {"traffic": {"kind": "transfer", "size": f"{payload} bytes"}}
            for session in self.sessions
        ]
        return self.scenario(points, TRANSFERS, flows=flows)

    @property
    def name(self) -> str:
        """Name of the scenario, which identifies it."""
        fed_back = ", ".join(dict.fromkeys(session.feedback.label for session in self.sessions))
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
            if session.feedback.controls_rate:
                hops.append(hop(_host(session), self._server(session), "unlimited"))
            back = {"kind": "constant", "rate": "400 Gbit/s"}
            hops.append(hop(_back(session), back, "unlimited", session.round_trip_s))
        return hops

    def _server(self, session: Session) -> Tree:
        fixed = session.feedback.fixed_kb_per_s
        if fixed is not None:
            return {"kind": "constant", "rate": f"{fixed:g} kB/s"}
        return {
            "kind": "feedback",
            "from": BOTTLENECK,
            "algorithm": session.feedback.algorithm,
            "period": _milliseconds(self._period_s),
            # A measurement that is the mean over a round trip is, at its end, one round trip old.
            "delay": "0 s" if self.exact else _milliseconds(session.round_trip_s),
            "sessions": len(self.sessions),
        } | (session.feedback.host or {})

    def _flow(self, session: Session) -> Tree:
        hosts = [_host(session)] if session.feedback.controls_rate else []
        return {
            "name": session.name,
            "route": [*hosts, BOTTLENECK],
            "return": [_back(session)],
            "transport": self.sender.tree,
        }


def alone(feedback: Feedback, buffer: int, sender: Sender = COARSE, *, exact: bool = False) -> Loop:
    """Returns a loop of one session with a round trip of 200 ms."""
    return Loop((Session(feedback=feedback),), buffer, sender, exact)


def _host(session: Session) -> str:
    return f"host of {session.name}"


def _back(session: Session) -> str:
    return f"return of {session.name}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:g} ms"
