"""Cells of an evaluation as sweeps: they may run anywhere, and continue after an interrupt.

The cells of a run of a case are a sweep for each control, in the folder of the evaluation. A place
of a sweep runs them: processes here, a cluster of Dask, jobs of Slurm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ackclock.errors import LackingError
from ackclock.evaluation.criteria import Quantity
from ackclock.evaluation.kept import Metrics
from ackclock.metrics import METRICS, Value
from ackclock.result.result import Result
from ackclock.run.description import describe
from ackclock.scenario import Scenario, one_flow
from ackclock.sweeps import where
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.plan import Plan
from ackclock.sweeps.store import WHOLE, Store

#: Folder of the sweeps within that of the evaluation.
FOLDER = "sweeps"

#: Longest duration of one run, in seconds: 10 Gbit/s for minutes, on a slow machine. A guess.
RUN_LIMIT_S = 7200.0

# Tables of a run that metrics with parameters are computed from.
_KEPT = ("flows", "samples")


@dataclass(frozen=True)
class Campaign:
    """The place of an evaluation's sweeps.

    Attributes:
        place: Where runs execute, as behind `--on`.
        folder: Folder of the evaluation.
    """

    place: str = "here"
    folder: Path = Path()

    def check(self) -> None:
        """Refuses a place that does not exist.

        Raises:
            InputError: There is no such place.
            LackingError: A package that it needs is not installed.
        """
        transport = {"kind": "tcp", "control": {"kind": "reno"}}
        where.parse(self.place, _plan(one_flow(transport, "1 s"), ()))

    def metrics(
        self,
        name: str,
        scenario: Scenario,
        quantities: Sequence[Quantity],
        progress: Callable[[int], None],
    ) -> Metrics:
        """Runs what is left of a sweep; returns the metrics of each point.

        Args:
            name: Name of the sweep, for its folder.
            scenario: A scenario whose points are the cells.
            quantities: The metrics.
            progress: Takes a number of runs that have ended.

        Raises:
            LackingError: A run failed.
            KeyboardInterrupt: It was interrupted; the same call continues.
        """
        plan = _plan(scenario, quantities)
        go_on = where.parse(self.place, plan)
        store = Store.begin(self.folder / FOLDER / name, plan)
        ended = 0

        def hear(now: Progress) -> None:
            nonlocal ended
            progress(now.ended - ended)
            ended = now.ended

        end = go_on(store, WHOLE, hear, RUN_LIMIT_S)
        if end.failed:
            first = store.troubled()[0]
            raise LackingError("failed", f"{store.folder}", f"a run failed: {first['message']}")
        return _metrics(plan, store, quantities)


def _plan(scenario: Scenario, quantities: Sequence[Quantity]) -> Plan:
    """Returns the plan of a sweep over the points of a scenario."""
    named = [quantity.metric.name for quantity in quantities if _is_named(quantity)]
    needs_tables = len(named) < len(quantities)
    return Plan.make(
        scenario,
        metrics=list(dict.fromkeys(named)) or ["goodput"],
        keep=_KEPT if needs_tables else _KEPT[:1],
    )


def _is_named(quantity: Quantity) -> bool:
    """Returns true for a metric that a sweep computes; others have parameters."""
    return quantity.metric.name in METRICS and not quantity.parameters


def _metrics(plan: Plan, store: Store, quantities: Sequence[Quantity]) -> Metrics:
    metrics: Metrics = [{} for _ in plan.points]
    rows = store.values([quantity.metric.name for quantity in quantities]).to_pylist()
    named = [
        (row["metric"], Value(row["point"], row["replicate"], row["subject"], row["value"]))
        for row in rows
    ]
    for quantity in quantities:
        if _is_named(quantity):
            values = [value for name, value in named if name == quantity.metric.name]
        else:
            values = list(quantity.metric.values(_result(plan, store)))
        for value in values:
            if value.subject == quantity.subject or not quantity.subject:
                row = metrics[value.point].setdefault(
                    quantity.key, np.full(plan.most, math.nan, float)
                )
                row[value.replicate] = math.nan if value.value is None else value.value
    return metrics


def _result(plan: Plan, store: Store) -> Result:
    """Returns the tables that a sweep has kept as a result."""
    scenario = Scenario(plan.scenario, Path(plan.folder))
    points = scenario.expand()
    run = describe("simulate", scenario, points, [each.scenario.resolve().tree for each in points])
    return Result(run, {name: _ordered(store, name) for name in plan.keep})


def _ordered(store: Store, name: str) -> pa.Table:
    """Returns a table by point and replicate, without the columns that a sweep adds."""
    table = store.dataset(name).to_table()
    added = [*store.swept, "method", "reliable"]
    bare = table.drop_columns([column for column in added if column in table.column_names])
    numbered = bare.append_column("_row", pa.array(np.arange(bare.num_rows)))
    order = [(column, "ascending") for column in ("point", "replicate", "_row")]
    return numbered.sort_by(order).drop_columns(["_row"])
