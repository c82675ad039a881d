"""Tables of a result: written with compression, read when they are first used, rows selected."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock.elements.registry import registry
from ackclock.errors import InputError
from ackclock.result.folder import RESULT, read_object
from ackclock.result.run_json import run_again

# Compression of tables.
COMPRESSION = "zstd"


def written_as(schema: pa.Schema) -> dict[str, Any]:
    """Returns options that write a table: no dictionaries of floats, which seldom repeat.

    Each page has a checksum, so that a reader notices damage.
    """
    repeating = [column.name for column in schema if not pa.types.is_floating(column.type)]
    return {
        "compression": COMPRESSION, "use_dictionary": repeating, "write_page_checksum": True,
    }  # fmt: skip


@cache
def _columns() -> dict[str, list[str]]:
    """Returns the names of the columns of each table that the engine writes."""
    return {
        table["name"]: [column["name"] for column in table["columns"]]
        for table in registry()["tables"]
    }


class Tables(Mapping[str, pa.Table]):
    """Tables that select rows themselves, which may be cheaper than reading a whole table."""

    def rows(self, name: str, wanted: Mapping[str, Any]) -> pa.Table:
        """Returns rows of a table; see `Result.rows`."""
        return matching(self[name], wanted)


class TablesInFolder(Tables):
    """The tables in a folder, each read when it is first used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
        self._read: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            with self._opened(name) as file:
                self._read[name] = file.read()
        return self._read[name]

    def rows(self, name: str, wanted: Mapping[str, Any]) -> pa.Table:
        """Returns rows of a table; one that has not been read is read piece by piece."""
        if name in self._read or not wanted:
            return matching(self[name], wanted)
        with self._opened(name) as file:
            pieces = [
                matching(file.read_row_group(number), wanted)
                for number in range(file.num_row_groups)
            ]
            return (
                pa.concat_tables(pieces).unify_dictionaries()
                if pieces
                else file.schema_arrow.empty_table()
            )

    def check(self, name: str) -> None:
        """Reads the end of a file, which describes the table.

        Raises:
            InputError: The file is damaged or lacks a column.
        """
        with self._opened(name):
            pass

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[parquet.ParquetFile]:
        """Yields the file of a table; an error of reading it is one line that names the file."""
        path = self._paths[name]
        again = run_again(read_object(self.folder / RESULT.mark))
        try:
            with parquet.ParquetFile(path, page_checksum_verification=True) as file:
                names = file.schema_arrow.names
                lacking = [column for column in _columns().get(name, ()) if column not in names]
                if lacking:
                    raise InputError("file", f"{path}", f"has no column {lacking[0]}; {again}")
                yield file
        except (OSError, pa.ArrowException) as error:
            words = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise InputError("file", f"{path}", f"is damaged ({words}); {again}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._paths  # Does not read the table.

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def matching(table: pa.Table, wanted: Mapping[str, Any]) -> pa.Table:
    """Returns the rows whose columns have the wanted values; see `Result.rows`."""
    import pyarrow.compute as pc  # takes a tenth of the time in which a short command starts

    masks = [_where(table[name], value) for name, value in wanted.items()]
    return table.filter(reduce(pc.and_, masks)) if masks else table


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
