"""Comparisons of evaluations: what moved, beyond chance and beyond a trifle."""

import copy
from typing import Any

import numpy as np
import pytest

from ackclock.evaluation import against
from ackclock.evaluation.against import Direction

SEEDS = 10


def evaluation(
    values: dict[str, Any], side: str = "least", bound: float = 0.5, verdict: str = "pass"
) -> dict:
    """Makes an evaluation of one criterion with these cells."""
    cells = [
        {
            "cell": name,
            "assignments": {"values.buffer": name},
            "mean": float(np.mean(row)),
            "values": [float(value) for value in np.broadcast_to(row, SEEDS)],
            "bound": bound,
            "references": {"cubic": {"mean": 1.0, "values": [1.0] * SEEDS}},
        }
        for name, row in values.items()
    ]
    criterion = {"says": "It uses the link", "metric": "goodput", "side": side, "cells": cells}
    run = {"name": "", "criteria": [criterion]}
    case = {"id": "one", "path": {"name": "p"}, "verdict": verdict, "runs": [run]}
    return {"seeds": list(range(1, SEEDS + 1)), "cases": [case]}


def noise(spread: float, seed: int = 1) -> Any:
    return 1 + spread * np.random.default_rng(seed).standard_normal(SEEDS)


def directions(now: dict, before: dict) -> dict[str, Direction]:
    return {change.cell: change.direction for change in against.changes(now, before)}


def test_less_is_worse_where_a_bound_is_the_least() -> None:
    before, less = evaluation({"a": 1.0}), evaluation({"a": 0.9})
    assert directions(less, before) == {"a": Direction.WORSE}
    assert directions(before, less) == {"a": Direction.BETTER}
    before, less = (evaluation({"a": value}, "most") for value in (1.0, 0.9))
    assert directions(less, before) == {"a": Direction.BETTER}


def test_cells_with_the_same_words_are_not_mixed_up() -> None:
    before = evaluation({"a": 1.0, "b": 0.5})
    for cell in before["cases"][0]["runs"][0]["criteria"][0]["cells"]:
        cell["cell"] = "queue droptail"
    assert {change.direction for change in against.changes(before, before)} == {Direction.SAME}


def test_a_trifle_is_within_chance_however_sure() -> None:
    assert directions(evaluation({"a": 0.99}), evaluation({"a": 1.0})) == {"a": Direction.SAME}
    # A change of a small number counts as a share of its bound.
    tiny, twice = (evaluation({"a": value}, "most", 0.02) for value in (1e-4, 2e-4))
    assert directions(twice, tiny) == {"a": Direction.SAME}


def test_equal_seeds_are_paired_and_others_are_not() -> None:
    """Seeds differ by 20 %, the controls by 5 %: only pairs show it."""
    wide = noise(0.2)
    now, before = evaluation({"a": 0.95 * wide}), evaluation({"a": wide})
    assert directions(now, before) == {"a": Direction.WORSE}
    others = copy.deepcopy(before)
    others["seeds"] = [seed + 100 for seed in others["seeds"]]
    assert directions(now, others) == {"a": Direction.SAME}


def test_many_cells_that_differ_by_chance_are_within_it() -> None:
    """A/A: at most one of 100 comparisons of 50 noisy cells shows anything (Holm at 1 %)."""
    shown = 0
    for number in range(100):
        before = evaluation({f"{n}": noise(0.1, 1000 * number + n) for n in range(50)})
        now = evaluation({f"{n}": noise(0.1, 1000 * number + 500 + n) for n in range(50)})
        shown += any(d is not Direction.SAME for d in directions(now, before).values())
    assert shown <= 1


def test_other_seeds_show_no_more_by_chance() -> None:
    """A/A without pairs: an interval at 95 % would call two cells of 50 each time."""
    shown = 0
    for number in range(100):
        before = evaluation({f"{n}": noise(0.1, 1000 * number + n) for n in range(50)})
        now = evaluation({f"{n}": noise(0.1, 1000 * number + 500 + n) for n in range(50)})
        now["seeds"] = [seed + 100 for seed in now["seeds"]]
        shown += any(d is not Direction.SAME for d in directions(now, before).values())
    assert shown <= 1


def test_other_seeds_find_a_change_and_say_how_many_would_find_a_smaller_one() -> None:
    before = evaluation({"a": noise(0.02, 1)})
    for factor, direction in ((0.85, Direction.WORSE), (0.99, Direction.SAME)):
        now = evaluation({"a": factor * noise(0.02, 2)})
        now["seeds"] = [seed + 100 for seed in now["seeds"]]
        (change,) = against.changes(now, before)
        assert change.direction is direction
        assert change.seeds >= 2


def test_five_per_cent_are_found_and_one_is_not() -> None:
    """Power: with 2 % between seeds, 5 % less in 20 cells is found in 95 of 100 at least."""
    detected = {0.95: 0, 0.99: 0}
    for factor in detected:
        for number in range(100):
            before = evaluation({f"{n}": noise(0.02, 1000 * number + n) for n in range(20)})
            now = evaluation(
                {f"{n}": factor * noise(0.02, 1000 * number + 500 + n) for n in range(20)}
            )
            detected[factor] += Direction.WORSE in directions(now, before).values()
    assert detected[0.95] >= 95
    assert detected[0.99] == 0


def test_a_change_says_how_many_seeds_would_show_it() -> None:
    (change,) = against.changes(
        evaluation({"a": 0.99 * noise(0.02, 5)}), evaluation({"a": noise(0.02, 6)})
    )
    assert change.direction is Direction.SAME
    assert change.seeds > 2


def test_verdicts_that_changed_are_listed() -> None:
    before = evaluation({"a": 1.0})
    now = evaluation({"a": 1.0}, verdict="concern")
    assert against.verdicts(now, before) == [("one", "pass", "concern", Direction.WORSE)]
    record = against.record(now, "before", before)
    assert record["worse"] == 1
    assert "Verdicts that changed: 1." in record["summary"]


def test_a_reference_stands_in_for_an_earlier_evaluation() -> None:
    now = evaluation({"a": 0.9})
    assert directions(now, against.reference_of(now, "cubic")) == {"a": Direction.WORSE}
    assert now["cases"][0]["runs"][0]["criteria"][0]["cells"][0]["mean"] == pytest.approx(0.9)
