"""A Dask cluster: workers on any machines that have the same build of ackclock.

Tables come back to the driver, so that workers need no file of the sweep. Only files that a
scenario names must be where they are on the driver's machine.
"""

import contextlib
from typing import Any

from ackclock import stacks
from ackclock.errors import LackingError
from ackclock.sweeps import worker
from ackclock.sweeps.places import Lost
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.worker import Report

# Batches for each thread: one is under way and one waits, so that no thread is idle while the
# driver writes.
_BATCHES_PER_THREAD = 2

# Time for a scheduler to answer.
_PATIENCE = "10 s"


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, plan: Plan, client: Any) -> None:
        """Uses the scheduler of a client.

        Args:
            plan: The sweep.
            client: A `distributed.Client`; it is not closed.
        """
        from distributed import as_completed

        self._tree = plan.to_json()
        self._client = client
        self._batches: dict[str, Batch] = {}
        self._completed = as_completed(loop=client.loop)
        self._close = contextlib.ExitStack()
        self._threads = self._count()

    @classmethod
    def connect(cls, plan: Plan, address: str) -> "Cluster":
        """Connects to the scheduler at an address.

        Raises:
            LackingError: Nothing answers there, or Dask is not installed.
        """
        try:
            from distributed import Client
        except ImportError:
            raise LackingError(
                "lacking", "--on", "dask is not installed: pip install 'ackclock[dask]'"
            ) from None
        try:
            client = Client(address, timeout=_PATIENCE)
        except (TimeoutError, OSError, ValueError) as error:
            why = " ".join(str(error).split()).split("; ")[0]
            raise LackingError("lacking", "--on", f"no scheduler at {address}: {why}") from None
        cluster = cls(plan, client)
        cluster._close.callback(client.close)
        return cluster

    @property
    def capacity(self) -> int:
        """Twice the number of the cluster's threads at the last answer."""
        return max(1, _BATCHES_PER_THREAD * self._threads)

    def _count(self) -> int:
        return sum(self._client.nthreads().values())

    def submit(self, batch: Batch) -> None:
        """Begins a batch on any worker."""
        # A function of the package: workers import it. Equal batches are different tasks.
        future = self._client.submit(
            _execute, self._tree, batch, stacks.brought(), pure=False, retries=0
        )
        self._batches[future.key] = batch
        self._completed.add(future)

    def completed(self) -> tuple[Batch, Report | Lost]:
        """Waits for the next batch that has ended."""
        future = next(self._completed)
        self._threads = self._count()
        batch = self._batches.pop(future.key)
        error = future.exception()
        if error is None:
            return batch, future.result()
        if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
            return batch, Lost(
                "failed", f"ended its worker, or took longer than {batch.run_limit_s:.3g} s"
            )
        raise error

    def close(self) -> None:
        """Cancels what is under way, and leaves a client of its own."""
        self._client.cancel([future for future, *_ in self._completed.futures.items()])
        self._close.close()


def _execute(tree: dict[str, Any], batch: Batch, brought: tuple[stacks.Stack, ...]) -> Report:
    """Executes a batch in a worker."""
    from distributed import get_worker

    stacks.bring_again(brought)
    threads: int = get_worker().state.nthreads
    return worker.execute(Plan.from_json(tree), batch, 1 / threads)
