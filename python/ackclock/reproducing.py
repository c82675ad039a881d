"""What `ackclock reproduce` prints."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock import compared, shown
from ackclock.experiments import Experiment
from ackclock.terminal import print_json, print_table

if TYPE_CHECKING:
    from ackclock.reproduction import Record


def print_catalogue(experiments: Iterable[Experiment], as_json: bool) -> None:
    """Prints what can be reproduced, and at what cost."""
    if as_json:
        print_json([shown.experiment(one) for one in experiments])
        return
    head = ["name", "shows", "seconds", "question"]
    for source, group in groupby(experiments, key=lambda one: one.source):
        rows = [[one.name, one.shows, f"{one.cost_s:g}", one.question] for one in group]
        print_table(source, head, rows)


def print_records(records: "list[Record]", page: Path, as_json: bool) -> None:
    """Prints the tables and the verdict of each experiment, then all verdicts."""
    if as_json:
        print_json({"gallery": str(page), "experiments": records})
        return
    for record in records:
        click.echo(f"{record['name']}: {record['shows']}. {record['question']}\n")
        for table in compared.tables(record):
            print_table(table.title, table.head, table.cells, keys=table.keys, together=compared.TOGETHER)
            click.echo(f"{table.note}\n" if table.note else "")
        for note in compared.notes(record):
            click.echo(note)
        click.echo(f"verdict: {record['verdict']['text']}\n")
    print_table("verdicts", ["experiment", "verdict"], [[one["name"], one["verdict"]["kind"]] for one in records])
    click.echo(f"gallery: {page}")
