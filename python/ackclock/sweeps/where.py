"""The place of a sweep, as written behind `--on`: this machine, Dask, or jobs of Slurm."""

from collections.abc import Callable
from functools import partial

from ackclock.errors import InputError
from ackclock.sweeps import driver
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.places import Open
from ackclock.sweeps.store import Shard, Store

__all__ = ["GoOn", "parse", "place"]

#: Runs what is left of a sweep or of a shard. Takes what hears of the progress, and the longest
#: duration of a run in seconds.
GoOn = Callable[[Store, Shard, Callable[[Progress], None], float], Progress]


def parse(text: str) -> GoOn:
    """Reads `here`, `here:8`, `dask:tcp://head:8786` or `slurm:partition=short,max=200`.

    Raises:
        InputError: It is none of them.
        LackingError: A package that it needs is not installed.
    """
    kind, _, rest = text.partition(":")
    if kind == "slurm":
        from ackclock.sweeps import slurm

        return partial(slurm.go_on, slurm.parse(rest))
    return _at(place(text))


def place(text: str) -> Open:
    """Reads a place that executes single batches: one of the above, other than Slurm.

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
    if kind == "slurm":
        raise InputError(
            "unsupported", "--on", "a search needs here or dask: it waits for each run"
        )
    raise InputError(
        "unknown-name", "--on",
        f'unknown place "{text}"; choose here, here:8, dask:tcp://HOST:PORT or '
        "slurm:partition=NAME,max=JOBS", text,
    )  # fmt: skip


def _at(place: Open) -> GoOn:
    def go_on(
        store: Store, shard: Shard, tell: Callable[[Progress], None], run_limit_s: float
    ) -> Progress:
        return driver.go_on(store, place, shard, tell, run_limit_s)

    return go_on
