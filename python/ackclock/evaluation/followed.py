"""Runs whose checks read the trace of a control's states, seed by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.evaluation.cell import Cell
from ackclock.evaluation.suite import Dialect
from ackclock.evaluation.trace import Trace
from ackclock.evaluation.verdict import Judged, RunVerdict, judge
from ackclock.report.live import live
from ackclock.report.section import Live
from ackclock.result.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario

Record = dict[str, Any]

# Shown before and after what decides: at least so many seconds, or round trips if that is more.
_MARGIN_S, _MARGIN_ROUND_TRIPS = 0.5, 12.0
# More events hide one another in a figure.
_MOST_MARKS = 4


@dataclass(frozen=True)
class Followed:
    """A run that was made: its cell, times of events, result, trace and verdict."""

    cell: Cell
    times: Mapping[str, float]
    scenario: Scenario
    result: Result
    trace: Trace
    verdict: RunVerdict


def follow(cell: Cell, dialect: Dialect) -> Followed:
    """Runs a cell as often as its events need: each run finds the time of the next event."""
    round_trip_s = cell.values["round_trip"]
    times = {
        event.name: event.moment.plus.in_s(round_trip_s)
        for event in cell.setup.events
        if event.moment.kind == "time"
    }
    ran = _simulated(cell, dialect, times)
    for event in cell.setup.events:
        if event.name in times:
            continue
        times_s = event.moment.times_s(ran.trace)
        at_s = times_s[0] if times_s else event.otherwise.in_s(round_trip_s)
        if 0 < at_s < cell.duration_s:
            times = {**times, event.name: round(at_s * 1e9) / 1e9}
            ran = _simulated(cell, dialect, times)
    return ran


def _simulated(cell: Cell, dialect: Dialect, times: Mapping[str, float]) -> Followed:
    scenario = cell.scenario(times)
    result = simulate(scenario, threads=1)
    trace = cell.candidate.trace(result, dialect, cell.path_values(scenario, times))
    return Followed(cell, times, scenario, result, trace, judge(cell.setup, dialect, trace))


def checks(ran: Sequence[Followed]) -> list[Record]:
    """Returns each check with its worst finding over seeds, and for how many it holds."""
    checks: list[Record] = []
    for number, first in enumerate(ran[0].verdict.judged):
        all_ = [(run.cell.seed, run.verdict.judged[number]) for run in ran]
        seed, worst = min(all_, key=lambda pair: _order(pair[1]))
        assertion, finding = first.assertion, worst.finding
        checks.append(
            {
                "says": assertion.says,
                "origin": assertion.origin.value,
                "number": "ours" if assertion.is_number_ours else "stated",
                "kind": assertion.kind,
                "holds": finding.holds,
                "held": sum(judged.finding.holds is True for _, judged in all_),
                "of": len(all_),
                "found": finding.words,
                "value": finding.value,
                "unit": finding.unit,
                "at_s": finding.at_s,
                "seed": seed,
            }
        )
    return checks


def _order(judged: Judged) -> int:
    return {False: 0, None: 1, True: 2}[judged.finding.holds]


def drawn(ran: Followed, dialect: Dialect) -> list[Live]:
    """Returns the figures of a run, around what decides; none if nothing was sent."""
    if not ran.trace.time_s.size:
        return []
    decides = [*ran.times.values(), *(judged.finding.at_s for judged in ran.verdict.judged)]
    decides = [at_s for at_s in decides if at_s == at_s and at_s <= ran.cell.duration_s]
    first, last = float(ran.trace.time_s[0]), ran.cell.duration_s
    margin = max(_MARGIN_S, _MARGIN_ROUND_TRIPS * ran.cell.values["round_trip"])
    low = max(min(decides, default=first) - margin, 0.0)
    high = min(max(decides, default=last) + 2 * margin, last)
    marks = [(at_s, name) for name, at_s in ran.times.items()]
    if len(marks) > _MOST_MARKS:
        marks = []
    spec = ran.cell.candidate.drawn(ran.result, dialect, (low, high), marks)
    return live(spec, "time-states")
