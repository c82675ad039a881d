"""Standard output of commands: tables for people, JSON for programs."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
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
        _escaped(character)
        if character not in "\n\t" and category(character) in _CONTROL
        else character
        for character in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def print_json(value: Any) -> None:
    """Prints plain data and intervals; numbers that are not finite become null."""
    from ackclock.table import json_text

    click.echo(json_text(value), nl=False)


def width() -> int | None:
    """The width to fill: `COLUMNS`, or that of the terminal; None off a terminal."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say_wrapped(text: str) -> None:
    """Prints prose in lines that fit, of 80 columns at most."""
    click.echo(_wrapped(text))


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    columns = min(width() or 80, 80)
    return textwrap.fill(visible(text), columns, subsequent_indent=indent, break_on_hyphens=False)


def print_rows(table: "Table", note: str = "") -> "Table":
    """Prints a table with units below names and rules above and below its rows.

    Spare columns that do not fit are left out. A table with keys continues below, with its keys
    repeated. A name stands over the columns without a name that follow; `note` stands below.

    Returns:
        The table without the columns that were left out.
    """
    columns = width()
    shown = table if columns is None else _fitting(table, columns, under=True)
    click.echo(click.style(_wrapped(table.title), bold=True))
    click.echo()
    if columns is None or not table.keys:
        _print_part(shown)
    else:
        for part in _parts(shown, columns, _widths_of_cells(shown)):
            _print_part(shown.select(part))
    if note:
        say_wrapped(note)
    left_out = [column.head for column in table.columns if column not in shown.columns]
    if left_out:
        say_wrapped(f"left out at {columns} columns: {', '.join(left_out)}; --json has all")
    return shown


def fits(table: "Table") -> bool:
    """Returns true if a table with units below names is not wider than the terminal."""
    columns = width()
    return columns is None or _total(
        _widths_of_cells(table), list(range(len(table.columns)))
    ) <= columns  # fmt: skip


def _print_part(table: "Table") -> None:
    units = [visible(column.unit) for column in table.columns]
    rows = [[visible(cell) for cell in row] for row in table.texts]
    names = _names(table)
    wide = _widths_of_cells(table)
    right = table.numeric
    spans = [sum(wide[index] for index in span) + 2 * (len(span) - 1) for span in names.values()]

    def line(cells: Iterable[str], wide: list[int], right: list[bool]) -> str:
        padded = (
            cell.rjust(size) if is_right else cell.ljust(size)
            for cell, size, is_right in zip(cells, wide, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    heads = [
        visible(table.columns[index].name).center(size)
        if len(span) > 1
        else table.columns[index].name
        for (index, span), size in zip(names.items(), spans, strict=True)
    ]
    rule = ("─" if sys.stdout.isatty() else "-") * (sum(wide) + 2 * (len(wide) - 1))
    say(line(heads, spans, [right[index] for index in names]))
    if any(units):
        click.echo(line(units, wide, right))
    for text in (rule, *(line(row, wide, right) for row in rows), rule):
        click.echo(text)


def _names(table: "Table") -> dict[int, list[int]]:
    """The positions under each name: its own, and those of columns with a unit but no name."""
    spans: dict[int, list[int]] = {}
    for index, column in enumerate(table.columns):
        if index and not column.name and column.unit:
            spans[max(spans)].append(index)
        else:
            spans[index] = [index]
    return spans


def _widths_of_cells(table: "Table") -> list[int]:
    """The width of each column with its unit below its name."""
    wide = [
        max(len(visible(text)) for text in [column.unit, *(row[index] for row in table.texts)])
        for index, column in enumerate(table.columns)
    ]
    for index, span in _names(table).items():
        missing = len(visible(table.columns[index].name)) - _total(wide, span)
        wide[index] += max(missing, 0)
    return wide


def print_table(table: "Table") -> None:
    """Prints a table.

    If the output is too narrow, spare columns are left out. A table with keys continues below, with
    its keys repeated.
    """
    from rich.console import Console

    columns = width()
    terminal = columns is not None
    # Without a terminal, a row is one line whatever its length.
    console = Console(width=columns or 10_000, highlight=False, emoji=False, markup=False)
    shown = _fitting(table, console.width) if terminal else table
    # Printed apart from the table, which would break it at its own width.
    console.print(visible(table.title), style="bold", soft_wrap=True)
    if terminal and table.keys:
        for part in _parts(shown, console.width, _widths(shown)):
            console.print(_drawn(shown.select(part), stack=True))
    else:
        console.print(_drawn(shown, stack=terminal))
    left_out = [column.head for column in table.columns if column not in shown.columns]
    if left_out:
        say(f"left out at {columns} columns: {', '.join(left_out)}; --json has all")


# Rich's `SIMPLE_HEAD` in plain text.
_HYPHENS = "    \n    \n -- \n    \n    \n    \n    \n    \n"


def _drawn(table: "Table", *, stack: bool) -> "RichTable":
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(
        box=box.SIMPLE_HEAD if sys.stdout.isatty() else box.Box(_HYPHENS, ascii=True),
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


def _fitting(table: "Table", width: int, *, under: bool = False) -> "Table":
    """The table as far as it fits: first with labels cut, then without the spare columns.

    Args:
        table: The table.
        width: The width of the terminal.
        under: True if units stand below names.
    """
    kept = list(range(len(table.columns)))
    spare = {
        index: column.spare
        for index, column in enumerate(table.columns)
        if column.spare is not None
    }
    shown = table
    for left_out in (None, *sorted(spare, key=lambda position: spare[position])):
        if left_out is not None:
            kept.remove(left_out)
        shown = _with_cut_labels(table.select(kept), width, under=under)
        if _width(shown, under=under) <= width:
            return shown
    return shown


def _with_cut_labels(table: "Table", width: int, *, under: bool) -> "Table":
    """Cuts the longest labels of a table that is too wide, no further than it has to."""
    longest = {
        index: max((len(visible(row[index])) for row in table.texts), default=0)
        for index, column in enumerate(table.columns)
        if column.least is not None
    }
    for index in sorted(longest, key=lambda position: -longest[position]):
        excess = _width(table, under=under) - width
        if excess > 0:
            least = table.columns[index].least or 0
            table = table.cut(index, max(least, longest[index] - excess))
    return table


def _width(table: "Table", *, under: bool) -> int:
    wide = _widths_of_cells(table) if under else _widths(table)
    return _total(wide, list(range(len(table.columns))))


def _parts(table: "Table", width: int, wide: list[int]) -> list[list[int]]:
    """Cuts the columns of a table into tables that fit, each beginning with the keys."""
    keys = list(range(table.keys))
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


def counted(number: int, noun: str) -> str:
    """Returns a number and a noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
