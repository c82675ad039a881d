"""Reads tables of results as arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock import Result
from ackclock.result.tables import matching


def columns(result: Result, table: str, *names: str, **equal: object) -> dict[str, NDArray]:
    """Returns columns of the rows in which others have these values, with NaN for null."""
    rows = matching(result.tables[table].select(list({*names, *equal})), equal)
    return {name: _array(rows[name]) for name in names}


def _array(values: pa.ChunkedArray) -> NDArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    return np.asarray(values.to_numpy())


def column(result: Result, table: str, name: str, **equal: object) -> NDArray:
    """Returns one of the `columns`."""
    return columns(result, table, name, **equal)[name]


def value_of(result: Result, table: str, name: str, **equal: object) -> float:
    """Returns the only such value."""
    (value,) = column(result, table, name, **equal)
    return value


def at_end(result: Result, name: str, hop: str = "out", **equal: object) -> float:
    """Returns the last value of a hop's column."""
    return column(result, "hops", name, hop=hop, **equal)[-1]


def goodput(result: Result, **equal: object) -> NDArray:
    """Returns the goodput in bit/s, a value for each replicate (and instance)."""
    return column(result, "flows", "goodput_bit_per_s", **equal)


def keys(result: Result, point: int, replicate: int) -> list[tuple[str, int]]:
    """Returns name and instance of each flow of a run."""
    key = {"point": point, "replicate": replicate}
    flows = columns(result, "flows", "flow", "instance", **key)
    return list(zip(flows["flow"].tolist(), flows["instance"].tolist(), strict=True))
