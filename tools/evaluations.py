"""Evaluates controls by the questions of RFC 9743 for the site: a page for each, and a matrix.

The same build gives the same bytes: pages have the date of the last commit.

    python tools/evaluations.py out/evaluations [CONTROL ...]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.evaluation import Candidate, KeptMetrics, Plan, evaluate, load
from ackclock.evaluation.page import signed
from ackclock.report.environment import environment
from ackclock.result.folder import write_whole
from ackclock.table import Column, table

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
    """Evaluates into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("controls", nargs="*", default=CONTROLS)
    asked = parser.parse_args(arguments)
    os.environ.setdefault("SOURCE_DATE_EPOCH", _last_commit())
    suite = load("rfc9743")
    records = {}
    for name in asked.controls:
        print(f"evaluate {name}", flush=True)
        seeds = tuple(range(1, suite.seeds[0] + 1))
        command = f"ackclock evaluate {name}"
        plan = Plan(suite, suite.cases, Candidate.read(name), suite.paths, seeds, command=command)
        plan = replace(plan, kept=KeptMetrics.of_user())
        records[name], _ = evaluate(plan, asked.folder / name)
    write_whole(asked.folder / "index.html", matrix(records))


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
