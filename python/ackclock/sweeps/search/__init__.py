"""Search: find the scenario in which something breaks, and make it plain.

An optimiser places scenarios, and each is run a few times. The best one is a winner that may have
been lucky, so it is run again with other random numbers, more often. Then it is shrunk: every value
goes back to that of the base scenario unless the property needs it.
"""

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import engine
from ackclock.errors import InputError, ScenarioError
from ackclock.metrics.confidence import interval
from ackclock.result.folder import Contents, write_whole
from ackclock.result.manifest import read_sealed, write_sealed
from ackclock.run import address
from ackclock.scenario import Scenario
from ackclock.sweeps import parameters
from ackclock.sweeps.parameters import Parameter
from ackclock.sweeps.places import Open
from ackclock.sweeps.plan import RUN_LIMIT_S, Plan
from ackclock.sweeps.search import objective as objectives
from ackclock.sweeps.search.evaluation import Evaluator
from ackclock.sweeps.search.optimiser import OPTIMISERS, Spent
from ackclock.sweeps.search.shrinking import shrink
from ackclock.table import Interval, json_text

#: What the folder of a search may hold.
SEARCH = Contents(
    "search", "search.json", re.compile(r"search\.json|evaluations\.jsonl|found\.(toml|json)")
)

# Runs that confirm a property. Our choice: it then tells 80 % of the replicates from 50 %.
_CONFIRMATIONS = 20

# Share of the confirming replicates in which the property must hold.
_SHARE = 0.8


@dataclass(frozen=True)
class Search:
    """The question of a search.

    Attributes:
        plan: Base scenario and metrics.
        vary: What may differ from it.
        minimise: The objective.
        below: The property: the objective is below this; None for half way from the base scenario
            to the best one.
        budget: Runs of the optimiser; confirming and shrinking come in addition.
        replicates: Runs of each scenario of the optimiser.
        optimiser: One of `OPTIMISERS`.
    """

    plan: Plan
    vary: tuple[str, ...]
    minimise: str
    below: float | None
    budget: int
    replicates: int
    optimiser: str

    @classmethod
    def make(
        cls,
        scenario: Scenario,
        vary: Sequence[str],
        minimise: str,
        *,
        below: float | None = None,
        budget: int = 500,
        replicates: int = 3,
        optimiser: str = "evolution",
    ) -> "Search":
        """Makes a search. The scenario's own sweep is left out.

        Raises:
            InputError: An option is wrong, or the objective names no flow or hop of the scenario.
        """
        wanted = objectives.parse(minimise)
        if optimiser not in OPTIMISERS:
            raise InputError.unknown("--optimiser", "optimiser", optimiser, OPTIMISERS)
        if not vary:
            raise InputError("missing", "--vary", "is missing; say what may differ, for example "
                             "--vary 'hops.b.delay=1..100 ms log'")  # fmt: skip
        tree = {name: value for name, value in scenario.tree.items() if name != "sweep"}
        base = Scenario(tree, scenario.folder, scenario.source)
        metrics = [f"{name}({subject})" for name, subject in wanted.measures]
        vary = parameters.of_each(vary, base.tree)
        # A plan checks that the scenario, the parameters and the metrics go together.
        try:
            Plan.make(base, vary=vary, design="grid:2", metrics=metrics, keep=[], replicates=(1, 1))
        except ScenarioError:
            raise
        except InputError as error:
            raise error.for_field(error.field.replace("--metric", "--minimise")) from None
        plan = Plan.make(base, metrics=metrics, keep=[], replicates=(1, 1))
        if budget < 2 * replicates:
            raise InputError(
                "out-of-range", "--budget", f"{budget} runs are fewer than two scenarios need; "
                "for example --budget 500", budget,
            )  # fmt: skip
        return cls(plan, tuple(vary), minimise, below, budget, replicates, optimiser)

    @property
    def parameters(self) -> list[Parameter]:
        """Parameters that may differ from the base scenario."""
        return [parameters.parse(text) for text in self.vary]

    @property
    def address(self) -> str:
        """Address of the search."""
        content = {name: value for name, value in vars(self).items() if name != "plan"}
        return address.of_content(content | {"vary": list(self.vary), "plan": self.plan.to_json()})


@dataclass(frozen=True)
class Outcome:
    """The answer of a search.

    Attributes:
        base: The objective of the base scenario, with fresh random numbers.
        best: That of the best scenario of the optimiser, with fresh random numbers.
        plainest: That of the shrunk scenario.
        below: The bound of the property.
        share: Share of the replicates of the shrunk scenario in which the objective is below it.
        holds: True if the property holds of the best scenario.
        assignments: Assignments of the best scenario.
        shrunk: Assignments of the shrunk one.
        runs: Runs that were used, confirming and shrinking included.
        tree: The shrunk scenario.
    """

    base: Interval
    best: Interval
    plainest: Interval
    below: float
    share: float
    holds: bool
    assignments: dict[str, Any]
    shrunk: dict[str, Any]
    runs: int
    tree: dict[str, Any]


def is_begun(folder: Path, search: Search) -> bool:
    """Returns True if a folder holds this search, finished or not."""
    return read_sealed(folder / "search.json").get("address") == search.address


def run(
    search: Search,
    folder: Path,
    place: Open,
    tell: Callable[[int], None] = lambda _left: None,
    run_limit_s: float = RUN_LIMIT_S,
) -> Outcome:
    """Searches, confirms and shrinks; writes `found.toml` and `found.json`.

    Args:
        search: What is looked for.
        folder: Where to write. An interrupted search goes on.
        place: Where to run.
        tell: Takes the number of runs that the optimiser has left.
        run_limit_s: Longest duration of one run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not is_begun(folder, search):
        (folder / "evaluations.jsonl").unlink(missing_ok=True)
        described = {"address": search.address, "minimise": search.minimise,
                     "vary": list(search.vary), "plan": search.plan.to_json()}  # fmt: skip
        write_sealed(folder / "search.json", described)
    opened = place(search.plan, "simulate")
    evaluator = Evaluator(
        search.plan, objectives.parse(search.minimise), opened, folder / "evaluations.jsonl",
        search.budget, run_limit_s, tell,
    )  # fmt: skip
    try:
        outcome = _outcome(search, evaluator)
    finally:
        opened.close()
    comment = "".join(f"# {line}\n" for line in _comment(search, outcome).splitlines())
    write_whole(folder / "found.toml", comment + engine.to_toml(outcome.tree))
    write_whole(folder / "found.json", json_text(vars(outcome)))
    return outcome


def _outcome(search: Search, evaluator: Evaluator) -> Outcome:
    best = _best(search, evaluator)
    # Fresh random numbers: the optimiser has chosen among those of the scenario's own seed.
    fresh = {"seed": str((search.plan.seed + 1) % 2**64)}

    def confirmed(assignments: dict[str, Any]) -> list[float]:
        [values] = evaluator.values([assignments | fresh], _CONFIRMATIONS, bounded=False)
        return values

    base, of_best = interval(confirmed({})), confirmed(best)
    below = search.below
    if below is None:
        below = (base.mean + float(np.nanmean(of_best))) / 2

    def holds(assignments: dict[str, Any]) -> bool:
        return _share(confirmed(assignments), below) >= _SHARE

    is_worse = holds(best) and not holds({})
    shrunk = (
        shrink(best, search.parameters, partial(parameters.field, search.plan.base.tree), holds)
        if is_worse
        else best
    )
    values = confirmed(shrunk)
    tree = engine.replace(search.plan.base.tree, {**shrunk, **fresh, "replicates": _CONFIRMATIONS})
    return Outcome(
        base, interval(of_best), interval(values), below, _share(values, below), holds(best),
        best, shrunk, evaluator.runs, tree,
    )  # fmt: skip


def _best(search: Search, evaluator: Evaluator) -> dict[str, Any]:
    """Returns the assignments with the lowest mean objective."""
    read = search.parameters
    lowest: tuple[float, dict[str, Any]] = (math.inf, {})

    def evaluate(positions: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal lowest
        affordable = evaluator.budget // search.replicates
        scenarios = []
        for row in positions[:affordable]:
            assigned: dict[str, Any] = {}
            for parameter, position in zip(read, row, strict=True):
                assigned |= parameter.assignments(parameter.over.value_at(float(position)))
            scenarios.append(assigned)
        means = []
        for assigned, values in zip(
            scenarios, evaluator.values(scenarios, search.replicates), strict=True
        ):
            mean = float(np.mean(values))  # NaN if a replicate failed.
            lowest = (
                min(lowest, (mean, assigned), key=lambda candidate: candidate[0])
                if mean == mean
                else lowest
            )
            means.append(mean)
        if affordable < len(positions):
            raise Spent
        return np.array(means)

    with contextlib.suppress(Spent):
        OPTIMISERS[search.optimiser](evaluate, len(read), search.plan.seed % 2**32)
    if not lowest[1]:
        raise InputError(
            "failed", "--minimise", f'"{search.minimise}" is unknown for every scenario that was '
            "run; run one of them alone", search.minimise,
        )  # fmt: skip
    return lowest[1]


def _share(values: Sequence[float], below: float) -> float:
    return sum(value < below for value in values) / len(values)


def _comment(search: Search, outcome: Outcome) -> str:
    changed = ", ".join(f"{path} = {value}" for path, value in outcome.shrunk.items()) or "nothing"
    words = "is" if outcome.holds else "is not"
    return (
        f"Found by ackclock sweep search: {search.minimise} {words} below {outcome.below:.3g} in "
        f"{_SHARE:.0%} of\nthe replicates (here {outcome.share:.0%}). Other than in the base "
        f"scenario:\n{changed}."
    )
