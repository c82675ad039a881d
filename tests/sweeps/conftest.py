from collections import deque

import pytest

from ackclock.sweeps.places import Lost
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.worker import Report, execute

from ..patience import PATIENCE_S


class InThisProcess:
    """A place that executes a batch when it is asked for."""

    capacity = 1

    def __init__(self, plan: Plan, _processes: object) -> None:
        self._plan = plan
        self._waiting: deque[Batch] = deque()

    def submit(self, batch: Batch) -> None:
        self._waiting.append(batch)

    def completed(self) -> tuple[Batch, Report | Lost]:
        batch = self._waiting.popleft()
        # A run that takes too long would end the process, which is that of the tests.
        return batch, execute(self._plan, batch._replace(run_limit_s=PATIENCE_S))

    def close(self) -> None:
        pass


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> type[InThisProcess]:
    """Lets `--on here` start no processes: each would import for longer than it computes.

    `test_run.py` shows that other processes give the same.
    """
    monkeypatch.setattr("ackclock.sweeps.places.here.Here", InThisProcess)
    return InThisProcess
