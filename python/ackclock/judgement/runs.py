"""Places of the runs of a judgement: this process, or others beside hostile code."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Protocol, Self

from ackclock.errors import InputError
from ackclock.evaluation.candidate import Candidate
from ackclock.judgement.field import Assignments, Category
from ackclock.judgement.observed import Quantities, observe
from ackclock.judgement.worker import PATIENCE
from ackclock.run.simulation import cores

_COMMAND: Final = (sys.executable, "-P", str(Path(__file__).with_name("sandbox.py")))

# Longest line that a process may answer, in bytes.
_MOST_ANSWER: Final = 64 << 20

# Time after its own limit in which a process ends by itself.
_GRACE_S: Final = 1.0


@dataclass(frozen=True)
class Task:
    """Runs of a candidate over paths of a category.

    Attributes:
        key: Name in records.
        category: The category.
        paths: The paths.
        seed: The seed.
        replicates: Number of seeds.
        wanted: What is made of the runs, a name of `observed.WANTED`.
        limit_s: Longest processor time that it may take beside hostile code.
        solo: True to leave the candidate out.
    """

    key: str
    category: Category
    paths: tuple[Assignments, ...]
    seed: int
    replicates: int
    wanted: str = "quantities"
    limit_s: float = 10.0
    solo: bool = False

    def plain(self, candidate: Candidate) -> dict[str, Any]:
        """Returns it as plain data, with a candidate in the place of X."""
        category, paths = self.category, self.paths
        return {
            "tree": category.scenario(
                candidate, paths, self.seed, self.replicates, solo=self.solo
            ),
            "rates": [category.carries * category.value(path, "rate") for path in paths],
            "round_trips": [category.value(path, "round_trip") for path in paths],
            "wanted": self.wanted,
            "limit_s": self.limit_s,
        }  # fmt: skip


class CandidateFailed(Exception):  # noqa: N818 - it is an answer of a judgement, not a mistake
    """A candidate cannot be used, or fails in a run.

    Attributes:
        how: `time`, `memory`, `failed`, or the code of an error.
        words: The reason in one line.
        task: Key of the task.
    """

    def __init__(self, how: str, words: str, task: str) -> None:
        super().__init__(words)
        self.how, self.words, self.task = how, " ".join(words.split()), task


class Bench(Protocol):
    """A place where runs happen."""

    def run(self, tasks: Iterable[Task], until: float) -> Iterator[tuple[Task, Quantities]]:
        """Yields tasks as they end; begins none after a time (`time.monotonic`)."""

    @property
    def lacking(self) -> Sequence[str]:
        """The limits that could not be set."""


@dataclass
class InProcess:
    """This process: for controls of the engine, whose code is not the candidate's.

    Attributes:
        candidate: The candidate.
        threads: Number of threads.
    """

    candidate: Candidate
    threads: int
    lacking: Sequence[str] = ()

    def run(self, tasks: Iterable[Task], until: float) -> Iterator[tuple[Task, Quantities]]:
        """Yields tasks as they end."""
        for task in tasks:
            if time.monotonic() > until:
                return
            try:
                yield task, observe(task.plain(self.candidate), Path(), self.threads)
            except InputError as error:
                raise CandidateFailed(error.code, _short(error.message), task.key) from None


@dataclass
class _Worker:
    process: "subprocess.Popen[bytes]"
    task: Task | None = None
    until: float = 0.0


class Processes:
    """Processes of a candidate: a process for each core, within limits.

    The processes of a sweep would not do: they send objects of Python, which a candidate could make
    up, and have no limits.
    """

    def __init__(
        self, candidate: Candidate, files: Mapping[str, bytes], *, compiles: bool,
        processes: int | None = None,
    ) -> None:  # fmt: skip
        """Starts the processes.

        Args:
            candidate: The candidate, whose file is named as in `files`.
            files: The files that it reads.
            compiles: True if they need a compiler.
            processes: Number of processes; by default one per core.
        """
        self._candidate = candidate
        self._folder = tempfile.TemporaryDirectory(prefix="ackclock-judge-")
        root = Path(self._folder.name)
        source, scratch = root / "source", root / "scratch"
        source.mkdir()
        scratch.mkdir()
        for name, content in files.items():
            (source / name).write_bytes(content)
        self._lacking: list[str] | None = None
        place = scratch if compiles else None
        self._workers = [_started(source, place) for _ in range(processes or cores())]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lacking(self) -> Sequence[str]:
        """The limits that could not be set."""
        return self._lacking or []

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers:
            worker.process.kill()
            worker.process.wait()
            for pipe in (worker.process.stdin, worker.process.stdout, worker.process.stderr):
                with contextlib.suppress(OSError):
                    pipe and pipe.close()
        self._workers = []
        self._folder.cleanup()

    def run(self, tasks: Iterable[Task], until: float) -> Iterator[tuple[Task, Quantities]]:
        """Yields tasks as they end.

        Raises:
            CandidateFailed: The candidate cannot be used, fails, or does not end.
        """
        self._wait_for_all()
        waiting = iter(tasks)
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(_pipe(worker.process.stdout), selectors.EVENT_READ, worker)
            for worker in self._workers:
                self._give(worker, waiting, until)
            while any(worker.task for worker in self._workers):
                busy = [worker for worker in self._workers if worker.task]
                left = min(worker.until for worker in busy) - time.monotonic()
                ready = selector.select(max(left, 0.0))
                for worker in [] if ready else busy:
                    if time.monotonic() > worker.until:
                        self._bury(worker)
                for key, _ in ready:
                    worker = key.data
                    task = worker.task
                    quantities = self._read(worker)
                    worker.task = None
                    self._give(worker, waiting, until)
                    yield task, quantities

    def _give(self, worker: _Worker, waiting: Iterator[Task], until: float) -> None:
        task = next(waiting, None) if time.monotonic() <= until else None
        if task is None:
            return
        worker.task, worker.until = task, time.monotonic() + PATIENCE * task.limit_s + _GRACE_S
        line = json.dumps(task.plain(self._candidate)).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # `_read` finds it.
            pipe = _pipe(worker.process.stdin)
            pipe.write(line)
            pipe.flush()

    def _read(self, worker: _Worker) -> Quantities:
        line = _pipe(worker.process.stdout).readline(_MOST_ANSWER)
        answer = None
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
        if not isinstance(answer, dict):
            self._bury(worker)
        elif "error" in answer:
            code, _field, words = answer["error"]
            key = worker.task.key if worker.task else ""
            raise CandidateFailed(str(code), _short(str(words)), key)
        return dict((answer or {})["quantities"])

    def _bury(self, worker: _Worker) -> None:
        """Says why a process has died, or has to.

        Raises:
            CandidateFailed: Always.
        """
        task = worker.task
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(0.2)
        worker.process.kill()
        code = worker.process.wait()
        text = _pipe(worker.process.stderr).read(1 << 20).decode(errors="replace")
        key = task.key if task else ""
        limit = task.limit_s if task else 0.0
        if "Timeout (" in text or code in (-9, -signal.SIGPROF, -signal.SIGXCPU):
            place = _place(text, self._candidate)
            raise CandidateFailed(
                "time", f"does not end within {limit:g} s of processor time{place}", key
            )
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        if "MemoryError" in text or "memory allocation" in text or "bad_alloc" in text:
            raise CandidateFailed("memory", "it needs more memory than a candidate may have", key)
        raise CandidateFailed("failed", f"it ended its process with {code}: {last[:200]}", key)

    def _wait_for_all(self) -> None:
        """Waits until every process has set its limits."""
        if self._lacking is not None:
            return
        lacking: set[str] = set()
        for worker in self._workers:
            line = _pipe(worker.process.stdout).readline(_MOST_ANSWER)
            if not line:
                self._bury(worker)
            lacking |= set(json.loads(line)["failed"])
        self._lacking = sorted(lacking)


def _started(source: Path, scratch: Path | None) -> _Worker:
    kept = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # A thread before the limits would keep the process in this network.
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    if scratch is not None:
        environment["TMPDIR"] = str(scratch)
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        _COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd="/"
    )
    first = {"folder": str(source), "scratch": str(scratch) if scratch else None}
    with contextlib.suppress(BrokenPipeError):
        _pipe(process.stdin).write(json.dumps(first).encode() + b"\n")
        _pipe(process.stdin).flush()
    return _Worker(process)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("the process has no pipe")
    return pipe


def _place(text: str, candidate: Candidate) -> str:
    """Returns where in the candidate's file a process was, from the text of faulthandler."""
    name = str(candidate.tree.get("file", ""))
    for line in text.splitlines():
        if name and f'{name}"' in line and ", line " in line:
            number, _, method = line.partition(", line ")[2].partition(" in ")
            return f": {name}:{number.strip()}, in {method.strip()}"
    return ""


def _short(words: str) -> str:
    """Returns the sentence of an error about a candidate, without what it stands in."""
    return words.removeprefix("cannot be used: ")
