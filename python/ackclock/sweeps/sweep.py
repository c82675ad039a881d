"""Sweeps from Python."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from ackclock.errors import InputError, ScenarioError
from ackclock.scenario import Scenario, load
from ackclock.sweeps import precision, summary, where
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.plan import METRICS_BY_DEFAULT, Plan, asked
from ackclock.sweeps.store import WHOLE, Store, is_begun


@dataclass(frozen=True)
class Sweep:
    """A sweep in a folder.

    Attributes:
        store: The folder.
    """

    store: Store

    @classmethod
    def load(cls, folder: str | Path) -> "Sweep":
        """Opens a folder that a sweep wrote, finished or not.

        Raises:
            InputError: It holds none.
        """
        return cls(Store(Path(folder)))

    @property
    def points(self) -> pa.Table:
        """Number and swept values of each point; units stand in the columns' names."""
        return self.store.points

    @property
    def failures(self) -> pa.Table:
        """The runs that failed, each with `failure` (a code) and `message`.

        Raises:
            InputError: A batch is damaged.
        """
        self.store.refuse_damage("runs")
        runs = self.store.runs()
        return runs.filter(runs["failure"].is_valid())

    def table(self, name: str) -> ds.Dataset:
        """Returns a table (`flows`, `metrics`, `runs`, …) as an Arrow dataset.

        `table("flows").to_table().to_pandas()` reads it; duckdb and polars take it as it is.

        Raises:
            InputError: The sweep does not keep the table, or a batch is damaged.
        """
        return self.store.dataset(name)

    def frame(self, metric: str, *conditions: str) -> pa.Table:
        """Returns means of a metric as a tidy table, a row for each point and flow or hop.

        Args:
            metric: Such as `goodput` or `utilisation(bottleneck)`.
            conditions: Such as `hops.b.delay=10`; only such points.

        Returns:
            Columns as `ackclock.sweeps.summary.frame` describes them.
        """
        return summary.where(summary.frame(self.store, asked(metric)), conditions)


def sweep(
    scenario: Scenario | str | Path,
    folder: str | Path,
    *,
    vary: Mapping[str, str] | None = None,
    design: str = "grid",
    methods: Sequence[str] = ("simulate",),
    models: str = "usual",
    metrics: Sequence[str] = METRICS_BY_DEFAULT,
    until: str | None = None,
    replicates: tuple[int, int] | None = None,
    keep: Sequence[str] = ("flows",),
    independent: bool = False,
    on: str = "here",
    side_by_side: int = 1,
    run_limit_s: float | None = None,
    progress: Callable[[Progress], None] = lambda _progress: None,
) -> Sweep:
    """Runs a scenario over parameters and replicates, or goes on with it.

    Batches whose files are missing or damaged are run again.

    Args:
        scenario: A scenario or its file. Its own sweep comes in addition to `vary`.
        folder: Folder of the sweep. One that holds the same sweep goes on.
        vary: Path to range or values, as on the command line: `{"hops.b.delay": "1..100 ms log"}`.
        design: `grid:LEVELS`, or `random`, `latin` or `sobol` with a number of points.
        methods: Any of `predict`, `simulate` and `emulate`.
        models: Models that predict: `all`, `usual`, or names separated by commas.
        metrics: Metrics to compute; with `until` all of them must be narrow enough.
        until: Half width of the interval at which a point has enough replicates, such as `±1 %`.
        replicates: Least and largest number of replicates; without `until` they are equal.
        keep: Tables to keep of each run.
        independent: True to give each point its own random numbers.
        on: Where to run: `here`, `here:8`, `dask:ADDRESS` or `slurm:OPTIONS`.
        side_by_side: Number of emulations at once.
        run_limit_s: Longest duration of one run; by default ten times the slowest so far.
        progress: Takes the progress after each batch.

    Raises:
        InputError: Bad input, or the folder holds something else; nothing has been run.
        KeyboardInterrupt: It was interrupted; the same call goes on.
    """
    read = scenario if isinstance(scenario, Scenario) else load(scenario)
    with _named_as_arguments():
        goal = None
        if until is not None:
            goal = precision.parse(until, [asked(metric).metric.unit for metric in metrics])
        plan = Plan.make(
            read,
            vary=[f"{path}={values}" for path, values in (vary or {}).items()],
            design=design,
            methods=methods,
            models=models,
            metrics=metrics,
            keep=keep,
            replicates=replicates,
            until=goal,
            independent=independent,
        )
        go_on = where.parse(on, plan, side_by_side)
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not is_begun(folder, plan):
        raise InputError("file", f"{folder}", "holds something else; choose another folder")
    store = Store.begin(folder, plan)
    go_on(store, WHOLE, progress, run_limit_s)
    return Sweep(store)


# Arguments that are not called as the options of the command are.
_ARGUMENTS = {"--metric": "metrics", "--method": "methods"}


@contextmanager
def _named_as_arguments() -> Iterator[None]:
    """Makes errors from within name an argument instead of the command's option."""
    try:
        yield
    except ScenarioError:
        raise
    except InputError as error:
        name = _ARGUMENTS.get(error.field, error.field.removeprefix("--"))
        raise error.for_field(name) from None
