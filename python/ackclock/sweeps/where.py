"""The place of a sweep, as written behind `--on`: this machine, Dask, or jobs of Slurm."""

from collections.abc import Callable
from functools import partial

from ackclock import engine
from ackclock.errors import InputError
from ackclock.run.host import HOST_COMMAND, loader
from ackclock.sweeps import driver
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.places import Open
from ackclock.sweeps.plan import Plan
from ackclock.sweeps.store import Shard, Store

#: Runs what is left of a sweep or of a shard. Takes what hears of the progress, and the longest
#: duration of a run in seconds, None for the one that follows from the runs that have ended.
GoOn = Callable[[Store, Shard, Callable[[Progress], None], float | None], Progress]


def parse(text: str, plan: Plan, side_by_side: int = 1) -> GoOn:
    """Reads `here`, `here:8`, `dask:tcp://head:8786` or `slurm:partition=short,max=200`.

    Args:
        text: The place.
        plan: The sweep that is to run there.
        side_by_side: Number of emulations at once.

    Raises:
        InputError: It is none of them, or cannot run the sweep's methods.
        LackingError: A package is not installed, or this machine cannot emulate.
    """
    kind, _, rest = text.partition(":")
    plan.check_stacks()
    if "emulate" in plan.methods:
        _check_emulation(kind, text, plan)
    if kind == "slurm":
        from ackclock.sweeps import slurm

        return partial(slurm.go_on, slurm.parse(rest))
    return _executed_at(place(text, side_by_side))


def _check_emulation(kind: str, text: str, plan: Plan) -> None:
    """Raises an error if emulations cannot run at a place."""
    if kind != "here":
        raise InputError(
            "unsupported", "--on", f'"{text}" does not emulate; choose here, or leave emulate out '
            "of --method", text,
        )  # fmt: skip
    first = plan.base.replace(plan.points[0])
    with first.places():
        engine.prepare_emulation(
            [first.resolve().tree],
            first.folder.resolve(),
            HOST_COMMAND,
            loader(),
            device="automatic",
        )


def place(text: str, side_by_side: int = 1) -> Open:
    """Reads a place that executes single batches: one of the above, other than Slurm.

    Raises:
        InputError: It is none of them.
    """
    kind, _, rest = text.partition(":")
    if kind == "here" and (not rest or (rest.isdecimal() and int(rest) > 0)):
        from ackclock.sweeps.places.here import Here

        processes = int(rest) if rest else None
        return lambda plan, method: Here(plan, side_by_side if method == "emulate" else processes)
    if kind == "dask" and rest:
        from ackclock.sweeps.places.dask import Cluster

        return lambda plan, _method: Cluster.connect(plan, rest)
    if kind == "slurm":
        raise InputError(
            "unsupported", "--on", "a search needs here or dask: it waits for each run"
        )
    raise InputError(
        "unknown-name", "--on",
        f'unknown place "{text}"; choose here, here:8, dask:tcp://HOST:PORT or '
        "slurm:partition=NAME,max=JOBS", text,
    )  # fmt: skip


def _executed_at(place: Open) -> GoOn:
    def go_on(
        store: Store, shard: Shard, tell: Callable[[Progress], None], run_limit_s: float | None
    ) -> Progress:
        return driver.go_on(store, place, shard, tell, run_limit_s)

    return go_on
