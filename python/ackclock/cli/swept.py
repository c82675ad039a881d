"""A sweep in a folder, as its page shows it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.report.sweep import Swept
    from ackclock.sweeps.store import Store

# With more points the page does not draw the path, for which each has to be resolved.
_MOST_DRAWN = 100


def is_sweep(folder: Path) -> bool:
    """Returns true if a folder holds a sweep."""
    from ackclock.sweeps.store import SWEEP

    return (folder / SWEEP.mark).is_file()


def page(folder: Path) -> str:
    """Returns the page of the sweep in a folder.

    Raises:
        InputError: The sweep is damaged, or has no values yet.
    """
    from ackclock.report.sweep import page_of_sweep
    from ackclock.sweeps.store import Store

    return page_of_sweep(_swept(Store(folder)))


def _swept(store: "Store") -> "Swept":
    from ackclock.errors import InputError
    from ackclock.report.sweep import Runs, Swept
    from ackclock.sweeps import driver, summary
    from ackclock.sweeps.plan import asked
    from ackclock.table import capital

    plan = store.plan
    means, tables, refused = [], [], None
    for name in dict.fromkeys(asked_for.metric.name for asked_for in plan.asked):
        metric = asked(name)
        try:
            tidy = summary.frame(store, metric)
        except InputError as error:
            refused = error
            continue
        hop = summary.bottleneck(store, tidy)
        if hop is not None:
            tidy = summary.where(tidy, (f"subject={hop}",))
        means.append((metric.metric, tidy))
        label = capital(metric.metric.label)
        title = f"{label} at {hop}" if hop is not None else label
        tables.append(summary.shown(summary.without_copies(tidy), metric.metric, title))
    if not means and refused is not None:
        raise refused
    done = driver.progress(driver.restored(store))
    unreliable = sum(len(kept.unreliable) for kept in store.survey().whole)
    drawn = len(plan.points) <= _MOST_DRAWN
    return Swept(
        run={
            "name": plan.scenario.get("name", store.folder.name),
            "seed": plan.seed,
            "version": plan.version,
        },
        scenario=plan.scenario,
        command=_command(store),
        vary=plan.vary,
        methods=sorted(plan.methods, key=["simulate", "emulate", "predict"].index),
        is_grid=plan.design.startswith("grid") or len(plan.vary) < 2,
        points=[
            {
                "assignments": assigned,
                "scenario": plan.base.replace(assigned).resolve().tree if drawn else None,
            }
            for assigned in plan.points
        ],
        means=means,
        tables=tables,
        runs=Runs(done.wanted, done.ended, done.failed, unreliable),
    )


def _command(store: "Store") -> str:
    """Returns the command of a sweep, for a file with its scenario."""
    plan = store.plan
    name = plan.scenario.get("name", "scenario").replace(" ", "-")
    options = [("--vary", parameter) for parameter in plan.vary]
    options += [("--design", plan.design)] if plan.vary else []
    options += [("--method", ",".join(plan.methods))] if plan.methods != ("simulate",) else []
    if plan.precision is None:
        options.append(("--replicates", str(plan.least)))
    words = [word for option in options for word in option]
    return shlex.join(["ackclock", "sweep", "run", f"{name}.toml", *words])
