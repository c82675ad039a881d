"""An engine in its own process.

A run that hangs, dies or uses up the memory is then only a failed test.
"""

from __future__ import annotations

import pickle
import resource
import select
import subprocess
import sys
from typing import Any, Self

from ackclock import Result, Scenario

#: Seconds that a degenerate scenario may take on a busy machine. Each takes well under one.
PATIENCE = 30
#: Bytes of address space. No scenario needs a tenth of it.
MEMORY = 4 << 30


class Engine:
    """Runs one scenario after the other; restarts after a failure."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def simulate(self, scenario: Scenario) -> Result:
        """Returns the result of a run.

        Raises:
            ScenarioError: The input is bad.
            AssertionError: The engine panicked, died, or did not end in time.
        """
        kind, answer = self._ask(scenario.tree)
        if kind == "refused":
            raise answer
        assert kind == "result", f"the engine failed: {answer}"
        return Result(*answer)

    def _ask(self, tree: dict[str, Any]) -> tuple[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(tree, process.stdin)
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        if not ready:
            self._end()
            return "hang", f"no answer after {PATIENCE} s"
        try:
            answer: tuple[str, Any] = pickle.load(process.stdout)
        except EOFError:
            return "death", f"exit code {self._end()}"
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode


def _serve() -> None:
    """Serves requests until the other end closes."""
    from ackclock import ScenarioError, simulate

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        try:
            tree = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: tuple[str, Any]
        try:
            result = simulate(Scenario(tree), threads=1)
            answer = "result", (result.run, result.tables)
        except ScenarioError as error:
            answer = "refused", error
        except BaseException as error:  # a panic is not an Exception
            answer = "panic", f"{type(error).__name__}: {error}"
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
