"""The batches in the folder of a sweep, each with a manifest, and what is wrong with them.

A manifest (`batches/NAME.json`) is written after the files of its batch, whose tables it lists. It
is the only thing that makes a batch count. So a batch is whole, damaged or not there.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock.result import manifest
from ackclock.result.manifest import Entry
from ackclock.sweeps.plan import Key

#: Folder of the manifests.
FOLDER = "batches"

# Shard that wrote a batch, and the address of its runs.
_NAME = re.compile(r"(\d+)-of-(\d+)-[0-9a-f]{32}")


@dataclass(frozen=True)
class Kept:
    """A batch that the folder keeps, as its manifest describes it.

    Attributes:
        name: Name of its files, without ending.
        sweep: Address of the sweep's plan.
        method: Method of its runs.
        points: Point of each run.
        replicates: Replicate of each run.
        failed: Positions of the runs that failed.
        unreliable: Positions of the unreliable emulations.
        cpu_s: CPU time of all runs.
        files: What the file of each table holds.
    """

    name: str
    sweep: str
    method: str
    points: list[int]
    replicates: list[int]
    failed: list[int]
    unreliable: list[int]
    cpu_s: float
    files: dict[str, Entry]

    @property
    def runs(self) -> list[Key]:
        """Point and replicate of each run."""
        return list(zip(self.points, self.replicates, strict=True))

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Point and replicate of each run, a row each."""
        return np.array([self.points, self.replicates], np.int64).T

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Kept":
        """Reads the content of a manifest."""
        return cls(**{**content, "files": manifest.entries(content["files"])})

    def to_json(self) -> str:
        """Returns the text of the manifest."""
        fields = ("name", "sweep", "method", "points", "replicates", "failed", "unreliable")
        content = {name: getattr(self, name) for name in (*fields, "cpu_s")}
        return json.dumps(manifest.sealed({**content, "files": manifest.described(self.files)}))


class Damage(NamedTuple):
    """A file that is not as it was written.

    Attributes:
        file: The file, within the folder of the sweep.
        problem: Words that follow its name.
        batch: Name of the batch that it spoils.
    """

    file: str
    problem: str
    batch: str

    def __str__(self) -> str:
        return f"{self.file} {self.problem}"


@dataclass(frozen=True)
class Survey:
    """The batches at one moment.

    Attributes:
        whole: Those without damage.
        damage: What is wrong with others.
        unfinished: Files of batches that have not ended, or did not.
    """

    whole: list[Kept]
    damage: list[Damage]
    unfinished: list[Path]


class Batches:
    """The batches in a folder.

    Attributes:
        folder: The folder of the sweep.
        sweep: Address of its plan.
    """

    def __init__(self, folder: Path, sweep: str, tables: Collection[str]) -> None:
        """Reads nothing yet.

        Args:
            folder: The folder of the sweep.
            sweep: Address of its plan.
            tables: Names of all tables that a sweep may have.
        """
        self.folder = folder
        self.sweep = sweep
        self._tables = tables
        self._read: dict[tuple[str, int, int, int], Kept | str] = {}

    def manifest(self, name: str) -> Path:
        """Returns the manifest of a batch."""
        return self.folder / FOLDER / f"{name}.json"

    def file(self, name: str, table: str) -> Path:
        """Returns the file of a table of a batch."""
        return self.folder / table / f"{name}.parquet"

    def survey(self, content_of: Collection[str] = ()) -> Survey:
        """Looks at all batches.

        Args:
            content_of: Tables whose files are read and compared with their digests. Of other files
                only the sizes are compared.
        """
        whole: list[Kept] = []
        damage: list[Damage] = []
        for name, kept in self._manifests():
            harm = self._problem(name, kept, content_of)
            # Another process may just have removed the batch.
            if harm is not None and not self.manifest(name).exists():
                continue
            if harm is not None:
                damage.append(harm)
            elif not isinstance(kept, str):
                whole.append(kept)
        whole, doubled = _without_doubled(whole)
        names = {kept.name for kept in whole} | {harm.batch for harm in (*damage, *doubled)}
        others = [
            path
            for table in self._tables
            for path in sorted((self.folder / table).glob("[!.]*.parquet"))
            if path.stem not in names
        ]
        foreign = [
            Damage(path.relative_to(self.folder).as_posix(), "is of no batch", path.stem)
            for path in others
            if not _NAME.fullmatch(path.stem)
        ]
        unfinished = [path for path in others if _NAME.fullmatch(path.stem)]
        return Survey(whole, sorted([*damage, *doubled, *foreign]), unfinished)

    def _manifests(self) -> Iterator[tuple[str, Kept | str]]:
        """Yields the name of each manifest, with its content or what is wrong with it."""
        try:
            files = sorted(os.scandir(self.folder / FOLDER), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        for entry in files:
            if entry.name.startswith(".") or not entry.name.endswith(".json"):
                continue
            try:
                status = entry.stat()
                signature = (entry.name, status.st_mtime_ns, status.st_size, status.st_ino)
                if signature not in self._read:
                    self._read[signature] = self._parsed(Path(entry.path))
            except FileNotFoundError:
                continue
            yield entry.name.removesuffix(".json"), self._read[signature]

    def _parsed(self, path: Path) -> Kept | str:
        """Returns the content of a manifest, or what is wrong with it."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return "is damaged"
        content = manifest.unsealed(content) if isinstance(content, dict) else None
        if content is None:
            return "is damaged"
        try:
            kept = Kept.from_json(content)
        except (KeyError, TypeError, AttributeError):
            return "is not a manifest of a batch"
        if kept.sweep != self.sweep:
            return "is of another sweep"
        return kept if kept.name == path.stem else f"is a copy of {kept.name}.json"

    def _problem(self, name: str, kept: Kept | str, content_of: Collection[str]) -> Damage | None:
        if isinstance(kept, str):
            return Damage(f"{FOLDER}/{name}.json", kept, name)
        for table, entry in kept.files.items():
            problem = entry.problem(self.file(name, table), content=table in content_of)
            if problem:
                return Damage(f"{table}/{name}.parquet", problem, name)
        return None

    def remove(self, name: str) -> None:
        """Removes a batch, its manifest first."""
        self.manifest(name).unlink(missing_ok=True)
        for table in self._tables:
            self.file(name, table).unlink(missing_ok=True)


def _without_doubled(batches: list[Kept]) -> tuple[list[Kept], list[Damage]]:
    """Splits off batches with a run that another one has, too: which of them is right is unknown.

    Such batches come from a copied folder, or from an old copy of a manifest.
    """
    doubled: set[str] = set()
    for method in {kept.method for kept in batches}:
        those = [kept for kept in batches if kept.method == method]
        points, replicates = np.concatenate([kept.keys for kept in those]).T
        run = points * (replicates.max() + 1) + replicates
        _, place, count = np.unique(run, return_inverse=True, return_counts=True)
        owner = np.repeat(np.arange(len(those)), [len(kept.points) for kept in those])
        doubled |= {those[number].name for number in np.unique(owner[count[place] > 1])}
    words = "has runs that another batch has, too"
    damage = [Damage(f"{FOLDER}/{name}.json", words, name) for name in doubled]
    return [kept for kept in batches if kept.name not in doubled], damage


def is_of(name: str, number: int, count: int) -> bool:
    """Returns True if a process that runs a shard may remove a batch.

    Other shards of the same number look after their own. Those of other numbers have ended, as
    they exclude each other.

    Args:
        name: Name of the batch.
        number: Number of the shard, from 0.
        count: Number of shards.
    """
    match = _NAME.fullmatch(name)
    if count == 1 or match is None:
        return True
    return int(match[2]) != count or int(match[1]) == number


def counted(damage: Iterable[Damage]) -> str:
    """Returns the first of several damaged files, and how many more there are."""
    first, *others = damage
    more = f", and {len(others)} more file{'' if len(others) == 1 else 's'}" if others else ""
    return f"{first}{more}"
