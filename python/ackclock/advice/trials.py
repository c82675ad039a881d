"""Simulates a transfer over a traced link, with and without feedback.

    `sender -> host -> the traced link -> propagation -> receiver`

The host follows the feedback, and is absent without it. All of the round-trip delay lies behind the
link, and feedback takes a full round trip: a rate change here has no earlier effect there. Every
scheme meets the same link at the same times and starts at the same times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from ackclock.advice.traces import CapacityTrace
from ackclock.result.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario
from ackclock.units import Quantity

#: Senders: transports without their MSS.
SENDERS: dict[str, dict[str, Any]] = {
    "cubic": {"control": {"kind": "cubic"}, "preset": "linux"},
    "reno": {"control": {"kind": "reno"}, "preset": "linux"},
    "jacobson1988": {"control": {"kind": "reno"}, "preset": "jacobson1988"},
}

#: Measurements per round trip: as in the publication, 200 ms by 30 ms.
MEASUREMENTS_PER_ROUND_TRIP = 7

#: Numbers of round trips k that EFFCAP remembers: the smallest of N = (k - 1) M means of M. Two
#: plain means are tried too: that of the last round trip, and that of the last `LONG`, which
#: smooths out faster noise.
ROUND_TRIPS = (2, 4, 8, 12)
LONG = 4

#: INSTCAP is also tried with this share of the rate. A source that uses the whole rate never drains
#: a queue that a fall of the rate has left. Chosen here; ABC (NSDI 2020) takes a little more.
TARGET = 0.95

# The 65 packets of the publication over the 40 + 10 of its loop. The host's queue has no limit:
# without a window it would take everything that the sender may have in flight.
_AMPLE = 1.3

# Warm-up, after which slow start and the first losses are over. At most a tenth of the trace.
# Chosen here.
_WARMUP_S, _WARMUP_ROUND_TRIPS, _WARMUP_SHARE = 5.0, 50, 0.1

# Sampling of the time series: short enough to show the queue within a round trip, but limited in
# number to save memory. Chosen here.
_SAMPLES_PER_ROUND_TRIP, _MOST_SAMPLES = 8, 20_000

_NANOSECONDS = 1e9


@dataclass(frozen=True)
class Scheme:
    """A scheme of feedback.

    Attributes:
        label: Label in tables.
        algorithm: Tree of a feedback algorithm; None for no feedback.
        says: Description that follows "feed back" in a sentence.
        share: Share of the algorithm's rate that is fed back.
    """

    label: str
    algorithm: dict[str, Any] | None
    says: str
    share: float = 1.0

    @property
    def is_last(self) -> bool:
        """True if it feeds back the whole capacity measured last."""
        return self.algorithm == {"kind": "instcap"} and self.share == 1

    @property
    def means(self) -> int:
        """Number of means of which it takes the smallest; 1 if it takes no minimum."""
        return int((self.algorithm or {}).get("n", 1))


@dataclass(frozen=True)
class Path:
    """The path asked about.

    Attributes:
        trace: Capacity trace of the link.
        rtt_s: Round-trip time without queues.
        buffer: Buffer at the link, in packets, bytes or seconds.
        sender: One of `SENDERS`.
        mss_bytes: Payload of a full segment.
        period_s: Measuring period of the capacity, and the period of feedback.
        replicates: Number of runs of each scheme; each starts at another time within the warm-up.
        seed: Seed of these times.
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
        """Start of averages, in whole samples."""
        wanted = min(
            max(_WARMUP_S, _WARMUP_ROUND_TRIPS * self.rtt_s), _WARMUP_SHARE * self.trace.length_s
        )
        return ceil(wanted / self.sample_s) * self.sample_s

    @property
    def sample_s(self) -> float:
        """Time between two rows of the time series, in whole microseconds."""
        wanted = max(self.rtt_s / _SAMPLES_PER_ROUND_TRIP, self.trace.length_s / _MOST_SAMPLES)
        return ceil(wanted * 1e6) / 1e6

    @property
    def samples(self) -> int:
        """Number of samples that fit into the trace."""
        return floor(self.trace.length_s / self.sample_s + 1e-9)

    @property
    def measurements(self) -> int:
        """M: measurements per round trip."""
        return ceil(self.rtt_s / self.period_s - 1e-9)


def schemes(measurements: int, pairs: Sequence[tuple[int, int]] = ()) -> list[Scheme]:
    """Returns the schemes to try.

    They are none, INSTCAP, a share of INSTCAP, and EFFCAP with the usual memories or the given
    pairs of M and N.
    """
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
    measured = (
        f"of the last {n} means of {m} measurements" if m > 1 else f"of the last {n} measurements"
    )
    says = f"the mean of the last {m} measurements" if n == 1 else f"the smallest {measured}"
    return Scheme(f"EFFCAP({m}, {n})", {"kind": "effcap", "m": m, "n": n}, says)


def run(path: Path, tried: list[Scheme], progress: Callable[[float], None] | None = None) -> Result:
    """Simulates a transfer for each scheme, one point each in this order."""
    return simulate(scenario(path, tried), progress=progress)


def scenario(path: Path, tried: list[Scheme]) -> Scenario:
    """Returns the scenario with all schemes."""
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
            scheme.algorithm or {"kind": "instcap"},
            scheme.share,
            ["host", "link"] if scheme.algorithm else ["link"],
        ]
        for scheme in tried
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
    """Returns the buffer at the link, in packets at the mean rate."""
    amount, base = path.buffer.amount, path.buffer.base
    if base == "packets":
        return amount
    bytes_waiting = amount if base == "bytes" else amount * path.trace.mean_bit_per_s / 8
    return bytes_waiting / packet_bytes


def _window_packets(path: Path) -> int:
    """Returns a window that keeps the link busy at its highest rate and its buffer full."""
    most = float(path.trace.rates(max(path.rtt_s, path.period_s)).max())
    in_flight = most * path.rtt_s / 8 / path.mss_bytes
    return ceil(_AMPLE * (in_flight + buffer_packets(path, path.mss_bytes)) + 1)


def _limit(buffer: Quantity) -> str:
    return f"{buffer.number:.12g} {buffer.unit}"


def _time(seconds: float) -> str:
    return f"{round(seconds * _NANOSECONDS)} ns"
