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
    for key in keys:
        code = _codes(table[key])
        codes = codes * (int(code.max()) + 1) + code
    columns = {name: column(table, name) for name in names}
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    firsts = order[starts]  # The order is stable: the first of a group is its first row.
    key_columns = [table[key].take(pa.array(firsts)).to_pylist() for key in keys]
    for group in np.argsort(firsts):
        rows = order[starts[group] : ends[group]]
        # A slice, which copies nothing, if nothing stands between the rows.
        together = rows[-1] - rows[0] + 1 == len(rows)
        chosen = slice(rows[0], rows[-1] + 1) if together else rows
        yield (
            tuple(values[group] for values in key_columns),
            {name: values[chosen] for name, values in columns.items()},
        )


def mean_of_known(values: NDArray[np.float64]) -> float:
    """Returns the mean of the values that are not NaN; NaN if there is none."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else math.nan


def after(rows: Columns, time_s: float) -> Columns:
    """Returns the rows after a time."""
    later = rows["time_s"] > time_s
    return {name: values[later] for name, values in rows.items()}


def grown(rows: Columns, name: str, warmup_s: float) -> float:
    """Returns the increase of a cumulative column after the warm-up."""
    before = rows[name][rows["time_s"] <= warmup_s]
    return float(rows[name][-1] - (before[-1] if before.size else 0))


def _codes(chunked: pa.ChunkedArray) -> NDArray[np.int64]:
    """Returns a number from 0 for each value, equal for equal values."""
    if pa.types.is_integer(chunked.type):
        values = np.asarray(chunked.to_numpy(), np.int64)
        return np.asarray(values - values.min())
    if pa.types.is_string(chunked.type):  # Arrow encodes strings, as NumPy compares them in turn.
        chunked = chunked.dictionary_encode()
    if pa.types.is_dictionary(chunked.type):
        whole = chunked.unify_dictionaries().combine_chunks()
        return np.asarray(whole.indices.fill_null(-1).to_numpy(), np.int64) + 1
    return np.asarray(np.unique(chunked.to_numpy(), return_inverse=True)[1], np.int64)
