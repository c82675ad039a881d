"""Tables 7.1 and 8.1 to 8.8 measured again through our emulator, with real Linux or the engine.

The captures at the senders are measured, the models are evaluated as in the paper, and the
published rows stand beside ours. Connections do not pair up, so sets are compared by means.

The claims follow from the tables. That they hold for the published rows is our reading of them;
whether they hold today depends on the stack. An emulation is not repeatable, so its claims have no
expected verdict; those of the simulation do.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Literal

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.reproduction import (
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    measured,
)
from ackclock.table import capital
from ackclock_papers.markov import emulator, estimators, validation
from ackclock_papers.markov.causes import causes
from ackclock_papers.markov.emulator import Reading
from ackclock_papers.markov.paper import SOURCE
from ackclock_papers.markov.set_rows import (
    ET,
    ET_AT_LEAST,
    ET_EMULATED_L,
    NEAR,
    PRINTED,
    PUBLISHED,
    SAID,
    SELF_FILLED,
    WINDOW_LAW,
    Rows,
    findings,
    mean,
    ours,
    published,
)

RUN = "validation"

ByName = Mapping[str, Sequence[Rows]]
Columns = Mapping[str, Callable[[Rows], str]]


def conclude(
    readings: Sequence[Reading],
    expected: Mapping[str, frozenset[str]] | None,
    results: Mapping[str, Result],
) -> Outcome:
    """Compares the published tables with ours.

    Args:
        readings: Readings of the scenario that was run; the last one fits the published rows best.
        expected: Keys of `SAID` that hold, by name of reading; None if that depends on the machine.
        results: Results of `RUN` and of its measurement.
    """
    connections = estimators.connections(results[RUN], results[measured(RUN)])
    sets = [
        [published(data_set), *(ours(data_set, reading, connections) for reading in readings)]
        for data_set in validation.SETS
    ]
    every = [rows for groups in sets for rows in groups]
    names = [PUBLISHED, *(reading.name for reading in readings)]
    by_name = {name: [rows for rows in every if rows.whose == name] for name in names}
    claims = tuple(
        Claim(
            f"{name}: {SAID[key]}", evidence, holds,
            documented=True if name == PUBLISHED else None
            if expected is None else key in expected[name],
            origin=Origin.PRINTED if name == names[-1] and key in PRINTED else Origin.INFERRED,
        )
        for name, rows in by_name.items()
        for key, (evidence, holds) in findings(rows).items()
    )  # fmt: skip
    return Outcome(
        _basis(by_name, names[-1], stack(results[RUN])),
        (),
        partial(_draw, by_name, stack(results[RUN])),
        claims,
        _settings(readings, results[RUN]),
        _tables(every, by_name, names[-1]),
    )


def stack(run: Result) -> str:
    """Returns the name of the TCP stack."""
    if run.run["method"] == "emulate":
        return f"the Reno of {run.run['machine']['kernel']}"
    return "the engine's Reno (preset linux-2012)"


def _basis(by_name: ByName, fitting: str, sender: str) -> Basis:
    """Returns the reading that fits the published rows, and why claims fail under it."""
    by_claim = findings(by_name[fitting])
    failed = [key for key, (_, holds) in by_claim.items() if not holds]
    reading = (
        f"{sender}, a guessed buffer of {emulator.ENOUGH} packets behind the input queue and half "
        "the printed rate in sets 5 to 9"
    )
    present = causes(by_name, fitting)
    reasons = []
    for key in failed:
        observations = [cause.observation for cause in present if key in cause.explains] or [
            "no cause that is known here shows"
        ]
        reasons.append(f"“{SAID[key]}”: {', '.join(observations)}")
    return Basis(reading, "; ".join(reasons))


def _settings(readings: Sequence[Reading], run: Result) -> tuple[Setting, ...]:
    slow, fast = validation.SETS[0], validation.SETS[-1]
    errors = ", ".join(f"{100 * data_set.worked:g}" for data_set in validation.SETS)
    listed = [
        ("sender and receiver", stack(run), Origin.GUESSED),
        (
            "links",
            f"{slow.link_rate} in sets 1 to 4, {fast.link_rate} in sets 5 to 9, each way",
            Origin.PRINTED,
        ),
        ("packets", f"{slow.mtu_bytes} and {fast.mtu_bytes} bytes", Origin.PRINTED),
        ("delay", f"{emulator.DELAY_S * 1000:g} ms each way", Origin.PRINTED),
        ("errors", f"{errors} % of packets in sets 1 to 9", Origin.INFERRED),
        ("errors on", "both ways", Origin.GUESSED),
        ("receive window", f"{validation.RECEIVE_WINDOW} segments in sets 5 to 9", Origin.PRINTED),
        ("connections", "side by side, each with hops of its own", Origin.GUESSED),
        ("length of a connection", run.points[0]["scenario"]["duration"], Origin.GUESSED),
        *(
            (f"reading: {reading.name}", _described(reading), Origin.GUESSED)
            for reading in readings
        ),
    ]
    return tuple(Setting(*setting) for setting in listed)


def _described(reading: Reading) -> str:
    share = (
        f", {reading.fast_share:g} of the printed rate in sets 5 to 9"
        if reading.fast_share != 1
        else ""
    )
    queue = (
        f"{emulator.QUEUE_PACKETS} packets in the input queue, {reading.extra_packets} behind it"
    )
    return f"{queue}{share}; receive window {validation.RECEIVE_WINDOW} segments in sets 1 to 4"


def _tables(every: Sequence[Rows], by_name: ByName, fitting: str) -> tuple[Table, ...]:
    own = [rows for rows in every if rows.whose != PUBLISHED]
    return (
        Table(
            "Where these rows part from the published ones, and why",
            ("what", "why", "shown by"),
            tuple(
                (capital(cause.observation), cause.why, cause.shown)
                for cause in causes(by_name, fitting)
            ),
        ),
        _distances(by_name),
        _table("Measured and predicted, segments/s, means of a set", every, _RATES),
        _table("How far ET and others are above what was measured", every, _ERRORS),
        _table("Losses by five counts, in % of the segments sent", own, _LOSSES),
        _table(
            "Windows, and what the paper leaves out: timeouts, a queue of its own", every, _BEYOND
        ),
    )


def _distances(by_name: ByName) -> Table:
    """Returns a table of the distance of each reading from the published rows."""
    title = "How far each reading is from the published rows, mean over the sets"
    quantities = (*estimators.METRICS, "mean RTT", "window")
    rows = [
        (name, *(f"{_distance(sets, by_name[PUBLISHED], quantity):.0%}" for quantity in quantities))
        for name, sets in by_name.items()
        if name != PUBLISHED
    ]
    return Table(title, ("reading", *quantities), tuple(rows))


def _distance(own: Sequence[Rows], theirs: Sequence[Rows], quantity: str) -> float:
    return mean(
        [
            abs(group.mean(quantity) / other.mean(quantity) - 1)
            for group, other in zip(own, theirs, strict=True)
        ]
    )


def _table(title: str, every: Sequence[Rows], columns: Columns) -> Table:
    rows = tuple(
        (str(group.data_set.number), group.whose, *(text(group) for text in columns.values()))
        for group in every
    )
    return Table(title, ("set", "whose", *columns), rows)


def _mean(quantity: str, digits: int, rows: Rows) -> str:
    value = rows.mean(quantity)
    return "–" if isnan(value) else f"{value:.{digits}f}"


def _percent(quantity: str, rows: Rows) -> str:
    value = rows.mean(quantity)
    return "–" if isnan(value) else f"{100 * value:.3g}"


def _above(prediction: str, metric: str, rows: Rows) -> str:
    above = rows.above(prediction, metric)
    return f"{mean(above):+.0%}" if above else "–"


_RATES: Columns = {
    "L": lambda rows: f"{rows.L:.2f}",
    **{
        name: partial(_mean, name, 2)
        for name in (*estimators.METRICS, *estimators.PREDICTIONS[:-1], ET_EMULATED_L)
    },
}
_ERRORS: Columns = {
    f"ET, {metric}": partial(_above, ET, metric) for metric in estimators.METRICS
} | {
    f"{name}, NoTOTput": partial(_above, name, "NoTOTput")
    for name in (ET_EMULATED_L, ET_AT_LEAST, *estimators.PREDICTIONS[1:-1])
}
_LOSSES: Columns = {
    "error": lambda rows: f"{100 * rows.data_set.worked:g}",
    **{name: partial(_percent, name) for name in estimators.LOSSES},
}
_BEYOND: Columns = {
    "mean RTT, s": partial(_mean, "mean RTT", 2),
    "window, segments": partial(_mean, "window", 1),
    WINDOW_LAW: partial(_mean, WINDOW_LAW, 2),
    "timeouts of all answers, %": partial(_percent, "timeouts"),
    **{name: partial(_mean, name, 2) for name in ("ATp", "X", "X with timeouts", SELF_FILLED)},
}


def _draw(by_name: ByName, sender: str) -> Figure:
    """Draws ET against NoTOTput for every connection, by set."""
    curves = []
    for position, (name, rows) in enumerate(by_name.items()):
        offset = 0.8 * ((position + 0.5) / len(by_name) - 0.5)  # side by side
        points = [
            (group.data_set.number - 1 + offset, 100 * above)
            for group in rows
            for above in group.above(ET, "NoTOTput")
        ]
        if points:
            curves.append(
                plot.Curve(name, [x for x, _ in points], [y for _, y in points], "points")
            )
    ends = [-0.5, len(validation.SETS) - 0.5]
    for bound in (NEAR, -NEAR):
        curves.append(plot.Curve(f"{100 * bound:+.0f} %", ends, [100 * bound] * 2, "reference"))
    return plot.curves(
        curves,
        "set, and its error probability (%)",
        "ET above NoTOTput (%)",
        f"The validation measured again: {sender}",
        categories=[
            f"{data_set.number}\n{100 * data_set.worked:g}" for data_set in validation.SETS
        ],
    )


#: The kernel's own TCP; in the engine that of 2012, without RACK.
PRESETS = {"simulate": "linux-2012", "emulate": "linux"}


def _runs(readings: Sequence[Reading], method: Literal["simulate", "emulate"]) -> Mapping[str, Run]:
    scenario = emulator.scenario(readings, PRESETS[method])
    return {RUN: Run(scenario, method, measured=True)}


# Emulation takes real time, so it runs only the reading that the paper's words give, and the one
# that its rows point to.
EMULATED_READINGS = (emulator.AS_PRINTED, emulator.BOTH)
SIMULATED_READINGS = (emulator.AS_PRINTED, emulator.MORE_BUFFER, emulator.HALF_RATE, emulator.BOTH)

_EXPECTED = {
    emulator.AS_PRINTED.name: frozenset({"above", "order", "together", "growing"}),
    emulator.MORE_BUFFER.name: frozenset({"fast", "order", "together", "growing"}),
    emulator.HALF_RATE.name: frozenset({"fast", "above", "order", "together", "growing"}),
    emulator.BOTH.name: frozenset({"fast", "order", "growing"}),
}

_QUESTION = "How well do the Markov model, the square-root law and PFTK predict"

EMULATED = Experiment(
    name="markov-validation",
    group="markov",
    source=SOURCE,
    shows="Tables 7.1 and 8.1 to 8.8, emulated again",
    question=f"{_QUESTION} TCP of a current Linux kernel?",
    says=(
        "Nine sets of connections through an emulator: measured rates, and ET, FF and PFTK "
        "computed from the measurements."
    ),
    cost_s=emulator.DURATION_S + 60.0,
    conclude=partial(conclude, EMULATED_READINGS, None),
    runs=partial(_runs, EMULATED_READINGS, "emulate"),
)
SIMULATED = Experiment(
    name="markov-validation-simulated",
    group="markov",
    source=SOURCE,
    shows="Tables 7.1 and 8.1 to 8.8, simulated",
    question=f"{_QUESTION} a simulated Linux-like Reno sender?",
    says=(
        "The same nine sets, simulated; they show which buffer and link rate fit the published "
        "rows."
    ),
    cost_s=6.0,
    conclude=partial(conclude, SIMULATED_READINGS, _EXPECTED),
    runs=partial(_runs, SIMULATED_READINGS, "simulate"),
)
