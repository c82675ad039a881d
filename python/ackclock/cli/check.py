"""The command `check`."""

from pathlib import Path

import click

from ackclock.cli.options import json_option, read_scenario, scenario_options
from ackclock.cli.output import print_json, say


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
    say(f"{scenario}: fine. {path}; {runs}: {total}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
