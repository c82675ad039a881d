"""The command `reproduce`."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.errors import INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_rows, print_table, say, say_wrapped
from ackclock.cli.progress import progress
from ackclock.cli.show import experiment
from ackclock.errors import InputError
from ackclock.reproduction import Experiment, Kind, chosen, experiments, runner, tables
from ackclock.table import table

if TYPE_CHECKING:
    from ackclock.reproduction.runner import Record


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Reproduce everything.")
@click.option(
    "--list", "listed", is_flag=True, help="List the experiments and about how long each takes."
)
@click.option(
    "--quick",
    is_flag=True,
    help="Take a first look, with fewer and shorter runs and no final verdict; kept in quick/ "
    "within the folder.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("out/reproduce"),
    show_default=True,
    help="Folder of the gallery. Unchanged results in it are not computed again.",
)  # fmt: skip
@json_option
def reproduce(
    names: tuple[str, ...], everything: bool, listed: bool, quick: bool, output: Path, as_json: bool
) -> int:
    """Reproduce published tables and figures.

    NAMES are experiments or groups of them. Prints published numbers beside ours with a verdict,
    and writes a gallery. The exit code is 4 if a number that we claim has changed, or an emulation
    is unreliable.

    \b
    Example:
      ackclock reproduce --list
      ackclock reproduce markov-table-7.2 rfc9438
    """
    if not (names or everything or listed):
        raise InputError(
            "missing",
            "NAMES",
            "is missing; give names or groups, or --all; see ackclock reproduce --list",
        )
    wanted = chosen(names, experiments())
    if everything or not names:
        wanted = list(experiments())
    if listed:
        _print_catalogue(wanted, as_json)
        return 0
    runner.prepare(output)
    if quick:
        output /= runner.QUICK
        runner.prepare(output)
    with progress("reproduce") as tell:
        records = runner.reproduce_all(wanted, output, tell, quick=quick)
        page = runner.write_gallery(experiments(), output)
    _print_records(records, page, as_json)
    left = len(wanted) - len(records)
    if left:
        return complain(
            f"interrupted; {len(records)} done, {left} left: the same command continues",
            INTERRUPTED,
        )
    failed = [record["name"] for record in records if record["verdict"]["kind"] == Kind.CHANGED]
    if failed:
        return complain(f"the numbers have changed: {', '.join(failed)}", UNRELIABLE)
    doubtful = [
        record["name"] for record in records if record["verdict"]["kind"] == Kind.UNRELIABLE
    ]
    return (
        complain(f"unreliable: {', '.join(doubtful)}; run it again", UNRELIABLE) if doubtful else 0
    )


def _print_catalogue(experiments: Iterable[Experiment], as_json: bool) -> None:
    """Prints the experiments and their cost, under their source and question."""
    experiments = list(experiments)
    if as_json:
        print_json([experiment(one) for one in experiments])
        return
    for source, of_source in groupby(experiments, key=lambda one: one.source):
        say_wrapped(source)
        for question, group in groupby(of_source, key=lambda one: one.question):
            say()
            say_wrapped(question)
            for one in group:
                say(f"  {one.name:27} {one.cost_s:5g} s  {one.shows}")
        say()
    say("  next    ackclock reproduce NAME   (or a group: what stands before the first dash)")


def _print_records(records: "list[Record]", page: Path, as_json: bool) -> None:
    """Prints the verdict and the tables of each experiment, then all verdicts."""
    if as_json:
        print_json({"gallery": str(page), "experiments": records})
        return
    for record in records:
        say_wrapped(f"{record['name']}: {record['shows']}. {record['question']}")
        say()
        _print_verdict(record["verdict"])
        for shown in tables.tables(record):
            say()
            (print_rows if shown.keys else print_table)(shown, *filter(None, [shown.note]))
        for note in tables.notes(record):
            say_wrapped(note)
        say()
    if len(records) > 1:
        verdicts = ([one["name"], one["verdict"]["kind"]] for one in records)
        print_table(table("Verdicts", ["experiment", "verdict"], verdicts))
        say()
    say(f"  page    {page}   open it in a browser")
    if len(records) == 1:
        say(f"  next    ackclock show experiments {records[0]['name']}")


def _print_verdict(verdict: "dict[str, Any]") -> None:
    reason = f": {verdict['reason']}" if verdict["reason"] else ""
    failing = "; what does not come out:" if verdict["failing"] else ""
    say_wrapped(f"Verdict: {verdict['kind']}{reason}{failing}")
    for failing in verdict["failing"]:
        say_wrapped(f"- {failing}")
    for name in ("why", "reading"):
        if verdict[name]:
            say_wrapped(f"{name.capitalize()}: {verdict[name]}")
