"""Duration of an emulation, and the part of it that fits a time limit: real time is expensive."""

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ackclock import units
from ackclock.scenario import Point, Scenario


class Part(NamedTuple):
    """The part of a scenario that is emulated.

    Attributes:
        scenario: With fewer replicates or points; None if not a single run fits.
        runs: Number of runs.
        duration_s: Their duration without the gaps between them.
        left_out: The part that is not emulated, in words; empty if everything is.
    """

    scenario: Scenario | None
    runs: int
    duration_s: float
    left_out: str


def duration_s(scenario: Scenario, side_by_side: int = 1) -> float:
    """Returns the duration of all runs, several side by side, without the gaps between them."""
    return part_within(scenario, None, side_by_side).duration_s


def part_within(scenario: Scenario, limit_s: float | None, side_by_side: int = 1) -> Part:
    """Returns the largest part of a scenario that fits a time limit.

    It has as many complete replicates of all points as fit. If not even one of each fits, it has
    one replicate of points spread over the sweep. If replicates are swept, every point keeps its
    own number. Points are then taken in an order in which each is as far as possible from those
    before, the first one first. A larger limit therefore adds to what a smaller one has.

    Args:
        scenario: With or without a sweep.
        limit_s: In seconds; None for no limit.
        side_by_side: Number of runs at once.
    """
    points = scenario.expand()
    durations = [_duration_s(point) for point in points]
    replicates = [_replicates(point) for point in points]
    whole = _together_s(zip(replicates, durations, strict=True), side_by_side)
    if limit_s is None or whole <= limit_s:
        return Part(scenario, sum(replicates), whole, "")
    swept, asked = "replicates" in points[0].assignments, replicates[0]
    # As many as fit if all are busy to the end, or one fewer.
    fitting = 0 if swept else math.floor(limit_s * side_by_side / sum(durations))
    while (
        fitting > 0
        and _together_s(((fitting, each_s) for each_s in durations), side_by_side) > limit_s
    ):
        fitting -= 1
    if fitting > 0:
        left_out = f"{asked - fitting} of {asked} replicates of each point"
        lasts = _together_s(((fitting, each_s) for each_s in durations), side_by_side)
        return Part(scenario.replace(replicates=fitting), fitting * len(points), lasts, left_out)
    runs = replicates if swept else [1] * len(points)
    chosen: list[int] = []
    lasts = 0.0
    for index in _spread([point.assignments for point in points]):
        more = sorted([*chosen, index])
        needed = _together_s(
            ((runs[position], durations[position]) for position in more), side_by_side
        )
        if needed > limit_s:
            break
        chosen, lasts = more, needed
    if not chosen:
        first = (
            f"{runs[0]} runs of {durations[0]:g} s are"
            if runs[0] > 1
            else f"a run of {durations[0]:g} s is"
        )
        return Part(None, 0, 0.0, f"{first} longer than {limit_s:g} s")
    left_out = f"{len(points) - len(chosen)} of {len(points)} points"
    left_out += "" if swept else ", and all replicates but the first"
    return Part(
        _of_points(scenario, [points[position] for position in chosen]),
        sum(runs[position] for position in chosen),
        lasts,
        left_out,
    )


def _together_s(runs: Iterable[tuple[int, float]], side_by_side: int) -> float:
    """Returns the duration of runs of which several run at once.

    The next begins when one has ended.

    Args:
        runs: Number and duration of runs, in the order in which they begin.
        side_by_side: Number of runs at once.
    """
    ends = [0.0] * side_by_side
    for count, each_s in runs:
        for _ in range(count):
            heapq.heapreplace(ends, ends[0] + each_s)
    return max(ends)


def _spread(assignments: Sequence[dict[str, object]]) -> list[int]:
    """Returns indices of points, each as far as possible from those before.

    Ties go to the first.
    """
    ranks = []
    for path in assignments[0]:
        values = list(dict.fromkeys(str(point[path]) for point in assignments))
        ranks.append(
            [values.index(str(point[path])) / max(1, len(values) - 1) for point in assignments]
        )
    places = list(zip(*ranks, strict=True)) or [()]
    order = [0]
    while len(order) < len(places):
        rest = [index for index in range(len(places)) if index not in order]
        order.append(
            max(
                rest,
                key=lambda index: min(
                    math.dist(places[index], places[earlier]) for earlier in order
                ),
            )
        )
    return order


def _of_points(scenario: Scenario, points: Sequence[Point]) -> Scenario:
    """Returns the scenario with these points only.

    Paths of a sweep that are joined by commas vary together.
    """
    paths = list(points[0].assignments)
    together = [[point.assignments[path] for path in paths] for point in points]
    values = together if len(paths) > 1 else [value for [value] in together]
    return scenario.replace(replicates=1, sweep={",".join(paths): values})


def _duration_s(point: Point) -> float:
    return units.seconds(point.scenario.resolve().tree["duration"])


def _replicates(point: Point) -> int:
    return int(point.scenario.resolve().tree["replicates"])
