"""The kernel's Reno and CUBIC beside the engine's on 24 paths."""

import math
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Basis, Claim, Experiment, Origin, Outcome, Run, Setting
from ackclock.scenario import Scenario
from ackclock_papers.emulated import ENGINE, LINUX, kernel, trust
from ackclock_papers.replicates import Rows, measured, of_replicates

SOURCE = "ackclock, guide “How faithful is an emulation?”, 2026"
FLOW = "main"
CONTROLS = ("reno", "cubic")

DURATION_S, WARMUP_S, REPLICATES = 12.0, 2.0, 10

#: Share by which means may differ although each is outside the other's interval, and the number of
#: paths that must agree: both from the request for this comparison.
TOLERANCE, MOST_PATHS = 0.05, 22

#: Runs at once on slow paths, where a host has little to do, and runs that may be unreliable.
SIDE_BY_SIDE, SLOW_MBIT_PER_S, SPARE = 5, 20, 4

PACKET_BITS = 12_000
WHOLE = 1.0


class Path(NamedTuple):
    """A path with one bottleneck.

    Attributes:
        label: Name in the table.
        mbit_per_s: Rate of the link.
        round_trip_s: Propagation delay there and back.
        packets: Limit of the queue.
        there: Impairments of the data.
        back: Impairments of the ACKs.
        stalls: True if the link stands still for 400 ms, once.
    """

    label: str
    mbit_per_s: float
    round_trip_s: float
    packets: int
    there: tuple[dict[str, object], ...] = ()
    back: tuple[dict[str, object], ...] = ()
    stalls: bool = False


def _sized(mbit_per_s: float, round_trip_s: float, products: float | None) -> Path:
    """Returns a path with a queue of so many bandwidth-delay products, or of ten packets."""
    label = f"{mbit_per_s:g} Mbit/s, {1000 * round_trip_s:g} ms, "
    if products is None:
        return Path(f"{label}10 packets", mbit_per_s, round_trip_s, 10)
    packets = math.ceil(products * mbit_per_s * 1e6 * round_trip_s / PACKET_BITS)
    return Path(f"{label}{products:g} BDP", mbit_per_s, round_trip_s, packets)


def _loss(share: str) -> dict[str, object]:
    return {"kind": "iid_loss", "probability": share}


_REORDERING: dict[str, object] = {
    "kind": "jitter",
    "reordering": "allowed",
    "distribution": {"kind": "exponential", "mean": "1 ms"},
}

#: Bandwidth-delay products of the queue, None for ten packets, by rate and round trip. What would
#: be fewer than four packets is left out.
_QUEUES: dict[tuple[float, float], tuple[float | None, ...]] = {
    (2, 0.01): (None,),
    (2, 0.04): (None,),
    (2, 0.2): (None, WHOLE),
    (20, 0.01): (None, WHOLE),
    (20, 0.04): (None, 0.25, WHOLE),
    (20, 0.2): (None, 0.25, WHOLE),
    (200, 0.01): (0.25, WHOLE),
    (200, 0.04): (0.25, WHOLE),
    (200, 0.2): (0.25, WHOLE),
}

#: Time that the hosts of an emulation take, which those of a simulation do not: an ACK's segments
#: leave 26 to 80 µs after it, with a standard deviation of 25 to 38 µs (captures of four of the
#: paths). Without it all replicates of a path without losses are alike, down to whether a packet
#: arrives just before or just after another has left the queue.
_HOSTS: dict[str, object] = {
    "kind": "jitter",
    "applies": "acks",
    "distribution": {"kind": "exponential", "mean": "25 us"},
}

#: Time that they take to wake up: after a pause of more than 30 ms both together answer 63 to
#: 116 µs later than between packets a few milliseconds apart (captures of 20 Mbit/s, 200 ms). After
#: one of less than 15 ms it is at most 15 µs (captures of 2 Mbit/s, 200 ms).
_WAKING: dict[str, object] = {
    "kind": "jitter",
    "applies": "acks",
    "after_gap": "30 ms",
    "distribution": {"kind": "uniform", "maximum": "160 us"},
}

_USUAL = _sized(20, 0.04, WHOLE)

PATHS: tuple[Path, ...] = (
    *(
        _sized(rate, round_trip, products)
        for (rate, round_trip), queues in _QUEUES.items()
        for products in queues
    ),
    *(
        _USUAL._replace(label=f"{share} loss", there=(_loss(share),))
        for share in ("0.1 %", "1 %", "3 %")
    ),
    _USUAL._replace(label="reordering by 1 ms", there=(_REORDERING,)),
    _USUAL._replace(label="5 % of ACKs lost", back=(_loss("5 %"),)),
    _USUAL._replace(label="link stands still for 400 ms", stalls=True),
)


def scenario(path: Path, control: str) -> Scenario:
    """Returns one bulk flow on a path."""
    delay = f"{500 * path.round_trip_s:g} ms"
    rate = f"{path.mbit_per_s:g} Mbit/s"
    link: dict[str, object] = {"kind": "constant", "rate": rate}
    if path.stalls:
        steps = [("0 s", rate), ("6 s", "10 kbit/s"), ("6400 ms", rate)]
        link = {
            "kind": "scheduled",
            "steps": [{"from": start, "rate": step_rate} for start, step_rate in steps],
        }
    return Scenario(
        {
            "schema": 1,
            "name": f"{control}, {path.label}",
            "duration": f"{DURATION_S:g} s",
            "warmup": f"{WARMUP_S:g} s",
            "replicates": REPLICATES,
            "hops": [
                {
                    "name": "there",
                    "link": link,
                    "queue": {"kind": "droptail", "limit": f"{path.packets} packets"},
                    "delay": delay,
                    "impairments": list(path.there),
                },
                {
                    "name": "back",
                    "link": {"kind": "constant", "rate": "1 Gbit/s"},
                    "queue": {"kind": "droptail", "limit": "10000 packets"},
                    "delay": delay,
                    "impairments": list(path.back),
                },
            ],
            "flows": [
                {
                    "name": FLOW,
                    "route": ["there"],
                    "return": ["back"],
                    "transport": {"kind": "tcp", "preset": "linux", "control": {"kind": control}},
                }
            ],
        }
    )


def _name(method: str, control: str, path: Path) -> str:
    return f"{method}, {control}, {path.label}"


def runs() -> Mapping[str, Run]:
    """Returns a simulated and an emulated run of each control on each path."""
    by_name = {}
    for path in PATHS:
        for control in CONTROLS:
            asked = scenario(path, control)
            simulated = scenario(path._replace(back=(*path.back, _HOSTS, _WAKING)), control)
            by_name[_name(ENGINE, control, path)] = Run(simulated, "simulate")
            at_once = SIDE_BY_SIDE if path.mbit_per_s <= SLOW_MBIT_PER_S else 1
            by_name[_name(LINUX, control, path)] = Run(
                asked, "emulate", side_by_side=at_once, spare=SPARE
            )
    return by_name


def values(result: Result) -> dict[str, list[float]]:
    """Returns goodput, retransmitted share and timeouts per megabyte of each replicate."""
    goodput = of_replicates(result, "goodput", FLOW)
    timeouts = of_replicates(result, "timeouts", FLOW)
    megabytes = [rate * (DURATION_S - WARMUP_S) / 8 for rate in goodput]
    return {
        "goodput, Mbit/s": goodput,
        "retransmitted, %": of_replicates(result, "retransmissions", FLOW),
        "timeouts per MB": [
            count / sent if sent else math.nan
            for count, sent in zip(timeouts, megabytes, strict=True)
        ],
    }


def agree(ours: Interval, theirs: Interval) -> bool:
    """True if a mean is in the other's interval, or the means differ by at most the tolerance."""
    near = abs(ours.mean - theirs.mean) <= TOLERANCE * abs(theirs.mean)
    return near or theirs.low <= ours.mean <= theirs.high or ours.low <= theirs.mean <= ours.high


_WHY = (
    "at 200 Mbit/s a host that is emulated handles several ACKs at once, so that its bursts are "
    "larger than those of a simulated one"
)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Counts the paths on which both controls agree with the kernel's in all three numbers."""
    rows: Rows = {}
    apart: dict[str, list[str]] = {}
    ratios: dict[str, list[float]] = {control: [] for control in CONTROLS}
    for path in PATHS:
        for control in CONTROLS:
            both = {
                method: {
                    name: interval(ones)
                    for name, ones in values(results[_name(method, control, path)]).items()
                }
                for method in (LINUX, ENGINE)
            }
            for method, numbers in both.items():
                rows[path.label, control, method] = numbers
            for name, ours in both[ENGINE].items():
                if not agree(ours, both[LINUX][name]):
                    apart.setdefault(path.label, []).append(f"{control}: {name.split(',')[0]}")
            goodput = [both[method]["goodput, Mbit/s"].mean for method in (ENGINE, LINUX)]
            ratios[control].append(goodput[0] / goodput[1])
    equal = len(PATHS) - len(apart)
    listed = "; ".join(f"{path} ({', '.join(names)})" for path, names in apart.items())
    claim = Claim(
        f"On {MOST_PATHS} of {len(PATHS)} paths goodput, retransmitted share and timeouts per "
        "megabyte of Reno and CUBIC agree",
        f"on {equal}" + (f"; not on: {listed}" if listed else ""),
        equal >= MOST_PATHS,
        documented=None,
        origin=Origin.STATED,
        accepted=f"within each other's 95 % interval, or {TOLERANCE:.0%}",
    )
    emulated = {
        name: result for name, result in results.items() if result.run["method"] == "emulate"
    }
    tables = (
        measured("Linux and the engine", ("path", "control", "sender"), rows),
        trust(emulated),
    )
    first = next(iter(emulated.values()), next(iter(results.values())))
    settings = (
        Setting("sender and receiver", f"preset linux; {kernel(first)}", Origin.CHOSEN),
        Setting(
            "runs",
            f"{DURATION_S:g} s, measured from {WARMUP_S:g} s on; {first.run['replicates']} "
            "replicates with the same losses in both",
            Origin.CHOSEN,
        ),
        Setting(
            "time of the simulated hosts",
            "each ACK later by an exponential time of mean 25 µs, and after a pause of 30 ms by up "
            "to 160 µs more, as captured",
            Origin.CHOSEN,
        ),
    )
    return Outcome(Basis(why=_WHY), (), partial(_draw, ratios), (claim,), settings, tables)


def _draw(ratios: Mapping[str, list[float]]) -> Figure:
    places = list(range(len(PATHS)))
    names = {"reno": "Reno", "cubic": "CUBIC"}
    curves = [plot.Curve("equal", [places[0], places[-1]], [1.0, 1.0], "reference")]
    curves += [
        plot.Curve(names[control], places, by_path, "points") for control, by_path in ratios.items()
    ]
    return plot.curves(
        curves, "path, in the order of the table", "goodput, engine over Linux",
        "The engine beside Linux on 24 paths",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "linux-against-engine",
    "linux",
    SOURCE,
    "Linux and the engine on 24 paths",
    "Does the simulated Linux do what Linux does?",
    "Goodput, retransmissions and timeouts of Reno and CUBIC agree on nearly all paths.",
    len(CONTROLS)
    * (DURATION_S + 1.5)
    * sum(
        REPLICATES / (SIDE_BY_SIDE if path.mbit_per_s <= SLOW_MBIT_PER_S else 1) for path in PATHS
    ),
    conclude,
    runs,
)
