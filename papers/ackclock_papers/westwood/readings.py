"""The figures under different readings: how much they depend on what the paper leaves open.

Every reading differs in a few respects from one basic reading. For each, all checks are made whose
number it can change. The note `docs/notes/westwood-readings.md` has the results.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval
from ackclock.reproduction import Claim, Experiment, Origin, Outcome, Run, Table
from ackclock.table import written_interval
from ackclock_papers.replicates import curve
from ackclock_papers.scenarios import Tree
from ackclock_papers.westwood.checks import CHECKS, Check
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import SOURCE, basis
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.reading import Reading
from ackclock_papers.westwood.senders import (
    AS_IT_CAME,
    DEFLATING,
    RFC_2582,
    NewReno,
    settings,
)

TYPES: dict[int, Tree] = {
    number: {"low_pass": {"filter": f"ns2_type_{number}"}} for number in (0, 1, 2)
}
ONE_SECOND: Tree = {"low_pass": {"tau": "1 s"}}
LATER_PAPER: Tree = {"compared": "throughput", "edge": "aligned"}
EAGER: Tree = {"theta": 1.0}


def _abse(name: str, *, jitter_s: float | None = JITTER_S, **switches: object) -> Reading:
    return Reading(name, jitter_s=jitter_s, estimators={"CRB": EAGER, "ABSE": dict(switches)})


def _jitter(milliseconds: float | None, abse: Tree, name: str) -> Reading:
    seconds = None if milliseconds is None else milliseconds / 1000
    return Reading(name, jitter_s=seconds, estimators={"CRB": EAGER, "ABSE": abse})


#: The basic reading: that of all figures.
FOUND = Reading("the reading of all figures", estimators={"CRB": EAGER})

#: Letters stand for what the printed equations leave open: A the rate that gives T, B where T
#: begins, C the number of ACKs for the largest U, D the step of the filter, E the round-trip time.
OF_ABSE = (
    _abse("A: T from the throughput, as a later paper has it", compared="throughput"),
    _abse("B: T begins at an ACK", edge="aligned"),
    _abse("A and B", **LATER_PAPER),
    _abse("C: U_max of 100 ACKs", horizon=100),
    _abse("C: U_max of 1000 ACKs", horizon=1000),
    _abse("D: the filter's step is T", step="sampling_interval"),
    _abse("A and D", compared="throughput", step="sampling_interval"),
    _abse("A, B and D", **LATER_PAPER, step="sampling_interval"),
    _abse("E: the last round-trip time", round_trip="latest"),
    _abse("RTTmin in ticks of 10 ms", observation={"tick": "10 ms"}),
    _abse("RTTmin in ticks of 100 ms", observation={"tick": "100 ms"}),
    _abse("at most two segments an ACK", observation={"at_most": 2}),
)
IN_TRAINS = (
    _abse("trains", jitter_s=None),
    _abse("trains; A", jitter_s=None, compared="throughput"),
    _abse("trains; B", jitter_s=None, edge="aligned"),
    _abse("trains; A and B", jitter_s=None, **LATER_PAPER),
    _abse("trains; A, B and C of 1000 ACKs", jitter_s=None, **LATER_PAPER, horizon=1000),
    _abse("trains; D", jitter_s=None, step="sampling_interval"),
    _abse("trains; A and D", jitter_s=None, compared="throughput", step="sampling_interval"),
    _abse("trains; A, B and D", jitter_s=None, **LATER_PAPER, step="sampling_interval"),
    _abse("trains; E", jitter_s=None, round_trip="latest"),
)
OF_OTHERS = (
    *(
        Reading(
            f"BE and RE by filter type {number} of ns-2",
            estimators={"CRB": EAGER, "BE": filtered, "RE": filtered},
        )
        for number, filtered in TYPES.items()
    ),
    Reading(
        "BE and RE with τ = 1 s", estimators={"CRB": EAGER, "BE": ONE_SECOND, "RE": ONE_SECOND}
    ),
    Reading("RE over 70 ms", estimators={"CRB": EAGER, "RE": {"interval": "70 ms"}}),
    Reading("CRB, θ = 1.1", estimators={"CRB": {"theta": 1.1}}),
    Reading("CRB, θ = 1.4", estimators={"CRB": {"theta": 1.4}}),
    Reading("CRB, θ = 2", estimators={"CRB": {"theta": 2.0}}),
    Reading("CRB compares with BE", estimators={"CRB": EAGER | {"compared": "be"}}),
    Reading("CRB: RE after a timeout", estimators={"CRB": EAGER | {"after_timeout": "re"}}),
)


def _newreno(name: str, newreno: NewReno = RFC_2582, **transport: object) -> Reading:
    return Reading(name, newreno, transport=dict(transport), estimators={"CRB": EAGER})


OF_SENDERS = (
    _newreno("NewReno as ns-2 of 2002 came", AS_IT_CAME),
    _newreno("NewReno deflating, slow but steady", DEFLATING),
    _newreno(
        "limited transmit, initial window 2", limited_transmit=True, initial_window="2 packets"
    ),
    _newreno("smallest timeout 0.2 s", rto_minimum="0.2 s"),
    Reading(
        "the packet on the link does not count", counts_in_service=False, estimators={"CRB": EAGER}
    ),
    Reading(
        "delays up to 5 ms longer", jitter_s=None, access_delay_s=0.005, estimators={"CRB": EAGER}
    ),
    Reading(
        "access links of 10 Mbit/s", jitter_s=None, access_mbit_per_s=10, estimators={"CRB": EAGER}
    ),
)

#: Send jitters of the figure, in milliseconds.
JITTERS_MS = (0.5, 1, 2, 3, 5, 7, 10, 20)
BY_JITTER = {
    name: tuple(
        _jitter(jitter_ms, abse, f"{name}, jitter {jitter_ms:g} ms") for jitter_ms in JITTERS_MS
    )
    for name, abse in (("ABSE as printed", {}), ("ABSE, A and B", LATER_PAPER))
}


class Part(NamedTuple):
    """Readings of one table.

    Attributes:
        title: Title of the table.
        readings: Readings, one per column.
        about: Estimators that they change; None if anything may change.
    """

    title: str
    readings: tuple[Reading, ...]
    about: frozenset[str] | None

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks whose number can change."""
        return tuple(check for check in CHECKS if self.about is None or check.about & self.about)


TRAINS = Part("Readings of ABSE, in trains", IN_TRAINS, frozenset({"ABSE"}))
PARTS = (
    Part("Readings of ABSE, trains broken up", (FOUND, *OF_ABSE), frozenset({"ABSE"})),
    TRAINS,
    Part("Readings of BE, RE and CRB", (FOUND, *OF_OTHERS), frozenset({"BE", "RE", "CRB"})),
    Part("Readings of the senders, the buffer and the path", (FOUND, *OF_SENDERS), None),
)
#: Checks of the figure: whether the link is used with a buffer of one pipe, and whether ten share
#: evenly.
_DRAWN = tuple(
    check
    for check in CHECKS
    if check.says in ("goodput of ABSE over NewReno, 400 packets", "Jain's index of ABSE")
)

Values = Mapping[tuple[str, Check], Interval]


def _asked() -> list[tuple[Reading, Check]]:
    """Returns the pairs of a reading and a check to evaluate."""
    of_parts = [
        (reading, check) for part in PARTS for reading in part.readings for check in part.checks
    ]
    of_figure = [
        (reading, check)
        for readings in BY_JITTER.values()
        for reading in readings
        for check in _DRAWN
    ]
    return of_parts + of_figure


def runs() -> Mapping[str, Run]:
    """Returns each distinct scenario once, by its text."""
    scenarios = {
        scenario.to_json(): scenario
        for reading, check in _asked()
        for scenario in (sent.scenario(reading) for sent in check.sent)
    }
    return {text: Run(scenario) for text, scenario in scenarios.items()}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the readings, check by check."""
    values = {
        (reading.name, check): check.value(
            [results[sent.scenario(reading).to_json()] for sent in check.sent]
        )
        for reading, check in _asked()
    }
    went_in = (
        setting
        for setting in settings(one_bottleneck(45), results, jitter=JITTER)
        if setting.name != "links"
    )
    tables = tuple(_table(part, values) for part in PARTS)
    return Outcome(basis(), (), partial(_draw, values), _claims(values), tuple(went_in), tables)


def _missed(reading: Reading, checks: tuple[Check, ...], values: Values) -> int:
    return sum(not check.holds(values[reading.name, check].mean) for check in checks)


def _claims(values: Values) -> tuple[Claim, ...]:
    in_trains = {
        reading.name: _missed(reading, TRAINS.checks, values) for reading in TRAINS.readings
    }
    fewest = min(in_trains, key=lambda name: in_trains[name])
    return (
        *(
            Claim.of(
                f"{check.figure}: {check.says}",
                values[FOUND.name, check],
                check.accepted,
                documented=True,
            )
            for check in CHECKS
            if check.accepted is not None
        ),
        Claim(
            "In trains no reading of ABSE meets all that is said of it",
            f"“{fewest}” misses fewest, {in_trains[fewest]} of "
            f"{sum(bool(check.accepted) for check in TRAINS.checks)}",
            in_trains[fewest] > 0,
            origin=Origin.INFERRED,
        ),
    )


def _table(part: Part, values: Values) -> Table:
    """Returns a table with a row per check and a column per reading."""
    head = ("figure", "check", "accepted", *(reading.name for reading in part.readings))
    rows = [
        (
            check.figure,
            check.says,
            str(check.accepted or "–"),
            *(_cell(values[reading.name, check], check) for reading in part.readings),
        )
        for check in part.checks
    ]
    missed = [str(_missed(reading, part.checks, values)) for reading in part.readings]
    return Table(f"{part.title}; a star is a miss", head, (*rows, ("", "missed", "", *missed)))


def _cell(value: Interval, check: Check) -> str:
    return f"{written_interval(value)}{'' if check.holds(value.mean) else ' *'}"


def _draw(values: Values) -> Figure:
    curves = [
        curve(
            f"{check.says.partition(' of')[0]}, {name}",
            JITTERS_MS,
            [values[reading.name, check] for reading in readings],
        )
        for check in _DRAWN
        for name, readings in BY_JITTER.items()
    ]
    curves = [
        plot.Curve(
            "all shared, or as NewReno", [JITTERS_MS[0], JITTERS_MS[-1]], [1, 1], "reference"
        ),
        *curves,
    ]
    title = "Ten ABSE senders: trains break up as send times vary"
    return plot.curves(
        curves,
        "send times vary by up to (ms)",
        "ten senders (share of the best)",
        title,
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="westwood-readings",
    group="westwood",
    source=SOURCE,
    shows="Figures 2 to 21, by reading",
    question="How much do the figures depend on settings that the paper does not state?",
    says="Results of the figures for every reading of what the paper leaves open.",
    cost_s=170.0,
    conclude=conclude,
    runs=runs,
)
