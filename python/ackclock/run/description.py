"""The contents of `run.json`."""

from typing import Any

from ackclock import engine
from ackclock.elements.registry import controls
from ackclock.result.run_json import SCHEMA
from ackclock.scenario import Point, Scenario


def describe(
    method: str, scenario: Scenario, points: list[Point], resolved: list[dict[str, Any]]
) -> dict[str, Any]:
    """Returns the contents of run.json.

    They exclude clock, host and number of threads: the same simulation gives the same bytes.
    """
    first = resolved[0]
    return {
        "schema": SCHEMA,
        "method": method,
        "name": first["name"],
        "seed": str(first["seed"]),
        "replicates": first["replicates"],
        "versions": {"ackclock": engine.version()},
        "partial": False,
        "warnings": [],
        "controls": controls(),
        "scenario": scenario.tree,
        "points": [
            {"assignments": point.assignments, "scenario": tree}
            for point, tree in zip(points, resolved, strict=True)
        ],
    }


def conclude(run: dict[str, Any], *, complete: bool, failure: str | None = None) -> None:
    """Adds to a run's description how it ended."""
    run["partial"] = not complete or failure is not None
    if run["replicates"] == 1:
        run["warnings"].append("one replicate: no confidence interval; set replicates = 5 or more")
    if failure is not None:
        run["warnings"].append(f"a run failed, replicates or points are missing: {failure}")
    elif not complete:
        run["warnings"].append("interrupted: replicates or points are missing")
