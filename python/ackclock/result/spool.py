"""Tables that may become larger than memory, written while their rows come."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock.result.manifest import Entry
from ackclock.result.tables import Tables, write_table, written_as

# Rows in a row group. Fewer make a file slow to read, more take memory: this many take about 20 MB.
_ROWS = 65_536

# Pieces that are joined: each takes about 30 kB, however few its rows.
_PIECES = 100

#: A Parquet file: its path, or the open file.
File = Path | IO[bytes]


class Spool:
    """A Parquet file without a name, in the folder of the result."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        # The usual folder for temporary files may be in memory. `close` closes the file.
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._writer = parquet.ParquetWriter(self._file, schema, **written_as(schema))
        self._waiting: list[pa.Table] = []
        self._rows = self._written = 0

    def append(self, rows: pa.Table) -> None:
        """Appends rows, which are written once there are enough of them."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if self._rows >= _ROWS:
            self._write()
        elif len(self._waiting) >= _PIECES:
            self._waiting = [self._joined()]

    def _joined(self) -> pa.Table:
        return pa.concat_tables(self._waiting).unify_dictionaries().combine_chunks()

    def _write(self) -> None:
        self._writer.write_table(self._joined())
        self._written += self._rows
        self._waiting, self._rows = [], 0

    def ended(self) -> IO[bytes]:
        """Returns the file with all its rows, to read from; nothing more is appended."""
        if self._waiting or not self._written:
            self._write()
        self._writer.close()
        self._file.seek(0)
        return self._file

    def copy_to(self, path: Path) -> Entry:
        """Gives the file a name; nothing more is appended."""
        with path.open("wb") as named:
            shutil.copyfileobj(self.ended(), named)
        return Entry.describe(path, self._written)

    def close(self) -> None:
        """Closes the file, complete or not."""
        for closable in (self._writer, self._file):
            # A full disk has already been reported.
            with contextlib.suppress(OSError, pa.ArrowException):
                closable.close()


class SpooledTables(Tables):
    """Tables in memory, and beside them tables in files that follow each other."""

    def __init__(self, held: Mapping[str, pa.Table], spooled: Mapping[str, Sequence[File]]) -> None:
        """Stores tables, and the files of others, by name."""
        self._held = held
        self._spooled = dict(spooled)

    def write(self, name: str, folder: Path) -> Entry:
        """Writes a table into a folder; a row group of a table in files is in memory at a time."""
        files = self._spooled.get(name)
        if files is None:
            return write_table(self._held[name], folder, name)
        path, rows, writer = folder / f"{name}.parquet", 0, None
        for file in files:
            with parquet.ParquetFile(file) as source:
                writer = writer or parquet.ParquetWriter(
                    path, source.schema_arrow, **written_as(source.schema_arrow)
                )
                for group in range(source.num_row_groups):
                    writer.write_table(source.read_row_group(group))
                rows += source.metadata.num_rows
        if writer is not None:
            writer.close()
        return Entry.describe(path, rows)

    def move(self, folder: Path) -> None:
        """Tells that the tables in files are now in a folder that has been written."""
        self._spooled = {name: [folder / f"{name}.parquet"] for name in self._spooled}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._spooled:
            return self._held[name]
        tables = [parquet.read_table(file) for file in self._spooled[name]]
        return pa.concat_tables(tables).unify_dictionaries()

    def __contains__(self, name: object) -> bool:
        return name in self._held or name in self._spooled

    def __iter__(self) -> Iterator[str]:
        return iter([*self._held, *self._spooled])

    def __len__(self) -> int:
        return len(self._held) + len(self._spooled)


def written(tables: Mapping[str, pa.Table], name: str, folder: Path) -> Entry:
    """Writes a table into a folder, whatever holds it; returns what the file holds."""
    if isinstance(tables, SpooledTables):
        return tables.write(name, folder)
    return write_table(tables[name], folder, name)
