"""Judges the trace of an implementation that is not ours, by the checks of one case."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.evaluation import traces
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.suite import ANY, Case, Dialect, Setup, Suite
from ackclock.evaluation.traces import Foreign
from ackclock.evaluation.verdict import RunVerdict, Verdict, judge

Record = dict[str, Any]

#: Least share of a case's time that a trace must have. Ours.
LEAST_SHARE = 0.95


def judge_trace(suite: Suite, case: Case, run: str, file: Path) -> Record:
    """Returns the verdict on a trace as plain data.

    Args:
        suite: The suite.
        case: The case on whose path the trace was made.
        run: Name of the run, if the case has several.
        file: The trace.

    Raises:
        InputError: The file is not a trace, or the case has no checks of a trace.
    """
    return judged(suite, case, _setup(case, run), traces.read(file), f"trace {file.name}")


def judged(suite: Suite, case: Case, setup: Setup, trace: Foreign, evidence: str) -> Record:
    """Returns the verdict on what was read of a run elsewhere, as plain data.

    Args:
        suite: The suite.
        case: The case on whose path the run was made.
        setup: The run of the case.
        trace: The trace.
        evidence: The evidence in words: `trace mine.csv`.
    """
    cell = Cell(case.id, setup, suite.paths[0], Candidate.of_tcp({"kind": "reno"}), 1)
    ends_s = float(trace.time_s[-1])
    waits = [event.name for event in setup.events if event.moment.kind != "time"]
    dialect = _dialect(suite, {str(state) for state in trace.states})
    if waits:
        words = f"its event {waits[0]} waits for a state, so its path depends on the run"
        verdict = RunVerdict(Verdict.NOT, words, ())
    elif ends_s < LEAST_SHARE * cell.duration_s:
        words = f"the trace ends at {ends_s:g} s, and the case lasts {cell.duration_s:g} s"
        verdict = RunVerdict(Verdict.NOT, words, ())
    else:
        times = {event.name: event.moment.plus.seconds for event in setup.events}
        path = cell.path_values(cell.scenario(times), times)
        if trace.payload_share is not None:
            share = trace.payload_share / cell.values["payload_share"]
            rates = tuple((from_s, rate * share) for from_s, rate in path.rate_bit_per_s)
            path = path._replace(rate_bit_per_s=rates)
        events = {**path.events, "start": float(trace.time_s[0])}
        verdict = judge(setup, dialect, trace.on(path._replace(events=events)))
    return {
        "case": case.id,
        "run": setup.name,
        "evidence": evidence,
        "rows": len(trace.time_s),
        "until_s": ends_s,
        "verdict": verdict.verdict.value,
        "reason": verdict.reason,
        "checks": [
            {
                "says": judged.assertion.says,
                "holds": judged.finding.holds,
                "found": judged.finding.words,
            }
            for judged in verdict.judged
        ],
    }


def _setup(case: Case, run: str) -> Setup:
    setups = [setup for setup in case.setups if setup.assertions]
    if not setups:
        words = f"{case.id} has no checks of a trace; bbr-draft has such cases"
        raise InputError("unsupported", "--only", words)
    return run_of(setups, run)


def run_of(setups: Sequence[Setup], run: str) -> Setup:
    """Returns the run of a case with a name; the first one without a name.

    Raises:
        InputError: There is none.
    """
    names = [setup.name for setup in setups]
    if run and run not in names:
        raise InputError.unknown("--only", "run", run, names)
    return next(setup for setup in setups if setup.name == run) if run else setups[0]


def _dialect(suite: Suite, states: set[str]) -> Dialect:
    """Returns the first dialect of the suite if the trace has its states, else that of any."""
    first = next(iter(suite.dialects.values()), None)
    if first is None or not states & set(suite.states):
        return Dialect(ANY, ANY, {})
    return first
