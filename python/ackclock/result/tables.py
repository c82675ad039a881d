"""Tables of a result: written with compression, read when they are first used, rows selected."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock.errors import InputError
from ackclock.result.manifest import Entry

# Compression of tables.
COMPRESSION = "zstd"

# Rows that are read at a time to select some of them.
_ROWS_OF_A_PIECE = 16_384


def written_as(schema: pa.Schema) -> dict[str, Any]:
    """Returns options that write a table: no dictionaries of floats, which seldom repeat."""
    repeating = [column.name for column in schema if not pa.types.is_floating(column.type)]
    return {"compression": COMPRESSION, "use_dictionary": repeating}


def write_table(table: pa.Table, folder: Path, name: str) -> Entry:
    """Writes a table of a result into its folder; returns what the file holds."""
    path = folder / f"{name}.parquet"
    parquet.write_table(table, path, **written_as(table.schema))
    return Entry.describe(path, table.num_rows)


class Tables(Mapping[str, pa.Table]):
    """Tables that select rows themselves, which may be cheaper than reading a whole table."""

    def rows(self, name: str, wanted: Mapping[str, Any], columns: Sequence[str] = ()) -> pa.Table:
        """Returns rows of a table; see `Result.rows`."""
        return matching(self[name], wanted, columns)


class TablesInFolder(Tables):
    """The tables in a folder, each read and compared with its manifest when it is first used."""

    def __init__(self, folder: Path, files: Mapping[str, Entry], remedy: str) -> None:
        """Reads nothing yet.

        Args:
            folder: The folder.
            files: What the file of each table holds.
            remedy: What to do about a file that is missing or damaged.
        """
        self.folder = folder
        self._files = files
        self._remedy = remedy
        self._read: dict[str, pa.Table] = {}
        self._checked: set[str] = set()

    def check(self, name: str, *, content: bool = True) -> None:
        """Compares the file of a table with its manifest, the content once.

        Args:
            name: Name of the table.
            content: False to compare only the size, without reading the file.

        Raises:
            InputError: It is missing, or another than the one that was written.
        """
        if name not in self._checked:
            problem = self._files[name].problem(self._path(name), content=content)
            if problem:
                raise self._damaged(name, problem)
            if content:
                self._checked.add(name)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _damaged(self, name: str, problem: str) -> InputError:
        path = self._path(name)
        if not path.exists():
            return InputError("file", f"{self.folder}", f"holds no {path.name}; {self._remedy}")
        return InputError("file", f"{path}", f"{problem}; {self._remedy}")

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            self.check(name)
            self._read[name] = parquet.read_table(self._path(name))
        return self._read[name]

    def rows(self, name: str, wanted: Mapping[str, Any], columns: Sequence[str] = ()) -> pa.Table:
        """Returns rows of a table; one that has not been read is read piece by piece."""
        if name in self._read or not wanted:
            return matching(self[name], wanted, columns)
        self.check(name)
        with parquet.ParquetFile(self._path(name)) as file:
            batches = file.iter_batches(
                _ROWS_OF_A_PIECE,
                columns=sorted({*columns, *wanted}) if columns else None,
                use_threads=False,
            )
            pieces = [
                matching(pa.Table.from_batches([batch]), wanted, columns) for batch in batches
            ]
            return (
                pa.concat_tables(pieces).unify_dictionaries()
                if pieces
                else matching(file.schema_arrow.empty_table(), {}, columns)
            )

    def __contains__(self, name: object) -> bool:
        return name in self._files  # Does not read the table.

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def matching(table: pa.Table, wanted: Mapping[str, Any], columns: Sequence[str] = ()) -> pa.Table:
    """Returns the rows whose columns have the wanted values; see `Result.rows`."""
    import pyarrow.compute as pc  # takes a tenth of the time in which a short command starts

    masks = [_where(table[name], value) for name, value in wanted.items()]
    chosen = table.select(columns) if columns else table
    return chosen.filter(reduce(pc.and_, masks)) if masks else chosen


def groups(table: pa.Table, keys: list[str]) -> pa.TableGroupBy:
    """Returns the groups of a table with equal values of `keys`, aggregated in this thread.

    A thread of Arrow's would still release its last columns after it has given the answer. Columns
    that belong to Python need the interpreter for that; one that ends meanwhile aborts the process.
    """
    return table.group_by(keys, use_threads=False)


def repeated(flows: pa.Table) -> frozenset[int]:
    """Returns the points whose replicates, two or more, have the same rows in the table `flows`."""
    flows = flows.unify_dictionaries()  # Else Arrow refuses to group rows of several files.
    names = [name for name in flows.column_names if name != "replicate"]
    counted = ("replicate", "count_distinct")
    rows, points = (groups(flows, keys).aggregate([counted]) for keys in (names, ["point"]))
    count = "_".join(counted)
    every = dict(zip(points["point"].to_pylist(), points[count].to_pylist(), strict=True))
    distinct = zip(rows["point"].to_pylist(), rows[count].to_pylist(), strict=True)
    differing = {point for point, those in distinct if those < every[point]}
    return frozenset(point for point, most in every.items() if most > 1) - differing


def _where(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    """Returns True for each row with the value, or with one of a list of values."""
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        # Words are compared once, and not in every row.
        coded = [_among(chunk, value) for chunk in column.chunks]
        return pa.chunked_array(coded, pa.bool_())
    if not isinstance(value, list):
        return pc.equal(column, value)
    return pc.is_in(column, value_set=pa.array(value, column.type))


def _among(coded: pa.DictionaryArray, value: Any) -> pa.Array:
    """Returns True for each word that is the value, or one of a list of values."""
    import pyarrow.compute as pc

    words = pa.array(value if isinstance(value, list) else [value], coded.type.value_type)
    codes = pc.index_in(words, value_set=coded.dictionary).drop_null()
    codes = codes.cast(coded.indices.type)
    # One is what is mostly asked for, and faster to compare with than a set.
    return pc.equal(coded.indices, codes[0]) if len(codes) == 1 else pc.is_in(coded.indices, codes)
