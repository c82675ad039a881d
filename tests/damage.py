"""Damage to files, as disks, copies and people do it."""

from pathlib import Path

import pyarrow.parquet as parquet


def flip(path: Path, place: float = 0.5) -> None:
    """Changes one bit, so far into the file."""
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    """Leaves the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def shorten(path: Path) -> None:
    """Puts another version of a table in its place: without the last row."""
    table = parquet.read_table(path)
    parquet.write_table(table.slice(0, table.num_rows - 1), path)
