"""The controls that candidates are judged beside, run once for a field, a salt and an engine.

They are kept by content in a folder of the user's: the paths, the engine and the code that measures
are part of the address.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.kept import Kept
from ackclock.judgement.field import Assignments, Category, Field
from ackclock.judgement.measures import SOLO, Observed
from ackclock.judgement.runs import InProcess, Task
from ackclock.run import address
from ackclock.run.simulation import cores

#: The control that others are compared with.
CUBIC = "cubic"

_NEVER = float("inf")


@dataclass(frozen=True)
class Reference:
    """A shipped control over the paths of a judgement.

    Attributes:
        name: Its kind.
        shown: Quantities on the paths that everybody is shown.
        hidden: Quantities on the others.
        probes: Quantities of the probes, by name.
    """

    name: str
    shown: Observed
    hidden: Observed
    probes: Mapping[str, Any]


#: Categories with paths of each.
Drawn = Iterable[tuple[Category, tuple[Assignments, ...]]]


def tasks(drawn: Drawn, seed: int, replicates: int) -> list[Task]:
    """Returns a task for each category."""
    return [
        Task(category.name, category, paths, seed, replicates) for category, paths in drawn if paths
    ]


def probe_tasks(field: Field, seed: int) -> list[Task]:
    """Returns the tasks of probes that are compared with those of known controls."""
    wanted = {"windows": "windows", "little loss": "cuts", "much loss": "cuts"}
    return [
        Task(name, field.probes[name], field.probes[name].shown_paths, seed,
             field.probes[name].replicates, how)
        for name, how in wanted.items()
    ]  # fmt: skip


def load(
    field: Field, salt: str, seed: int, replicates: int,
    tell: Callable[[str], None] = lambda _words: None,
) -> dict[str, Reference]:  # fmt: skip
    """Returns the references by name; runs those that are not kept.

    Args:
        field: The field.
        salt: The salt of the hidden paths.
        seed: The seed.
        replicates: Number of seeds.
        tell: Takes what is being run.
    """
    made_of = {
        "engine": address.engine(),
        "field code": address.package("ackclock.judgement.field"),
        "observed": address.package("ackclock.judgement.observed"),
        "metrics": address.package("ackclock.metrics"),
        "field": field.digest,
        "seed": seed,
        "replicates": replicates,
    }
    shown = [(category, category.shown_paths) for category in field.race]
    hidden = [(category, category.hidden_paths(salt)) for category in field.categories]
    solo = {
        "shown": _solo(shown, made_of | {"paths": "shown"}),
        "hidden": _solo(hidden, made_of | {"paths": salt}),
    }
    loaded = {}
    for name in field.references:
        candidate = Candidate.read(name)
        made = partial(_observed, InProcess(candidate, cores()), partial(tell, name))
        own = made_of | {"control": dict(candidate.tree)}
        of_shown = _kept(own | {"paths": "shown"}, partial(made, tasks(shown, seed, replicates)))
        of_hidden = _kept(own | {"paths": salt}, partial(made, tasks(hidden, seed, replicates)))
        loaded[name] = Reference(
            name,
            with_solo(of_shown, solo["shown"]),
            with_solo(of_hidden, solo["hidden"]),
            _kept(own | {"paths": "probes"}, partial(made, probe_tasks(field, seed))),
        )
    return loaded


def _observed(bench: InProcess, tell: Callable[[], None], some: list[Task]) -> dict[str, Any]:
    tell()
    return {task.key: answer for task, answer in bench.run(some, _NEVER)}


def with_solo(observed: Observed, solo: Observed) -> dict[str, dict[str, Any]]:
    """Returns quantities with those of the other flow alone beside them."""
    return {
        name: {**quantities, SOLO: solo[name]["share of other"]}
        if name in solo
        else dict(quantities)
        for name, quantities in observed.items()
    }


def _solo(paths: Drawn, made_of: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the quantities of the other flow without a candidate."""
    some = [
        Task(category.name, category, drawn, made_of["seed"], made_of["replicates"], solo=True)
        for category, drawn in paths
        if category.has_solo and drawn
    ]
    bench = InProcess(Candidate.read(CUBIC), cores())
    return _kept({**made_of, "control": SOLO}, partial(_observed, bench, _silent, some))


def _silent() -> None:
    """Tells nothing."""


def _kept(made_of: Mapping[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns what is kept under an address, or runs it and keeps it."""
    kept = Kept.of_user()
    content = kept.content(made_of) if kept else {}
    if "observed" in content:
        return dict(content["observed"])
    observed = run()
    if kept:
        kept.keep(made_of, {"observed": observed})
        kept.trim()
    return observed
