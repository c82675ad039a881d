"""Jobs of Slurm: an array in which each job runs one shard of the sweep, through submitit.

There is no scheduler of ours and no open port. Every job is a driver of its own on its machine: it
looks after every N-th point and writes into the folder, which all machines must see.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ackclock import stacks
from ackclock.errors import InputError, LackingError
from ackclock.sweeps import driver
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.places.here import Here
from ackclock.sweeps.store import WHOLE, Shard, Store

# Jobs of the array, unless `max` says otherwise: many sites allow a hundred at a time.
_JOBS = 100

# Time between two looks at the jobs and at the folder: a scheduler is not to be asked often.
_BETWEEN_S = 5.0

_EXAMPLE = "for example slurm:partition=short,max=200,time=60"

#: Options and what submitit calls them. `cluster=local` runs the jobs here.
_NAMES = {
    "partition": "slurm_partition", "account": "slurm_account", "qos": "slurm_qos",
    "memory": "slurm_mem", "time": "timeout_min", "cpus": "cpus_per_task",
}  # fmt: skip


def parse(text: str) -> dict[str, str]:
    """Reads `partition=short,max=200`.

    Raises:
        InputError: An option is unknown.
    """
    options: dict[str, str] = {}
    for option in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = option.partition("=")
        if not sign or not value or name not in (*_NAMES, "max", "cluster"):
            names = ", ".join([*_NAMES, "max", "cluster"])
            raise InputError(
                "unknown-field", "--on",
                f'"{option}" is not an option of Slurm ({names}); {_EXAMPLE}', option,
            )  # fmt: skip
        options[name] = value
    for name in ("max", "time", "cpus"):
        if name in options and not (options[name].isdecimal() and int(options[name]) > 0):
            raise InputError(
                "out-of-range", "--on", f'"{name}={options[name]}" is not a whole number of 1 or '
                f"more; {_EXAMPLE}", options[name],
            )  # fmt: skip
    return options


def go_on(
    options: dict[str, str],
    store: Store,
    shard: Shard,
    tell: Callable[[Progress], None],
    run_limit_s: float | None,
) -> Progress:
    """Submits the jobs and waits for them.

    Raises:
        InputError: A shard is asked for, or a job was refused.
        LackingError: submitit is not installed, or Slurm is not there.
        KeyboardInterrupt: It was interrupted; the jobs are cancelled.
    """
    if shard != WHOLE:
        raise InputError("contradiction", "--shard", "does not go with slurm, which makes shards")
    jobs = _submit(options, store, run_limit_s)
    try:
        while not all(job.done() for job in jobs):
            tell(driver.progress(driver.restored(store)))
            time.sleep(_BETWEEN_S if options.get("cluster") != "local" else 0.2)
        for job in jobs:
            job.result()
    except KeyboardInterrupt:
        for job in jobs:
            job.cancel()
        raise
    except Exception as error:  # submitit's own, of a job that ended without a result
        if isinstance(error, InputError | LackingError):
            raise
        words = [line for line in str(error).splitlines() if line.strip()]
        raise LackingError(
            "failed", f"{store.folder / 'slurm'}", f"a job failed: {words[-1] if words else error}"
        ) from None
    done = driver.progress(driver.restored(store))
    tell(done)
    return done


def _submit(options: dict[str, str], store: Store, run_limit_s: float | None) -> list[Any]:
    try:
        import submitit
    except ImportError:
        raise LackingError(
            "lacking", "--on", "submitit is not installed: pip install 'ackclock[slurm]'"
        ) from None
    count = min(int(options.get("max", _JOBS)), store.points.num_rows)
    try:
        executor = submitit.AutoExecutor(store.folder / "slurm", options.get("cluster", "slurm"))
    except RuntimeError:
        raise LackingError(
            "lacking", "--on", "Slurm is not here: sbatch is missing; use a machine of the cluster"
        ) from None
    given: dict[str, Any] = {
        _NAMES[name]: int(value) if value.isdecimal() else value
        for name, value in options.items()
        if name in _NAMES
    }
    if executor.cluster == "local":
        given = {name: value for name, value in given.items() if not name.startswith("slurm_")}
    else:
        given["slurm_array_parallelism"] = count
    executor.update_parameters(name="ackclock", **given)
    processes = int(options.get("cpus", 1))
    with executor.batch():
        return [
            executor.submit(
                _shard,
                str(store.folder.absolute()),
                number,
                count,
                processes,
                run_limit_s,
                stacks.brought(),
            )
            for number in range(count)
        ]


def _shard(
    folder: str, number: int, count: int, processes: int, run_limit_s: float | None,
    brought: tuple[stacks.Stack, ...],
) -> None:  # fmt: skip
    """Runs one shard, in a job."""
    stacks.bring_again(brought)
    store = Store(Path(folder))
    part = Shard(number, count)
    driver.go_on(store, lambda plan, _method: Here(plan, processes), part, run_limit_s=run_limit_s)
