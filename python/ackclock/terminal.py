"""What commands print on standard output: tables for people, JSON for machines."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_json(value: Any) -> None:
    """Prints plain data and intervals; what is not finite is null."""
    from ackclock.summary import plain

    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(title: str, head: list[str], cells: list[list[str]], spare: Sequence[str] = ()) -> None:
    """Prints a table; on a terminal too narrow for it without the columns `spare`, the first of them first."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout.isatty()
    # Where nobody looks, a row is a line however long it is.
    console = Console(width=None if terminal else 10_000, highlight=False, emoji=False, markup=False)
    numeric = {name for name, column in zip(head, zip(*cells, strict=True), strict=False) if _is_numeric(column)}
    left_out: list[str] = []
    if terminal:
        head, cells, left_out = _fitting(head, cells, numeric, spare, console.width)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(head),
    )
    for name in head:
        shown = _stacked(name) if terminal and name in numeric else name
        table.add_column(shown, justify="right" if name in numeric else "left", vertical="top")
    for row in cells:
        table.add_row(*row)
    # Apart from the table, which would break it at its own width.
    console.print(title, style="bold", soft_wrap=True)
    console.print(table)
    if left_out:
        click.echo(f"left out, the terminal being narrow: {', '.join(left_out)}; --json has all")


def _is_numeric(column: Iterable[str]) -> bool:
    return all(cell[:1] in "0123456789–-" for cell in column if cell)


def _stacked(name: str) -> str:
    """A column's name in its least width."""
    return name.replace(" ", "\n")


def _fitting(
    head: list[str], cells: list[list[str]], numeric: set[str], spare: Sequence[str], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Head and cells without as many of the columns `spare` as do not fit, and which these are."""

    def wide(position: int) -> int:
        name = _stacked(head[position]) if head[position] in numeric else head[position]
        return max(len(line) for line in [*name.split("\n"), *(row[position] for row in cells)])

    kept = list(range(len(head)))
    for name in spare:
        if sum(wide(position) for position in kept) + 2 * (len(kept) - 1) <= width:
            break
        kept = [position for position in kept if head[position] != name]
    left_out = [name for position, name in enumerate(head) if position not in kept]
    return [head[position] for position in kept], [[row[position] for position in kept] for row in cells], left_out
