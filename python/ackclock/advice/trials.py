"""A transfer over a traced link, alone and with its host following what is fed back, run packet by packet.

    sender -> host, whose rate is fed back (not without feedback) -> the traced link -> propagation
    -> receiver

All of the round trip lies behind the link, and feedback takes all of it: a rate that changes here
is not felt there sooner. Every scheme meets the same link at the same moments and starts at the
same ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from ackclock.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario
from ackclock.traces import CapacityTrace
from ackclock.units import Quantity

#: Who sends: transports without their MSS.
SENDERS: dict[str, dict[str, Any]] = {
    "cubic": {"control": {"kind": "cubic"}, "preset": "linux"},
    "reno": {"control": {"kind": "reno"}, "preset": "linux"},
    "jacobson1988": {"control": {"kind": "reno"}, "preset": "jacobson1988"},
}

#: A round trip is measured in so many parts: as in the publication, 200 ms by 30 ms.
MEASUREMENTS_PER_ROUND_TRIP = 7

#: How many round trips k EFFCAP remembers: the smallest of N = (k - 1) M means of M. Besides these
#: the mean of the last round trip alone, and of the last `LONG`, where what changes faster is
#: noise.
ROUND_TRIPS = (2, 4, 8, 12)
LONG = 4

#: INSTCAP is tried with so much of it, too: a source that has all of the rate never lets a queue
#: empty that a fall of the rate has left. Chosen here; ABC (NSDI 2020) takes a little more.
TARGET = 0.95

# The 65 packets of the publication over the 40 + 10 of its loop. A host's queue has no limit:
# without a window it would take in all that the sender may ever have outstanding.
_AMPLE = 1.3

# Until averages are taken: slow start and the first losses are over. A tenth of the trace at most.
# Chosen here.
_WARMUP_S, _WARMUP_ROUND_TRIPS, _WARMUP_SHARE = 5.0, 50, 0.1

# Rows of the time series: each a part of the round trip that shows how long the queue is, but not
# more than memory is for. Chosen here.
_SAMPLES_PER_ROUND_TRIP, _MOST_SAMPLES = 8, 20_000

_NANOSECONDS = 1e9


@dataclass(frozen=True)
class Scheme:
    """What is fed back.

    Attributes:
        label: For tables.
        algorithm: The tree of a feedback algorithm; None for no feedback.
        says: What it is, in a sentence after "feed back".
        share: How much of what the algorithm makes is fed back.
    """

    label: str
    algorithm: dict[str, Any] | None
    says: str
    share: float = 1.0

    @property
    def is_last(self) -> bool:
        """Whether it feeds back the capacity measured last, and all of it."""
        return self.algorithm == {"kind": "instcap"} and self.share == 1

    @property
    def means(self) -> int:
        """Of how many means it takes the smallest; 1 if of none."""
        return int((self.algorithm or {}).get("n", 1))


@dataclass(frozen=True)
class Path:
    """The path in question.

    Attributes:
        trace: The link's.
        rtt_s: The round trip without queues.
        buffer: What may wait at the link, in packets, bytes or seconds.
        sender: One of `SENDERS`.
        mss_bytes: Payload of a full segment.
        period_s: How long the capacity is measured at a time, and how often it is fed back.
        replicates: How often each scheme is run, each time from another moment during the warm-up
            on.
        seed: Of these moments.
    """

    trace: CapacityTrace
    rtt_s: float
    buffer: Quantity
    sender: str
    mss_bytes: int
    period_s: float
    replicates: int
    seed: int

    @property
    def warmup_s(self) -> float:
        """From when on averages are taken, whole samples."""
        wanted = min(
            max(_WARMUP_S, _WARMUP_ROUND_TRIPS * self.rtt_s), _WARMUP_SHARE * self.trace.length_s
        )
        return ceil(wanted / self.sample_s) * self.sample_s

    @property
    def sample_s(self) -> float:
        """Between two rows of the time series, whole microseconds."""
        wanted = max(self.rtt_s / _SAMPLES_PER_ROUND_TRIP, self.trace.length_s / _MOST_SAMPLES)
        return ceil(wanted * 1e6) / 1e6

    @property
    def samples(self) -> int:
        """How many fit into the trace."""
        return floor(self.trace.length_s / self.sample_s + 1e-9)

    @property
    def measurements(self) -> int:
        """M: as many as a round trip has."""
        return ceil(self.rtt_s / self.period_s - 1e-9)


def schemes(measurements: int, pairs: Sequence[tuple[int, int]] = ()) -> list[Scheme]:
    """Nothing, INSTCAP, some less than it, and EFFCAP with the usual memories or the given M and N."""
    usual = [(measurements, 1), (LONG * measurements, 1)]
    usual += [(measurements, (k - 1) * measurements) for k in ROUND_TRIPS]
    instcap = {"kind": "instcap"}
    less = f"{TARGET * 100:g} % of"
    tried = [
        Scheme("none", None, "nothing"),
        Scheme("INSTCAP", instcap, "the capacity measured last"),
        Scheme(f"{less} INSTCAP", instcap, f"{less} the capacity measured last", TARGET),
    ]
    return tried + [_effcap(m, n) for m, n in dict.fromkeys(pairs or usual) if (m, n) != (1, 1)]


def _effcap(m: int, n: int) -> Scheme:
    of = f"of the last {n} means of {m} measurements" if m > 1 else f"of the last {n} measurements"
    says = f"the mean of the last {m} measurements" if n == 1 else f"the smallest {of}"
    return Scheme(f"EFFCAP({m}, {n})", {"kind": "effcap", "m": m, "n": n}, says)


def run(path: Path, tried: list[Scheme], progress: Callable[[float], None] | None = None) -> Result:
    """Simulates a transfer for each scheme: a point each, in this order."""
    return simulate(scenario(path, tried), progress=progress)


def scenario(path: Path, tried: list[Scheme]) -> Scenario:
    """What is run."""
    transport = SENDERS[path.sender] | {
        "kind": "tcp", "mss": f"{path.mss_bytes} bytes",
        "receive_window": f"{_window_packets(path)} packets",
    }  # fmt: skip
    feedback = {
        "kind": "feedback", "from": "link", "algorithm": {"kind": "instcap"},
        "delay": _time(path.rtt_s), "period": _time(path.period_s),
    }  # fmt: skip
    instant = {"kind": "constant", "rate": "400 Gbit/s"}
    free = {"kind": "droptail", "limit": "unlimited"}
    hops = [
        {"name": "host", "link": feedback, "queue": free},
        {
            "name": "link", "link": path.trace.link,
            "queue": {"kind": "droptail", "limit": _limit(path.buffer)},
        },
        {"name": "return", "link": instant, "queue": free, "delay": _time(path.rtt_s)},
    ]  # fmt: skip
    flow = {"name": "transfer", "route": ["link"], "return": ["return"], "transport": transport}
    methods = [
        [
            one.algorithm or {"kind": "instcap"},
            one.share,
            ["host", "link"] if one.algorithm else ["link"],
        ]
        for one in tried
    ]
    varied = (
        "hops.host.link.algorithm",
        "hops.host.link.target_utilisation",
        "flows.transfer.route",
    )
    tree = {
        "schema": 1, "name": f"{path.trace.path.stem} at {path.rtt_s * 1e3:g} ms",
        "duration": _time(path.samples * path.sample_s), "warmup": _time(path.warmup_s),
        "sample_interval": _time(path.sample_s), "seed": path.seed, "replicates": path.replicates,
        "hops": hops, "flows": [flow | {"start": ["0 s", _time(path.warmup_s / 2)]}],
        "sweep": {",".join(varied): methods},
    }  # fmt: skip
    return Scenario(tree, path.trace.path.parent)


def buffer_packets(path: Path, packet_bytes: float) -> float:
    """What may wait at the link, in packets of the mean rate."""
    amount, base = path.buffer.amount, path.buffer.base
    if base == "packets":
        return amount
    bytes_waiting = amount if base == "bytes" else amount * path.trace.mean_bit_per_s / 8
    return bytes_waiting / packet_bytes


def _window_packets(path: Path) -> int:
    """Enough to keep the link busy whatever its rate in a round trip, and its buffer full."""
    most = float(path.trace.rates(max(path.rtt_s, path.period_s)).max())
    in_flight = most * path.rtt_s / 8 / path.mss_bytes
    return ceil(_AMPLE * (in_flight + buffer_packets(path, path.mss_bytes)) + 1)


def _limit(buffer: Quantity) -> str:
    return f"{buffer.number:.12g} {buffer.unit}"


def _time(seconds: float) -> str:
    return f"{round(seconds * _NANOSECONDS)} ns"
