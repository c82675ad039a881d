"""The page of an evaluation: one self-contained HTML file, and its tables."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock.controls.evaluation.verdict import Verdict
from ackclock.report.environment import data_of, environment
from ackclock.report.section import Live
from ackclock.table import Column, Table, table

Record = dict[str, Any]

# A verdict is a sign and a word: colour is never the only sign.
_SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.SILENT: "?",
    Verdict.NOT: "–",
}
_HOLDS = {True: "holds", False: "fails", None: "cannot be decided"}


def answer(evaluation: Record) -> str:
    """Returns the verdicts in one sentence, with the cases that fail."""
    first = evaluation["paths"][0]["name"]
    shown = [case for case in evaluation["cases"] if case["path"]["name"] == first]
    parts = [
        f"{count} {words}"
        for verdict, words in (
            (Verdict.PASS, "pass"),
            (Verdict.FAIL, "fail"),
            (Verdict.SILENT, "where the draft does not say"),
            (Verdict.NOT, "that do not apply"),
        )
        if (count := evaluation["counts"][verdict])
    ]
    failing = ", ".join(str(case["number"]) for case in shown if case["verdict"] == Verdict.FAIL)
    names = f" Cases that fail: {failing}." if failing else ""
    elsewhere = sum(case["verdict"] == Verdict.FAIL for case in evaluation["cases"]) - sum(
        case["verdict"] == Verdict.FAIL for case in shown
    )
    names += f" Failures on the other paths: {elsewhere}." if len(evaluation["paths"]) > 1 else ""
    cases = f"{len(shown)} case{'' if len(shown) == 1 else 's'}"
    label = evaluation["control"]["label"]
    return f"{label} on path {first}, {cases}: {', '.join(parts)}.{names}"


def verdicts_table(evaluation: Record) -> Table:
    """Returns the table of all verdicts: a row for each case, a column for each path."""
    paths = [path["name"] for path in evaluation["paths"]]
    by_case: dict[str, dict[str, Record]] = {}
    for case in evaluation["cases"]:
        by_case.setdefault(case["id"], {})[case["path"]["name"]] = case
    rows = []
    for records in by_case.values():
        first = next(iter(records.values()))
        verdicts = [_signed(records[path]["verdict"]) if path in records else "" for path in paths]
        rows.append([str(first["number"]), first["title"], *verdicts, first["reason"]])
    heads = ["verdict"] if len(paths) == 1 else paths
    columns = [Column("", numeric=True), Column("case"), *map(Column, heads)]
    why = f"why, on {paths[0]}" if len(paths) > 1 else "why"
    return table("Verdicts", [*columns, Column(why, spare=1, numeric=False)], rows)


def checks_table(run: Record) -> Table:
    """Returns the table of a run's checks."""
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


def page(evaluation: Record, figures: Mapping[str, Sequence[Live]]) -> str:
    """Returns the text of the page. The same evaluation gives the same text.

    Args:
        evaluation: As in `evaluation.json`.
        figures: Those of each run, by their name in the evaluation.
    """
    sections = [
        {
            "case": case,
            "anchor": f"{case['id']}-{case['path']['name'].lower().replace(' ', '-')}",
            "sign": _signed(case["verdict"]),
            "runs": [_run(case, number, run, figures) for number, run in enumerate(case["runs"])],
        }
        for case in evaluation["cases"]
    ]
    drawn = [shown for section in sections for run in section["runs"] for shown in run["figures"]]
    template = environment("controls/evaluation").get_template("evaluation.html.jinja")
    return template.render(
        title=f"{evaluation['control']['label']}: {evaluation['suite']['title']}",
        one=evaluation,
        answer=answer(evaluation),
        verdicts=verdicts_table(evaluation),
        quotation=quotation(evaluation),
        facts=_facts(evaluation),
        sections=sections,
        failed=Verdict.FAIL,
        data=data_of(drawn),
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
    paths = {f"path {path['name']}": path["is"] for path in evaluation["paths"]}
    return {
        "control": f"{control['label']}: {control['reference']}",
        "parameters": parameters or "none",
        "suite": f"{suite['title']}: {suite['source']}, revision {suite['revision']}",
        **paths,
        "seeds": ", ".join(map(str, evaluation["seeds"])),
        "version": f"{evaluation['version']}, build {evaluation['build']}",
        "command": evaluation["command"],
        "evaluated": evaluation["evaluated"],
    }


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _signed(verdict: str) -> str:
    return f"{_SIGNS[Verdict(verdict)]} {verdict}"


def _linked(figure: Live, run: str) -> Live:
    """Returns a figure that zooms with the others of its run, and with no other."""
    return figure._replace(spec=figure.spec | {"link": run})


def _run(case: Record, number: int, run: Record, figures: Mapping[str, Sequence[Live]]) -> Record:
    prefix = f"{case['id']}-{case['path']['name'].lower().replace(' ', '-')}-{number}-"
    drawn = figures.get(run["figure"], ())
    events = [
        f"{name} at {at_s:.3f} s"
        for seed in run["seeds"]
        if seed["seed"] == run.get("figure_seed")
        for name, at_s in seed["events"].items()
    ]
    return {
        "run": run,
        "figures": [(f"{prefix}{figure.name}", _linked(figure, prefix)) for figure in drawn],
        "caption": ": ".join(filter(None, [f"Seed {run.get('figure_seed')}", "; ".join(events)])),
        "checks": checks_table(run) if run["checks"] else None,
        "scenario": json.dumps(run["scenario"], indent=2) if run["scenario"] else "",
    }
