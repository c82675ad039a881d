"""Reading the CSV file of a table that replaces an input of a model."""

import csv
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

import numpy as np

from ackclock.errors import InputError
from ackclock.models.model import Array, TableInput

Columns = Mapping[str, Array]

#: More rows are refused: every answer goes through all of them.
MOST_ROWS = 100_000


def read(table: TableInput, path: Path) -> Columns:
    """Returns the columns of a file that begins with a row of their names.

    Raises:
        InputError: The file cannot be read, or has other columns, no rows, too many rows, or a cell
            that is not a finite number.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            head = [name.strip() for name in next(rows, [])]
            _check_head(table, path, head)
            columns: dict[str, list[float]] = {name: [] for name in head}
            for number, row in enumerate(rows, 2):
                if row:
                    _add(columns, row, f"{path}, line {number}")
                if number > MOST_ROWS + 1:
                    raise InputError("out-of-range", f"{path}", f"has more than {MOST_ROWS:,} rows")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is no text"
        raise InputError("file", f"{path}", f"cannot be read: {reason}") from None
    if not columns[head[0]]:
        raise InputError("missing", f"{path}", "has no rows below the names of its columns")
    return {name: np.array(values) for name, values in columns.items()}


def _check_head(table: TableInput, path: Path, head: list[str]) -> None:
    needed, allowed = set(table.columns), {*table.columns, *table.others}
    if not needed <= set(head) <= allowed or len(set(head)) < len(head):
        others = f", and may have {', '.join(table.others)}" if table.others else ""
        raise InputError(
            "missing",
            f"{path}",
            f"line 1 must name the columns {', '.join(table.columns)}{others}; "
            f"it has {', '.join(head) or 'nothing'}",
        )


def _add(columns: Mapping[str, list[float]], row: list[str], where: str) -> None:
    if len(row) != len(columns):
        raise InputError("syntax", where, f"has {len(row)} cells, not {len(columns)}")
    for (name, values), cell in zip(columns.items(), row, strict=True):
        try:
            values.append(float(cell))
        except ValueError:
            raise InputError("wrong-type", where, f"{name}: {cell!r} is not a number") from None
        if not isfinite(values[-1]):
            raise InputError("out-of-range", where, f"{name}: {cell} is not finite")
