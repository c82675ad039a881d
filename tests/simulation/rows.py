"""Reads tables of results as arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock import Result
from ackclock.metrics import Interval, interval


def column(result: Result, table: str, name: str, **equal: object) -> NDArray:
    """A column of the rows in which other columns have these values; null is not a number."""
    columns = result.tables[table]
    keep = np.ones(columns.num_rows, dtype=bool)
    for key, value in equal.items():
        keep &= _plain(columns[key]) == value
    return _plain(columns[name])[keep]


def _plain(values: pa.ChunkedArray) -> NDArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    return np.asarray(values.to_numpy())


def one(result: Result, table: str, name: str, **equal: object) -> float:
    """The only such value."""
    (value,) = column(result, table, name, **equal)
    return value


def at_end(result: Result, name: str, hop: str = "out", **equal: object) -> float:
    """The last value of a hop's column."""
    return column(result, "hops", name, hop=hop, **equal)[-1]


def goodput(result: Result, **equal: object) -> NDArray:
    """Payload delivered in bit/s, a value for each replicate (and instance)."""
    return column(result, "flows", "goodput_bit_per_s", **equal)


def ratio(above: NDArray, below: NDArray) -> Interval:
    """The quotient of paired replicates, with its 95 % interval."""
    return interval(above / below)


def keys(result: Result, point: int, replicate: int) -> list[tuple[str, int]]:
    """Name and instance of each flow of a run."""
    at = {"point": point, "replicate": replicate}
    names, instances = (column(result, "flows", name, **at) for name in ("flow", "instance"))
    return list(zip(names.tolist(), instances.tolist(), strict=True))
