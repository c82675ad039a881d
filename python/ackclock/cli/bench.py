"""The command `bench`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock.cli.options import checked_time, json_option, read_scenario
from ackclock.cli.output import counted, print_json, print_table, say
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.benchmark import Turns
    from ackclock.table import Table

#: Number of flows in the dumbbell.
_FLOWS = 10
#: Names of the columns for programs.
_NAMES = ("name", "packets_per_cpu_s", "ratio", "lowest_ratio", "highest_ratio", "published_ratio")


@click.command()
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Scenario whose speed is measured, and what it spends on what is recorded. "
    "[default: compare programs on a dumbbell]",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Another value for a field of the scenario; may be repeated.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Number of times that everything is run, in turn.",
)
@click.option(
    "--limit",
    default="60 s",
    show_default=True,
    metavar="TIME",
    callback=checked_time("60 s"),
    help="Time after which no other round begins.",
)
@json_option
def bench(
    scenario: Path | None, assignments: tuple[str, ...], rounds: int, limit: str, *, as_json: bool
) -> None:  # fmt: skip
    """Measure the speed of the engine on this machine.

    Compares it with the floor, the work that any such engine must do, and with ns-2 if that is
    installed. Programs take turns, and of several rounds the fastest counts, so compare ratios.
    With a scenario, runs its first seconds with more and less of what is recorded.

    \b
    Example:
      ackclock bench
      ackclock bench --scenario examples/dumbbell.toml
    """
    from ackclock import units
    from ackclock.cli.progress import progress

    limit_s = units.seconds(limit)
    if scenario is None:
        from ackclock.benchmark import compare_programs

        _refuse_assignments(assignments)
        with progress("bench") as tell:
            turns = compare_programs(_FLOWS, rounds, limit_s, tell)
        _print(turns, _programs(turns), as_json=as_json)
        return
    from ackclock.benchmark import compare_features

    read = read_scenario(scenario, assignments, None, 1)
    with progress(f"bench {scenario.name}") as tell:
        turns, seconds = compare_features(read.expand()[0].scenario, rounds, limit_s, tell)
    title = f"{scenario}, {units.shown(seconds, 's')}"
    _print(turns, _features(turns, title), as_json=as_json)


def _refuse_assignments(assignments: tuple[str, ...]) -> None:
    """Refuses changes to a scenario without one."""
    if assignments:
        raise InputError("contradiction", "--set", "needs a --scenario, which it changes")


def _programs(turns: "Turns") -> "Table":
    """Returns the table of programs beside the engine."""
    from ackclock.benchmark.programs import ENGINE, published
    from ackclock.table import Cell, Column, table

    of_release = published()
    rows: list[list[Cell]] = []
    for name in turns.speeds:
        ratio = turns.ratio(ENGINE, name)
        rows.append([name, turns.fastest(name), *ratio, of_release.get(name)])
    columns = [
        Column("program"),
        Column("data packets", "per CPU second"),
        Column("engine is faster by"),
        Column("lowest"),
        Column("highest"),
        Column("published"),
    ]
    return table(f"dumbbell, {_FLOWS} flows", columns, rows)


def _features(turns: "Turns", run: str) -> "Table":
    """Returns the table of what is recorded."""
    from ackclock.benchmark.features import AS_WRITTEN
    from ackclock.table import Cell, Column, table

    rows: list[list[Cell]] = [
        [name, turns.fastest(name), *turns.ratio(AS_WRITTEN, name)] for name in turns.speeds
    ]
    columns = [
        Column("run"),
        Column("data packets", "per CPU second"),
        Column("takes, to as written"),
        Column("lowest"),
        Column("highest"),
    ]
    return table(run, columns, rows)


def _print(turns: "Turns", shown: "Table", *, as_json: bool) -> None:
    """Prints a table of speeds, and under which circumstances they were measured."""
    from ackclock import engine

    load = os.getloadavg()[0]
    if as_json:
        rows = [dict(zip(_NAMES, row, strict=False)) for row in shown.rows]
        print_json({"rounds": turns.rounds, "load": load, "rows": rows})
        return
    print_table(shown)
    say(f"{counted(turns.rounds, 'round')}, load average {load:.1f}")
    if engine.is_checking():
        say("this engine checks itself as it runs (debug assertions), so it is slower", err=True)
