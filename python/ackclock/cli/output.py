"""What commands print on standard output: tables for people, JSON for machines."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table


def print_json(value: Any) -> None:
    """Prints plain data and intervals; what is not finite is null."""
    from ackclock.table import json_text

    click.echo(json_text(value), nl=False)


def print_table(
    title: str, head: list[str], cells: list[list[str]], spare: Sequence[str] = (), *, keys: int = 0, together: int = 1
) -> None:
    """Prints a table, on a terminal too narrow for it in one of two ways.

    Args:
        title: Above it.
        head: The columns' names.
        cells: Row by row.
        spare: Columns that it goes without, the first of them first.
        keys: If positive, so many columns tell the rows apart, and what does not fit follows below, beside them again.
        together: So many columns then stay together.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    # Where nobody looks, a row is a line however long it is.
    console = Console(width=None if terminal else 10_000, highlight=False, emoji=False, markup=False)
    numeric = {name for name, column in zip(head, zip(*cells, strict=True), strict=False) if _is_numeric(column)}
    left_out: list[str] = []
    if terminal:
        head, cells, left_out = _fitting(head, cells, numeric, spare, console.width)
    # Apart from the table, which would break it at its own width.
    console.print(title, style="bold", soft_wrap=True)
    if terminal and keys:
        for part in _parts(head, cells, numeric, keys, together, console.width):
            console.print(
                _table([head[at] for at in part], [[row[at] for at in part] for row in cells], numeric, stack=True)
            )
    else:
        console.print(_table(head, cells, numeric, stack=terminal))
    if left_out:
        click.echo(f"left out, the terminal being narrow: {', '.join(left_out)}; --json has all")


def _table(head: list[str], cells: list[list[str]], numeric: set[str], *, stack: bool) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(head),
    )
    for name in head:
        shown = _stacked(name) if stack and name in numeric else name
        table.add_column(shown, justify="right" if name in numeric else "left", vertical="top")
    for row in cells:
        table.add_row(*row)
    return table


def _is_numeric(column: Iterable[str]) -> bool:
    return all(cell[:1] in "0123456789–-+" for cell in column if cell)


def _stacked(name: str) -> str:
    """A column's name in its least width."""
    return name.replace(" ", "\n")


def _fitting(
    head: list[str], cells: list[list[str]], numeric: set[str], spare: Sequence[str], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Head and cells without as many of the columns `spare` as do not fit, and which these are."""
    wide = _widths(head, cells, numeric)
    kept = list(range(len(head)))
    for name in spare:
        if _total(wide, kept) <= width:
            break
        kept = [position for position in kept if head[position] != name]
    left_out = [name for position, name in enumerate(head) if position not in kept]
    return [head[position] for position in kept], [[row[position] for position in kept] for row in cells], left_out


def _parts(
    head: list[str], cells: list[list[str]], numeric: set[str], keys: int, together: int, width: int
) -> list[list[int]]:
    """The columns of the tables, one below the other, into which a table is cut; each begins with the keys."""
    wide = _widths(head, cells, numeric)
    parts = [list(range(keys))]
    for first in range(keys, len(head), together):
        group = list(range(first, min(first + together, len(head))))
        if len(parts[-1]) > keys and _total(wide, parts[-1] + group) > width:
            parts.append(list(range(keys)))
        parts[-1] += group
    return parts


def _widths(head: list[str], cells: list[list[str]], numeric: set[str]) -> list[int]:
    """Of each column, in characters."""
    names = [_stacked(name) if name in numeric else name for name in head]
    return [
        max(len(line) for line in [*name.split("\n"), *(row[position] for row in cells)])
        for position, name in enumerate(names)
    ]


def _total(wide: list[int], columns: list[int]) -> int:
    """Of these columns side by side."""
    return sum(wide[position] for position in columns) + 2 * (len(columns) - 1)
