"""The part of a scenario that is emulated within a limit of real time."""

from itertools import pairwise

import pytest

from ackclock import Scenario
from ackclock.run.time_budget import duration_s, part_within


@pytest.fixture(scope="module")
def scenario(leaky_pipe: Scenario) -> Scenario:
    return leaky_pipe  # 6 points, 3 replicates, 5 s


def test_all_of_it_without_a_limit_or_within_one(scenario: Scenario) -> None:
    assert duration_s(scenario) == 90
    for limit in (None, 90.0, 1000.0):
        part = part_within(scenario, limit)
        assert part.scenario is scenario
        assert (part.runs, part.duration_s, part.left_out) == (18, 90, "")


@pytest.mark.parametrize(("limit", "replicates"), [(89.9, 2), (60, 2), (59, 1), (30, 1)])
def test_fewer_replicates_of_every_point(scenario: Scenario, limit: float, replicates: int) -> None:
    part = part_within(scenario, limit)
    assert part.scenario is not None
    assert [point.assignments for point in part.scenario.expand()] == [
        point.assignments for point in scenario.expand()
    ]
    assert part.scenario.expand()[0].scenario.resolve().replicates == replicates
    assert (part.runs, part.duration_s) == (6 * replicates, 30 * replicates)
    assert part.left_out == f"{3 - replicates} of 3 replicates of each point"


@pytest.mark.parametrize(
    ("limit", "replicates", "lasts"),
    [(25, 3, 25), (24.9, 2, 15), (15, 2, 15), (14.9, 1, 10), (10, 1, 10)],
)
def test_side_by_side_more_fits(
    scenario: Scenario, limit: float, replicates: int, lasts: float
) -> None:
    # Of 6 points: 18, 12 or 6 runs of 5 s, four at once.
    assert duration_s(scenario, 4) == 25
    part = part_within(scenario, limit, 4)
    assert part.scenario is not None
    assert (part.scenario.expand()[0].scenario.resolve().replicates, part.duration_s) == (
        replicates,
        lasts,
    )
    assert part.runs == 6 * replicates


def test_side_by_side_no_run_is_shorter(scenario: Scenario) -> None:
    assert duration_s(scenario, 1000) == 5
    assert part_within(scenario, 4.9, 1000).scenario is None
    part = part_within(scenario, 5, 4)
    assert (part.runs, part.duration_s, part.left_out) == (
        4,
        5,
        "2 of 6 points, and all replicates but the first",
    )


def test_fewer_points_all_over_the_sweep(scenario: Scenario) -> None:
    taken: list[list[dict]] = []
    for limit in (5, 10, 15, 20, 25):
        part = part_within(scenario, limit)
        assert part.scenario is not None
        assert part.duration_s == limit
        taken.append([point.assignments for point in part.scenario.expand()])
        assert duration_s(part.scenario) == limit
    assert [list(assignments.values()) for assignments in taken[1]] == [
        ["reno", "0 %"],
        ["cubic", "5 %"],
    ]  # opposite corners
    for fewer, more in pairwise(taken):
        assert all(assignments in more for assignments in fewer)
        assert len(more) == len(fewer) + 1
    order = [point.assignments for point in scenario.expand()]
    assert all(few == sorted(few, key=order.index) for few in taken)


def test_not_even_one(scenario: Scenario) -> None:
    part = part_within(scenario, 4.9)
    assert (part.scenario, part.runs, part.left_out) == (
        None,
        0,
        "a run of 5 s is longer than 4.9 s",
    )


def test_a_scenario_without_a_sweep_has_replicates_only(scenario: Scenario) -> None:
    alone = scenario.replace(sweep={})
    part = part_within(alone, 11)
    assert (part.runs, part.left_out) == (2, "1 of 3 replicates of each point")
    assert part_within(alone, 1).scenario is None


def test_a_single_swept_path(scenario: Scenario) -> None:
    swept = scenario.replace(
        sweep={"hops.wireless.impairments.0.probability": ["0 %", "1 %", "2 %"]}
    )
    part = part_within(swept, 10)
    assert part.scenario is not None
    assert [list(point.assignments.values()) for point in part.scenario.expand()] == [
        ["0 %"],
        ["2 %"],
    ]


def test_swept_replicates_stay_as_they_are(scenario: Scenario) -> None:
    swept = scenario.replace(sweep={"replicates": [1, 3]})
    assert duration_s(swept) == 20
    assert part_within(swept, 20) == (swept, 4, 20, "")
    part = part_within(swept, 10)
    assert part.scenario is not None
    assert (part.runs, part.duration_s, part.left_out) == (1, 5, "1 of 2 points")
    assert [point.assignments for point in part.scenario.expand()] == [{"replicates": 1}]
    assert duration_s(part.scenario) == 5
    dear = scenario.replace(sweep={"replicates": [3, 1]})
    assert part_within(dear, 10).left_out == "3 runs of 5 s are longer than 10 s"
