"""Damage to files, as disks, copies and people do it."""

from collections.abc import Callable
from functools import partial
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


#: Damages of a file that holds an object of JSON.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "a list": lambda path: path.write_bytes(b"[]"),
    "an empty object": lambda path: path.write_bytes(b"{}"),
    "deep": lambda path: path.write_bytes(b'{"a":' * 900 + b"1" + b"}" * 900),
    "too deep": lambda path: path.write_bytes(b"[" * 100_000),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "Latin-1": lambda path: path.write_bytes(path.read_bytes().replace(b"a", b"\xe9")),
    "zeros": lambda path: path.write_bytes(path.read_bytes()[:50] + b"\0" * 50),
    "a large number": lambda path: path.write_bytes(b"9" * 10_000),
    "twice": lambda path: path.write_bytes(2 * path.read_bytes()),
    **{f"a bit at {place:.0%}": partial(flip, place=place) for place in (0.1, 0.3, 0.5, 0.7, 0.9)},
}
