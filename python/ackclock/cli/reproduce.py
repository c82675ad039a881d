"""The command `reproduce`."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock.cli.complete import names_of
from ackclock.cli.errors import INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_rows, say, say_wrapped
from ackclock.cli.progress import progress
from ackclock.cli.records import experiment
from ackclock.errors import InputError, LackingError

if TYPE_CHECKING:
    from ackclock.reproduction import Experiment
    from ackclock.reproduction.runner import Record


@click.command()
@click.argument("names", nargs=-1, shell_complete=names_of("experiments"))
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

    NAMES are experiments or groups of them. Prints the verdict of each, and for one experiment the
    published numbers beside ours. The gallery, a page, has everything. The exit code is 4 if a
    number that we claim has changed, or an emulation is unreliable.

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
    from ackclock.reproduction import Kind, chosen, experiments, runner

    if not experiments():
        raise LackingError(
            "lacking",
            "",
            "no experiments are installed; those of papers: pip install ackclock-papers",
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


def _print_catalogue(experiments: "Iterable[Experiment]", as_json: bool) -> None:
    """Prints the experiments and their cost, under their source and question."""
    experiments = list(experiments)
    if as_json:
        print_json([experiment(entry) for entry in experiments])
        return
    for source, of_source in groupby(experiments, key=lambda entry: entry.source):
        say_wrapped(source)
        for question, group in groupby(of_source, key=lambda entry: entry.question):
            say()
            say_wrapped(question)
            for entry in group:
                say(f"  {entry.name:27} {entry.cost_s:5g} s  {entry.shows}")
        say()
    say("  next    ackclock reproduce NAME   (or a group: what stands before the first dash)")


def _print_records(records: "list[Record]", page: Path, as_json: bool) -> None:
    """Prints the answer of each experiment; of one alone also its numbers and statements."""
    if as_json:
        print_json({"gallery": str(page), "experiments": records})
        return
    if len(records) == 1:
        _print_whole(records[0])
        following = f"ackclock show experiments {records[0]['name']}"
    else:
        _print_answers(records)
        following = "ackclock reproduce NAME   prints the numbers of one"
    say()
    say(f"  page    {page}   open it in a browser")
    say(f"  next    {following}")


def _print_answers(records: "list[Record]") -> None:
    """Prints how many experiments have each verdict, a table of them, and what does not hold."""
    from ackclock.reproduction import sentences
    from ackclock.table import Column, table

    say_wrapped(sentences.summary(records))
    say()
    rows = [[answer["name"], answer["shows"], answer["verdict"]["kind"]] for answer in records]
    columns = ("experiment", Column("shows", spare=1), "verdict")
    print_rows(table("Verdicts", columns, rows))
    for record in records:
        if sentences.failing(record) or record["verdict"]["reason"]:
            say()
            say_wrapped(f"{record['name']}: {record['question']}")
            _print_answer(record)


def _print_whole(record: "Record") -> None:
    """Prints the answer of an experiment, the published numbers beside ours, and the statements."""
    from ackclock.reproduction import sentences, tables

    say_wrapped(f"{record['name']}: {record['shows']}. {record['question']}")
    say()
    _print_answer(record)
    for shown in tables.compared(record):
        say()
        print_rows(shown, *filter(None, [shown.note]))
    for note in tables.notes(record):
        say_wrapped(note)
    for heading, listed in sentences.statements(record):
        say()
        say_wrapped(heading)
        for line in listed:
            say_wrapped(f"- {line}")


def _print_answer(record: "Record") -> None:
    from ackclock.reproduction import sentences

    say_wrapped(sentences.answer(record))
    failing = sentences.failing(record)
    if failing:
        say_wrapped("What does not come out:")
    for line in failing:
        say_wrapped(f"- {line}")
    for reason in sentences.reasons(record):
        say_wrapped(reason)
