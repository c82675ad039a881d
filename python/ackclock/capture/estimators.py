"""Rate estimators (BE, RE, ABSE and others) applied to a trace of ACKs, one ACK at a time.

They are the same objects by which the congestion controls of the Westwood family set their window.
`ackclock measure --estimators` runs them on the connections of a capture.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ackclock import engine
from ackclock.elements.registry import registry
from ackclock.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

#: An estimator: its name, or a tree like `{"kind": "abse", "horizon": 1000}`.
Estimator: TypeAlias = str | Mapping[str, Any]
#: Several estimators: comma-separated names or `all`, a list, or a mapping from chosen names.
Estimators: TypeAlias = str | Iterable[Estimator] | Mapping[str, Estimator]

_OPTIONAL = ("delivered_bytes",)
_COLUMNS = ("time_s", "ack", "rtt_s", "smoothed_rtt_s", "cwnd_bytes", *_OPTIONAL)

_ACK_NUMBERS = 2**32

# In ns, later times do not fit in 64 bits.
_LATEST_S = 1.8e10


def asked(estimators: Estimators) -> list[tuple[str, str]]:
    """Converts estimators to what the engine takes: names, and JSON trees with all defaults.

    Raises:
        ScenarioError: There is no such estimator, or its parameters are invalid.
        ValueError: Two of them have the same name.
    """
    if isinstance(estimators, str):
        names = [name.strip() for name in estimators.split(",") if name.strip()]
        estimators = (
            [entry["name"] for entry in registry()["estimators"]] if names == ["all"] else names
        )
    if not isinstance(estimators, Mapping):
        listed = list(estimators)
        names = [
            estimator if isinstance(estimator, str) else str(estimator.get("kind", "estimator"))
            for estimator in listed
        ]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                "contradiction",
                "estimators",
                f'"{twice}" appears twice; give each a name, as {{"first": …, "second": …}}',
            )
        estimators = dict(zip(names, listed, strict=True))
    trees = [
        (str(name), {"kind": estimator} if isinstance(estimator, str) else dict(estimator))
        for name, estimator in estimators.items()
    ]
    return engine.check_estimators(trees)


def described(estimators: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Returns what a result records of its estimators: name to label in figures and parameters."""
    registered = {entry["name"]: entry["label"] for entry in registry()["estimators"]}
    # An estimator with a name chosen by the user may differ from the registered one.
    return {
        name: {"label": registered.get(name, name), "parameters": json.loads(tree)}
        for name, tree in estimators
    }


def rate_estimates(
    trace: "pa.Table | Mapping[str, Any]", estimators: Estimators = "all", *, mss: int
) -> "pa.Table":
    """Returns the rate that each estimator gives after each ACK of one connection.

    Args:
        trace: Columns of equal length, with one row per ACK in the order of arrival at the sender.
            The column `time_s` never decreases. In `ack` is the acknowledgement number in bytes, as
            on the wire or without its wrap at 2^32. In `rtt_s` is the round-trip time that the ACK
            measured, in `smoothed_rtt_s` the smoothed one; both are null or NaN if unknown. In
            `cwnd_bytes` is the congestion window before the ACK, without its inflation in recovery.
            A null repeats the previous window, at first 0. The column `delivered_bytes` is
            optional: data newly reported as delivered, also by SACK, for estimators that count it.
            Its default is the newly acknowledged bytes.
        estimators: Names (`"be,abse"`, `"all"`), a list of names and trees like `{"kind": "abse",
            "horizon": 1000}`, or a mapping from names of your choice to these. `ackclock show
            estimators` lists them.
        mss: Payload of a full segment in bytes, which a duplicate ACK stands for.

    Returns:
        A table with `time_s` and one column per estimator, `NAME_bit_per_s`, 0 until the estimator
        has a value. It has one row per ACK of the trace. An ACK below an earlier one changes
        nothing.

    Raises:
        ScenarioError: There is no such estimator, or its parameters are invalid.
        ValueError: The trace or `mss` is invalid; one line with field, value and remedy.
    """
    import numpy as np
    import pyarrow as pa

    wanted = asked(estimators)
    if mss != int(mss) or not 0 < mss < _ACK_NUMBERS:
        raise InputError("out-of-range", "mss", f"{mss} is less than 1; for example 1448")
    columns = _columns(trace)
    estimates = engine.rate_estimates(wanted, int(mss), columns)
    rates = {
        f"{name}_bit_per_s": np.frombuffer(data, "<f8") for name, (_, data) in estimates.items()
    }
    return pa.table({"time_s": columns["time_s"]} | rates)


def _columns(trace: "pa.Table | Mapping[str, Any]") -> "dict[str, NDArray[Any]]":
    """Checks a trace and returns its columns as the engine takes them."""
    import numpy as np

    names = list(trace.keys() if isinstance(trace, Mapping) else trace.column_names)
    for name in _COLUMNS:
        if name not in names and name not in _OPTIONAL:
            raise InputError(
                "missing",
                f"trace.{name}",
                f"is missing; give the columns {', '.join(_COLUMNS[:-1])}",
            )
    columns = {name: _numbers(name, trace[name]) for name in _COLUMNS if name in names}
    length = len(columns["time_s"])
    for name, values in columns.items():
        if len(values) != length:
            raise InputError(
                "out-of-range",
                f"trace.{name}",
                f"has {len(values)} rows, but time_s {length}; give columns of equal length",
            )
    _check_times(columns["time_s"])
    for name in ("rtt_s", "smoothed_rtt_s", "cwnd_bytes", *_OPTIONAL):
        _check_sizes(name, columns.setdefault(name, np.full(length, np.nan)))
    columns["cwnd_bytes"] = _carried_on(columns["cwnd_bytes"])
    columns["ack"] = _wrapped(columns["ack"])
    return columns


def _numbers(name: str, values: Any) -> "NDArray[Any]":
    """Returns a column as float64, NaN if unknown; whole acknowledgement numbers stay integers."""
    import numpy as np
    import pyarrow as pa

    try:
        if isinstance(values, pa.Array | pa.ChunkedArray):
            values = (
                values.to_numpy(zero_copy_only=False)
                if isinstance(values, pa.Array)
                else values.to_numpy()
            )
        array = np.asarray(values)
        if name == "ack" and array.dtype.kind in "iu":
            return np.ascontiguousarray(array)
        numbers = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "wrong-type", f"trace.{name}", "is not a list of numbers; give one number for each ACK"
        ) from None
    if numbers.ndim != 1:
        raise InputError(
            "wrong-type",
            f"trace.{name}",
            f"has {numbers.ndim} dimensions; give one number for each ACK",
        )
    return numbers


def _check_times(times: "NDArray[np.float64]") -> None:
    import numpy as np

    for row, time in _first(~((times >= 0) & (times <= _LATEST_S)), times):
        raise InputError(
            "wrong-type",
            "trace.time_s",
            f"{time} in row {row} is not a time; give seconds from 0 on",
        )
    for row, time in _first(np.diff(times, prepend=times[:1]) < 0, times):
        raise InputError(
            "out-of-range",
            "trace.time_s",
            f"{time} in row {row} is before the row above; sort the trace by time",
        )


def _check_sizes(name: str, values: "NDArray[np.float64]") -> None:
    """Raises `InputError` if a value is negative or infinite; NaN is allowed."""
    import numpy as np

    for row, value in _first((values < 0) | np.isinf(values), values):
        raise InputError(
            "out-of-range",
            f"trace.{name}",
            f"{value} in row {row} is not valid; give a number from 0 on, or null",
        )


def _wrapped(numbers: "NDArray[Any]") -> "NDArray[np.uint32]":
    """Returns acknowledgement numbers modulo 2^32, as on the wire."""
    import numpy as np

    whole = (
        np.isfinite(numbers) & (numbers == np.floor(numbers)) & (numbers >= 0) & (numbers < 2.0**63)
    )
    for row, number in _first(~whole, numbers):
        raise InputError(
            "out-of-range",
            "trace.ack",
            f"{number} in row {row} is not an acknowledgement number; give whole bytes from 0 on",
        )
    return (numbers.astype(np.int64) % _ACK_NUMBERS).astype(np.uint32)


def _carried_on(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Replaces each NaN by the last known value, 0 before the first."""
    import numpy as np

    last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(last >= 0, values[last], 0.0)


def _first(wrong: "NDArray[np.bool_]", values: "NDArray[Any]") -> "list[tuple[int, Any]]":
    """Returns row and value of the first wrong row; an empty list if there is none."""
    rows = wrong.nonzero()[0][:1]
    return [(int(row), values[row].item()) for row in rows]
