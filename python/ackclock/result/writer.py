"""Writes a result's folder while its run goes on."""

import contextlib
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock.result.folder import naming, refuse_other_result, sync, write_whole
from ackclock.result.manifest import Entry
from ackclock.result.result import Result
from ackclock.result.run_json import run_again, run_json
from ackclock.result.tables import TablesInFolder, write_table, written_as

# Rows in a row group. Fewer make a file slow to read, more take memory: this many take about 20 MB.
_ROWS = 65_536

# Pieces that are joined: each takes about 30 kB, however few its rows.
_PIECES = 100


class GrowingResult:
    """A result's folder that remains usable if the process is killed at any moment.

    On entering, `run.json` is written, marked partial. The run may write its records and captures
    beside it. Tables come at the end, and the unmarked `run.json` last. Unfinished tables are in
    files without a name, which cannot be left behind.

    Attributes:
        begun: True once the folder exists.
    """

    def __init__(
        self,
        folder: Path,
        run: dict[str, Any],
        left: str,
        *,
        replace: bool = False,
        with_first_rows: bool = False,
    ) -> None:
        """Stores the arguments; writes nothing before the context is entered.

        Args:
            folder: The folder to write.
            run: Contents of `run.json` during the run; marked partial.
            left: What the folder holds if the tables were never written, for a message.
            replace: True to replace a result that the folder holds.
            with_first_rows: True to write nothing before the first rows are appended.
        """
        self._folder = folder
        self._run = run
        self._left = left
        self._replace = replace
        self._with_first_rows = with_first_rows
        self.begun = False
        self._spooled: dict[str, _Spool] = {}
        self._files: dict[str, Entry] = {}

    def __enter__(self) -> "GrowingResult":
        if not self._replace:
            refuse_other_result(self._folder)
        if not self._with_first_rows:
            self._begin()
        return self

    def _begin(self) -> None:
        Result(self._run | {"partial": True}).save(self._folder, replace=True)
        self.begun = True

    def append(self, name: str, rows: pa.Table) -> None:
        """Appends rows to a table that may become larger than memory."""
        if not self.begun:
            self._begin()
        if name not in self._spooled:
            self._spooled[name] = _Spool(self._folder, rows.schema)
        self._spooled[name].append(rows)

    def settle(self) -> TablesInFolder:
        """Gives the appended tables their names; returns them.

        Nothing more is appended.
        """
        for name, spool in self._spooled.items():
            self._files[name] = spool.copy_to(self._folder / f"{name}.parquet")
            spool.close()
        self._spooled = {}
        return TablesInFolder(self._folder, self._files, run_again(self._run))

    def finish(self, run: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Writes these tables, those that were appended, and the final description of the run."""
        for name, table in tables.items():
            self._files[name] = write_table(table, self._folder, name)
        self.settle()
        sync(*(self._folder / f"{name}.parquet" for name in self._files))
        write_whole(self._folder / "run.json", run_json(run, self._files))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for spool in self._spooled.values():
            spool.close()
        if kind is KeyboardInterrupt and self.begun:
            raise KeyboardInterrupt(f"interrupted; {self._folder} holds {self._left}") from None
        if isinstance(error, OSError):
            with naming(self._folder):
                raise error


class _Spool:
    """A Parquet file without a name, in the folder of the result."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        # The usual folder for temporary files may be in memory. `close` closes the file.
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._writer = parquet.ParquetWriter(self._file, schema, **written_as(schema))
        self._waiting: list[pa.Table] = []
        self._rows = self._written = 0

    def append(self, rows: pa.Table) -> None:
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

    def copy_to(self, path: Path) -> Entry:
        if self._waiting:
            self._write()
        self._writer.close()
        self._file.seek(0)
        with path.open("wb") as named:
            shutil.copyfileobj(self._file, named)
        return Entry.describe(path, self._written)

    def close(self) -> None:
        """Closes the file, complete or not."""
        for closable in (self._writer, self._file):
            # A full disk has already been reported.
            with contextlib.suppress(OSError, pa.ArrowException):
                closable.close()
