"""Reading of tables, group by group."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """Returns a column as an array; null in a column of numbers becomes NaN."""
    chunked = table[name]
    if pa.types.is_dictionary(chunked.type):
        chunked = chunked.cast(pa.string())
    return np.asarray(chunked.to_numpy())


def grouped(
    table: pa.Table, keys: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[tuple[Any, ...], Columns]]:
    """Yields the rows of each combination of `keys`, in order of appearance, as columns `names`."""
    if table.num_rows == 0:
        return
    codes = np.zeros(table.num_rows, np.int64)
    key_columns = [column(table, key) for key in keys]
    for key, values in zip(keys, key_columns, strict=True):
        inverse = _codes(table[key], values)
        codes = codes * (int(inverse.max()) + 1) + inverse
    columns = {name: column(table, name) for name in names}
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    groups = [order[a:b] for a, b in zip(starts, [*starts[1:], len(order)], strict=True)]
    for rows in sorted(groups, key=lambda rows: int(rows[0])):
        found = tuple(
            values[rows[0]].item() if hasattr(values[rows[0]], "item") else values[rows[0]]
            for values in key_columns
        )
        yield found, {name: values[rows] for name, values in columns.items()}


def mean_of_known(values: NDArray[np.float64]) -> float:
    """Returns the mean of the values that are not NaN; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _codes(chunked: pa.ChunkedArray, values: NDArray[Any]) -> NDArray[np.int64]:
    """Returns a code for each value; Arrow encodes strings, as NumPy compares them one by one."""
    if pa.types.is_dictionary(chunked.type) or pa.types.is_string(chunked.type):
        return np.asarray(
            chunked.cast(pa.string()).combine_chunks().dictionary_encode().indices, np.int64
        )
    return np.unique(values, return_inverse=True)[1]
