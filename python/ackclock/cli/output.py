"""Standard output of commands: tables for people, JSON for programs."""

import sys
from typing import TYPE_CHECKING, Any
from unicodedata import category

import click

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from ackclock.table import Table


#: Unicode categories of control characters, format characters (text direction among them) and line
#: separators.
_CONTROL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def say(text: str = "", *, err: bool = False) -> None:
    """Prints text on standard output or standard error, with control characters escaped."""
    click.echo(visible(text), err=err)


def visible(text: str) -> str:
    """Returns text with its control characters escaped, also those that change text direction.

    A name from a file must not move the cursor of a terminal. Newlines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        _escaped(one) if one not in "\n\t" and category(one) in _CONTROL else one for one in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def print_json(value: Any) -> None:
    """Prints plain data and intervals; numbers that are not finite become null."""
    from ackclock.table import json_text

    click.echo(json_text(value), nl=False)


def print_table(table: "Table") -> None:
    """Prints a table.

    If the terminal is too narrow, spare columns are left out. A table with keys continues below,
    with its keys repeated.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    # Without a terminal, a row is one line whatever its length.
    console = Console(
        width=None if terminal else 10_000, highlight=False, emoji=False, markup=False
    )
    shown = _fitting(table, console.width) if terminal else table
    # Printed apart from the table, which would break it at its own width.
    console.print(visible(table.title), style="bold", soft_wrap=True)
    if terminal and table.keys:
        for part in _parts(shown, console.width):
            console.print(_drawn(shown.select(part), stack=True))
    else:
        console.print(_drawn(shown, stack=terminal))
    left_out = [column.head for column in table.columns if column not in shown.columns]
    if left_out:
        say(f"left out, the terminal being narrow: {', '.join(left_out)}; --json has all")


def _drawn(table: "Table", *, stack: bool) -> "RichTable":
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(table.head),
    )
    for name, is_numeric in zip(table.head, table.numeric, strict=True):
        head = _stacked(name) if stack and is_numeric else name
        drawn.add_column(visible(head), justify="right" if is_numeric else "left", vertical="top")
    for row in table.texts:
        drawn.add_row(*map(visible, row))
    return drawn


def _stacked(name: str) -> str:
    """Returns a column's name in its smallest width."""
    return name.replace(" ", "\n")


def _fitting(table: "Table", width: int) -> "Table":
    """Returns the table without the spare columns that do not fit."""
    wide = _widths(table)
    kept = list(range(len(table.columns)))
    spare = {
        at: column.spare for at, column in enumerate(table.columns) if column.spare is not None
    }
    for at in sorted(spare, key=lambda position: spare[position]):
        if _total(wide, kept) <= width:
            break
        kept.remove(at)
    return table.select(kept)


def _parts(table: "Table", width: int) -> list[list[int]]:
    """Cuts the columns of a table into tables that fit, each beginning with the keys."""
    wide, keys = _widths(table), list(range(table.keys))
    parts = [keys.copy()]
    for first in range(table.keys, len(table.columns), table.together):
        group = list(range(first, min(first + table.together, len(table.columns))))
        if len(parts[-1]) > len(keys) and _total(wide, parts[-1] + group) > width:
            parts.append(keys.copy())
        parts[-1] += group
    return parts


def _widths(table: "Table") -> list[int]:
    """Returns the width of each column in characters."""
    names = [
        _stacked(name) if numeric else name
        for name, numeric in zip(table.head, table.numeric, strict=True)
    ]
    texts = table.texts
    return [
        max(len(line) for line in [*name.split("\n"), *(row[position] for row in texts)])
        for position, name in enumerate(names)
    ]


def _total(wide: list[int], columns: list[int]) -> int:
    """Returns the width of these columns side by side."""
    return sum(wide[position] for position in columns) + 2 * (len(columns) - 1)
