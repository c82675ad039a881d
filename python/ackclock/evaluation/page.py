"""The page of an evaluation: one self-contained HTML file, and its tables."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock.evaluation.against import Direction
from ackclock.evaluation.criteria import Grade, shown
from ackclock.evaluation.heat import FULL, heat_map
from ackclock.evaluation.measured import with_interval
from ackclock.evaluation.verdict import Verdict
from ackclock.report.environment import data_of, environment
from ackclock.report.section import Live
from ackclock.scenario import Scenario
from ackclock.table import Column, Table, table

Record = dict[str, Any]

# A verdict is a sign and a word: colour is never the only sign.
_SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.CONCERN: "!",
    Verdict.KNOWN: "k",
    Verdict.SILENT: "?",
    Verdict.NOT: "–",
}
_GRADES = {
    Grade.HOLDS: "✓ holds",
    Grade.UNSURE: "✓ uncertain",
    Grade.MISSED: "! missed",
    Grade.FAR: "✗ far beyond",
    Grade.UNKNOWN: "– unknown",
}
_HOLDS = {True: "✓ holds", False: "✗ fails", None: "– cannot be decided"}


def answer(evaluation: Record) -> str:
    """Returns the verdicts in one sentence, with the cases that fail."""
    first = evaluation["paths"][0]["name"]
    on_first = [case for case in evaluation["cases"] if case["path"]["name"] == first]
    noun = evaluation["suite"]["noun"]
    parts = [
        f"{count} {words}"
        for verdict, words in (
            (Verdict.PASS, "pass"),
            (Verdict.FAIL, "fail"),
            (Verdict.CONCERN, "of concern"),
            (Verdict.KNOWN, "with a known limit"),
            (Verdict.SILENT, f"where {noun} does not say"),
            (Verdict.NOT, "that do not apply"),
        )
        if (count := evaluation["counts"][verdict])
    ]
    names = ""
    for verdict, words in ((Verdict.FAIL, "fail"), (Verdict.CONCERN, "are of concern")):
        numbers = ", ".join(case["number"] for case in on_first if case["verdict"] == verdict)
        names += f" Cases that {words}: {numbers}." if numbers else ""
    elsewhere = sum(case["verdict"] == Verdict.FAIL for case in evaluation["cases"]) - sum(
        case["verdict"] == Verdict.FAIL for case in on_first
    )
    several = len(evaluation["paths"]) > 1
    names += f" Failures on the other paths: {elsewhere}." if several else ""
    cases = f"{len(on_first)} case{'' if len(on_first) == 1 else 's'}"
    where = f" on path {first}" if evaluation["paths"][0]["is"] else ""
    label = evaluation["control"]["label"]
    return f"{label}{where}, {cases}: {', '.join(parts)}.{names}"


def verdicts_table(evaluation: Record, *, with_reasons: bool = True) -> Table:
    """Returns the table of all verdicts: a row for each case, a column for each path."""
    paths = [path["name"] for path in evaluation["paths"]]
    by_case: dict[str, dict[str, Record]] = {}
    for case in evaluation["cases"]:
        by_case.setdefault(case["id"], {})[case["path"]["name"]] = case
    rows = []
    for records in by_case.values():
        first = next(iter(records.values()))
        verdicts = [signed(records[path]["verdict"]) if path in records else "" for path in paths]
        why = [first["reason"]] if with_reasons else []
        rows.append([first["number"], first["title"], *verdicts, *why])
    heads = ["verdict"] if len(paths) == 1 else paths
    columns = [Column("", numeric=True), Column("case"), *map(Column, heads)]
    if with_reasons:
        title = f"why, on {paths[0]}" if len(paths) > 1 else "why"
        columns.append(Column(title, spare=1, numeric=False))
    return table("Verdicts", columns, rows)


def reasons(evaluation: Record) -> list[str]:
    """Returns a line for each case that fails or is of concern, with the reason."""
    return [
        f"{case['number']} {case['id']}: {case['reason']}"
        for case in evaluation["cases"]
        if case["verdict"] in (Verdict.FAIL, Verdict.CONCERN)
    ]


def changes_table(evaluation: Record) -> Table:
    """Returns the table of the cells that are better or worse than in another evaluation."""
    against = evaluation["against"]
    rows = [
        [
            ("✗ " if cell["direction"] == Direction.WORSE else "✓ ") + cell["direction"],
            cell["case"],
            cell["says"],
            cell["cell"],
            f"{-cell['relative']:+.1%}".replace("%", " %"),
        ]
        for cell in against["cells"]
        if cell["direction"] != Direction.SAME
    ]
    names = ["", "case", "criterion", "cell", "change for the better"]
    return table(f"Against {against['name']}", names, rows)


def emulated_table(evaluation: Record) -> Table:
    """Returns the table of the cells that were emulated, beside their simulation."""
    rows = []
    for cell in evaluation["emulated"]:
        kernel = cell["why_not"] or _shown(cell["kernel"], cell)
        simulated = with_interval({**cell, "mean": cell["simulated"]}, cell)
        rows.append([cell["case"], cell["says"], cell["cell"], simulated, kernel])
    heads = ["case", "criterion", "cell", "simulated", "Linux, one run"]
    return table("The worst cells on the running kernel", heads, rows)


def cells_csv(evaluation: Record) -> str:
    """Returns every cell of every criterion as CSV, in base units."""
    names = list(evaluation["references"])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = ["case", "path", "run", "criterion", "metric", "subject", "unit", "side", "cell"]
    writer.writerow([*heads, "grade", "bound", "mean", "low", "high", *names])
    for case in evaluation["cases"]:
        for run in case["runs"]:
            for criterion in run["criteria"]:
                about = [criterion[name] for name in ("says", "metric", "subject", "unit", "side")]
                for cell in criterion["cells"]:
                    numbers = [cell[name] for name in ("bound", "mean", "low", "high")]
                    others = [cell["references"][name]["mean"] for name in names]
                    place = [case["id"], case["path"]["name"], run["name"]]
                    values = [cell["grade"], *numbers, *others]
                    writer.writerow([*place, *about, cell["cell"], *values])
    return text.getvalue()


def checks_table(run: Record) -> Table:
    """Returns the table of a run's checks on its trace."""
    rows = [
        [
            check["says"],
            check["origin"] + (", our bound" if check["number"] == "ours" else ""),
            f"{_HOLDS[check['holds']]} ({check['held']} of {check['of']})",
            check["found"],
        ]
        for check in run["checks"]
    ]
    note = "Of several seeds, the finding is that of the first one that fails, or of the first."
    title = f"What was checked: {run['name']}" if run["name"] else "What was checked"
    return table(title, ["check", "origin", "holds in seeds", "found"], rows, note)


def trace_table(record: Record) -> Table:
    """Returns the table of the checks on a trace of somebody else's implementation."""
    rows = [[check["says"], _HOLDS[check["holds"]], check["found"]] for check in record["checks"]]
    title = ", ".join(filter(None, (record["case"], record["run"])))
    return table(f"{title}: {record['evidence']}", ["check", "holds", "found"], rows)


def criteria_table(run: Record, label: str) -> Table:
    """Returns the table of a run's criteria, each with its worst cell."""
    rows = []
    for criterion in run["criteria"]:
        cell = criterion["cells"][criterion["worst"]]
        bound = _shown(cell["bound"], criterion)
        laxest = "the larger of " if criterion["side"] == "most" else "the smaller of "
        words = " and ".join(criterion["bound"])
        source = f" ({laxest if len(criterion['bound']) > 1 else ''}{words})"
        others = [_shown(each["mean"], criterion) for each in cell["references"].values()]
        rows.append(
            [
                criterion["says"],
                _GRADES[Grade(criterion["grade"])],
                _ending(cell, criterion),
                *others,
                f"at {criterion['side']} {bound}{source if words != bound else ''}",
                cell["cell"],
            ]
        )
    names = list(run["criteria"][0]["cells"][0]["references"])
    title = f"Our criteria: {run['name']}" if run["name"] else "Our criteria"
    count = len(run["criteria"][0]["cells"])
    left_out = f" {run['left_out']} larger cells were left out." if run["left_out"] else ""
    note = f"The worst of {count} cells each.{left_out}" if count > 1 else left_out.strip()
    return table(
        title, ["criterion", "grade", label, *names, "our bound", "worst cell"], rows, note
    )


def cells_table(criterion: Record, label: str) -> Table:
    """Returns the table of all cells of a criterion."""
    rows = [
        [
            cell["cell"],
            _ending(cell, criterion),
            *(_shown(each["mean"], criterion) for each in cell["references"].values()),
            _shown(cell["bound"], criterion),
            _GRADES[Grade(cell["grade"])],
        ]
        for cell in criterion["cells"]
    ]
    names = list(criterion["cells"][0]["references"])
    return table(criterion["says"], ["cell", label, *names, "our bound", "grade"], rows)


def _shown(value: float | None, criterion: Record) -> str:
    return shown(value, criterion["shown_per_unit"], criterion["shown_unit"])


def _ending(cell: Record, criterion: Record) -> str:
    """Returns a cell with its interval; what is beyond a bound without a number never ended."""
    if cell["mean"] is None and cell["grade"] in (Grade.MISSED, Grade.FAR):
        return "never"
    return with_interval(cell, criterion)


def page(evaluation: Record, figures: Mapping[str, Sequence[Live]]) -> str:
    """Returns the text of the page. The same evaluation gives the same text.

    Args:
        evaluation: As in `evaluation.json`.
        figures: Those of each run, by their name in the evaluation.
    """
    label = evaluation["control"]["label"]
    sections = [
        {
            "case": case,
            "anchor": f"{case['id']}-{case['path']['name'].lower().replace(' ', '-')}",
            "sign": signed(case["verdict"]),
            "runs": [
                _run(case, number, run, figures, label) for number, run in enumerate(case["runs"])
            ],
        }
        for case in evaluation["cases"]
    ]
    drawn = [each for section in sections for run in section["runs"] for each in run["figures"]]
    template = environment("evaluation").get_template("evaluation.html.jinja")
    return template.render(
        title=f"{label}: {evaluation['suite']['title']}",
        one=evaluation,
        answer=answer(evaluation),
        verdicts=verdicts_table(evaluation),
        untested=[case for case in evaluation["cases"] if case["verdict"] == Verdict.NOT],
        quotation=quotation(evaluation),
        kernel=emulated_table(evaluation) if evaluation["emulated"] else None,
        against=changes_table(evaluation) if evaluation["against"] else None,
        facts=_facts(evaluation),
        sections=sections,
        failed=(Verdict.FAIL, Verdict.CONCERN),
        measured=any(run["criteria"] for case in evaluation["cases"] for run in case["runs"]),
        data=data_of(drawn),
        full=f"{FULL:g}",
        how=drawn[0][1].caption if drawn else "",
    )


def quotation(evaluation: Record) -> str:
    """Returns what somebody who quotes the result must say, in one sentence."""
    control, suite = evaluation["control"], evaluation["suite"]
    seeds = evaluation["seeds"]
    of_seeds = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    return (
        f"{control['label']} ({control['kind']}) of ackclock {evaluation['version']} "
        f"(build {evaluation['build'][:12]}), test cases of {suite['revision']} "
        f"({suite['date']}, data {suite['digest']}), {of_seeds}, "
        f"evaluated {evaluation['evaluated']}."
    )


def _facts(evaluation: Record) -> dict[str, str]:
    control, suite = evaluation["control"], evaluation["suite"]
    parameters = ", ".join(f"{name} {_brief(is_)}" for name, is_ in control["parameters"].items())
    paths = {f"path {path['name']}": path["is"] for path in evaluation["paths"] if path["is"]}
    return {
        "control": f"{control['label']}: {control['reference']}",
        "parameters": parameters or "none",
        "suite": f"{suite['title']}: {suite['source']}, revision {suite['revision']}",
        "beside": ", ".join(evaluation["references"].values()) or "none",
        **paths,
        "seeds": ", ".join(map(str, evaluation["seeds"])),
        "evidence": "simulation, packet by packet"
        + (f"; {len(evaluation['emulated'])} cells on Linux" if evaluation["emulated"] else ""),
        "badge": evaluation["badge"],
        "version": f"{evaluation['version']}, build {evaluation['build']}",
        "command": evaluation["command"],
        "evaluated": evaluation["evaluated"],
    }


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def signed(verdict: str) -> str:
    """Returns a verdict with its sign."""
    return f"{_SIGNS[Verdict(verdict)]} {verdict}"


def _linked(figure: Live, run: str) -> Live:
    """Returns a figure that zooms with the others of its run, and with no other."""
    return figure._replace(spec=figure.spec | {"link": run})


def _run(
    case: Record, number: int, run: Record, figures: Mapping[str, Sequence[Live]], label: str
) -> Record:
    prefix = f"{case['id']}-{case['path']['name'].lower().replace(' ', '-')}-{number}-"
    drawn = figures.get(run["figure"], ())
    events = [
        f"{name.replace('_', ' ')} at {at_s:.3f} s"
        for seed in run["seeds"]
        if seed["seed"] == run["figure_seed"]
        for name, at_s in seed["events"].items()
    ]
    caption = f"Seed {run['figure_seed']}" + (", the worst cell" if run["criteria"] else "")
    grids = [criterion for criterion in run["criteria"] if len(criterion["cells"]) > 1]
    maps = [heat_map(criterion) for criterion in grids]
    return {
        "run": run,
        "figures": [(f"{prefix}{figure.name}", _linked(figure, prefix)) for figure in drawn],
        "caption": ": ".join(filter(None, [caption, "; ".join(events)])),
        "checks": checks_table(run) if run["checks"] else None,
        "criteria": criteria_table(run, label) if run["criteria"] else None,
        "cells": [
            (f"{prefix}cells-{place}", cells_table(criterion, label))
            for place, criterion in enumerate(grids)
            if maps[place] is None
        ],
        "maps": [each for each in maps if each is not None],
        "scenario": Scenario(run["scenario"]).to_toml() if run["scenario"] else "",
    }
