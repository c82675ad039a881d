"""This machine: processes that live as long as the sweep.

They are started by command, not forked: the engine's threads do not survive a fork, and a script
that sweeps is not imported again. A process that dies takes only its own batch with it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from ackclock import stacks
from ackclock.run.simulation import cores
from ackclock.sweeps.places import Lost
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.time_limit import TOO_LONG
from ackclock.sweeps.worker import Report, too_long

_COMMAND = (sys.executable, "-m", "ackclock.sweeps.worker")

# Longest part of a dead process's last line that a message repeats.
_MOST_CHARACTERS = 200


@dataclass
class _Worker:
    process: "subprocess.Popen[bytes]"
    channel: "Connection[Any, Any]"
    errors: IO[bytes]
    batch: Batch | None = None


class Here:
    """Processes of this machine."""

    def __init__(
        self, plan: Plan, processes: int | None = None, command: Sequence[str] = _COMMAND
    ) -> None:
        """Starts no process before the first batch.

        Args:
            plan: The sweep.
            processes: Number of processes; by default one per core.
            command: Command of a worker, without the number of its channel.
        """
        self._plan = plan
        self._processes = processes or cores()
        self._command = tuple(command)
        self._workers: list[_Worker] = []
        # Has the records of emulations, which a process that is killed leaves behind.
        self._aside: tempfile.TemporaryDirectory[str] | None = None

    @property
    def capacity(self) -> int:
        """Number of processes."""
        return self._processes

    def submit(self, batch: Batch) -> None:
        """Begins a batch in an idle process."""
        if batch.method == "emulate" and self._aside is None:
            self._aside = tempfile.TemporaryDirectory(prefix="ackclock-")
        idle = next((worker for worker in self._workers if worker.batch is None), None)
        worker = idle or self._start()
        worker.batch = batch
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `completed` finds it.
            worker.channel.send(batch)

    def completed(self) -> tuple[Batch, Report | Lost]:
        """Waits for the next batch that has ended."""
        busy = {id(worker.channel): worker for worker in self._workers if worker.batch is not None}
        [channel, *_] = wait([channel.channel for channel in busy.values()])
        worker = busy[id(channel)]
        batch, worker.batch = worker.batch, None
        if batch is None:
            raise AssertionError("an idle worker has answered")
        try:
            answer = worker.channel.recv()
        except (EOFError, ConnectionResetError):
            answer = self._bury(worker, batch)
        if isinstance(answer, Report) and answer.is_last:
            self._bury(worker, batch)
        if isinstance(answer, Exception):
            raise answer
        return batch, answer

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers:
            worker.channel.close()
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
            worker.errors.close()
        self._workers = []
        if self._aside is not None:
            self._aside.cleanup()

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        errors = tempfile.TemporaryFile()  # noqa: SIM115  `close` and `_bury` close it.
        with theirs:
            process = subprocess.Popen(
                [*self._command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=None if self._aside is None else {**os.environ, "TMPDIR": self._aside.name},
            )
        worker = _Worker(process, ours, errors)
        self._workers.append(worker)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ours.send((self._plan.to_json(), 1 / self._processes, stacks.brought()))
        return worker

    def _bury(self, worker: _Worker, batch: Batch) -> Lost:
        """Removes a dead process, and says why it died."""
        self._workers.remove(worker)
        worker.channel.close()
        code = worker.process.wait()
        worker.errors.seek(0, os.SEEK_END)
        worker.errors.seek(max(0, worker.errors.tell() - 4096))
        lines = worker.errors.read().decode(errors="replace").split("\n")
        worker.errors.close()
        if code == TOO_LONG:
            return Lost(*too_long(batch.run_limit_s), again=False)
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        reason = f": {words[:_MOST_CHARACTERS]}" if words else ""
        return Lost("failed", f"ended its process by {ended}{reason}")
