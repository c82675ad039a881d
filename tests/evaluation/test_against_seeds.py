"""Whole evaluations with other seeds: equal controls differ by chance, which is not called.

`benches/evaluations.py` counts it over twelve evaluations of all cases. Here are four of three
cases, which make six pairs.
"""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.evaluation import Candidate, KeptMetrics, Plan, against, evaluate, load

pytestmark = pytest.mark.long

SEEDS = 6


def blocks(control: str, count: int, folder: Path) -> list[dict]:
    suite = load("rfc9743")
    suite = replace(suite, references={"cubic": suite.references["cubic"]})
    kept = KeptMetrics(folder / "kept")
    records = []
    for number in range(count):
        seeds = tuple(range(1 + SEEDS * number, 1 + SEEDS * (number + 1)))
        plan = Plan(
            suite, suite.chosen("Q3,Q5,Q13"), Candidate.read(control), suite.paths[:1], seeds,
            kept=kept,
        )  # fmt: skip
        records.append(evaluate(plan, folder / f"{control[:20]}-{number}")[0])
    return records


def test_equal_controls_are_within_chance_and_a_smaller_beta_is_found(tmp_path: Path) -> None:
    own = blocks("cubic", 4, tmp_path)
    assert not [record["failed"] for record in own if record["failed"]]
    for before, now in itertools.combinations(own, 2):
        compared = against.record(now, "before", before)
        assert compared["beyond"] == 0, compared["summary"]
    (smaller,) = blocks('{ kind = "cubic", beta = 0.5 }', 1, tmp_path)
    for before in own:
        assert against.record(smaller, "before", before)["worse"] > 0
