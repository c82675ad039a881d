"""Places where batches are executed: this machine, or a Dask cluster.

The driver knows a place by three calls, and nothing else of it.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ackclock.errors import InputError
from ackclock.sweeps.plan import Batch, Plan
from ackclock.sweeps.worker import Report

__all__ = ["Lost", "Open", "Place", "parse"]


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


#: Opens a place for a plan.
Open = Callable[[Plan], Place]


def parse(text: str) -> Open:
    """Reads `here`, `here:8` or `dask:tcp://head:8786`.

    Raises:
        InputError: It is none of them.
    """
    kind, _, rest = text.partition(":")
    if kind == "here" and (not rest or (rest.isdecimal() and int(rest) > 0)):
        from ackclock.sweeps.places.here import Here

        return lambda plan: Here(plan, int(rest) if rest else None)
    if kind == "dask" and rest:
        from ackclock.sweeps.places.dask import Cluster

        return lambda plan: Cluster.at(plan, rest)
    raise InputError(
        "unknown-name", "--on",
        f'unknown place "{text}"; choose here, here:8, dask:tcp://HOST:PORT or slurm:OPTIONS', text,
    )  # fmt: skip
