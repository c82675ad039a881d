"""Converts columns of the engine to Arrow tables."""

from typing import Any

import numpy as np
import pyarrow as pa


def table_of(columns: dict[str, tuple[Any, ...]]) -> pa.Table:
    """Returns the Arrow table of the engine's columns."""
    return pa.table({name: _array(column) for name, column in columns.items()})


def _array(column: tuple[Any, ...]) -> pa.Array:
    """Returns a column from the engine's bytes; NaN means unknown and becomes null."""
    kind, data = column[0], column[1]
    if kind == "str":
        indices = np.frombuffer(data, "<i4")
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, pa.int32(), mask=indices < 0), pa.array(column[2], pa.string())
        )
    if kind == "f8":
        return pa.array(np.frombuffer(data, "<f8"), from_pandas=True)
    return pa.array(np.frombuffer(data, "<i8"))
