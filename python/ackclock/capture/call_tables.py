"""Tables of the calls that the kernel has made of a control that an emulation loaded into it.

They lie beside the run's record: `record/RUN.CONTROL.calls`, with a summary in
`record/RUN.CONTROL.json`, and the object that ran in `record/RUN.CONTROL.bpf.o`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.capture.calls import recorded
from ackclock.errors import InputError

__all__ = ["Calls", "calls_of"]

# First bytes of a file of calls. Records of 96 bytes follow; `ackclock.bpf.h` defines them.
_MAGIC = b"ackclock calls 1"

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
    ]
)
_KINDS = np.array(
    ["", "init", "release", "pkts_acked", "cong_avoid", "ssthresh", "set_state", "cwnd_event",
     "undo_cwnd"]
)  # fmt: skip
_STATES = np.array(["open", "disorder", "cwr", "recovery", "loss"])
# The highest bit of the state: the window limited the sender.
_LIMITED = 0x80
# Address of the first flow's sender, 10.66.0.1.
_FIRST = 0x0A420001


@dataclass(frozen=True)
class Calls:
    """The calls of one control in one run.

    Attributes:
        control: Name of the control in tables, without `bpf:`.
        parameters: Value of each of its parameters.
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
    """Reads the calls of every control that the runs of an emulation have loaded.

    Args:
        folder: A result of `emulate`, even of one that was killed.

    Raises:
        InputError: A file is not one of calls.
    """
    return [_read(file) for file in recorded(folder)]


def _read(file: Path) -> Calls:
    content = file.read_bytes()
    if not content.startswith(_MAGIC):
        raise InputError("file", f"{file}", "is not a file of calls; run ackclock emulate again")
    # A process that was killed may leave part of a record.
    whole = (len(content) - len(_MAGIC)) // _RECORD.itemsize
    rows = np.frombuffer(content, _RECORD, whole, len(_MAGIC))
    summary = file.with_suffix(".json")
    about: dict[str, Any] = json.loads(summary.read_text()) if summary.exists() else {}
    name = file.name.removesuffix(".calls").split(".", 1)[1]
    return Calls(
        control=about.get("control", name),
        parameters=about.get("parameters", {}),
        missed=about.get("missed"),
        table=_table(rows, about.get("begin_ns")),
    )


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
        if field not in ("address", "kind", "state"):
            columns[field] = rows[field]
    return pa.table(columns)


def _seconds_since(now_ns: np.ndarray, begin_ns: int) -> np.ndarray:
    return (now_ns.astype(np.int64) - begin_ns) / 1e9


def _named(names: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    named: np.ndarray = names[np.minimum(numbers, len(names) - 1)]
    return named
