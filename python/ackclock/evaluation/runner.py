"""Evaluates a control by a suite, into a folder; finished cases are not repeated.

The folder holds `cases/CASE.PATH/` for each case on each path (its record and the data of its
figures), `evaluation.json` and `index.html`. A record has a content address, as those of
reproductions have: an interrupted command, given again, continues, and a changed line is noticed.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import InputError
from ackclock.evaluation import against, emulated, followed, measured
from ackclock.evaluation.campaign import Campaign
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.emulated import Worst
from ackclock.evaluation.kept import KeptMetrics
from ackclock.evaluation.measured import Cells
from ackclock.evaluation.suite import Case, Dialect, Setup, Suite, TestPath
from ackclock.evaluation.verdict import Verdict, applying, together
from ackclock.plot.throughput import throughput
from ackclock.report.live import live
from ackclock.report.section import Live
from ackclock.result.folder import Contents, staged, write_whole
from ackclock.result.manifest import Entry, described, entries, read_sealed, write_sealed
from ackclock.run import address
from ackclock.run.simulation import simulate
from ackclock.table import compact_json, json_text

Record = dict[str, Any]

#: Version of the form of `evaluation.json`.
SCHEMA = 2

EVALUATION = Contents(
    "evaluation",
    "evaluation.json",
    re.compile(
        r"evaluation\.json|index\.html|cells\.csv"
        r"|cases(/[a-z0-9.-]+(/(record\.json|run-[0-9]+\.json))?)?|sweeps(/.*)?"
    ),
)

#: A run with more packets is left out; one of a campaign may have more.
MOST_PACKETS = 5e6
MOST_PACKETS_OF_CAMPAIGN = 2e9


@dataclass(frozen=True)
class Plan:
    """The work of an evaluation.

    Attributes:
        suite: The suite.
        cases: Cases of it.
        candidate: The control.
        paths: Paths, the suite's own first.
        seeds: Seeds of the runs of each case: all from the first on.
        is_full: True for the wide grids of cases.
        command: The command that evaluates so.
        kept: Metrics of references that were simulated before; None to simulate them again.
        campaign: The campaign that runs the cells of 1 Gbit/s and more, and no others.
    """

    suite: Suite
    cases: tuple[Case, ...]
    candidate: Candidate
    paths: tuple[TestPath, ...]
    seeds: tuple[int, ...]
    is_full: bool = False
    command: str = ""
    kept: KeptMetrics | None = None
    campaign: Campaign | None = None

    @property
    def dialect(self) -> Dialect:
        """The dialect of the control; one without names if the suite does not know it."""
        kind = self.candidate.kind
        return self.suite.dialects.get(kind, Dialect(kind, kind, {}))

    @cached_property
    def references(self) -> dict[str, Candidate]:
        """The references of the suite, by name."""
        return {
            name: Candidate.of_queue(tree) if self.suite.is_of_queues else _control(tree)
            for name, tree in self.suite.references.items()
        }

    def parts(self) -> Iterator[tuple[Case, TestPath]]:
        """Returns each case with each path that it can be run on.

        A case that sets itself what a path sets is not run on that path.
        """
        first = self.paths[0]
        for case in self.cases:
            if self.setups(case) is None:
                continue
            for path in self.paths:
                if path is first or any(setup.is_on(path, first) for setup in case.setups):
                    yield case, path

    @property
    def most_packets(self) -> float:
        """Most packets of a run."""
        return MOST_PACKETS if self.campaign is None else MOST_PACKETS_OF_CAMPAIGN

    def setups(self, case: Case) -> tuple[Setup, ...] | None:
        """Returns the runs of a case; None if a campaign has none of it."""
        if self.campaign is None:
            return case.setups
        return tuple(setup for setup in case.setups if setup.campaign_grid) or None

    def cells(self, case: Case, setup: Setup, path: TestPath) -> Cells:
        """Returns the cells of a run whose criteria are about metrics."""
        # A reference finds the grid, as what is evaluated may not be able to run in it.
        stands_in = next(iter(self.references.values()), self.candidate)
        first = Cell(case.id, setup, path, stands_in, self.seeds[0], len(self.seeds))
        grid = setup.wide_grid if self.is_full else setup.grid
        if self.campaign is not None:
            grid = setup.campaign_grid
        every = measured.grid_cells(first, grid)
        own = tuple(replace(cell, candidate=self.candidate) for cell in every)
        name = f"{case.id}-{case.setups.index(setup)}"
        return Cells(own, self.references, self.kept, self.campaign, name)


def _control(tree: Mapping[str, Any]) -> Candidate:
    """Returns a reference control; one without parameters has those of its kind, filled in."""
    return Candidate.read(str(tree["kind"])) if set(tree) == {"kind"} else Candidate.of_tcp(tree)


def continues(plan: Plan, folder: Path) -> bool:
    """Returns true if a folder holds an evaluation of the same kind of control by the suite."""
    held = read_sealed(folder / EVALUATION.mark)
    kinds = (held.get("suite", {}).get("name"), held.get("control", {}).get("kind"))
    return kinds == (plan.suite.name, plan.candidate.kind)


def evaluate(
    plan: Plan,
    folder: Path,
    progress: Callable[[float, str], None] | None = None,
    before: Callable[[Record], tuple[str, Record]] | None = None,
    emulate: int = 0,
) -> tuple[Record, bool]:
    """Evaluates, case by case; writes `evaluation.json`, `cells.csv` and the page.

    Args:
        plan: The work.
        folder: The folder.
        progress: Takes the share done, and the case under way.
        before: Returns name and record of the evaluation that this one is compared with.
        emulate: Number of cells that are emulated, too, the worst first.

    Returns:
        The evaluation as plain data, and true if it is complete: nobody interrupted it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / EVALUATION.mark).exists():
        write_sealed(folder / EVALUATION.mark, {})
    if plan.campaign is not None:
        plan = replace(plan, campaign=replace(plan.campaign, folder=folder))
    parts, records, complete = list(plan.parts()), [], True
    work = [_work(plan, case, path) for case, path in parts]
    for number, (case, path) in enumerate(parts):

        def tell(share: float, number: int = number, name: str = case.id) -> None:
            if progress is not None:
                done = sum(work[:number]) + share * work[number]
                progress(done / max(sum(work), 1), name)

        tell(0.0)
        try:
            records.append(_record(plan, case, path, folder, tell))
        except KeyboardInterrupt:
            complete = False
            break
    if plan.kept is not None:
        plan.kept.trim()
    evaluation = _evaluation(plan, records, complete=complete)
    if complete and emulate:
        write_sealed(folder / EVALUATION.mark, evaluation)  # Real time takes minutes.
        worst = _worst_cells(plan, evaluation)
        cells = emulated.emulated(
            worst, emulate, lambda name: progress(1.0, name) if progress else None
        )
        evaluation["emulated"] = _as_read(cells)
    if complete and before is not None:
        evaluation["against"] = against.record(evaluation, *before(evaluation))
    write_sealed(folder / EVALUATION.mark, evaluation)
    from ackclock.evaluation.page import cells_csv, page

    write_whole(folder / "cells.csv", cells_csv(evaluation))
    write_whole(folder / "index.html", page(evaluation, _figures(folder, records)))
    return evaluation, complete


def _worst_cells(plan: Plan, evaluation: Record) -> list[Worst]:
    """Returns every criterion of an evaluation in its worst cell."""
    path, worst = plan.paths[0], []
    records = [case for case in evaluation["cases"] if case["path"]["name"] == path.name]
    for record in records:
        (case,) = (case for case in plan.cases if case.id == record["id"])
        for setup, run in zip(plan.setups(case) or (), record["runs"], strict=True):
            first = Cell(case.id, setup, path, plan.candidate, plan.seeds[0], len(plan.seeds))
            for criterion, judged in zip(setup.criteria, run["criteria"], strict=False):
                assignments = judged["cells"][judged["worst"]]["assignments"]
                scenario = replace(first, assignments=assignments).scenario()
                worst.append(Worst(case.id, run, judged, criterion.quantity, scenario))
    return worst


def _badge(suite: Suite, counts: dict[str, int]) -> str:
    """Returns the verdicts in a line for a badge: `RFC 9743: 18 pass, 2 fail`."""
    shown = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"{suite.revision}: {', '.join(shown)}"


def _work(plan: Plan, case: Case, path: TestPath) -> float:
    """Returns about how much work a case is, in simulations."""
    return sum(
        plan.cells(case, setup, path).runs if setup.criteria else len(plan.seeds)
        for setup in plan.setups(case) or ()
    )


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
    heads = ("name", "title", "source", "revision", "date", "url", "noun", "notes", "demands")
    made: Record = {
        "schema": SCHEMA,
        "partial": not complete,
        "suite": {name: getattr(suite, name) for name in (*heads, "digest")},
        "control": {
            "kind": candidate.kind,
            "label": candidate.label,
            "reference": candidate.reference,
            "parameters": candidate.parameters,
        },
        "references": {name: reference.label for name, reference in plan.references.items()},
        "command": plan.command,
        "version": engine.version(),
        "build": address.package(),
        "evaluated": max((record["evaluated"] for record in records), default=""),
        "full": plan.is_full,
        "wide": plan.campaign is not None,
        "seeds": list(plan.seeds),
        "paths": [{"name": path.name, "is": _written(path)} for path in plan.paths],
        "counts": counts,
        "badge": _badge(suite, counts),
        "against": None,
        "emulated": [],
        "failed": _with_verdict(records, Verdict.FAIL),
        "concerns": _with_verdict(records, Verdict.CONCERN),
        "cases": records,
    }
    read: Record = _as_read(made)
    return read


def _as_read(made: Any) -> Any:
    """Returns plain data as it will be read: an unknown number is None."""
    return json.loads(json_text(made))


def _with_verdict(records: Sequence[Record], verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(record["id"] for record in records if record["verdict"] == verdict))


def _written(path: TestPath) -> str:
    return ", ".join(
        f"{field.rpartition('.')[2].replace('_', ' ')} {value}"
        for field, value in path.changes.items()
    )


def _record(
    plan: Plan, case: Case, path: TestPath, folder: Path, tell: Callable[[float], None]
) -> Record:
    """Returns the record of a case on a path, from the folder if nothing has changed."""
    made_of = address.of_content(
        {
            "suite": plan.suite.digest,
            "case": case.id,
            "path": path.name,
            "evaluated": dict(plan.candidate.tree),
            "seeds": list(plan.seeds),
            "full": plan.is_full,
            "wide": plan.campaign is not None,
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
        record = _made(plan, case, path, (staging, name), tell)
        figures = [staging / Path(run["figure"]).name for run in record["runs"] if run["figure"]]
        written = {figure.name: Entry.describe(figure, 0) for figure in figures}
        record |= {"address": made_of, "figures": described(written)}
        write_sealed(staging / "record.json", record)
    read: Record = _as_read(record)
    return read


def _made(
    plan: Plan,
    case: Case,
    path: TestPath,
    place: tuple[Path, str],
    tell: Callable[[float], None],
) -> Record:
    first = plan.paths[0]
    of_case = plan.setups(case) or ()
    setups = [setup for setup in of_case if path is first or setup.is_on(path, first)]
    runs = []
    for number, setup in enumerate(setups):

        def tell_part(share: float, number: int = number) -> None:
            tell((number + share) / len(setups))

        folder, name = place
        figures = f"cases/{name}/run-{number}.json"
        asked = _Run(plan, case, setup, path, folder, figures, tell_part)
        runs.append(_measured(asked) if setup.criteria else _followed(asked))
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
        "path": {"name": path.name, "is": _written(path)},
        "verdict": verdict.value,
        "reason": deciding[0]["reason"] if deciding else f"not evaluated: {case.lacks}",
        "evaluated": _today(),
        "runs": runs,
    }


def _today() -> str:
    """Returns the date, or that of a build that is to be repeated (reproducible-builds.org)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()


def _blank(setup: Setup) -> Record:
    return {"name": setup.name, "checks": [], "criteria": [], "figure": ""}


def _left_out(setup: Setup, why: str) -> Record:
    """Returns the record of a run that does not apply."""
    return _blank(setup) | {
        "verdict": Verdict.NOT.value,
        "reason": why,
        "seeds": [],
        "figure_seed": None,
        "scenario": None,
    }


@dataclass(frozen=True)
class _Run:
    """A run of a case on a path, and the folder for its figures.

    Attributes:
        plan: The work that it belongs to.
        case: The case.
        setup: The run.
        path: The path.
        folder: Folder for its figures.
        figures: Name of the file of its figures, within the evaluation.
        tell: Takes the share of it that is done.
    """

    plan: Plan
    case: Case
    setup: Setup
    path: TestPath
    folder: Path
    figures: str
    tell: Callable[[float], None]

    def keep(self, drawn: Sequence[Live]) -> str:
        """Writes figures; returns the name of their file, empty if there are none."""
        if not drawn:
            return ""
        text = compact_json([drawing._asdict() for drawing in drawn])
        (self.folder / Path(self.figures).name).write_text(text, encoding="utf-8")
        return self.figures


def _measured(asked: _Run) -> Record:
    """Returns the record of a run whose criteria are about metrics."""
    case, setup = asked.case, asked.setup
    every = asked.plan.cells(case, setup, asked.path)
    why = _refusal(every)
    if why:
        return _left_out(setup, why)
    most = asked.plan.most_packets
    small = tuple(cell for cell in every.cells if not _too_large(case, cell, most))
    if not small:
        return _left_out(setup, _too_large(case, every.cells[0], most))
    cells = replace(every, cells=small)
    done = 0

    def count(runs: int) -> None:
        nonlocal done
        done += runs
        asked.tell(done / cells.runs)

    verdict, reason, criteria = measured.judged(cells, cells.measure(count))
    worst = cells.cells[_worst(criteria)]
    shown = replace(worst, replicates=1).scenario().replace({"sample_interval": "100 ms"})
    drawn = live(throughput(simulate(shown, threads=1)), "time-throughput")
    return _blank(setup) | {
        "verdict": verdict.value,
        "reason": reason,
        "criteria": criteria,
        "left_out": len(every.cells) - len(small),
        "seeds": [],
        "figure": asked.keep(drawn),
        "figure_seed": worst.seed,
        "scenario": worst.scenario().tree,
    }


def _refusal(cells: Cells) -> str:
    """Returns why what is evaluated cannot be run in some cell; empty if it can.

    Raises:
        InputError: A reference cannot be run either: the mistake is the suite's.
    """
    for reference in list(cells.references.values())[:1]:
        _check([replace(cell, candidate=reference) for cell in cells.cells])
    try:
        _check(cells.cells)
    except InputError as error:
        return f"cannot be run: {error}"
    return ""


def _check(cells: Sequence[Cell]) -> None:
    scenario = measured.together(cells)
    scenario.check()
    for point in scenario.expand():
        engine.check_simulation(point.scenario.tree, scenario.folder)


def _worst(criteria: Sequence[Record]) -> int:
    """Returns the cell that decides the verdict of a run."""
    worst = min(criteria, key=lambda record: measured.order(record["grade"]))
    return int(worst["worst"])


def _followed(asked: _Run) -> Record:
    """Returns the record of a run whose control is followed: all its seeds."""
    plan, case, setup = asked.plan, asked.case, asked.setup
    least = plan.suite.least_round_trips
    cells = [
        Cell(case.id, setup, asked.path, plan.candidate, seed, least_round_trips=least)
        for seed in plan.seeds
    ]
    why = _too_large(case, cells[0], plan.most_packets)
    if why:
        return _left_out(setup, why)
    if not applying(setup, plan.dialect):
        cells = cells[:1]  # Enough to see what the control reports.
    ran = []
    for number, cell in enumerate(cells):
        asked.tell(number / len(cells))
        ran.append(followed.follow(cell, plan.dialect))
    verdict = together([run.verdict.verdict for run in ran])
    deciding = [run for run in ran if run.verdict.verdict is verdict]
    shown = deciding[0]
    return _blank(setup) | {
        "verdict": verdict.value,
        "reason": _counted(shown.verdict.reason, len(deciding), len(ran)),
        "checks": followed.checks(ran),
        "seeds": [
            {
                "seed": run.cell.seed,
                "verdict": run.verdict.verdict.value,
                "events": {name: round(at_s, 6) for name, at_s in run.times.items()},
            }
            for run in ran
        ],
        "figure": asked.keep(followed.drawn(shown, plan.dialect)),
        "figure_seed": shown.cell.seed,
        "scenario": shown.scenario.tree,
    }


def _too_large(case: Case, cell: Cell, most: float = MOST_PACKETS) -> str:
    """Returns why a run does not apply to a path; empty if it does."""
    packets = cell.bdp_packets
    if packets < case.least_bdp_packets:
        return (
            f"the path holds {packets:.3g} packets, and the case needs "
            f"{case.least_bdp_packets:g} at least"
        )
    if cell.packets > most:
        return f"not run: about {cell.packets / 1e6:.0f} million packets, {most / 1e6:.0f} at most"
    return ""


def _counted(reason: str, count: int, total: int) -> str:
    return f"{reason} ({count} of {total} seed{'s' if total > 1 else ''})"
