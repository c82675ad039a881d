"""The folder of a sweep: its plan, its points, and one Parquet dataset for each table.

```text
sweep.json          the plan; written first and never changed
points.parquet      number and swept values of each point, for other readers
batches/*.json      a manifest for each batch: its runs, and what its files hold
runs/*.parquet      one row for each run that has ended, with its failure if it has one
metrics/*.parquet   one row for each run, metric and flow or hop
flows/*.parquet     the tables that are kept of each run
predictions/*       one row for each point, flow and model, of the method predict
```

Every table has the swept values and the method as columns, so that a reader needs no join. The
column `reliable` is false for unreliable emulations. The files of a batch have the same name. Its
manifest is written last, so its presence means that the batch is complete. Files without it are
removed when the sweep goes on. So whatever ends a sweep, only batches under way are lost.

Readers compare each file that they read with its digest, and the sizes of all others. When a sweep
goes on, it compares all digests, and runs damaged batches again.
"""

import contextlib
import fcntl
import io
import json
import os
import re
import shlex
import shutil
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.result import manifest
from ackclock.result.folder import UNFINISHED, Contents, whole
from ackclock.result.manifest import Entry
from ackclock.result.tables import COMPRESSION, repeated
from ackclock.run import address
from ackclock.sweeps import batches, parameters
from ackclock.sweeps.batches import Batches, Damage, Kept, Survey
from ackclock.sweeps.plan import TABLES, Key, Plan
from ackclock.sweeps.worker import Report
from ackclock.table import json_text

_PLAN, _POINTS, _RUNS, _METRICS = "sweep.json", "points.parquet", "runs", "metrics"

_TABLES = (_RUNS, _METRICS, "predictions", *TABLES)

#: What the folder of a sweep may hold.
SWEEP = Contents(
    "sweep",
    _PLAN,
    re.compile(
        rf"sweep\.json|points\.parquet|report\.html|lock-[\w-]+|figures(/[^/]+\.(svg|png|pdf))?"
        rf"|slurm(/.*)?|{batches.FOLDER}(/[\w-]+\.json)?|({'|'.join(_TABLES)})(/[\w-]+\.parquet)?"
    ),
)

# A lock on another machine that has been silent for this long is left behind by a dead process.
_SILENT_S = 600.0


@dataclass(frozen=True)
class Shard:
    """Every `count`-th point of a sweep, beginning with `number`.

    Attributes:
        number: From 0.
        count: Number of shards.
    """

    number: int = 0
    count: int = 1

    def __str__(self) -> str:
        return f"{self.number}-of-{self.count}"

    def has(self, point: int) -> bool:
        """Returns True if the point belongs to the shard."""
        return point % self.count == self.number

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Reads `1/8`: the first of eight.

        Raises:
            InputError: It is something else.
        """
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(
                "out-of-range", "--shard", f'"{text}" is not a shard; for example 1/8', text
            )
        return cls(int(match[1]) - 1, int(match[2]))


#: The shard that has every point.
WHOLE = Shard()


class Store:
    """The folder of a sweep.

    Attributes:
        folder: The folder.
        plan: The plan in it.
        healed: Damage that was found when the sweep went on; its batches were removed.
    """

    def __init__(self, folder: Path) -> None:
        """Opens the folder of a sweep.

        Raises:
            InputError: It holds none, or a damaged one.
        """
        self.folder = folder
        if not (folder / _PLAN).is_file():
            raise InputError(
                "file", f"{folder}", "holds no sweep; begin one with ackclock sweep run"
            )
        try:
            self.plan = Plan.from_json(manifest.read_sealed(folder / _PLAN))
        except InputError as error:
            raise error.for_field(f"{folder / _PLAN}") from None
        self.healed: list[Damage] = []
        self._batches = Batches(folder, self.plan.address, _TABLES)

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> "Store":
        """Makes the folder of a new sweep, in place of one with another plan."""
        if not is_begun(folder, plan):
            folder.mkdir(parents=True, exist_ok=True)
            cls._remove(folder)
        if not _has_plan(folder, plan):
            manifest.write_sealed(folder / _PLAN, plan.to_json())
        return cls(folder)

    @staticmethod
    def _remove(folder: Path) -> None:
        """Removes an earlier sweep, unless a process is running it."""
        with contextlib.ExitStack() as held:
            for lock in folder.glob("lock-*"):
                held.enter_context(Lock.taken(lock))
                lock.unlink(missing_ok=True)
            for name in (_PLAN, _POINTS):
                (folder / name).unlink(missing_ok=True)
            for name in (batches.FOLDER, *_TABLES):  # The manifests first.
                shutil.rmtree(folder / name, ignore_errors=True)

    @cached_property
    def points(self) -> pa.Table:
        """Number and swept values of each point. Numbers are in the unit of the column's name.

        The metadata of a swept column has its `path` and its `unit`.
        """
        points = self.plan.points
        swept = parameters.columns(points)
        arrays = [pa.array(np.arange(len(points), dtype=np.int64)), *map(_array, swept)]
        fields = [
            pa.field(column.name, array.type, metadata={"path": column.path, "unit": column.unit})
            for column, array in zip(swept, arrays[1:], strict=True)
        ]
        return pa.Table.from_arrays(
            arrays, schema=pa.schema([pa.field("point", pa.int64()), *fields])
        )

    def _write_points(self) -> None:
        """Writes the points for other readers, unless the file has them."""
        buffer = io.BytesIO()
        parquet.write_table(self.points, buffer, compression=COMPRESSION)
        place = self.folder / _POINTS
        if not place.is_file() or place.read_bytes() != buffer.getvalue():
            with whole(place, self._aside(place)) as aside:
                aside.write_bytes(buffer.getvalue())

    @property
    def swept(self) -> list[str]:
        """Names of the columns of swept values."""
        return list(self.points.column_names[1:])

    def survey(self, content_of: Collection[str] = ()) -> Survey:
        """Looks at all batches, and compares the content of these tables with their digests."""
        return self._batches.survey(content_of)

    def refuse_damage(self, *content_of: str) -> Survey:
        """Returns what `survey` does.

        Raises:
            InputError: A batch is damaged.
        """
        survey = self.survey(content_of)
        if survey.damage:
            raise InputError(
                "file", f"{self.folder}", f"{batches.counted(survey.damage)}; run the damaged "
                f"batches again: ackclock sweep resume {shlex.quote(str(self.folder))}",
            )  # fmt: skip
        return survey

    def dataset(self, name: str) -> ds.Dataset:
        """Returns a table as a dataset, which may be larger than memory.

        Raises:
            InputError: The sweep keeps no such table, has no such rows yet, or a batch is damaged.
        """
        survey = self.refuse_damage(name)
        files = self._files(survey, name)
        if not files:
            kept = [table for table in _TABLES if self._files(survey, table)]
            raise InputError(
                "no-data", f"{self.folder}", f"has no rows of {name} yet; "
                f"there is {', '.join(kept) or 'nothing'}",
            )  # fmt: skip
        return _dataset(files)

    def _files(self, survey: Survey, table: str) -> list[Path]:
        """Returns the files of a table, those of whole batches only."""
        return [
            self._batches.file(kept.name, table) for kept in survey.whole if table in kept.files
        ]

    def runs(self) -> pa.Table:
        """Returns the rows of all runs that have ended, without those of damaged batches."""
        return self._columns(self.survey([_RUNS]), _RUNS, None)

    def troubled(self) -> list[dict[str, Any]]:
        """Returns the rows of runs that failed or are unreliable, as `runs` does.

        Other batches are not read.
        """
        survey = self.survey()
        some = [kept for kept in survey.whole if kept.failed or kept.unreliable]
        rows = self._columns(replace(survey, whole=some), _RUNS, None).to_pylist()
        return [row for row in rows if row["failure"] or not row["reliable"]]

    def values(self, names: list[str], method: str | None = None) -> pa.Table:
        """Returns the rows of some metrics of reliable runs, without swept values.

        They are in order: a mean does not depend on which batches there were. Rows of damaged
        batches are left out.

        Args:
            names: Names of the metrics.
            method: The method; None for all.
        """
        table = self._columns(self.survey([_METRICS]), _METRICS, _SCHEMAS[_METRICS].names)
        chosen = pc.and_(table["reliable"], pc.is_in(table["metric"], pa.array(names, pa.string())))
        if method is not None:
            chosen = pc.and_(chosen, pc.equal(table["method"], method))
        return table.filter(chosen).sort_by([("point", "ascending"), ("replicate", "ascending")])

    def identical(self) -> frozenset[int]:
        """Returns the points whose simulations are one repeated, as nothing random affects it.

        Without the table `flows` nothing is known.
        """
        if not self._files(self.survey(), "flows"):
            return frozenset()
        return repeated(self.dataset("flows").to_table(filter=ds.field("method") == "simulate"))

    def violated(self) -> set[tuple[int, str, str]]:
        """Returns point, flow and model of each prediction that violates an assumption."""
        if not self._files(self.survey(), "predictions"):
            return set()
        keys = ["point", "flow", "model"]
        table = self.dataset("predictions").to_table([*keys, "violated"])
        doubtful = table.filter(pc.greater(pc.list_value_length(table["violated"]), 0))
        return {tuple(row[key] for key in keys) for row in doubtful.to_pylist()}

    def _columns(self, survey: Survey, table: str, columns: list[str] | None) -> pa.Table:
        files = self._files(survey, table)
        if not files:
            return _SCHEMAS[table].empty_table()
        return _dataset(files).to_table(columns=columns)

    def write(self, report: Report, shard: Shard = WHOLE) -> None:
        """Adds what came of a batch, and waits until it is on the disk."""
        runs = list(report.seconds)
        made_of = address.of_content(
            {"plan": self.plan.address, "method": report.method, "runs": runs}
        )
        name = f"{shard}-{made_of}"
        files = {
            table: self._write(name, table, self._with_keys(rows, report))
            for table, rows in {**report.tables, _RUNS: _table_of_runs(report)}.items()
            if rows.num_rows or table == _RUNS
        }
        self._write_manifest(
            Kept(
                name,
                self.plan.address,
                report.method,
                points=[point for point, _ in runs],
                replicates=[replicate for _, replicate in runs],
                failed=[place for place, run in enumerate(runs) if run in report.failures],
                unreliable=[place for place, run in enumerate(runs) if run in report.unreliable],
                cpu_s=sum(report.seconds.values()),
                files=files,
            )
        )

    def _with_keys(self, table: pa.Table, report: Report) -> pa.Table:
        """Returns a table with the rest of the keys behind point and replicate.

        They are the swept values, the method, and whether the run is reliable.
        """
        points = table["point"].to_numpy()
        keys = [(self.points.schema.field(name), self.points[name]) for name in self.swept]
        added = [(field, column.take(pa.array(points))) for field, column in keys]
        method = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(points), np.int32)), pa.array([report.method])
        )
        reliable = np.ones(len(points), bool)
        if report.unreliable:
            reliable[:] = [run not in report.unreliable for run in _keys(table)]
        added += [(pa.field("method", method.type), method)]
        added += [(pa.field("reliable", pa.bool_()), pa.array(reliable))]
        for index, (field, column) in enumerate(added, 1 + ("replicate" in table.column_names)):
            if field.name in table.column_names:
                raise AssertionError(f"a key is called {field.name}, as a column of the table")
            table = table.add_column(index, field, column)
        return table

    def _write(self, name: str, table: str, rows: pa.Table) -> Entry:
        """Writes a table of a batch completely or not at all; returns what the file holds."""
        place = self._batches.file(name, table)
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place, self._aside(place)) as aside:
            parquet.write_table(rows, aside, compression=COMPRESSION)
            return Entry.describe(aside, rows.num_rows)

    def _write_manifest(self, kept: Kept) -> None:
        place = self._batches.manifest(kept.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place, self._aside(place)) as aside:
            aside.write_text(kept.to_json(), encoding="utf-8")

    def _aside(self, place: Path) -> Path:
        """Returns the file that becomes `place`; nobody else uses it, even on another machine."""
        mine = f"{socket.gethostname()}-{os.getpid()}"
        return self.folder / f"{UNFINISHED}{mine}-{place.parent.name}-{place.name}"

    def forget(self, runs: Iterable[tuple[str, int, int]]) -> None:
        """Forgets failed runs, so that the sweep runs them again.

        Args:
            runs: Method, point and replicate of each.
        """
        keys = set(runs)
        for kept in self.survey([_RUNS]).whole:
            each = [(kept.method, *run) for run in kept.runs]
            forgotten = {place for place in kept.failed if each[place] in keys}
            left = [place for place in range(len(each)) if place not in forgotten]
            if not left:
                self._batches.remove(kept.name)
            elif len(left) < len(each):
                self._rewrite(kept, left)

    def _rewrite(self, kept: Kept, left: list[int]) -> None:
        """Writes a batch again without some of its failed runs.

        Meanwhile it has no manifest: if the process ends now, the whole batch is run again.
        """
        rows = parquet.read_table(self._batches.file(kept.name, _RUNS))
        self._batches.manifest(kept.name).unlink()
        entry = self._write(kept.name, _RUNS, rows.take(pa.array(left)))
        moved = {place: position for position, place in enumerate(left)}
        self._write_manifest(
            replace(
                kept,
                points=[kept.points[place] for place in left],
                replicates=[kept.replicates[place] for place in left],
                failed=[moved[place] for place in kept.failed if place in moved],
                unreliable=[moved[place] for place in kept.unreliable],
                files={**kept.files, _RUNS: entry},
            )
        )

    @contextlib.contextmanager
    def locked(self, shard: Shard = WHOLE) -> Iterator["Lock"]:
        """Takes the folder for one process, or a shard of it; removes what is damaged or left over.

        Raises:
            InputError: Another process has it.
        """
        for other in sorted(self.folder.glob("lock-*")):
            conflicts = shard.count == 1 or not other.name.endswith(f"-of-{shard.count}")
            if conflicts and other.name != f"lock-{shard}":
                with Lock.taken(other):
                    other.unlink(missing_ok=True)
        with Lock.taken(self.folder / f"lock-{shard}") as lock:
            lock.write()
            self._heal(shard)
            try:
                yield lock
            finally:
                lock.path.unlink(missing_ok=True)

    def _heal(self, shard: Shard) -> None:
        """Removes damaged batches, which are then run again, and files of unfinished ones."""
        survey = self.survey(_TABLES)
        self.healed = [
            harm for harm in survey.damage if batches.is_of(harm.batch, shard.number, shard.count)
        ]
        for harm in self.healed:
            self._batches.remove(harm.batch)
        for path in survey.unfinished:
            if batches.is_of(path.stem, shard.number, shard.count):
                path.unlink(missing_ok=True)
        mine = "*" if shard.count == 1 else f"*-{shard}-*"
        for path in self.folder.glob(f"{UNFINISHED}{mine}"):
            path.unlink(missing_ok=True)
        self._write_points()


class Lock:
    """A locked file that names who has it.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.path = path
        self._file = file
        self._touched = time.monotonic()

    @classmethod
    @contextlib.contextmanager
    def taken(cls, path: Path) -> Iterator["Lock"]:
        """Locks a file until the end of the body.

        Raises:
            InputError: Another process has it.
        """
        with path.open("a+", encoding="utf-8") as file:
            file.seek(0)
            holder = file.read()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _busy(path, holder) from None
            # Its holder may have ended and removed it since it was opened.
            if not path.exists() or path.stat().st_ino != os.fstat(file.fileno()).st_ino:
                raise _busy(path, "a process that is ending")
            # A file system may lock for each machine alone: then the file tells of another one.
            host = holder.partition(" ")[0]
            silent_s = time.time() - path.stat().st_mtime
            if host and host != socket.gethostname() and silent_s < _SILENT_S:
                raise _busy(path, holder)
            yield cls(path, file)

    def write(self) -> None:
        """Says who has it: host, process and time."""
        self._file.truncate(0)
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
        self._file.write(f"{socket.gethostname()} process {os.getpid()} since {now}")
        self._file.flush()

    def touch(self) -> None:
        """Shows other machines that the process lives; costs nothing if called often."""
        if time.monotonic() - self._touched > _SILENT_S / 20:
            self._touched = time.monotonic()
            os.utime(self.path)


def _busy(path: Path, holder: str) -> InputError:
    return InputError(
        "contradiction", f"{path.parent}", f"is in use by {holder or 'another process'}; wait for "
        f"it, or end it; a lock of a dead machine lasts {_SILENT_S / 60:.0f} min",
    )  # fmt: skip


def is_begun(folder: Path, plan: Plan) -> bool:
    """Returns True if a folder holds the sweep with this plan.

    If its plan is damaged, the manifests of its batches tell.
    """
    if _has_plan(folder, plan):
        return True
    if manifest.read_sealed(folder / _PLAN):
        return False
    return bool(Batches(folder, plan.address, _TABLES).survey().whole)


def _has_plan(folder: Path, plan: Plan) -> bool:
    return bool(manifest.read_sealed(folder / _PLAN) == json.loads(json_text(plan.to_json())))


def _dataset(files: list[Path]) -> ds.Dataset:
    return ds.dataset([str(file) for file in files], format="parquet")


def _array(column: parameters.Column) -> pa.Array:
    if isinstance(column.values, list):
        return pa.array(column.values, pa.string()).dictionary_encode()
    whole = column.values.astype(np.int64)
    if not column.unit and np.array_equal(whole, column.values):
        return pa.array(whole)
    return pa.array(column.values)


_METHOD = pa.dictionary(pa.int32(), pa.string())

_SCHEMAS = {
    _RUNS: pa.schema(
        [
            ("point", pa.int64()),
            ("replicate", pa.int64()),
            ("method", _METHOD),
            ("reliable", pa.bool_()),
            ("cpu_s", pa.float64()),
            ("failure", pa.string()),
            ("message", pa.string()),
        ]
    ),
    _METRICS: pa.schema(
        [
            ("point", pa.int64()),
            ("replicate", pa.int64()),
            ("method", _METHOD),
            ("reliable", pa.bool_()),
            ("metric", pa.string()),
            ("subject", pa.string()),
            ("value", pa.float64()),
            ("model", pa.string()),
            ("unsettled", pa.bool_()),
        ]
    ),
}


def _table_of_runs(report: Report) -> pa.Table:
    failures = [report.failures.get(run) for run in report.seconds]
    columns: Mapping[str, list[Any]] = {
        "point": [point for point, _ in report.seconds],
        "replicate": [replicate for _, replicate in report.seconds],
        "cpu_s": list(report.seconds.values()),
        "failure": [failure and failure.code for failure in failures],
        "message": [
            failure.message if failure else report.unreliable.get(run)
            for run, failure in zip(report.seconds, failures, strict=True)
        ],
    }
    own = [field for field in _SCHEMAS[_RUNS] if field.name in columns]
    return pa.table(columns, schema=pa.schema(own))


def _keys(table: pa.Table) -> list[Key]:
    points: NDArray[np.int64] = table["point"].to_numpy()
    return list(zip(points.tolist(), table["replicate"].to_numpy().tolist(), strict=True))
