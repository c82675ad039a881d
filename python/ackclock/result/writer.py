"""Writes a result's folder while its run goes on."""

from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from ackclock.result.folder import naming, refuse_other_result, sync, write_whole
from ackclock.result.manifest import Entry
from ackclock.result.result import Result
from ackclock.result.run_json import run_again, run_json
from ackclock.result.spool import Spool
from ackclock.result.tables import TablesInFolder, write_table


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
        self._spooled: dict[str, Spool] = {}
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
            self._spooled[name] = Spool(self._folder, rows.schema)
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
