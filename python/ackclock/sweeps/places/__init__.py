"""Places where batches are executed: this machine, or a Dask cluster.

The driver knows a place by three calls, and nothing else of it.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.worker import Report


class Lost(NamedTuple):
    """A batch whose process ended before it answered.

    Attributes:
        code: A code of `ackclock.errors.CODES`.
        message: Why it ended, in one line.
        again: True if the same runs may end otherwise: something else may have ended the process.
    """

    code: str
    message: str
    again: bool = True


class Place(Protocol):
    """Executes batches.

    Attributes:
        capacity: Number of batches to have under way.
    """

    @property
    def capacity(self) -> int:
        """Number of batches to have under way."""
        ...

    def submit(self, batch: Batch) -> None:
        """Begins a batch; at most `capacity` are under way."""
        ...

    def completed(self) -> tuple[Batch, Report | Lost]:
        """Waits for the next batch that has ended."""
        ...

    def close(self) -> None:
        """Ends everything at once; batches under way are lost."""
        ...


#: Opens a place for a method of a plan.
Open = Callable[[Plan, str], Place]
