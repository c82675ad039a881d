"""The command `sweep`: many runs over parameters and replicates, in one dataset."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import names_of
from ackclock.cli.errors import BAD_INPUT, UNRELIABLE, Commands, complain
from ackclock.cli.options import (
    changed_scenario,
    checked_time,
    json_option,
    models_option,
    output_option,
    paper_options,
    read_scenario,
    side_by_side_option,
    stack_options,
    whole_parameters,
)
from ackclock.cli.output import counted, print_json, print_rows, say, say_wrapped
from ackclock.cli.place import claim, claim_file, claim_table, force_option
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.plot import Paper
    from ackclock.sweeps.batches import Damage
    from ackclock.sweeps.driver import Progress
    from ackclock.sweeps.plan import Asked, Plan
    from ackclock.sweeps.search import Outcome
    from ackclock.sweeps.store import Shard, Store
    from ackclock.sweeps.where import GoOn
    from ackclock.table import Cell, Table

# Failures that a table shows; --json has all.
_SHOWN_FAILURES = 20

_Command = Callable[..., Any]


@click.group(cls=Commands)
def sweep() -> None:
    """Run a scenario over parameters and replicates, into one dataset.

    \b
    Example:
      ackclock sweep run examples/first.toml --vary 'hops.bottleneck.queue.limit=5..50 packets'
    """


def _methods(_context: click.Context, _option: click.Parameter, names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _shard(_context: click.Context, _option: click.Parameter, written: str | None) -> "Shard":
    from ackclock.sweeps.store import WHOLE, Shard

    return WHOLE if written is None else Shard.parse(written)


def _shard_option(command: _Command) -> _Command:
    """Adds the option for a part of the points."""
    return click.option(
        "--shard", metavar="K/N", callback=_shard,
        help="Run only every N-th point, from the K-th on; others may run the rest.",
    )(command)  # fmt: skip


def _place_options(command: _Command) -> _Command:
    """Adds options that say where and how long runs execute."""
    for option in (
        json_option,
        click.option(
            "--time-limit", metavar="TIME", callback=checked_time("10 min"),
            help="Longest duration of one run; a longer one is a failure. An emulation may take "
            "so much longer than its scenario.  [default: ten times the slowest so far; for a "
            "search 10 min]",
        ),
        click.option(
            "--on", "place", default="here", show_default=True, metavar="PLACE",
            help="Where to run: here, here:PROCESSES, dask:ADDRESS or slurm:OPTIONS.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


folder_argument = click.argument("folder", type=click.Path(path_type=Path))


@sweep.command()
@changed_scenario
@click.option(
    "--vary", multiple=True, metavar="PATH=RANGE",
    help="Parameter: 'hops.b.delay=1..100 ms log', or values with commas; may be repeated. Paths "
    "joined by commas get the same value. The scenario's own sweep comes in addition.",
)  # fmt: skip
@click.option(
    "--design", default="grid", show_default=True, metavar="KIND:SIZE",
    help="Points: grid:LEVELS, or random, latin or sobol with a number of points.",
)  # fmt: skip
@click.option(
    "--method", "methods", default="simulate", show_default=True, metavar="NAMES",
    callback=_methods,
    help="Methods, separated by commas: predict, simulate, emulate.",
)  # fmt: skip
@models_option("usual")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    shell_complete=names_of("metrics"),
    help="Metric to compute, such as goodput or 'utilisation(HOP)'; may be repeated.",
)  # fmt: skip
@click.option(
    "--until", metavar="HALF-WIDTH",
    help="Interval at which a point has enough replicates: '±1 %' of the mean, or '±0.5 ms'.",
)  # fmt: skip
@click.option(
    "--replicates", metavar="N or N..M",
    help="Runs of each point, or the least and the most.  [default: the scenario's, or 5..200]",
)  # fmt: skip
@click.option(
    "--keep", default="flows", show_default=True, metavar="TABLES",
    help="Tables to keep of each run: flows, hops, samples, events, with commas.",
)  # fmt: skip
@click.option(
    "--independent", is_flag=True,
    help="Give each point its own random numbers. By default points share them, which makes "
    "differences between points more precise.",
)  # fmt: skip
@output_option("Folder of the sweep.", "out/SCENARIO-sweep")
@force_option
@_shard_option
@side_by_side_option
@_place_options
def run(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, vary: tuple[str, ...],
    design: str, methods: list[str], models: str, metrics: tuple[str, ...], until: str | None,
    replicates: str | None, keep: str, independent: bool, output: Path | None, force: bool,
    place: str, shard: "Shard", side_by_side: int, time_limit: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Begin a sweep, or go on with it.

    The same command continues after an interrupt, as `resume` does.

    \b
    Example:
      ackclock sweep run examples/first.toml --vary 'hops.bottleneck.queue.limit=5..50 packets'
    """
    from ackclock.sweeps import where
    from ackclock.sweeps.store import SWEEP, Store, is_begun

    plan = _planned(
        scenario, assignments, seed, vary, design, methods, models, metrics, until, replicates,
        keep, independent=independent,
    )  # fmt: skip
    folder = claim(
        output,
        Path("out") / f"{scenario.stem}-sweep",
        force=force,
        may_hold=SWEEP,
        goes_on=lambda place: is_begun(place, plan),
    )
    go_on = where.parse(place, plan, side_by_side)  # Before anything is written.
    return _go_on(Store.begin(folder, plan), go_on, shard, time_limit, as_json)


def _planned(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, vary: tuple[str, ...],
    design: str, methods: list[str], models: str, metrics: tuple[str, ...], until: str | None,
    replicates: str | None, keep: str, *, independent: bool,
) -> "Plan":  # fmt: skip
    """Returns the plan of the options, each of whose mistakes names its option."""
    from ackclock.sweeps import designs, parameters, precision
    from ackclock.sweeps.plan import METRICS_BY_DEFAULT, Plan, asked

    with _naming("--vary"):
        for text in vary:
            parameters.parse(text)
    with _naming("--design"):
        designs.parse(design)
    with _naming("--metric"):
        wanted = [asked(name) for name in metrics]
    counts, goal = None, None
    if replicates is not None:
        with _naming("--replicates"):
            counts = precision.parse_replicates(replicates)
    if until is not None:
        if not wanted:
            raise InputError("missing", "--metric", "is missing; name the metric of --until")
        with _naming("--until"):
            goal = precision.parse(until, [metric.metric.unit for metric in wanted])
            if counts is not None and counts[0] < 2:
                raise InputError(
                    "contradiction", "", "needs two replicates or more; for example "
                    "--replicates 5..200",
                )  # fmt: skip
    elif counts is not None and counts[0] != counts[1]:
        raise InputError(
            "contradiction", "--replicates", f'"{replicates}" needs an interval to reach; for '
            "example --until '±1 %'",
        )  # fmt: skip
    read = read_scenario(scenario, assignments, seed, None)
    with _naming("--vary"):
        whole = whole_parameters(read, vary)
    return Plan.make(
        read,
        design=design,
        vary=whole,
        methods=methods,
        models=models,
        metrics=metrics or METRICS_BY_DEFAULT,
        keep=[name.strip() for name in keep.split(",")],
        replicates=counts,
        until=goal,
        independent=independent,
    )


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Makes errors from within name the option."""
    try:
        yield
    except InputError as error:
        raise error.for_field(option) from None


@sweep.command()
@folder_argument
@_shard_option
@side_by_side_option
@stack_options
@_place_options
def resume(
    folder: Path, place: str, shard: "Shard", side_by_side: int, time_limit: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Run what is left of a sweep.

    \b
    Example:
      ackclock sweep resume out/first-sweep
    """
    from ackclock.sweeps import where
    from ackclock.sweeps.store import Store

    store = Store(folder)
    go_on = where.parse(place, store.plan, side_by_side)
    return _go_on(store, go_on, shard, time_limit, as_json)


@sweep.command()
@folder_argument
@click.option("--failed", is_flag=True, help="Every run that failed.")
@click.option("--point", "points", multiple=True, type=click.IntRange(0), help="Number of a point.")
@_shard_option
@side_by_side_option
@stack_options
@_place_options
def retry(
    folder: Path, failed: bool, points: tuple[int, ...], place: str, shard: "Shard",
    side_by_side: int, time_limit: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run again what failed.

    \b
    Example:
      ackclock sweep retry out/first-sweep --failed --time-limit '1 h'
    """
    from ackclock.sweeps import where
    from ackclock.sweeps.store import Store

    if failed == bool(points):
        raise InputError("missing", "--failed", "is missing; choose --failed or --point")
    store = Store(folder)
    troubled = store.troubled()
    chosen = [row for row in troubled if row["failure"] and (failed or row["point"] in points)]
    if not chosen:
        whose = "" if failed else f" of point {', '.join(map(str, points))}"
        raise InputError("no-data", f"{folder}", f"no run{whose} failed; see ackclock sweep status")
    go_on = where.parse(place, store.plan, side_by_side)
    with store.locked():
        store.forget([(row["method"], row["point"], row["replicate"]) for row in chosen])
    return _go_on(store, go_on, shard, time_limit, as_json)


def _go_on(
    store: "Store", go_on: "GoOn", shard: "Shard", time_limit: str | None, as_json: bool
) -> int:
    """Runs what is left, with progress, and prints how it ended."""
    from ackclock import units
    from ackclock.cli.progress import progress

    limit_s = None if time_limit is None else units.seconds(time_limit)
    last: list[Progress] = []
    with progress(f"sweep {store.folder.name}") as tell:

        def show_progress(now: "Progress") -> None:
            last[:] = [now]
            failed = f", {now.failed} failed" if now.failed else ""
            tell(now.share, f"{now.ended} of {now.wanted} runs{failed}")

        try:
            done = go_on(store, shard, show_progress, limit_s)
        except KeyboardInterrupt:
            kept = f"; {last[0].ended} of {last[0].wanted} runs are kept" if last else ""
            raise KeyboardInterrupt(
                f"interrupted{kept}: ackclock sweep resume {shlex.quote(str(store.folder))}"
            ) from None
    return _conclude(store, done, as_json)


def _conclude(store: "Store", done: "Progress", as_json: bool) -> int:
    from ackclock.sweeps import batches

    troubled = store.troubled()
    if as_json:
        print_json(_state(store, done, troubled))
    else:
        folder = shlex.quote(str(store.folder))
        say(_sentence(store, done))
        say()
        say(f"  data    {folder}")
        say(f"  next    ackclock sweep show {folder}")
    if store.healed:
        say(
            f"{store.folder}: removed what was damaged, and ran it again: "
            f"{batches.counted(store.healed)}",
            err=True,
        )
    more = f"ackclock sweep status {shlex.quote(str(store.folder))}"
    if done.failed:
        return complain(f"{counted(done.failed, 'run')} failed: {more}", UNRELIABLE)
    doubtful = _unreliable(troubled)
    if doubtful:
        return complain(
            f"unreliable: {counted(len(doubtful), 'run')} left out of averages: {more}", UNRELIABLE
        )
    return 0


def _unreliable(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in runs if not row["reliable"]]


def _sentence(store: "Store", done: "Progress") -> str:
    points = store.points.num_rows
    words = f"{store.folder}: {done.ended} of {done.wanted} runs, {counted(points, 'point')}"
    if store.plan.precision is not None:
        words += f"; the interval of {done.narrow} is narrow enough"
        if done.at_limit:
            words += f", that of {done.at_limit} is not after {store.plan.most} replicates"
    return words


def _state(store: "Store", done: "Progress", troubled: list[dict[str, Any]]) -> dict[str, Any]:
    survey = store.survey()
    return {
        "folder": str(store.folder),
        "points": store.points.num_rows,
        "runs": {"wanted": done.wanted, "ended": done.ended, "failed": done.failed},
        "narrow_points": done.narrow,
        "points_at_limit": done.at_limit,
        "cpu_s": sum(kept.cpu_s for kept in survey.whole),
        "failures": [row for row in troubled if row["failure"]],
        "unreliable": _unreliable(troubled),
        "damaged": [harm._asdict() for harm in survey.damage],
    }


@sweep.command()
@folder_argument
@json_option
def status(folder: Path, as_json: bool) -> int:
    """Show how far a sweep is, what failed, and which files are missing or damaged.

    \b
    Example:
      ackclock sweep status out/first-sweep
    """
    from ackclock.sweeps import batches, driver
    from ackclock.sweeps.store import Store

    store = Store(folder)
    survey = store.survey()
    done = driver.progress(driver.restored(store))
    troubled = store.troubled()
    if as_json:
        print_json(_state(store, done, troubled))
    else:
        say(_sentence(store, done))
        say(f"{sum(kept.cpu_s for kept in survey.whole):.1f} s of CPU time")
        if survey.unfinished:
            say(f"{counted(len(survey.unfinished), 'file')} of batches that have not ended")
        for kind, rows in _by_trouble(troubled).items():
            say()
            print_rows(_reasons(store, kind, rows))
        if survey.damage:
            say()
            print_rows(_damaged(survey.damage))
    if survey.damage:
        return complain(f"{folder}: {batches.counted(survey.damage)}; {_heal(folder)}", BAD_INPUT)
    return 0


def _by_trouble(troubled: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the runs that failed, and the unreliable ones, if there are any."""
    kinds = {
        "failed": [row for row in troubled if row["failure"]],
        "unreliable": _unreliable(troubled),
    }
    return {kind: rows for kind, rows in kinds.items() if rows}


def _damaged(damage: "list[Damage]") -> "Table":
    from ackclock.table import table

    more = len(damage) - _SHOWN_FAILURES
    title = f"damaged batches{f', and {more} more' if more > 0 else ''}"
    return table(title, ["file", "problem"], [harm[:2] for harm in damage[:_SHOWN_FAILURES]])


def _heal(folder: Path) -> str:
    return f"run the damaged batches again: ackclock sweep resume {shlex.quote(str(folder))}"


def _reasons(store: "Store", kind: str, runs: list[dict[str, Any]]) -> "Table":
    """Returns the runs that failed or are unreliable, with their values and the reason."""
    from ackclock.table import table

    keys = ["point", "replicate", *store.swept]
    if len(store.plan.methods) > 1:
        keys.append("method")
    rows = [[*(row[name] for name in keys), row["message"]] for row in runs[:_SHOWN_FAILURES]]
    more = len(runs) - len(rows)
    title = f"{kind} runs{f', and {more} more' if more else ''}"
    return table(title, [*keys, "why"], rows)


@sweep.command()
@folder_argument
@click.option("--x", metavar="PATH", help="Swept value that varies along rows, or the axis.")
@click.option(
    "--by", metavar="PATH", help="Swept value on the vertical axis; makes the figure a heat map."
)
@click.option("--y", metavar="METRIC", help="Metric, such as 'utilisation(HOP)'.")
@click.option(
    "--where", "conditions", multiple=True, metavar="PATH=VALUE",
    help="Only points with this swept value, or subject=NAME, method=NAME; may be repeated.",
)  # fmt: skip
@output_option("File: .csv or .parquet for the table, .svg, .png or .pdf for a figure.")
@paper_options
@json_option
def show(
    folder: Path, x: str | None, by: str | None, y: str | None, conditions: tuple[str, ...],
    output: Path | None, width: float | None, font: str, font_size: float | None,
    title: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show a metric of a sweep over its points.

    \b
    Example:
      ackclock sweep show out/first-sweep --x hops.bottleneck.queue.limit --y utilisation
    """
    from ackclock.report.run_tables import VIOLATED
    from ackclock.sweeps import summary
    from ackclock.sweeps.plan import asked
    from ackclock.sweeps.store import Store
    from ackclock.validity.stationarity import NOTE

    store = Store(folder)
    with _naming("--y"):
        chosen = asked(y or store.plan.metrics[0])
    tidy = summary.frame(store, chosen)
    _say_what_lacks(store, tidy, chosen)
    tidy = summary.where(tidy, conditions)
    column = None if x is None else summary.column_of(tidy, x, "--x")
    heading = (
        f"{chosen.metric.label} of {store.plan.scenario.get('name', folder.name)}: means ± 95 %"
    )
    if output is not None and output.suffix[1:].lower() in _PICTURES:
        from ackclock.plot import Paper

        hop = summary.bottleneck(store, tidy)
        if hop is not None:
            tidy = summary.where(tidy, (f"subject={hop}",))
            heading = heading.replace(" of ", f" at {hop} of ", 1)
        vertical = None if by is None else summary.column_of(tidy, by, "--by")
        paper = Paper(width, font, font_size, "" if title == "none" else title)
        _draw(output, tidy, (column, vertical), chosen.metric, heading, paper)
    elif output is not None:
        _write(output, tidy)
    if output is not None:
        say(f"{'figure' if output.suffix[1:] in _PICTURES else 'table'}: {output}")
        return
    shown = summary.shown(summary.without_copies(tidy, column), chosen.metric, heading, column)
    if as_json:
        print_json(tidy.to_pylist())
    else:
        print_rows(shown)
        if any(tidy[f"{chosen.metric.name}_unsettled"].to_pylist()):
            say_wrapped(NOTE)
        if any(tidy["identical"].to_pylist()):
            say_wrapped(summary.ONE)
        if any(row.get("violated") for row in tidy.to_pylist()):
            say_wrapped(VIOLATED)


def _say_what_lacks(store: "Store", tidy: Any, chosen: "Asked") -> None:
    """Says which runs and predictions a tidy table lacks, if any."""
    from ackclock.sweeps import driver

    done = driver.progress(driver.restored(store))
    if done.ended < done.wanted:
        say(f"{store.folder}: {done.ended} of {done.wanted} runs so far", err=True)
    if "predict" in store.plan.methods and "predict" not in tidy["method"].to_pylist():
        say(f"predict: no chosen model tells {chosen}; see the table predictions", err=True)


@sweep.command()
@changed_scenario
@click.option(
    "--minimise", required=True, metavar="EXPRESSION",
    help="Objective, such as 'goodput(b)/goodput(a)'; metrics, numbers, + - * /, min, max, abs.",
)  # fmt: skip
@click.option(
    "--vary", multiple=True, metavar="PATH=RANGE",
    help="What may differ from the scenario; as for run.",
)  # fmt: skip
@click.option(
    "--below", type=float, metavar="NUMBER",
    help="Property to keep while shrinking: the objective is below this in 80 % of the replicates. "
    " [default: half way from the scenario to the best one]",
)  # fmt: skip
@click.option(
    "--budget", type=click.IntRange(1), default=500, show_default=True,
    help="Runs of the optimiser; confirming and shrinking come in addition.",
)  # fmt: skip
@click.option(
    "--replicates", type=click.IntRange(1, 1000), default=3, show_default=True,
    help="Runs of each scenario of the optimiser.",
)  # fmt: skip
@click.option(
    "--optimiser", default="evolution", show_default=True, metavar="NAME",
    help="evolution (SciPy), or tpe (Optuna).",
)  # fmt: skip
@output_option("Folder of the search.", "out/SCENARIO-search")
@force_option
@_place_options
def search(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, minimise: str,
    vary: tuple[str, ...], below: float | None, budget: int, replicates: int, optimiser: str,
    output: Path | None, force: bool, place: str, time_limit: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Find the scenario in which something breaks, and make it plain.

    The best scenario is run again with other random numbers. Then each value goes back to that of
    SCENARIO, unless the property needs it. Writes found.toml.

    \b
    Example:
      ackclock sweep search examples/dumbbell.toml --minimise 'goodput(b)/goodput(a)' \
        --vary 'hops.bottleneck.queue.limit=5..500 packets log'
    """
    from ackclock import units
    from ackclock.cli.progress import progress
    from ackclock.sweeps import parameters, where
    from ackclock.sweeps import search as searching
    from ackclock.sweeps.plan import RUN_LIMIT_S
    from ackclock.sweeps.search import objective

    with _naming("--vary"):
        for text in vary:
            parameters.parse(text)
    with _naming("--minimise"):
        objective.parse(minimise)
    opened = where.place(place)
    read = read_scenario(scenario, assignments, seed, None)
    with _naming("--vary"):
        whole = whole_parameters(read, vary)
    asked = searching.Search.make(
        read, whole, minimise, below=below,
        budget=budget, replicates=replicates, optimiser=optimiser,
    )  # fmt: skip
    folder = claim(
        output,
        Path("out") / f"{scenario.stem}-search",
        force=force,
        may_hold=searching.SEARCH,
        goes_on=lambda place: searching.is_begun(place, asked),
    )
    with progress(f"search {scenario.name}") as tell:
        try:
            outcome = searching.run(
                asked, folder, opened, lambda left: tell(1 - left / budget, f"{left} runs left"),
                RUN_LIMIT_S if time_limit is None else units.seconds(time_limit),
            )  # fmt: skip
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted; the same command goes on") from None
    if as_json:
        print_json({"folder": str(folder), **vars(outcome)})
    else:
        _print_outcome(outcome, minimise, folder)
    if not outcome.holds:
        return complain("nothing was found that lasts with other random numbers", UNRELIABLE)
    return 0


def _print_outcome(outcome: "Outcome", minimise: str, folder: Path) -> None:
    from ackclock.table import table

    rows = [
        [path, value, outcome.shrunk.get(path, "as in the scenario")]
        for path, value in outcome.assignments.items()
    ]
    print_rows(table("what differs from the scenario", ["field", "found", "shrunk"], rows))
    values: list[list[Cell]] = [
        ["the scenario", outcome.base, ""],
        ["found", outcome.best, ""],
        ["shrunk", outcome.plainest, f"{outcome.share:.0%}"],
    ]
    say()
    below = f"below {outcome.below:.3g}"
    print_rows(table(f"{minimise}, with other random numbers", ["", "mean ± 95 %", below], values))
    say()
    say(f"  scenario  {folder / 'found.toml'}   {outcome.runs} runs in all")


_PICTURES = ("svg", "png", "pdf")


def _draw(
    output: Path, tidy: Any, axes: tuple[str | None, str | None], metric: Any, title: str,
    paper: "Paper",
) -> None:  # fmt: skip
    """Draws panels of lines over the horizontal axis, or a heat map over both."""
    from ackclock import plot

    horizontal, vertical = axes
    if horizontal is None:
        raise InputError("missing", "--x", "is missing; name the horizontal axis of the figure")
    spec: plot.Spec
    if vertical is None:
        spec = plot.small_multiples(tidy, metric.name, x=horizontal, title=title)
    else:
        spec = plot.heat_map(tidy, metric.name, x=horizontal, y=vertical, title=title)
    claim_file(output)
    plot.save(plot.draw(spec, paper), output)


def _write(output: Path, tidy: Any) -> None:
    """Writes a tidy table."""
    from ackclock.result.folder import whole, write_whole

    kind = output.suffix[1:].lower()
    if kind not in ("csv", "parquet"):
        raise InputError(
            "unsupported", "--output", f'"{output}" has an unknown format; choose from .csv, '
            ".parquet, .svg, .png, .pdf",
        )  # fmt: skip
    from pyarrow import parquet

    from ackclock.table import csv_text

    text = csv_text([tidy.column_names, *(row.values() for row in tidy.to_pylist())])
    claim_table(output, text.partition("\n")[0] if kind == "csv" else ",".join(tidy.column_names))
    output.parent.mkdir(parents=True, exist_ok=True)
    if kind == "csv":
        write_whole(output, text)
    else:
        with whole(output) as aside:
            parquet.write_table(tidy, aside)
