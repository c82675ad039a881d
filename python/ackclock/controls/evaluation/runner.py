"""Evaluates a control by a suite, into a folder; finished cases are not repeated.

The folder holds `cases/CASE.PATH/` for each case on each path (its record and the data of its
figures), `evaluation.json` and `index.html`. A record has a content address, as those of
reproductions have: an interrupted command, given again, continues, and a changed line is noticed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.controls.evaluation.candidate import Candidate
from ackclock.controls.evaluation.setup import Cell
from ackclock.controls.evaluation.suite import Case, Dialect, Setup, Suite, TestPath
from ackclock.controls.evaluation.trace import Trace
from ackclock.controls.evaluation.verdict import (
    Judged,
    RunVerdict,
    Verdict,
    applying,
    judge,
    together,
)
from ackclock.report.live import live
from ackclock.report.section import Live
from ackclock.result.folder import Contents, staged, write_whole
from ackclock.result.manifest import Entry, described, entries, read_sealed, write_sealed
from ackclock.result.result import Result
from ackclock.run import address
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario
from ackclock.table import compact_json, json_text

Record = dict[str, Any]

#: Version of the form of `evaluation.json`.
SCHEMA = 1

EVALUATION = Contents(
    "evaluation",
    "evaluation.json",
    re.compile(
        r"evaluation\.json|index\.html|cases(/[a-z0-9.-]+(/(record\.json|run-[0-9]+\.json))?)?"
    ),
)

#: A run with more packets is left out: a trace has a row for each ACK.
MOST_PACKETS = 5e6

# Shown before and after what decides: at least so many seconds, or round trips if that is more.
_MARGIN_S, _MARGIN_ROUND_TRIPS = 0.5, 12.0
# More events hide one another in a figure.
_MOST_MARKS = 4


@dataclass(frozen=True)
class Plan:
    """The work of an evaluation.

    Attributes:
        suite: The suite.
        cases: Cases of it.
        candidate: The control.
        paths: Paths, the suite's own first.
        seeds: Seeds of the runs of each case.
        command: The command that evaluates so.
    """

    suite: Suite
    cases: tuple[Case, ...]
    candidate: Candidate
    paths: tuple[TestPath, ...]
    seeds: tuple[int, ...]
    command: str = ""

    @property
    def dialect(self) -> Dialect:
        """The dialect of the control; one without names if the suite does not know it."""
        kind = self.candidate.kind
        return self.suite.dialects.get(kind, Dialect(kind, kind, {}))

    def parts(self) -> Iterator[tuple[Case, TestPath]]:
        """Returns each case with each path that it can be run on.

        A case with its own rate or round trip is run on no path that differs by these.
        """
        for case in self.cases:
            is_fixed = all(setup.is_fixed for setup in case.setups)
            for path in self.paths:
                if not is_fixed or path.is_as_far_and_fast_as(self.paths[0]):
                    yield case, path


def continues(plan: Plan, folder: Path) -> bool:
    """Returns true if a folder holds an evaluation of the same kind of control by the suite."""
    held = read_sealed(folder / EVALUATION.mark)
    kinds = (held.get("suite", {}).get("name"), held.get("control", {}).get("kind"))
    return kinds == (plan.suite.name, plan.candidate.kind)


def evaluate(
    plan: Plan, folder: Path, progress: Callable[[float, str], None] | None = None
) -> tuple[Record, bool]:
    """Evaluates, case by case; writes `evaluation.json` and the page.

    Returns:
        The evaluation as plain data, and true if it is complete: nobody interrupted it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / EVALUATION.mark).exists():
        write_sealed(folder / EVALUATION.mark, {})
    parts, records, complete = list(plan.parts()), [], True
    for number, (case, path) in enumerate(parts):
        if progress is not None:
            progress(number / len(parts), case.id)
        try:
            records.append(_record(plan, case, path, folder))
        except KeyboardInterrupt:
            complete = False
            break
    evaluation = _evaluation(plan, records, complete=complete)
    write_sealed(folder / EVALUATION.mark, evaluation)
    from ackclock.controls.evaluation.page import page

    write_whole(folder / "index.html", page(evaluation, _figures(folder, records)))
    return evaluation, complete


def _figures(folder: Path, records: Sequence[Record]) -> dict[str, list[Live]]:
    return {
        run["figure"]: [
            Live(**figure) for figure in json.loads((folder / run["figure"]).read_bytes())
        ]
        for record in records
        for run in record["runs"]
        if run["figure"]
    }


def _evaluation(plan: Plan, records: list[Record], *, complete: bool) -> Record:
    suite, candidate = plan.suite, plan.candidate
    first = [record for record in records if record["path"]["name"] == plan.paths[0].name]
    counts = {verdict.value: 0 for verdict in Verdict}
    for record in first:
        counts[record["verdict"]] += 1
    made: Record = {
        "schema": SCHEMA,
        "partial": not complete,
        "suite": {
            name: getattr(suite, name)
            for name in ("name", "title", "source", "revision", "date", "url", "notes", "digest")
        },
        "control": {
            "kind": candidate.kind,
            "label": candidate.label,
            "reference": candidate.reference,
            "parameters": candidate.parameters,
        },
        "command": plan.command,
        "version": engine.version(),
        "build": address.package(),
        "evaluated": max((record["evaluated"] for record in records), default=""),
        "seeds": list(plan.seeds),
        "paths": [{"name": path.name, "is": str(path)} for path in plan.paths],
        "counts": counts,
        "failed": sorted({record["id"] for record in records if record["verdict"] == Verdict.FAIL}),
        "cases": records,
    }
    # As it will be read.
    read: Record = json.loads(json_text(made))
    return read


def _record(plan: Plan, case: Case, path: TestPath, folder: Path) -> Record:
    """Returns the record of a case on a path, from the folder if nothing has changed."""
    made_of = address.of_content(
        {
            "suite": plan.suite.digest,
            "case": case.id,
            "path": path.name,
            "transport": plan.candidate.transport,
            "seeds": list(plan.seeds),
            "package": address.package(),
        }
    )
    name = f"{case.id}.{path.name.lower().replace(' ', '-')}"
    place = folder / "cases" / name
    kept = read_sealed(place / "record.json")
    if kept.get("address") == made_of and not any(
        entry.problem(place / file) for file, entry in entries(kept["figures"]).items()
    ):
        return kept
    place.parent.mkdir(exist_ok=True)
    with staged(place) as staging:
        record = _made(plan, case, path, staging, name)
        figures = [staging / Path(run["figure"]).name for run in record["runs"] if run["figure"]]
        written = {figure.name: Entry.describe(figure, 0) for figure in figures}
        record |= {"address": made_of, "figures": described(written)}
        write_sealed(staging / "record.json", record)
    read: Record = json.loads(json_text(record))
    return read


def _made(plan: Plan, case: Case, path: TestPath, staging: Path, name: str) -> Record:
    runs = [
        _run(plan, case, setup, path, (staging, name, number))
        for number, setup in enumerate(case.setups)
    ]
    verdict = together([Verdict(run["verdict"]) for run in runs])
    deciding = [run for run in runs if run["verdict"] == verdict]
    return {
        "id": case.id,
        "number": case.number,
        "section": case.section,
        "title": case.title,
        "stated": case.stated,
        "ours": case.ours,
        "defect": case.defect,
        "path": {"name": path.name, "is": runs[0]["path"]},
        "verdict": verdict.value,
        "reason": deciding[0]["reason"],
        "evaluated": datetime.now(UTC).date().isoformat(),
        "runs": runs,
    }


def _run(
    plan: Plan, case: Case, setup: Setup, path: TestPath, place: tuple[Path, str, int]
) -> Record:
    """Returns the record of a run of a case: all its seeds."""
    own = setup.on(path)
    cells = [
        Cell(case.id, setup, own, plan.candidate, seed, plan.suite.least_round_trips)
        for seed in plan.seeds
    ]
    made: Record = {"name": setup.name, "path": str(own), "checks": [], "figure": ""}
    why = _left_out(case, cells[0])
    if why:
        return made | {"verdict": Verdict.NOT.value, "reason": why, "seeds": [], "scenario": None}
    if not applying(setup, plan.dialect):
        cells = cells[:1]  # Enough to see what the control reports.
    ran = [_ran(cell, plan.dialect) for cell in cells]
    verdict = together([run.verdict.verdict for run in ran])
    deciding = [run for run in ran if run.verdict.verdict is verdict]
    staging, name, number = place
    shown = deciding[0]
    figure = f"run-{number}.json"
    drawn = _drawn(shown, plan.dialect)
    if drawn:
        text = compact_json([drawing._asdict() for drawing in drawn])
        (staging / figure).write_text(text, encoding="utf-8")
    return made | {
        "verdict": verdict.value,
        "reason": _counted(shown.verdict.reason, len(deciding), len(ran)),
        "checks": _checks(ran),
        "seeds": [
            {
                "seed": run.cell.seed,
                "verdict": run.verdict.verdict.value,
                "events": {name: round(at_s, 6) for name, at_s in run.times.items()},
            }
            for run in ran
        ],
        "figure": f"cases/{name}/{figure}" if drawn else "",
        "figure_seed": shown.cell.seed,
        "scenario": shown.scenario.tree,
    }


def _left_out(case: Case, cell: Cell) -> str:
    """Returns why a run does not apply to a path; empty if it does."""
    packets = cell.path.bdp_packets
    if packets < case.least_bdp_packets:
        return (
            f"the path holds {packets:.3g} packets, and the case needs "
            f"{case.least_bdp_packets:g} at least"
        )
    if cell.packets > MOST_PACKETS:
        return (
            f"not run: about {cell.packets / 1e6:.0f} million packets, "
            f"{MOST_PACKETS / 1e6:.0f} at most"
        )
    return ""


def _counted(reason: str, count: int, total: int) -> str:
    return f"{reason} ({count} of {total} seed{'s' if total > 1 else ''})"


@dataclass(frozen=True)
class _Ran:
    """A run that was made: its cell, times of events, result, trace and verdict."""

    cell: Cell
    times: Mapping[str, float]
    scenario: Scenario
    result: Result
    trace: Trace
    verdict: RunVerdict


def _ran(cell: Cell, dialect: Dialect) -> _Ran:
    """Runs a cell as often as its events need: each run finds the time of the next event."""
    round_trip_s = cell.path.round_trip_s
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


def _simulated(cell: Cell, dialect: Dialect, times: Mapping[str, float]) -> _Ran:
    scenario = cell.scenario(times)
    result = simulate(scenario, threads=1)
    trace = cell.candidate.trace(result, dialect, cell.values(times))
    return _Ran(cell, times, scenario, result, trace, judge(cell.setup, dialect, trace))


def _checks(ran: Sequence[_Ran]) -> list[Record]:
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


def _drawn(ran: _Ran, dialect: Dialect) -> list[Live]:
    """Returns the figures of a run, around what decides; none if nothing was sent."""
    if not ran.trace.time_s.size:
        return []
    decides = [*ran.times.values(), *(judged.finding.at_s for judged in ran.verdict.judged)]
    decides = [at_s for at_s in decides if at_s == at_s and at_s <= ran.cell.duration_s]
    first, last = float(ran.trace.time_s[0]), ran.cell.duration_s
    margin = max(_MARGIN_S, _MARGIN_ROUND_TRIPS * ran.cell.path.round_trip_s)
    low = max(min(decides, default=first) - margin, 0.0)
    high = min(max(decides, default=last) + 2 * margin, last)
    marks = [(at_s, name) for name, at_s in ran.times.items()]
    if len(marks) > _MOST_MARKS:
        marks = []
    spec = ran.cell.candidate.drawn(ran.result, dialect, (low, high), marks)
    return live(spec, "time-states")
