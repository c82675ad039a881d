"""The folder of a sweep: its plan, its points, and one Parquet dataset for each table.

```text
sweep.json          the plan; written first and never changed
points.parquet      number and swept values of each point
runs/*.parquet      one row for each run that has ended, with its failure if it has one
metrics/*.parquet   one row for each run, metric and flow or hop
flows/*.parquet     the tables that are kept of each run
predictions/*       one row for each point, flow and model, of the method predict
```

Every table has the swept values and the method as columns, so that a reader needs no join. The
column `reliable` is false for unreliable emulations. The files of a batch have the same name. The
file in `runs` is written last, so its presence means that the batch is complete. Files without it
are removed when the sweep goes on. So whatever ends a sweep, only batches under way are lost.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from ackclock.result.folder import UNFINISHED, Contents, read_object, whole, write_whole
from ackclock.result.tables import COMPRESSION, repeated
from ackclock.run import address
from ackclock.sweeps import parameters
from ackclock.sweeps.plan import TABLES, Key, Plan
from ackclock.sweeps.worker import Report

_PLAN, _POINTS, _RUNS, _METRICS = "sweep.json", "points.parquet", "runs", "metrics"

_TABLES = (_RUNS, _METRICS, "predictions", *TABLES)

#: What the folder of a sweep may hold.
SWEEP = Contents(
    "sweep",
    _PLAN,
    re.compile(
        rf"sweep\.json|points\.parquet|report\.html|lock-[\w-]+|figures(/[^/]+\.(svg|png|pdf))?"
        rf"|slurm(/.*)?|({'|'.join(_TABLES)})(/[\w-]+\.parquet)?"
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
    """

    def __init__(self, folder: Path) -> None:
        """Opens the folder of a sweep.

        Raises:
            InputError: It holds none.
        """
        self.folder = folder
        if not (folder / _PLAN).is_file():
            raise InputError(
                "file", f"{folder}", "holds no sweep; begin one with ackclock sweep run"
            )
        try:
            self.plan = Plan.from_json(read_object(folder / _PLAN))
        except InputError as error:
            raise error.for_field(f"{folder / _PLAN}") from None

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> "Store":
        """Makes the folder of a new sweep, in place of one with another plan."""
        if is_begun(folder, plan):
            return cls(folder)
        folder.mkdir(parents=True, exist_ok=True)
        cls._remove(folder)
        write_whole(folder / _PLAN, json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n")
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
            for name in _TABLES:
                shutil.rmtree(folder / name, ignore_errors=True)

    @cached_property
    def points(self) -> pa.Table:
        """Number and swept values of each point. Numbers are in the unit of the column's name.

        The metadata of a swept column has its `path` and its `unit`.
        """
        place = self.folder / _POINTS
        if not place.exists():
            points = self.plan.points
            swept = parameters.columns(points)
            arrays = [pa.array(np.arange(len(points), dtype=np.int64)), *map(_array, swept)]
            fields = [
                pa.field(
                    column.name, array.type, metadata={"path": column.path, "unit": column.unit}
                )
                for column, array in zip(swept, arrays[1:], strict=True)
            ]
            schema = pa.schema([pa.field("point", pa.int64()), *fields])
            self._write(place, pa.Table.from_arrays(arrays, schema=schema))
        return parquet.read_table(place)

    @property
    def swept(self) -> list[str]:
        """Names of the columns of swept values."""
        return list(self.points.column_names[1:])

    def dataset(self, name: str) -> ds.Dataset:
        """Returns a table as a dataset, which may be larger than memory.

        Raises:
            InputError: The sweep keeps no such table, or has no such rows yet.
        """
        files = self._parts(name)
        if not files:
            kept = [table for table in _TABLES if self._parts(table)]
            raise InputError(
                "no-data", f"{self.folder}", f"has no rows of {name} yet; "
                f"there is {', '.join(kept) or 'nothing'}",
            )  # fmt: skip
        return ds.dataset([str(file) for file in files], format="parquet")

    def runs(self) -> pa.Table:
        """Returns the rows of all runs that have ended."""
        return self._columns(_RUNS, None)

    def values(self, names: list[str], method: str | None = None) -> pa.Table:
        """Returns the rows of some metrics of reliable runs, without swept values.

        They are in order: a mean does not depend on which batches there were.

        Args:
            names: Names of the metrics.
            method: The method; None for all.
        """
        table = self._columns(_METRICS, _SCHEMAS[_METRICS].names)
        chosen = pc.and_(table["reliable"], pc.is_in(table["metric"], pa.array(names, pa.string())))
        if method is not None:
            chosen = pc.and_(chosen, pc.equal(table["method"], method))
        return table.filter(chosen).sort_by([("point", "ascending"), ("replicate", "ascending")])

    def identical(self) -> frozenset[int]:
        """Returns the points whose simulations are one repeated, as nothing random affects it.

        Without the table `flows` nothing is known.
        """
        if not self._parts("flows"):
            return frozenset()
        return repeated(self.dataset("flows").to_table(filter=ds.field("method") == "simulate"))

    def violated(self) -> set[tuple[int, str, str]]:
        """Returns point, flow and model of each prediction that violates an assumption."""
        if not self._parts("predictions"):
            return set()
        keys = ["point", "flow", "model"]
        table = self.dataset("predictions").to_table([*keys, "violated"])
        doubtful = table.filter(pc.greater(pc.list_value_length(table["violated"]), 0))
        return {tuple(row[key] for key in keys) for row in doubtful.to_pylist()}

    def _columns(self, name: str, columns: list[str] | None) -> pa.Table:
        if not self._parts(name):
            schema = _SCHEMAS[name]
            return schema.empty_table()
        return self.dataset(name).to_table(columns=columns)

    def _parts(self, name: str) -> list[Path]:
        """Returns the files of a table, those of whole batches only."""
        whole = {path.name for path in (self.folder / _RUNS).glob("[!.]*.parquet")}
        return sorted(
            path for path in (self.folder / name).glob("[!.]*.parquet") if path.name in whole
        )

    def write(self, report: Report, shard: Shard = WHOLE) -> None:
        """Adds what came of a batch."""
        runs = list(report.seconds)
        made_of = address.of_content(
            {"plan": self.plan.address, "method": report.method, "runs": runs}
        )
        part = f"{shard}-{made_of}.parquet"
        for name, table in {**report.tables, _RUNS: _table_of_runs(report)}.items():
            if table.num_rows or name == _RUNS:
                self._write(self.folder / name / part, self._with_keys(table, report))

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

    def _write(self, place: Path, table: pa.Table) -> None:
        """Writes a file completely or not at all."""
        place.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else uses this name, even on another machine.
        mine = f"{socket.gethostname()}-{os.getpid()}"
        aside = self.folder / f"{UNFINISHED}{mine}-{place.parent.name}-{place.name}"
        with whole(place, aside):
            parquet.write_table(table, aside, compression=COMPRESSION)

    def forget(self, runs: Iterable[tuple[str, int, int]]) -> None:
        """Forgets failed runs, so that the sweep runs them again.

        Args:
            runs: Method, point and replicate of each.
        """
        keys = set(runs)
        for path in self._parts(_RUNS):
            table = parquet.read_table(path)
            failed = pc.is_valid(table["failure"]).to_numpy(zero_copy_only=False)
            methods = table["method"].to_pylist()
            runs_of_rows = (
                (method, *key) for method, key in zip(methods, _keys(table), strict=True)
            )
            chosen = np.array([run in keys for run in runs_of_rows], bool) & failed
            if chosen.all():
                path.unlink()  # Its name may come again; what else has it is removed with it.
            elif chosen.any():
                self._write(path, table.filter(pa.array(~chosen)))

    @contextlib.contextmanager
    def locked(self, shard: Shard = WHOLE) -> Iterator["Lock"]:
        """Takes the folder for one process, or a shard of it; removes what an earlier one left.

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
            self._clear(shard)
            try:
                yield lock
            finally:
                lock.path.unlink(missing_ok=True)

    def _clear(self, shard: Shard) -> None:
        """Removes files of batches that were not finished."""
        mine = "*" if shard.count == 1 else f"{shard}-*"
        whole = {path.name for path in (self.folder / _RUNS).glob("*.parquet")}
        for path in self.folder.glob(f"{UNFINISHED}*-{mine}"):
            path.unlink(missing_ok=True)
        for name in _TABLES[1:]:
            for path in (self.folder / name).glob(f"{mine}.parquet"):
                if path.name not in whole:
                    path.unlink(missing_ok=True)


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
    """Returns True if a folder holds the sweep with this plan."""
    return bool(read_object(folder / _PLAN) == json.loads(json.dumps(plan.to_json())))


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
