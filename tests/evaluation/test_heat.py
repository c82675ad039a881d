"""Heat maps of criteria: which grids have one, its dimensions, and the colour of a cell."""

import itertools
import math

import pytest

from ackclock.evaluation.heat import FULL, heat_map

BUFFER, COUNT, OTHER = "values.buffer", "flows.x.count", "flows.other.count"
KIND = "flows.other.transport.control.kind"


def cell(assignments: dict, mean: float | None = 1.0, bound: float | None = 1.0,
         grade: str = "holds") -> dict:  # fmt: skip
    return {
        "assignments": assignments,
        "mean": mean,
        "low": mean,
        "high": None if mean is None else mean * 1.5,
        "bound": bound,
        "grade": grade,
        "references": {"cubic": {"mean": 0.02}, "reno": {"mean": 0.03}},
    }


def criterion(cells: list[dict], side: str = "most") -> dict:
    return {
        "says": "It drops little", "label": "drops", "side": side, "shown_unit": "%",
        "shown_per_unit": 100.0, "cells": cells,
    }  # fmt: skip


def grid(*values: tuple[str, list]) -> list[dict]:
    """Makes a cell for each combination; a path with commas has lists of values."""
    cells = []
    for each in itertools.product(*(of_path for _, of_path in values)):
        assignments = {}
        for (paths, _), value in zip(values, each, strict=True):
            names = paths.split(", ")
            row = value if len(names) > 1 else [value]
            assignments |= dict(zip(names, row, strict=True))
        cells.append(cell(assignments))
    return cells


def test_the_two_longest_dimensions_are_axes_and_others_panels() -> None:
    cells = grid((KIND, ["cubic", "reno"]), (f"{COUNT}, {OTHER}", [[1, 1], [1, 8], [8, 1]]),
                 (BUFFER, [0.5, 1, 2, 4]))  # fmt: skip
    shown = heat_map(criterion(cells))
    assert shown is not None
    assert (shown.x.name, shown.x.values) == ("buffer", ("0.5", "1", "2", "4"))
    assert shown.y.values == ("1 of x, 1 of other", "1 of x, 8 of other", "8 of x, 1 of other")
    assert [title for title, _ in shown.panels] == ["other cubic", "other reno"]
    assert all(len(rows) == 3 and len(row) == 4 for _, rows in shown.panels for row in rows)


@pytest.mark.parametrize(
    "cells",
    [
        grid((BUFFER, [1, 2, 4])),
        grid((f"{COUNT}, {OTHER}", [[1, 1], [8, 8], [1, 8]])),
        grid((BUFFER, [1, 2]), (COUNT, [1, 8]))[:3],
        grid((BUFFER, [1]), (COUNT, [1, 8])),
        [cell({})],
    ],
)
def test_what_is_no_grid_of_two_dimensions_has_none(cells: list[dict]) -> None:
    assert heat_map(criterion(cells)) is None


@pytest.mark.parametrize(
    ("mean", "bound", "side", "beyond", "octaves"),
    [
        (1.0, 1.0, "most", "within", 0.0),
        (2.0, 1.0, "most", "beyond", 1.0),
        (9.0, 1.0, "most", "beyond", 1.0),
        (math.sqrt(2), 1.0, "most", "beyond", 0.5),
        (math.sqrt(2), 1.0, "least", "within", 0.5),
        (0.5, 1.0, "least", "beyond", 1.0),
        (0.0, 0.0, "most", "within", 0.0),
        (0.0, 0.1, "most", "within", 1.0),
        (0.1, 0.0, "most", "beyond", 1.0),
        (None, 1.0, "most", "beyond", 1.0),
    ],
)
def test_a_colour_says_how_far_the_bound_is(
    mean: float | None, bound: float, side: str, beyond: str, octaves: float
) -> None:
    cells = grid((BUFFER, [1, 2]), (COUNT, [1, 8]))
    cells[0] |= {"mean": mean, "bound": bound, "grade": "missed"}
    shown = heat_map(criterion(cells, side))
    assert shown is not None
    first = shown.panels[0][1][0][0]
    assert (first.side, first.share) == (beyond, pytest.approx(60 * octaves, abs=0.06))
    assert first.text.endswith("!"), "colour is not the only sign"
    assert first.beside == "cubic 2"
    assert math.isclose(FULL, 2)


def test_a_cell_has_its_interval_and_what_never_ends_says_so() -> None:
    cells = grid((BUFFER, [1, 2]), (COUNT, [1, 8]))
    cells[1] |= {"mean": None, "grade": "far"}
    shown = heat_map(criterion(cells))
    assert shown is not None
    heats = [heat for row in shown.panels[0][1] for heat in row]
    assert (heats[0].text, heats[0].interval) == ("100", "100 to 150")
    assert sorted(heat.text for heat in heats) == ["100", "100", "100", "never ✗"]
