"""Evaluates controls by the questions of RFC 9743 for the site: a page for each, and a matrix.

Simulating takes minutes, so what came of it is in the repository, without the values of single
seeds, and the site's pages are made of that. The same build gives the same bytes: pages have the
date of the last commit.

    python tools/evaluations.py make out/evaluations [CONTROL ...]    simulate all, record it
    python tools/evaluations.py pages out/site/evaluations            make pages of the record
"""

import argparse
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.evaluation import Candidate, KeptMetrics, Plan, evaluate, load
from ackclock.evaluation.page import cells_csv, page, signed
from ackclock.report.environment import environment
from ackclock.report.section import Live
from ackclock.result.folder import write_whole
from ackclock.table import Column, compact_json, table

#: Folder of what came of the evaluations.
RECORD = Path("docs/evaluations")

#: The page with their verdicts.
PAGE = Path("docs/evaluations.md")

#: The controls of the site.
CONTROLS = (
    "reno", "cubic", "bbr1", "bbr3", "dctcp", "prague", "westwood_abse", "vegas", "copa",
    "ledbat_plus_plus",
)  # fmt: skip

_PAGE = """{% extends "frame.html.jinja" %}
{% from "table.html.jinja" import table %}
{% block content %}
<header class="top"><h1>{{ title }}</h1>
<p>Each column is a page with the numbers, the bounds, which are ours, and what was not evaluated.
{% for name, label in labels.items() %}
<a href="{{ name }}/index.html">{{ label }}</a>{{ "." if loop.last else "," }}
{% endfor %}
</p>
</header>
<div class="verdicts">{{ table(matrix) }}</div>
{% endblock %}
"""


def main(arguments: Sequence[str]) -> None:
    """Evaluates, or makes pages of what is recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["make", "pages"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("controls", nargs="*", default=CONTROLS)
    parser.add_argument("--record", type=Path, default=RECORD)
    asked = parser.parse_args(arguments)
    if asked.task == "pages":
        write_pages(asked.record, asked.folder)
        return
    if "SOURCE_DATE_EPOCH" not in os.environ:
        os.environ["SOURCE_DATE_EPOCH"] = _last_commit()
    records = {}
    for name in asked.controls:
        print(f"evaluate {name}", flush=True)
        folder = asked.folder / name
        records[name], _ = evaluate(plan(name), folder)
        asked.record.mkdir(parents=True, exist_ok=True)
        write_record(asked.record / f"{name}.json.xz", records[name], folder)
    write_whole(asked.folder / "index.html", matrix(records))
    if tuple(asked.controls) == CONTROLS and asked.record == RECORD:
        write_verdicts(PAGE, verdicts(records))


def plan(name: str) -> Plan:
    """Returns the plan of a control: all quick cases."""
    suite = load("rfc9743")
    return Plan(
        suite,
        suite.cases,
        Candidate.read(name),
        suite.paths[:1],
        tuple(range(1, suite.seeds[0] + 1)),
        command=f"ackclock evaluate {name}",
        kept=KeptMetrics.of_user(),
    )


def write_record(file: Path, evaluation: Mapping[str, Any], folder: Path) -> None:
    """Writes what pages are made of: the evaluation without values of seeds, and its figures."""
    bare = json.loads(json.dumps(evaluation))
    for case in bare["cases"]:
        for run in case["runs"]:
            for criterion in run["criteria"]:
                for cell in criterion["cells"]:
                    for numbers in (cell, *cell["references"].values()):
                        del numbers["values"]
    figures = {name: json.loads((folder / name).read_bytes()) for name in figures_of(evaluation)}
    text = compact_json({"evaluation": bare, "figures": figures})
    file.write_bytes(lzma.compress(text.encode(), preset=9))


def read_record(file: Path) -> dict[str, Any]:
    """Returns an evaluation and its figures."""
    record: dict[str, Any] = json.loads(lzma.decompress(file.read_bytes()))
    return record


def figures_of(evaluation: Mapping[str, Any]) -> list[str]:
    """Returns the names of the figures of an evaluation."""
    return [run["figure"] for case in evaluation["cases"] for run in case["runs"] if run["figure"]]


def write_pages(record: Path, folder: Path) -> None:
    """Makes the pages of what is recorded."""
    evaluations = {}
    for name in CONTROLS:
        read = read_record(record / f"{name}.json.xz")
        evaluations[name] = read["evaluation"]
        figures = {
            figure: [Live(**each) for each in drawn] for figure, drawn in read["figures"].items()
        }
        (folder / name).mkdir(parents=True, exist_ok=True)
        write_whole(folder / name / "index.html", page(read["evaluation"], figures))
        write_whole(folder / name / "cells.csv", cells_csv(read["evaluation"]))
    write_whole(folder / "index.html", matrix(evaluations))


def write_verdicts(file: Path, text: str) -> None:
    """Replaces the table of verdicts on a page, which stands between two marks."""
    begin, end = "<!-- verdicts: begin -->", "<!-- verdicts: end -->"
    before, _, rest = file.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    write_whole(file, f"{before}{begin}\n\n{text}\n\n{end}{after}")


def verdicts(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the signs of the verdicts as a table in Markdown."""
    (first, *_) = records.values()
    heads = ["", "question", *(f"`{name}`" for name in records)]
    rows = [
        [case["number"], case["title"], *(_verdict(each, case)[0] for each in records.values())]
        for case in first["cases"]
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def matrix(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the page with a row for each question and a column for each control."""
    (first, *_) = records.values()
    rows = [
        [
            case["number"],
            case["title"],
            *(_verdict(each, case) for each in records.values()),
        ]
        for case in first["cases"]
    ]
    columns = [Column("", numeric=True), Column("question"), *(map(Column, records))]
    template = environment().from_string(_PAGE)
    return template.render(
        title="Congestion controls and the questions of RFC 9743",
        labels={name: record["control"]["label"] for name, record in records.items()},
        matrix=table("Verdicts", columns, rows),
        data=None,
    )


def _verdict(record: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    return signed(next(each["verdict"] for each in record["cases"] if each["id"] == case["id"]))


def _last_commit() -> str:
    """Returns the time of the last commit, in seconds since 1970."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1:])
