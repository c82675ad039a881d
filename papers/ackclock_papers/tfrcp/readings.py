"""Figures 2a and 2b under different readings of what the paper leaves open.

The readings change one thing at a time, and span a grid. In Figure 2b F grows with the number of
senders; the curves are lost, but the axis goes to 7. In 2a F stays close to 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import NamedTuple

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Experiment, Origin, Outcome, Run, Table
from ackclock.table import written_interval
from ackclock_papers.replicates import curve, quotient
from ackclock_papers.scenarios import Tree
from ackclock_papers.tfrcp.friendliness import FRIENDLINESS, ByLoad, by_load
from ackclock_papers.tfrcp.paper import CLOSE, GROUP, SOURCE, basis
from ackclock_papers.tfrcp.path import CENTRAL, Path
from ackclock_papers.tfrcp.senders import (
    DURATION_S,
    OTHER,
    RENO,
    REPLICATES,
    STAGGERED,
    TOGETHER,
    Mix,
    Sender,
    Starts,
    always,
    one_path,
    s1,
    s2,
    settings,
)

LOADS = (10, 50)
#: Replicates in the grid, which is to show a direction and not a number.
FEW_REPLICATES = 3
SHORTEST_M_S, SMALLEST_K, LARGEST_K = 2, 10, 60
#: An F large enough for an axis that goes to 7.
AGGRESSIVE = 3.0


@dataclass(frozen=True)
class Reading:
    """Differences from the figures.

    Attributes:
        name: Name in tables.
        path: Path.
        tfrcp: Parameters of TFRCP's control.
        reno: Parameters of TCP's transport.
        duration_s: Duration of a run, in seconds.
        replicates: Number of replicates.
        starts: Start times of the senders.
    """

    name: str
    path: Path = CENTRAL
    tfrcp: Tree = field(default_factory=dict)
    reno: Tree = field(default_factory=dict)
    duration_s: float = DURATION_S
    replicates: int = REPLICATES
    starts: Starts = STAGGERED

    @property
    def senders(self) -> dict[str, Sender]:
        """The senders that represent Figures 2a and 2b, by their letter."""
        return {
            f"M = {SHORTEST_M_S} s": s1(SHORTEST_M_S, **self.tfrcp),
            f"K = {SMALLEST_K}": s2(SMALLEST_K, **self.tfrcp),
            f"K = {LARGEST_K}": s2(LARGEST_K, **self.tfrcp),
        }

    def mix(self, sender: Sender) -> Mix:
        """Returns a sender beside TCP."""
        reno = Sender(RENO.label, RENO.transport | self.reno)
        return Mix(
            sender, always(self.path), LOADS, self.starts, reno, self.duration_s, self.replicates
        )  # fmt: skip


FOUND = Reading("as in the figures")
R0 = (1, 400)
ALONE = (
    FOUND,
    Reading("b = 2, ACKs per packet", tfrcp={"packets_per_ack": 2}),
    Reading("b = 1, ACKs delayed", reno={"delayed_ack": {"every": "2 packets"}}),
    Reading(
        "b = 2, ACKs delayed",
        tfrcp={"packets_per_ack": 2},
        reno={"delayed_ack": {"every": "2 packets"}},
    ),
    Reading("TCP NewReno", reno={"recovery": "newreno"}),
    Reading("TCP with SACK", reno={"recovery": "sack"}),
    Reading("TCP Tahoe", reno={"recovery": "tahoe"}),
    Reading("TCP's window 20 packets", reno={"receive_window": "20 packets"}),
    Reading("TCP's clock 500 ms", reno={"clock_granularity": "500 ms"}),
    Reading("timeouts of 0.2 s at least, TFRCP", tfrcp={"rto_minimum": "200 ms"}),
    Reading("the same, both", tfrcp={"rto_minimum": "200 ms"}, reno={"rto_minimum": "200 ms"}),
    Reading("one RTT sample in a round trip", tfrcp={"rtt_samples": "once_per_rtt"}),
    Reading("doubling without bound", tfrcp={"growth_limit": "none"}),
    *(Reading(f"r0 = {r0} packets/s", tfrcp={"initial_rate": f"{r0} packets/s"}) for r0 in R0),
    Reading("runs of 200 s", duration_s=200.0),
    Reading("runs of 5000 s", duration_s=5000.0),
    # Rounds of constant length stay synchronised to the degree that senders start together.
    Reading("all start at once", starts=TOGETHER),
    Reading("starts within 6 s", starts=("0 s", "6 s")),
    Reading("packets of 250 B", replace(CENTRAL, packet_bytes=250), replicates=FEW_REPLICATES),
)

#: The grid: one-way delays, buffers in bandwidth-delay products, and b.
DELAYS_S, PIPES, BS = (0.005, 0.02, 0.05, 0.1, 0.2), (1.0, 4.0, 16.0), (1, 2)
GRID = {
    (b, delay, pipes): Reading(
        f"b = {b}, {delay * 1000:g} ms, {pipes:g} × BDP",
        replace(CENTRAL, delay_s=delay, pipes=pipes),
        {"packets_per_ack": b}, replicates=FEW_REPLICATES,
    )
    for b, delay, pipes in product(BS, DELAYS_S, PIPES)
}  # fmt: skip

#: F of a reading, by letter of the sender.
BySender = Mapping[str, ByLoad]


def runs() -> Mapping[str, Run]:
    """Returns each distinct scenario once, by its text."""
    mixes = [
        reading.mix(sender)
        for reading in (*ALONE, *GRID.values())
        for sender in reading.senders.values()
    ]
    scenarios = {scenario.to_json(): scenario for scenario in (mix.scenario for mix in mixes)}
    return {text: Run(scenario) for text, scenario in scenarios.items()}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the readings."""
    alone = {reading.name: _friendliness(reading, results) for reading in ALONE}
    grid = {key: _friendliness(reading, results) for key, reading in GRID.items()}
    named = {GRID[key].name: by_sender for key, by_sender in grid.items()}
    claims = (*_of_r0(alone), *_of_2b(alone | named))
    tables = (_table("One thing at a time", alone), _table("Delay, buffer and b", named))
    went_in = settings(results, *one_path())
    rests = basis(
        why=(
            f"it is a study of ours: of {len(ALONE) + len(GRID)} readings F grows with load and K "
            "only at 5 ms, or at 20 ms with a buffer of one bandwidth-delay product, where it is "
            "as large with M = 2 s: what makes it large is a buffer of a few packets, and with K = "
            "10 it is less, rounds being shorter than a timeout"
        )
    )
    return Outcome(rests, (), partial(_draw, grid), claims, went_in, tables)


def _friendliness(reading: Reading, results: Mapping[str, Result]) -> BySender:
    return {
        name: by_load(results[reading.mix(sender).scenario.to_json()], FRIENDLINESS, LOADS, OTHER)
        for name, sender in reading.senders.items()
    }


def _of_r0(alone: Mapping[str, BySender]) -> tuple[Claim, ...]:
    m = f"M = {SHORTEST_M_S} s"
    return tuple(
        Claim.of(
            f"r0 has little impact on long flows: F with r0 = {r0} over that with 40, {m}, N = "
            f"{load}",
            quotient(alone[f"r0 = {r0} packets/s"][m][load], alone[FOUND.name][m][load]),
            Band(0.9, 1.1),
        )
        for r0 in R0
        for load in LOADS
    )  # fmt: skip


class Agreement(NamedTuple):
    """Statements of Figures 2a and 2b, each true if a reading agrees with it.

    Attributes:
        close: In 2a F is close to 1 with rounds of constant length.
        above: In 2b it is above 1 with most senders, with the largest K.
        by_load: In 2b it grows with the number of senders, with the largest K.
        by_k: In 2b it grows with K, with most senders.
        far: In 2b it grows to several times 1.
    """

    close: bool
    above: bool
    by_load: bool
    by_k: bool
    far: bool

    @classmethod
    def of(cls, by_sender: BySender) -> "Agreement":
        """Evaluates a reading."""
        few, many = LOADS
        constant, smallest, largest = (
            {load: interval(values).mean for load, values in replicates.items()}
            for replicates in by_sender.values()
        )
        return cls(
            CLOSE.holds((constant[few] + constant[many]) / 2),
            largest[many] > 1,
            largest[many] > largest[few],
            largest[many] > smallest[many],
            largest[many] >= AGGRESSIVE,
        )


def _of_2b(by_reading: Mapping[str, BySender]) -> tuple[Claim, ...]:
    held = {name: Agreement.of(by_sender) for name, by_sender in by_reading.items()}
    both = [name for name, holds in held.items() if holds.by_load and holds.by_k]
    worded = [name for name, holds in held.items() if holds.close and holds.above and holds.by_load]
    whole = [name for name, holds in held.items() if all(holds)]
    growing = [name for name in both if held[name].close]
    most = max(by_reading, key=lambda name: interval(_largest(by_reading[name])).mean)
    return (
        Claim(
            "One reading gives both figures as the text has them: F is close to 1 with rounds of "
            "constant length; with round trips it is above 1 and grows with the number of senders",
            f"{len(worded)} of {len(held)}: {_listed(worded)}", bool(worded),
        ),
        Claim(
            "One reading gives them as drawn, with an axis for 2b that goes to 7: F grows with K, "
            f"too, and reaches {AGGRESSIVE:g}",
            f"{len(whole)} of {len(held)}: {_listed(whole)}", bool(whole), documented=False,
        ),
        Claim(
            "There is one in which it at least grows so, and is close to 1 with rounds of constant "
            "length",
            f"{len(growing)} of {len(held)}: {_listed(growing)}", bool(growing),
            origin=Origin.INFERRED,
        ),
        Claim(
            "There is one in which it grows so, whatever it is with rounds of constant length",
            f"{len(both)} of {len(held)}: {_listed(both)}; F is largest in “{most}”, "
            f"{written_interval(interval(_largest(by_reading[most])))}",
            bool(both), origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _largest(by_sender: BySender) -> list[float]:
    *_, largest = by_sender.values()
    return largest[LOADS[-1]]


def _listed(names: list[str]) -> str:
    return "; ".join(names) or "none"


def _table(title: str, by_reading: Mapping[str, BySender]) -> Table:
    """Returns a table with a row per reading: F by sender and load, and which statements hold."""
    heads = [f"{name}, N = {load}" for name in FOUND.senders for load in LOADS]
    rows = []
    for name, by_sender in by_reading.items():
        values = [
            written_interval(interval(replicates[load]))
            for replicates in by_sender.values()
            for load in LOADS
        ]
        rows.append(
            (name, *values, *("yes" if holds else "no" for holds in Agreement.of(by_sender)))
        )
    statements = (
        "2a close to 1", "2b above 1", "2b grows with N", "2b grows with K", "2b to 3",
    )  # fmt: skip
    head = ("reading", *heads, *statements)
    return Table(f"F, means of replicates ± 95 % confidence: {title.lower()}", head, tuple(rows))


def _draw(grid: Mapping[tuple[int, float, float], BySender]) -> Figure:
    milliseconds = [1000 * delay_s for delay_s in DELAYS_S]
    many = LOADS[-1]
    curves = [
        plot.Curve("1: as much as TCP", [milliseconds[0], milliseconds[-1]], [1, 1], "reference")
    ]
    constant, smallest, largest = FOUND.senders
    # Points come last: the first styles go to lines, and no two of them are alike.
    for name, drawn, buffers in (
        (constant, "line", PIPES),
        (largest, "line", PIPES),
        (smallest, "points", PIPES[:2]),
    ):
        for pipes in buffers:
            values: list[Interval] = [
                interval(grid[1, delay, pipes][name][many]) for delay in DELAYS_S
            ]
            curves.append(curve(f"{name}, {pipes:g} × BDP", milliseconds, values, drawn))
    title = f"N = {many}, b = 1: where does F grow with K?"
    return plot.curves(
        curves,
        "delay of the bottleneck, one way (ms)",
        "F: mean goodput over TCP's (ratio)",
        title,
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="tfrcp-readings",
    group=GROUP,
    source=SOURCE,
    shows="Figures 2a and 2b, by reading",
    question=("Under which reading of the paper is TFRCP as aggressive as in Figure 2b?"),
    says=(
        "F in rounds of constant length and in rounds of several round-trip times, for each "
        "reading of what the paper leaves open."
    ),
    cost_s=80.0,
    conclude=conclude,
    runs=runs,
)
