"""Tables of the calls of a control that is a program.

What the kernel has made of a control that an emulation loaded lies beside the run's record:
`record/RUN.CONTROL.calls`, with a summary in `record/RUN.CONTROL.json`, and the object that ran in
`record/RUN.CONTROL.bpf.o`. A simulation with `control_calls = true` has its calls in the table
`control_calls`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.limits import RECORD_BYTES, RESULT_JSON_BYTES, read_file
from ackclock.result.result import Result
from ackclock.result.run_json import read

# The table that a simulation has instead of records.
_TABLE = "control_calls"

# First bytes of a file of calls. Records of 144 bytes follow; `ackclock.bpf.h` defines them.
_MAGIC = b"ackclock calls 2"

_WINDOW = ("cwnd", "cwnd_cnt", "ssthresh")
_RECORD = np.dtype(
    [
        ("now_ns", "<u8"),
        ("address", ">u4"),
        ("port", "<u2"),
        ("kind", "u1"),
        ("state", "u1"),
        ("argument_0", "<u4"),
        ("argument_1", "<u4"),
        ("rtt_us", "<i4"),
        ("result", "<u4"),
        *((f"{name}_before", "<u4") for name in _WINDOW),
        *((f"{name}_after", "<u4") for name in _WINDOW),
        ("srtt_us8", "<u4"),
        ("mss", "<u4"),
        ("packets_out", "<u4"),
        ("sacked_out", "<u4"),
        ("lost_out", "<u4"),
        ("retrans_out", "<u4"),
        ("delivered", "<u4"),
        ("max_packets_out", "<u4"),
        ("snd_una", "<u4"),
        ("snd_nxt", "<u4"),
        ("mstamp_us", "<u8"),
        ("jiffies", "<u4"),
        ("departure_us", "<u4"),
        ("lost", "<u4"),
        ("min_rtt_us", "<u4"),
        ("prior_delivered", "<u4"),
        ("acked_sacked", "<u4"),
        ("losses", "<u4"),
        ("prior_in_flight", "<u4"),
        ("limits", "u1"),
        ("drawn", "u1"),
        ("unused", "V6"),
    ]
)
# Fields that no table has: they tell connections apart or mean nothing, or have a name there.
_APART = ("address", "kind", "state", "unused")
_KINDS = np.array(
    ["", "init", "release", "pkts_acked", "cong_avoid", "ssthresh", "set_state", "cwnd_event",
     "undo_cwnd", "cong_control"]
)  # fmt: skip
_STATES = np.array(["open", "disorder", "cwr", "recovery", "loss"])
# The highest bit of the state: the window limited the sender.
_LIMITED = 0x80
# Address of the first flow's sender, 10.66.0.1, and port of the first in a simulation.
_FIRST = 0x0A420001
_FIRST_PORT = 1


@dataclass(frozen=True)
class Calls:
    """The calls of one control in one run.

    Attributes:
        control: Name of the control in tables, without `bpf:`.
        parameters: Value of each of its parameters; of a simulation, those that its scenario sets.
        missed: Number of calls for which the kernel had no room; None if the run was killed.
        table: One row for each call, in order. `time_s` counts from the run's beginning, or is null
            if the run was killed; `flow` is the number of the flow's instance in the run. The other
            columns are the fields of `struct ackclock_call`, windows in segments.
    """

    control: str
    parameters: dict[str, int]
    missed: int | None
    table: pa.Table


def calls_of(folder: str | Path) -> list[Calls]:
    """Reads the calls of every program that was the control of a run.

    Args:
        folder: A result of `emulate`, even of one that was killed, or of a simulation with
            `control_calls = true`.

    Returns:
        One for each control of each emulated run, or for each flow group of each simulated one.

    Raises:
        InputError: A file is not one of calls.
    """
    files = recorded(folder)
    if files:
        return [_read(file) for file in files]
    return [
        Calls(program.title, program.parameters, 0, _as_kernel(program.rows))
        for program in simulated(folder)
    ]


def recorded(folder: str | Path) -> list[Path]:
    """Returns the records of calls in a result; none if no kernel ran a program for it."""
    return sorted((Path(folder) / "record").glob("*.calls"))


@dataclass(frozen=True)
class Simulated:
    """The calls of the control of a flow group in a simulated run.

    Attributes:
        point: Index of the point.
        replicate: Number of the replicate.
        scenario: The resolved scenario with this flow group alone.
        rows: Rows of the table `control_calls`.
    """

    point: int
    replicate: int
    scenario: dict[str, Any]
    rows: pa.Table

    @property
    def name(self) -> str:
        """Name of the record."""
        return f"point-{self.point}-replicate-{self.replicate}.{self.flow}"

    @property
    def flow(self) -> str:
        """Name of the flow group."""
        name: str = self.scenario["flows"][0]["name"]
        return name

    @property
    def _control(self) -> dict[str, Any]:
        control: dict[str, Any] = facts.whole(self.scenario["flows"][0], "transport", "control")
        return control

    @property
    def title(self) -> str:
        """Name of the control in tables, without `bpf:`."""
        file = Path(self._control.get("file", "")).name
        stem = file.removesuffix(".bpf.c").removesuffix(".bpf.o")
        name: str = self._control.get("shipped") or stem
        return name

    @property
    def parameters(self) -> dict[str, int]:
        """The parameters that the scenario sets."""
        return dict(self._control.get("parameters", {}))

    def record(self) -> bytes:
        """Returns the calls as a kernel would have recorded them."""
        rows = np.zeros(self.rows.num_rows, _RECORD)
        columns = {name: self.rows[name] for name in self.rows.column_names}
        for name in set(_RECORD.names or ()) - set(_APART):
            rows[name] = columns[name].to_numpy()
        rows["kind"] = _numbers(_KINDS, columns["kind"])
        limited = columns["limited"].to_numpy().astype(np.uint8) * _LIMITED
        rows["state"] = _numbers(_STATES, columns["state"]) | limited
        return _MAGIC + rows.tobytes()


def simulated(folder: str | Path) -> Iterator[Simulated]:
    """Returns the calls in a simulated result; none if it has no table of them."""
    folder = Path(folder)
    if not folder.is_dir() or _TABLE not in read(folder)[1]:
        return
    result = Result.load(folder)
    for point, described in enumerate(result.points):
        for flow in described["scenario"]["flows"]:
            if not flow.get("control_calls"):
                continue
            rows = result.rows(_TABLE, point=point, flow=flow["name"])
            for replicate in pc.unique(rows["replicate"]).to_pylist():
                chosen = rows.filter(pc.equal(rows["replicate"], replicate))
                alone = {**described["scenario"], "flows": [flow]}
                yield Simulated(point, replicate, alone, chosen)


def _as_kernel(rows: pa.Table) -> pa.Table:
    """Returns simulated calls with the columns of recorded ones."""
    first = pa.table({
        "time_s": rows["time_s"],
        "flow": pc.subtract(rows["port"], _FIRST_PORT),
        "kind": rows["kind"],
        "state": rows["state"],
        "limited": pc.not_equal(rows["limited"], 0),
    })  # fmt: skip
    for field in _RECORD.names or ():
        if field not in _APART:
            first = first.append_column(field, rows[field])
    return first


def _read(file: Path) -> Calls:
    content = read_file(file, RECORD_BYTES)
    if not content.startswith(_MAGIC):
        raise InputError("file", f"{file}", "is not a file of calls; run ackclock emulate again")
    # A process that was killed may leave part of a record.
    whole = (len(content) - len(_MAGIC)) // _RECORD.itemsize
    rows = np.frombuffer(content, _RECORD, whole, len(_MAGIC))
    about = summary_of(file) or {}
    name = file.name.removesuffix(".calls").split(".", 1)[1]
    return Calls(
        control=about.get("control", name),
        parameters=about.get("parameters", {}),
        missed=about.get("missed"),
        table=_table(rows, about.get("begin_ns")),
    )


def summary_of(record: Path) -> dict[str, Any] | None:
    """Returns the summary beside a record of calls; None if a kill has left none.

    It has `control`, `parameters` and `missed`, and `begin_ns` if the run has begun.

    Raises:
        InputError: The file is damaged.
    """
    file = record.with_suffix(".json")
    try:
        summary = json.loads(read_file(file, RESULT_JSON_BYTES))
    except FileNotFoundError:
        return None
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise InputError("file", f"{file}", "is not JSON; emulate again") from None
    if not isinstance(summary, dict):
        raise InputError("file", f"{file}", "is not a JSON object; emulate again")
    parameters = summary.setdefault("parameters", None) or {}
    summary["parameters"] = parameters
    numbers = [summary.get("missed"), summary.get("begin_ns") or 0]
    if isinstance(parameters, dict):
        numbers += parameters.values()
    whole = all(isinstance(number, int) and abs(number) < 2**64 for number in numbers)
    if not (whole and isinstance(parameters, dict) and isinstance(summary.get("control"), str)):
        words = "lacks a control, parameters or counts, or one is damaged; emulate again"
        raise InputError("file", f"{file}", words)
    return summary


def _table(rows: np.ndarray, begin_ns: int | None) -> pa.Table:
    since = [None] * len(rows) if begin_ns is None else _seconds_since(rows["now_ns"], begin_ns)
    columns: dict[str, Any] = {
        "time_s": pa.array(since, pa.float64()),
        "flow": rows["address"].astype(np.int64) - _FIRST,
        "kind": _named(_KINDS, rows["kind"]),
        "state": _named(_STATES, rows["state"] & ~np.uint8(_LIMITED)),
        "limited": rows["state"] & _LIMITED != 0,
    }
    for field in _RECORD.names or ():
        if field not in _APART:
            columns[field] = rows[field]
    return pa.table(columns)


def _seconds_since(now_ns: np.ndarray, begin_ns: int) -> np.ndarray:
    return (now_ns.astype(np.int64) - begin_ns) / 1e9


def _numbers(names: np.ndarray, words: pa.ChunkedArray) -> np.ndarray:
    """Returns the place of each word among the names."""
    numbers = pc.index_in(words.cast(pa.string()), pa.array(names.tolist()))
    places: np.ndarray = numbers.to_numpy().astype(np.uint8)
    return places


def _named(names: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    named: np.ndarray = names[np.minimum(numbers, len(names) - 1)]
    return named
