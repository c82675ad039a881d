"""Finished runs of a simulation, kept until its result is complete.

An interrupted command, given again, continues after them. They are in `FOLDER` within the result's
folder. Runs that finish within about a second form a batch: their tables, and a manifest. Whatever
ends the command, at most that second is lost. A batch that is damaged is run again. The folder is
removed when the result is complete.

The table `packets` may be larger than memory. Each run has a file of it, which has no name before
the run has finished.
"""

import contextlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.result import manifest
from ackclock.result.folder import (
    ADDRESS,
    UNFINISHED,
    link_or_copy,
    naming,
    write_whole,
)
from ackclock.result.manifest import Entry

if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result.spool import File, Spool

#: Name of the folder within that of the result.
FOLDER = f"{UNFINISHED}runs"

#: Point and replicate of a run.
Key = tuple[int, int]


class FinishedRuns:
    """The finished runs of one simulation, in the folder of a result.

    Attributes:
        keys: Point and replicate of each run.
    """

    def __init__(self, folder: Path, made_of: str) -> None:
        """Finds the finished runs with this address; removes others, and damaged ones."""
        self._folder = folder / FOLDER
        self._made_of = made_of
        self._batches: list[Path] = []
        self._spools: dict[Key, Spool] = {}
        self.keys: list[Key] = []
        if not is_kept(folder, made_of):
            shutil.rmtree(self._folder, ignore_errors=True)
        for described in sorted(self._folder.glob("*.json")):
            runs = _runs_of(described)
            if runs is None or not set(runs).isdisjoint(self.keys):
                described.unlink()
            else:
                self._batches.append(described)
                self.keys += runs

    def tables(self) -> "list[dict[str, pa.Table]]":
        """Reads the tables of each batch, by name."""
        if not self._batches:
            return []
        from pyarrow import parquet  # Slow to import, and there is usually nothing to read.

        return [
            {
                name: parquet.read_table(batch.with_suffix("") / f"{name}.parquet")
                for name in sorted(manifest.read_sealed(batch)["files"])
                if not name.startswith(_PACKETS)
            }
            for batch in self._batches
        ]

    def append(self, run: Key, rows: "pa.Table") -> None:
        """Appends rows to the table `packets` of a run that goes on."""
        from ackclock.result.spool import Spool

        if not self._folder.exists():
            self.begin()
        if run not in self._spools:
            self._spools[run] = Spool(self._folder, rows.schema)
        self._spools[run].append(rows)

    def packets(self) -> "list[File]":
        """Returns the files of the table `packets`, by point and replicate.

        Those of unfinished runs end there.
        """
        files: dict[Key, File] = {run: spool.ended() for run, spool in self._spools.items()}
        for batch in self._batches:
            content = manifest.read_sealed(batch)
            for point, replicate in content["runs"]:
                name = _packets_of((point, replicate))
                if name in content["files"]:
                    files[point, replicate] = batch.with_suffix("") / f"{name}.parquet"
        return [files[run] for run in sorted(files)]

    def close(self) -> None:
        """Closes the files without a name."""
        for spool in self._spools.values():
            spool.close()
        self._spools = {}

    def keep(self, keys: Sequence[Key], tables: "Mapping[str, pa.Table]") -> None:
        """Keeps a batch of runs."""
        from pyarrow import parquet

        if not self._folder.exists():
            self.begin()
        last = self._batches[-1].stem if self._batches else -1
        batch = self._folder / f"{int(last) + 1:06}"
        shutil.rmtree(batch, ignore_errors=True)  # of a batch that was killed or damaged
        batch.mkdir()
        files: dict[str, Entry] = {}
        with naming(self._folder.parent):
            for name, table in tables.items():
                path = batch / f"{name}.parquet"
                parquet.write_table(table, path)
                files[name] = Entry.describe(path, table.num_rows)
            for run in [key for key in keys if key in self._spools]:
                name, spool = _packets_of(run), self._spools.pop(run)
                files[name] = spool.copy_to(batch / f"{name}.parquet")
                spool.close()
        described = batch.with_suffix(".json")
        content = {"runs": [list(key) for key in keys], "files": manifest.described(files)}
        manifest.write_sealed(described, content)
        self._batches.append(described)
        self.keys += keys

    def begin(self) -> None:
        """Makes the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / ADDRESS, f"{self._made_of}\n")

    def copy_to(self, staging: Path) -> None:
        """Links the finished runs into the folder that replaces the result's folder.

        The present folder is about to disappear.
        """
        if not self._folder.exists():
            self.begin()
        shutil.copytree(self._folder, staging / FOLDER, copy_function=link_or_copy)

    def prepare(self, kind: str) -> Path:
        """Makes a folder of files that runs write: captures (`pcap`) or `qlog`.

        Those of unfinished runs are removed, as a result may share them.
        """
        self.begin()
        folder = self._folder / kind
        folder.mkdir(exist_ok=True)
        whole = {f"point-{point}-replicate-{replicate}" for point, replicate in self.keys}
        for path in folder.iterdir():
            run = _RUN.match(path.name)
            if run is None or run[0] not in whole:
                path.unlink()
        return folder

    def remove_if_empty(self) -> None:
        """Removes the folder if it holds no runs, and the result's folder if that is then empty."""
        if not self.keys:
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                self._folder.parent.rmdir()


# Beginning of the name of a file that a run wrote.
_RUN = re.compile(r"point-\d+-replicate-\d+")

# Beginning of the name of a file of the table `packets`.
_PACKETS = "packets-"


def _packets_of(run: Key) -> str:
    """Returns the name of the file of the table `packets` of a run."""
    point, replicate = run
    return f"{_PACKETS}{point}-{replicate}"


def _runs_of(described: Path) -> list[Key] | None:
    """Returns the runs of a batch by its manifest; None if anything is damaged."""
    content = manifest.read_sealed(described)
    if not content:
        return None
    for name, entry in manifest.entries(content["files"]).items():
        if entry.problem(described.with_suffix("") / f"{name}.parquet"):
            return None
    return [(point, replicate) for point, replicate in content["runs"]]


def is_kept(folder: Path, made_of: str) -> bool:
    """Returns true if a result's folder holds finished runs with this address."""
    return address_in(folder / FOLDER) == made_of


def address_in(folder: Path) -> str | None:
    """Returns the address in a folder; None if it has none or a damaged one."""
    try:
        return (folder / ADDRESS).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
