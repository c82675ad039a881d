"""Tables stored for tests: only the columns and rows that a conclusion reads.

The conclusion of a full run is drawn once from tables that record what is read. These parts are
stored, so that the conclusion can be drawn again without running anything. Stored tables refuse to
give what was not read then. A conclusion drawn from them is therefore the one from the full tables.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from ackclock.reproduction.digest import key
from ackclock.reproduction.experiment import Experiment, Run, measured
from ackclock.result.folder import write_whole
from ackclock.result.result import Result
from ackclock.result.tables import Tables, matching
from ackclock.run.description import conclude, describe

if TYPE_CHECKING:
    from ackclock.reproduction.outcome import Outcome

#: Column with the run of each row of a stored table: an index into `runs` of `stored.json`.
_RUN = "stored_run"
_DESCRIPTION = "stored.json"
_COMPRESSION_LEVEL = 19


class NotStoredError(Exception):
    """A conclusion reads what was not read when tables were stored; one line."""


def outcome_of(experiment: Experiment, results: Mapping[str, Result]) -> "Outcome":
    """Concludes and draws, as drawing may read tables too."""
    outcome = experiment.outcome(results)
    if outcome.draw is not None:
        outcome.draw()
    return outcome


def save(experiment: Experiment, results: Mapping[str, Result], folder: Path) -> "Outcome":
    """Concludes from full results, and writes what was read to a folder, replacing its contents."""
    reads = {name: _Reads() for name in results}
    watched = {
        name: Result(result.run, _WatchedTables(result, reads[name]))
        for name, result in results.items()
    }
    outcome = outcome_of(experiment, watched)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        stale.unlink()
    runs = experiment.runs()
    described: dict[str, dict[str, Any]] = {}
    for kind, names in _kinds(runs).items():
        together = _Reads.union(reads[name] for name in names)
        for table in together.columns:
            # Only runs that record delays of packets have a table of them.
            parts = [
                _part(results[name], table, together, number)
                for number, name in enumerate(names)
                if table in results[name].tables
            ]
            _write(_concatenated(parts), folder / f"{kind}-{table}.parquet")
        unread: dict[str, list[Any]] = {table: [] for table in results[names[0]].tables}
        described[kind] = {
            "runs": [_key(runs, name) for name in names],
            "rows": unread | together.rows,
        }
        if kind == "measured":
            described[kind]["described"] = [results[name].run for name in names]
    write_whole(folder / _DESCRIPTION, json.dumps(described) + "\n")
    return outcome


def load(experiment: Experiment, folder: Path) -> dict[str, Result]:
    """Returns the results for `Experiment.conclude`, with the tables stored in a folder.

    Raises:
        NotStoredError: Nothing is stored, or not for every run.
    """
    if not (folder / _DESCRIPTION).exists():
        raise NotStoredError(f"{experiment.name}: no tables are stored")
    described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
    runs, results = experiment.runs(), {}
    for kind, names in _kinds(runs).items():
        stored = described.get(kind, {"runs": []})
        files = {path.stem.partition("-")[2]: path for path in folder.glob(f"{kind}-*.parquet")}
        whole = {table: parquet.read_table(path) for table, path in files.items()}
        for name in names:
            if _key(runs, name) not in stored["runs"]:
                raise NotStoredError(f'{experiment.name}: no tables of the run "{name}" are stored')
            number = stored["runs"].index(_key(runs, name))
            run = stored["described"][number] if kind == "measured" else _description(runs[name])
            tables = {table: _of_run(rows, number) for table, rows in whole.items()}
            results[name] = Result(run, _StoredTables(experiment.name, tables, stored["rows"]))
    return results


def _kinds(runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Returns the names of results by kind; results of a kind have nearly the same tables."""
    kinds = {
        "simulated": list(runs),
        "measured": [measured(name) for name, run in runs.items() if run.measured],
    }
    return {kind: names for kind, names in kinds.items() if names}


def _key(runs: Mapping[str, Run], name: str) -> str:
    return key(
        runs[name]
        if name in runs
        else next(run for other, run in runs.items() if measured(other) == name)
    )


def _description(run: Run) -> dict[str, Any]:
    """Returns the `run.json` that a simulation would have."""
    points = run.scenario.expand()
    described = describe(
        "simulate", run.scenario, points, [point.scenario.resolve().tree for point in points]
    )
    conclude(described, complete=True)
    return described


class _Reads:
    """The parts of a result that were read.

    Attributes:
        columns: By table.
        rows: By table, the selections of rows as arguments of `Result.rows`; an empty one selects
            all rows.
    """

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, None]] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, table: str, wanted: Mapping[str, Any]) -> dict[str, None]:
        """Records a selection of rows; returns the columns, to be added to."""
        columns = self.columns.setdefault(table, {})
        columns.update(dict.fromkeys(wanted))
        selections = self.rows.setdefault(table, [])
        if dict(wanted) not in selections:
            selections.append(dict(wanted))
        return columns

    @classmethod
    def union(cls, parts: "Iterable[_Reads]") -> "_Reads":
        """Returns the union of what was read from several results."""
        union = cls()
        for part in parts:
            for table, selections in part.rows.items():
                for wanted in selections:
                    union.add(table, wanted).update(part.columns[table])
        return union


class _WatchedTables(Tables):
    """The tables of a result, with a record of what is read."""

    def __init__(self, result: Result, reads: _Reads) -> None:
        self._result, self._reads = result, reads

    def __getitem__(self, name: str) -> Any:
        return _WatchedTable(self._result.tables[name], self._reads.add(name, {}))

    def rows(self, name: str, wanted: Mapping[str, Any], columns: Sequence[str] = ()) -> Any:
        """Returns rows of a table, with these columns or all."""
        table = _WatchedTable(self._result.rows(name, **wanted), self._reads.add(name, wanted))
        return table.select(list(columns)) if columns else table

    def __contains__(self, name: object) -> bool:
        return name in self._result.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._result.tables)

    def __len__(self) -> int:
        return len(self._result.tables)


class _WatchedTable:
    """An Arrow table that records the columns that are read.

    It has the methods that conclusions and metrics use.
    """

    def __init__(self, table: pa.Table, columns: dict[str, None]) -> None:
        self._table, self._columns = table, columns
        self.num_rows: int = table.num_rows
        self.column_names: list[str] = table.column_names

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        column = self._table[name]
        self._columns[name] = None
        return column

    def select(self, names: Sequence[str]) -> "_WatchedTable":
        """Returns columns, each of which counts as read."""
        self._columns.update(dict.fromkeys(names))
        return _WatchedTable(self._table.select(names), self._columns)

    def filter(self, mask: Any) -> "_WatchedTable":
        """Returns some of the rows."""
        return _WatchedTable(self._table.filter(mask), self._columns)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Returns the rows; a column counts as read when a row is asked for it."""
        return [_WatchedRow(row, self._columns) for row in self._table.to_pylist()]


class _WatchedRow(dict[str, Any]):
    """A row that records the columns that are read."""

    def __init__(self, row: dict[str, Any], columns: dict[str, None]) -> None:
        super().__init__(row)
        self._columns = columns

    def __getitem__(self, name: str) -> Any:
        self._columns[name] = None
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a column, which counts as read."""
        self._columns[name] = None
        return super().get(name, default)

    def items(self) -> Any:
        """Returns all items; all columns count as read."""
        self._columns.update(dict.fromkeys(self))
        return super().items()

    def values(self) -> Any:
        """Returns all values; all columns count as read."""
        self._columns.update(dict.fromkeys(self))
        return super().values()


class _StoredTables(Tables):
    """Tables with the rows that were read once; others are refused."""

    def __init__(
        self, experiment: str, tables: Mapping[str, pa.Table], rows: Mapping[str, Any]
    ) -> None:
        self._experiment, self._tables, self._rows = experiment, tables, rows

    def __getitem__(self, name: str) -> pa.Table:
        return self.rows(name, {})

    def rows(self, name: str, wanted: Mapping[str, Any], columns: Sequence[str] = ()) -> pa.Table:
        """Returns rows of a table.

        Raises:
            NotStoredError: Not all of them are stored.
        """
        selections = self._rows[name]
        if wanted not in selections and {} not in selections:
            which = f"rows {dict(wanted)}" if wanted else "all rows"
            raise NotStoredError(f"{self._experiment}: {which} of table {name} are not stored")
        return matching(self._tables[name], wanted, columns)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _part(result: Result, table: str, reads: _Reads, number: int) -> pa.Table:
    """Returns the rows and columns of one result that are stored."""
    whole = result.tables[table]
    if {} not in reads.rows[table]:
        kept = pa.chunked_array([np.zeros(whole.num_rows, bool)])
        numbered = whole.append_column(_RUN, pa.array(np.arange(whole.num_rows)))
        for wanted in reads.rows[table]:
            kept = pc.or_(
                kept,
                pc.is_in(
                    numbered[_RUN], value_set=matching(numbered, wanted)[_RUN].combine_chunks()
                ),
            )
        whole = whole.filter(kept)
    columns = whole.select([name for name in whole.column_names if name in reads.columns[table]])
    return columns.append_column(_RUN, pa.array(np.full(whole.num_rows, number, np.int32)))


def _concatenated(parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def _of_run(rows: pa.Table, number: int) -> pa.Table:
    numbers = rows[_RUN].to_numpy()
    start, end = np.searchsorted(numbers, [number, number + 1])
    return rows.slice(start, end - start).drop_columns([_RUN])


def _write(table: pa.Table, path: Path) -> None:
    """Writes a table in as few bytes as possible.

    Columns of floats with few distinct values are stored as a dictionary, others split by byte.
    """
    floats = [
        name for name in table.column_names if pa.types.is_floating(table.schema.field(name).type)
    ]
    repeated = [name for name in floats if len(table[name].unique()) < table.num_rows / 4]
    split = [name for name in floats if name not in repeated]
    parquet.write_table(
        table, path, compression="zstd", compression_level=_COMPRESSION_LEVEL,
        use_byte_stream_split=split,
        use_dictionary=[name for name in table.column_names if name not in split],
        write_statistics=False,
    )  # fmt: skip
