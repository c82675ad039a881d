"""Finished runs of a simulation, kept until its result is whole: the same command goes on where one was interrupted.

They lie in the result's folder, in `FOLDER`: for each batch of runs that ended within about a
second their tables, and a file that names them. Whatever ends the command, at most that second is
lost. The folder goes when the result is whole.
"""

import contextlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.folder import ADDRESS, UNFINISHED, link_or_copy, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FOLDER", "FinishedRuns", "is_kept"]

#: Name of the folder within the result's.
FOLDER = f"{UNFINISHED}runs"

#: Point and replicate of a run.
Key = tuple[int, int]


class FinishedRuns:
    """The runs of one simulation that are kept in a result's folder.

    Attributes:
        keys: Point and replicate of each.
        pcap: The folder of their captures.
    """

    def __init__(self, folder: Path, made_of: str) -> None:
        """Finds what is kept in a result's folder of runs made of this; what is made of something else goes."""
        self._folder = folder / FOLDER
        self._made_of = made_of
        self.pcap = self._folder / "pcap"
        self._batches: list[Path] = []
        if not is_kept(folder, made_of):
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self._batches = sorted(self._folder.glob("*.json"))
        self.keys: list[Key] = [
            (point, replicate)
            for batch in self._batches
            for point, replicate in json.loads(batch.read_text())
        ]

    def tables(self) -> "list[dict[str, pa.Table]]":
        """Reads the tables of each batch, by name."""
        if not self._batches:
            return []
        from pyarrow import parquet  # heavy, and mostly there is nothing to read

        return [
            {
                path.stem: parquet.read_table(path)
                for path in sorted(batch.with_suffix("").glob("*.parquet"))
            }
            for batch in self._batches
        ]

    def keep(self, keys: Sequence[Key], tables: "Mapping[str, pa.Table]") -> None:
        """Keeps a batch of runs."""
        from pyarrow import parquet

        if not self._folder.exists():
            self.begin()
        batch = self._folder / f"{len(self._batches):06}"
        batch.mkdir(exist_ok=True)
        for name, table in tables.items():
            parquet.write_table(table, batch / f"{name}.parquet")
        described = batch.with_suffix(".json")
        write_whole(described, json.dumps([list(key) for key in keys]))
        self._batches.append(described)
        self.keys += keys

    def begin(self) -> None:
        """Makes the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / ADDRESS, f"{self._made_of}\n")

    def copy_to(self, staging: Path) -> None:
        """Gives what is kept a second name in the folder that replaces the result's, as this one vanishes."""
        if not self._folder.exists():
            self.begin()
        shutil.copytree(self._folder, staging / FOLDER, copy_function=link_or_copy)

    def prepare_captures(self) -> Path:
        """Makes the folder of captures; those of runs that were not finished go, as a result may share them."""
        self.begin()
        self.pcap.mkdir(exist_ok=True)
        whole = {f"point-{point}-replicate-{replicate}" for point, replicate in self.keys}
        for capture in self.pcap.iterdir():
            if capture.stem.rpartition("-")[0] not in whole:
                capture.unlink()
        return self.pcap

    def remove_if_empty(self) -> None:
        """Removes the folder, and the result's if it is empty, unless there are runs in it."""
        if not self.keys:
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                self._folder.parent.rmdir()


def is_kept(folder: Path, made_of: str) -> bool:
    """Whether runs made of this are kept in a result's folder."""
    address = folder / FOLDER / ADDRESS
    return address.is_file() and address.read_text(encoding="utf-8").strip() == made_of
