"""The command `check`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock import units
from ackclock.cli.options import json_option, read_scenario, scenario_options
from ackclock.cli.output import counted, print_json, print_table, say
from ackclock.elements import facts

if TYPE_CHECKING:
    from ackclock.table import Table


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

    Prints how many runs it describes, and what each expression and each BDP or RTT in it amounts
    to. With --json, prints every point with all defaults filled in.

    \b
    Example:
      ackclock check examples/leaky-pipe.toml
    """
    checked = read_scenario(scenario, assignments, seed, replicates)
    expanded = checked.expand()
    points = [(point.assignments, point.scenario.resolve().tree) for point in expanded]
    derived = [point.scenario.derived() for point in expanded]
    if as_json:
        print_json(
            [
                {"assignments": assigned, "scenario": tree, "derived": of_point}
                for (assigned, tree), of_point in zip(points, derived, strict=True)
            ]
        )
        return
    tree, replicates = points[0][1], points[0][1]["replicates"]
    arriving = sum("arrivals" in flow for flow in tree["flows"])
    flows = counted(sum(flow.get("count", 0) for flow in tree["flows"]), "flow")
    flows += f" and {arriving} whose instances arrive" if arriving else ""
    path = f"{counted(len(tree['hops']), 'hop')}, {flows}"
    runs = f"{counted(len(points), 'point')}, {counted(replicates, 'replicate')} of each"
    total = f"{counted(len(points) * replicates, 'run')} of {_durations(points)}"
    say(f"{scenario}: fine. {path}; {runs}: {total}{_only_emulated(points)}")
    if any(derived):
        say()
        print_table(_derived_table(derived))


def _durations(points: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Returns the length of the runs: one, or the shortest and the longest."""
    written = sorted({tree["duration"] for _, tree in points}, key=units.seconds)
    return written[0] if len(written) == 1 else f"{written[0]} to {written[-1]}"


# More rows hide what a reader looks for; --json has all.
_MOST_ROWS = 30


def _derived_table(derived: list[list[dict[str, Any]]]) -> "Table":
    """Returns what was computed, each result once with the number of points that have it."""
    from ackclock.table import Column, table

    points = Counter(
        (entry["field"], entry["written"], entry["value"], "; ".join(entry["sources"]))
        for of_point in derived
        for entry in of_point
    )
    differ = any(count < len(derived) for count in points.values())
    head = ["field", "written", "value", "from"]
    rows = [(*cells, count) if differ else cells for cells, count in points.items()]
    title = "derived values"
    if len(rows) > _MOST_ROWS:
        title += f", the first {_MOST_ROWS} of {len(rows)}; --json has all"
    return table(
        title, [*map(Column, head), *([Column("points")] if differ else [])], rows[:_MOST_ROWS]
    )


def _only_emulated(points: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Names the controls that only `emulate` runs, if there are any."""
    controls = [facts.control(flow) for _, tree in points for flow in tree["flows"]]
    named = dict.fromkeys(title for title, stated in controls if facts.only_in_kernel(stated))
    return f"; only ackclock emulate runs {', '.join(named)}" if named else ""
