"""The scenario of a page, run by Linux's TCP in real time while the page watches.

One run at a time. It is made in a temporary folder, which goes with it, and by the thread that
writes to the page: once the page has gone, its next piece cannot be written, and the run ends.
"""

import base64
import contextlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ackclock.errors import InputError
from ackclock.laboratory import definitions
from ackclock.result.result import Result
from ackclock.scenario import Scenario

#: Longest scenario that a page may emulate, in seconds of this machine's time.
MOST_SECONDS = 300
#: Flows that are drawn, as in `summary.js`; of each the first instance.
_MOST_FLOWS = 3
# Begins the name of the folder of a run; the number of its process follows.
_PREFIX = "ackclock-lab-"
# A run that is to end ends within a tenth of a second; its hosts take a little longer.
_PATIENCE_S = 10

#: Writes an event to the page: its name and its data.
Write = Callable[[str, dict[str, Any]], None]


class LiveEmulation:
    """Emulations of a page, one after the other."""

    def __init__(self) -> None:
        self._next: Scenario | None = None
        self._running = threading.Lock()
        self._ending = threading.Event()

    def prepare(self, scenario: Scenario) -> None:
        """Sets the scenario that the next `run` emulates: the first replicate of its first point.

        Raises:
            InputError: It takes too long for a page.
        """
        from ackclock.run import time_budget

        point = scenario.expand()[0].scenario.replace(replicates=1)
        seconds = time_budget.duration_s(point)
        if seconds > MOST_SECONDS:
            raise InputError(
                "out-of-range",
                "duration",
                f"is {seconds:g} s in real time, the most for a page is {MOST_SECONDS} s; use "
                "ackclock emulate",
            )
        self._next = point

    def take(self) -> Scenario | None:
        """Returns the scenario that was prepared, once."""
        taken, self._next = self._next, None
        return taken

    def run(self, scenario: Scenario, write: Write) -> None:
        """Emulates a scenario; tells the page of rows, of progress, and of the end.

        Raises:
            InputError: Another run has not ended.
            LackingError: This machine cannot emulate.
            ScenarioError: The scenario cannot be emulated.
            OSError: The page has gone.
        """
        from ackclock.run import emulation

        if not self._running.acquire(timeout=_PATIENCE_S):
            raise InputError("unsupported", "", "another emulation is running; end it first")

        def progress(now: dict[str, Any]) -> None:
            if self._ending.is_set():
                raise ConnectionAbortedError
            write("progress", {"share": now["fraction"], "rate": now["rate_bit_per_s"]})

        try:
            _remove_abandoned()
            with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
                result = emulation.emulate(
                    scenario,
                    Path(folder) / "emulated",
                    pcap=False,
                    progress=progress,
                    take=lambda rows: write("rows", {"flows": _points(rows)}),
                )
                verdict = result.tables["fidelity"].to_pylist()
                failed = [warning for warning in result.run["warnings"] if result.run["failed"]]
                if failed or not verdict:
                    raise InputError("failed", "", "; ".join(failed) or "the run has no result")
                write(
                    "end",
                    {
                        "reliable": verdict[0]["reliable"],
                        "verdict": verdict[0]["verdict"],
                        "tables": _tables(result),
                    },
                )
        finally:
            self._running.release()

    def close(self) -> None:
        """Ends a run and waits for it."""
        self._ending.set()
        if self._running.acquire(timeout=_PATIENCE_S):
            self._running.release()


def _remove_abandoned() -> None:
    """Removes folders of this user's processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            is_own = folder.lstat().st_uid == os.getuid()
            if is_own and process.isdecimal() and not Path("/proc", process).exists():
                shutil.rmtree(folder)


def _points(rows: pa.Table) -> dict[str, list[list[float | None]]]:
    """Returns, for each flow, time in s, window and ssthresh in segments, and RTT in ms."""
    by_flow = {}
    for flow in pc.unique(rows["flow"]).to_pylist()[:_MOST_FLOWS]:
        own = rows.filter(pc.equal(rows["flow"], flow))
        own = own.filter(pc.equal(own["instance"], 0)).to_pylist()
        by_flow[flow] = [
            [
                row["time_s"],
                row["cwnd_segments"],
                row["ssthresh_segments"],
                None if row["smoothed_rtt_s"] is None else row["smoothed_rtt_s"] * 1e3,
            ]
            for row in own
        ]
    return by_flow


def _tables(result: Result) -> dict[str, list[list[Any]]]:
    """Returns the columns that the page reads, as far as an emulation has them."""
    tables = {}
    for name, columns in definitions.columns().items():
        table = result.tables[name]
        tables[name] = _columns(table.select([own for own in columns if own in table.column_names]))
    return tables


def _columns(table: pa.Table) -> list[list[Any]]:
    """Returns columns as `calls.run` does: name, kind, base64, and words of an index."""
    return [[name, *_column(table[name].combine_chunks())] for name in table.column_names]


def _column(values: Any) -> list[Any]:
    if pa.types.is_dictionary(values.type):
        indices = values.indices.fill_null(-1).cast(pa.int32()).to_numpy(zero_copy_only=False)
        return ["str", _base64(indices.astype("<i4").tobytes()), values.dictionary.to_pylist()]
    numbers = values.cast(pa.float64()).fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return ["f8", _base64(numbers.astype("<f8").tobytes())]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def event(name: str, data: dict[str, Any]) -> bytes:
    """Returns an event as a browser's `EventSource` reads it."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
