"""Reads traces of implementations that are not ours: qlog and CSV.

qlog is read as of draft-ietf-quic-qlog-main-schema-07 (versions 0.3 and 1.0), as JSON or as a
sequence of JSON texts. A CSV file has the columns `time_s`, and of the others those that there are:
`cwnd_bytes`, `inflight_bytes`, `pacing_bit_per_s`, `rtt_s`, `delivered_bytes`, `lost_bytes` (both
since the start) and `state`.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.evaluation.trace import Array, PathValues, Trace

#: The largest file that is read: a million rows of qlog have about 300 MB.
MOST_BYTES = 2**30

# Headers of IPv4 and UDP around a packet of QUIC.
_UDP = 28
# A qlog file in JSON-SEQ begins each text with this (RFC 7464).
_RECORD = "\x1e"
_MS = 1e-3
_LEFT_OUT = ":packet_received"

# Columns of a CSV file, and the variables they are.
_COLUMNS = {
    "cwnd_bytes": "cwnd",
    "inflight_bytes": "in_flight",
    "pacing_bit_per_s": "pacing_rate",
    "rtt_s": "rtt",
    "delivered_bytes": "delivered",
    "lost_bytes": "lost",
}
# Metrics of qlog, the variables they are, and what makes base units of them.
_METRICS = {
    "congestion_window": ("cwnd", 1.0),
    "bytes_in_flight": ("in_flight", 1.0),
    "latest_rtt": ("rtt", _MS),
    "min_rtt": ("min_rtt", _MS),
    "pacing_rate": ("pacing_rate", 1.0),
}


@dataclass(frozen=True)
class Foreign:
    """A trace as it was read, before its path is known.

    Attributes:
        time_s: Times, which never fall.
        states: Name of the state; empty if there is none.
        events: `lost` where a packet is deemed lost, `loss` where a recovery begins, else `ack`.
        variables: Values by the names of suites, each as long as `time_s`.
        payload_share: Share of a path's rate that its bytes can have; None if they are payload.
    """

    time_s: Array
    states: Array
    events: Array
    variables: Mapping[str, Array]
    payload_share: float | None

    def on(self, path: PathValues) -> Trace:
        """Returns it as a trace on a path."""
        return Trace(self.time_s, self.states, self.events, self.variables, path)


def read(file: Path) -> Foreign:
    """Reads a trace: CSV by the file's ending, else qlog.

    Raises:
        InputError: It cannot be read, or has no rows; one line.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            words = f"is larger than {MOST_BYTES >> 20} MiB"
            raise InputError("out-of-range", f"{file}", words)
        return _csv(file) if file.suffix == ".csv" else _qlog(file)
    except OSError as error:
        raise InputError("file", f"{file}", f"{error.strerror}") from None


def _csv(file: Path) -> Foreign:
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(file)
    except pa.ArrowInvalid as error:
        raise InputError("syntax", f"{file}", f"is not CSV: {error}") from None
    if "time_s" not in table.column_names:
        raise InputError("missing", f"{file}: time_s", "is missing; a trace needs this column")
    try:
        columns = {
            name: np.asarray(table[name].cast(pa.float64()).to_numpy(), float)
            for name in ("time_s", *_COLUMNS)
            if name in table.column_names
        }
    except pa.ArrowInvalid as error:
        raise InputError(
            "wrong-type", f"{file}", f"has a column without numbers: {error}"
        ) from None
    time_s = columns.pop("time_s")
    _refuse_disorder(file, time_s)
    rows = len(time_s)
    states = (
        np.array(table["state"].to_pylist(), str)
        if "state" in table.column_names
        else np.full(rows, "", "U1")
    )
    variables = {_COLUMNS[name]: values for name, values in columns.items()}
    lost = variables.get("lost", np.zeros(rows))
    grows = np.concatenate([[False], np.diff(lost) > 0])
    return Foreign(time_s, states, np.where(grows, "lost", "ack"), variables, None)


def _qlog(file: Path) -> Foreign:
    rows = _Rows()
    try:
        for event in _events(file):
            rows.take(event)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError("syntax", f"{file}", f"is not qlog: {error}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        words = f"has an event that is not of qlog: {type(error).__name__}: {error}"
        raise InputError("syntax", f"{file}", words) from None
    if not rows.times:
        raise InputError("no-data", f"{file}", "has no metrics of recovery; log recovery events")
    _refuse_disorder(file, np.array(rows.times))
    return rows.foreign()


def _events(file: Path) -> Iterator[dict[str, Any]]:
    """Yields the events of a qlog file in order."""
    with file.open(encoding="utf-8") as text:
        first = text.readline()
        # A sequence has one text on each line (RFC 7464); one JSON text may have many lines.
        if first.startswith(_RECORD) or _is_whole(first):
            for line in text:
                if _LEFT_OUT in line:  # Every second line, of which nothing is needed.
                    continue
                stripped = line.strip(_RECORD + " \n")
                if stripped:
                    yield json.loads(stripped)
            return
        whole = json.loads(first + text.read())
    for trace in whole["traces"]:
        yield from trace["events"]


def _is_whole(line: str) -> bool:
    try:
        return "traces" not in json.loads(line)
    except json.JSONDecodeError:
        return False


class _Rows:
    """The rows of a trace, made of the events of qlog one by one."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._states: list[str] = []
        self._events: list[str] = []
        self._values: dict[str, list[float]] = {name: [] for name, _ in _METRICS.values()}
        self._sent = self._lost = 0.0
        self._sent_by_row: list[float] = []
        self._lost_by_row: list[float] = []
        self._latest: dict[str, float] = {}
        self._state = ""
        self._happened = "ack"
        self._longest = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes an event; metrics of recovery make a row."""
        name = str(event["name"]).rpartition(":")[2]
        data = event.get("data", {})
        if name == "packet_sent":
            length = _length(data)
            self._sent += length
            self._longest = max(self._longest, length)
        elif name == "packet_lost":
            self._lost += _length(data)
            self._happened = "lost"
        elif name == "congestion_state_updated":
            self._state = str(data["new"])
            self._happened = "loss" if self._state == "recovery" else self._happened
        elif name in ("metrics_updated", "recovery_metrics_updated"):
            self._row(float(event["time"]) * _MS, data)

    def _row(self, time_s: float, data: Mapping[str, Any]) -> None:
        for metric, (name, unit) in _METRICS.items():
            if metric in data:
                self._latest[name] = float(data[metric]) * unit
        for name, column in self._values.items():
            column.append(self._latest.get(name, math.nan))
        self.times.append(time_s)
        self._states.append(self._state)
        self._events.append(self._happened)
        self._sent_by_row.append(self._sent)
        self._lost_by_row.append(self._lost)
        self._happened = "ack"

    def foreign(self) -> Foreign:
        """Returns the trace. Delivered is what was sent and is neither lost nor in flight."""
        variables = {name: np.array(column) for name, column in self._values.items()}
        variables = {
            name: column for name, column in variables.items() if not np.isnan(column).all()
        }
        lost = np.array(self._lost_by_row)
        if "in_flight" in variables:
            delivered = np.array(self._sent_by_row) - lost - variables["in_flight"]
            variables["delivered"] = np.maximum.accumulate(np.maximum(delivered, 0.0))
        variables["lost"] = lost
        share = self._longest / (self._longest + _UDP) if self._longest else None
        states, events = np.array(self._states, str), np.array(self._events, str)
        return Foreign(np.array(self.times), states, events, variables, share)


def _length(data: Mapping[str, Any]) -> int:
    """Returns the length of a packet: in `raw` (1.0) or in its header (0.3)."""
    raw, header = data.get("raw", {}), data.get("header", {})
    return int(raw.get("length", header.get("length", 0)))


def _refuse_disorder(file: Path, time_s: Array) -> None:
    if not time_s.size:
        raise InputError("no-data", f"{file}", "has no rows")
    falls = np.flatnonzero(~(np.diff(time_s) >= 0))
    if falls.size:
        row = int(falls[0]) + 2
        raise InputError("contradiction", f"{file}", f"time falls at row {row}; sort the rows")
