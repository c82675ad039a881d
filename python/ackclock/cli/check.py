"""The command `check`."""

from pathlib import Path
from typing import Any

import click

from ackclock import facts
from ackclock.cli.options import json_option, read_scenario, scenario_options
from ackclock.cli.output import print_json, say
from ackclock.registry import registry


@click.command()
@scenario_options
@json_option
def check(
    scenario: Path,
    assignments: tuple[str, ...],
    seed: int | None,
    replicates: int | None,
    as_json: bool,
) -> None:
    """Check that a scenario can be run.

    Prints how many runs it describes; with --json, every point with all defaults filled in.

    \b
    Example:
      ackclock check examples/leaky-pipe.toml
    """
    checked = read_scenario(scenario, assignments, seed, replicates)
    points = [(point.assignments, point.scenario.resolve().tree) for point in checked.expand()]
    if as_json:
        print_json([{"assignments": assigned, "scenario": tree} for assigned, tree in points])
        return
    tree, replicates = points[0][1], points[0][1]["replicates"]
    arriving = sum("arrivals" in flow for flow in tree["flows"])
    flows = _count(sum(flow.get("count", 0) for flow in tree["flows"]), "flow")
    flows += f" and {arriving} whose instances arrive" if arriving else ""
    path = f"{_count(len(tree['hops']), 'hop')}, {flows}"
    runs = f"{_count(len(points), 'point')}, {_count(replicates, 'replicate')} of each"
    total = f"{_count(len(points) * replicates, 'run')} of {tree['duration']}"
    say(f"{scenario}: fine. {path}; {runs}: {total}{_only_emulated(points)}")


def _only_emulated(points: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Names the controls that only `emulate` runs, if there are any."""
    foreign = {entry["name"] for entry in registry()["controls"] if not entry["simulated"]}
    named = dict.fromkeys(
        facts.control(flow["transport"])[0]
        for _, tree in points
        for flow in tree["flows"]
        if facts.kind(facts.whole(flow["transport"], "control")) in foreign
    )
    return f"; only ackclock emulate runs {', '.join(named)}" if named else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
