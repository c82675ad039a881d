"""The command `compare`: one scenario answered by each method, or any results."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli import results
from ackclock.cli.complete import names_of
from ackclock.cli.errors import INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.one_link import ONE_LINK, described, link_options
from ackclock.cli.options import (
    checked_time,
    json_option,
    models_option,
    output_option,
    read_scenario,
    replicates_option,
    scenario_changes,
    side_by_side_option,
    unreliable_option,
)
from ackclock.cli.output import print_json, print_rows, say, say_wrapped
from ackclock.cli.place import claim, force_option
from ackclock.errors import InputError
from ackclock.run.device import DEVICES

if TYPE_CHECKING:
    from ackclock.cli.progress import Tell
    from ackclock.comparison import Comparison

# The table that is printed by default; the page has all.
_PRINTED = "goodput"


def _methods(_context: click.Context, _option: click.Parameter, names: str) -> list[str]:
    from ackclock.comparison import each_method

    chosen = [name.strip() for name in names.split(",")]
    try:
        each_method.refuse(chosen)
    except InputError as error:
        raise error.for_field("--methods") from None
    return chosen


@click.command()
@click.argument(
    "given", nargs=-1, type=click.Path(path_type=Path),
    metavar="SCENARIO | RESULT RESULT...",
)  # fmt: skip
@replicates_option
@link_options
@scenario_changes
@output_option(
    "Folder of the comparison; of results, of the page and a JSON file.",
    "out/SCENARIO-compared; none for results",
)
@force_option
@click.option(
    "--reference", metavar="RESULT",
    help="Result that the others are compared with.  [default: the first]",
)  # fmt: skip
@click.option(
    "--fail-if", "bounds", multiple=True, metavar="BOUND",
    help="Exit with 4 if a result differs from the reference by more than this, and beyond "
    "chance: 'goodput < -3 %', 'rtt(main) > 5 ms'; may be repeated.",
)  # fmt: skip
@click.option(
    "--methods", "asked", default="predict,simulate,emulate,measure", show_default=True,
    metavar="NAMES",
    callback=_methods,
    help="Methods to compare, separated by commas.",
)  # fmt: skip
@click.option(
    "--linux", metavar="CONTROL",
    help="Control of the kernel for the emulated column, in place of the scenario's, such as bbr.",
)  # fmt: skip
@click.option(
    "--real-time", metavar="TIME", callback=checked_time("40 s"),
    help="Time limit for emulation, met by fewer replicates, then by fewer points.  [default: "
    "none]",
)  # fmt: skip
@click.option(
    "--metrics", metavar="NAMES", shell_complete=names_of("metrics"),
    help="Metrics to print: all, or names separated by commas.  [default: goodput; of results, "
    "what matters most]",
)  # fmt: skip
@click.option(
    "--device", type=click.Choice(DEVICES), default="automatic", show_default=True,
    help="Device that carries the packets of an emulation; automatic prefers TUN.",
)  # fmt: skip
@side_by_side_option
@models_option("usual")
@unreliable_option
@json_option
@click.pass_context
def compare(
    context: click.Context, given: tuple[Path, ...], assignments: tuple[str, ...],
    seed: int | None, replicates: int | None, output: Path | None, force: bool,
    reference: str | None, bounds: tuple[str, ...], asked: list[str], linux: str | None,
    real_time: str | None, metrics: str | None, device: str, side_by_side: int, models: str,
    unreliable: bool, as_json: bool,
) -> int:  # fmt: skip
    """Compare models, simulation, Linux and captures on one scenario, or any results.

    Of a scenario each number has its 95 % interval, its distance from the reference and an
    explanation. A method that cannot run here becomes an empty column stating why. The same command
    continues after an interruption and repeats nothing that is unchanged.

    Of results (folders of any method, with the same flows) it prints every difference with its
    interval, and what differs in what was asked for. Results with the same seed are paired.

    \b
    Example:
      ackclock compare examples/leaky-pipes.toml -o out/compared --real-time '40 s'
      ackclock compare out/before out/now --fail-if 'goodput < -3 %'
    """
    if not given and described():
        given = (ONE_LINK,)
    if given != (ONE_LINK,) and results.are_results(given):
        results.refuse_options(context, _OF_SCENARIOS, "results")
        for name in described():
            raise InputError("contradiction", f"--{name}", "does not apply to results; remove it")
        return results.compare(
            given, reference, metrics, bounds, output,
            force=force, unreliable=unreliable, as_json=as_json,
        )  # fmt: skip
    results.refuse_options(context, _OF_RESULTS, "a scenario")
    printed = _metrics(metrics or _PRINTED)
    [scenario] = given
    return _of_scenario(
        scenario, assignments, seed, replicates, output, force, asked, linux, real_time, printed,
        device, side_by_side, models, unreliable, as_json,
    )  # fmt: skip


# Options that make no sense for the other of the two.
_OF_SCENARIOS = (
    "assignments",
    "seed",
    "replicates",
    "asked",
    "linux",
    "real_time",
    "device",
    "side_by_side",
    "models",
)
_OF_RESULTS = ("reference", "bounds")


def _metrics(names: str) -> list[str]:
    from ackclock.comparison import COMPARED

    chosen = list(COMPARED) if names == "all" else [name.strip() for name in names.split(",")]
    unknown = next((name for name in chosen if name not in COMPARED), None)
    if unknown is not None:
        raise InputError(
            "unknown-name",
            "--metrics",
            f'there is no comparison of "{unknown}"; choose from {",".join(COMPARED)}, or all; '
            "ackclock table FOLDER/METHOD shows other metrics",
        )
    return chosen


def _of_scenario(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None,
    output: Path | None, force: bool, asked: list[str], linux: str | None,
    real_time: str | None, metrics: list[str], device: str, side_by_side: int, models: str,
    unreliable: bool, as_json: bool,
) -> int:  # fmt: skip
    """Answers a scenario by each method, prints the comparison, and returns the exit code."""
    from ackclock import units
    from ackclock.comparison import each_method

    read = read_scenario(scenario, assignments, seed, replicates)
    if linux is not None and "emulate" not in asked:
        raise InputError("contradiction", "--linux", "needs emulate among --methods")
    default = Path("out") / f"{scenario.stem}-compared"
    folder = claim(
        output,
        default,
        force=force,
        may_hold=each_method.COMPARISON,
        goes_on=partial(each_method.is_of, read, linux),
        repeatable=each_method.is_repeatable,
    )
    try:
        comparison = each_method.compare(
            read, folder, asked=asked, models=models, device=device, side_by_side=side_by_side,
            averages_unreliable=unreliable, linux=linux,
            real_time_s=None if real_time is None else units.seconds(real_time),
            announce=lambda line: say(line, err=True), watch=_until_done,
        )  # fmt: skip
    except InputError as error:
        raise (error.for_field("--linux") if error.field == "linux" else error) from None
    _print_warnings(comparison)
    if as_json:
        _print_json(comparison, folder)
    else:
        _print_tables(comparison, metrics, folder)
    return _ending(comparison)


@contextmanager
def _until_done(task: str, duration_s: float | None = None) -> Iterator["Tell"]:
    """Shows the progress of a method, and a line with its duration when it is done."""
    from ackclock.cli.progress import progress

    started = time.monotonic()
    with progress(task, duration_s) as tell:
        yield tell
    say(f"  {task:<18} done {time.monotonic() - started:7.1f} s", err=True)


def is_comparison(folder: Path) -> bool:
    """Returns true if a folder holds a comparison rather than a result."""
    return (folder / "comparison.json").is_file()


def read(folder: Path, *, unreliable: bool) -> "Comparison":
    """Reads the comparison in a folder; `unreliable` includes unreliable runs in averages."""
    from ackclock.comparison import each_method

    return each_method.load(folder, averages_unreliable=unreliable)


def _print_warnings(comparison: "Comparison") -> None:
    for column in comparison.columns.values():
        if column.why:
            say(f"{column.label}: {column.why}", err=True)
        if column.result is None:
            continue
        warnings = (column.l4s.warning, *column.result.run["warnings"], column.unsettled)
        for warning in warnings:
            if warning:
                say(f"warning: {column.label}: {warning}", err=True)
    silent = "predict" in comparison.columns and not any(
        row.cells["predict"].is_known for row in comparison.rows
    )
    if silent and comparison.columns["predict"].result is not None:
        say(
            "predict: no chosen model has an answer; see ackclock predict",
            err=True,
        )


def _print_json(comparison: "Comparison", folder: Path) -> None:
    from ackclock.comparison.rows import explanation_rows, rows

    print_json(
        {"folder": str(folder), "partial": comparison.partial, "reference": comparison.reference}
        | {"methods": [_method(comparison, name) for name in comparison.columns]}
        | {"explanations": explanation_rows(comparison), "rows": rows(comparison)}
    )


def _method(comparison: "Comparison", name: str) -> dict[str, Any]:
    column = comparison.columns[name]
    answered = {"name": name, "answered": column.result is not None, "why": column.why or None}
    return answered | {"reference": comparison.reference_for(name)}


def _print_tables(comparison: "Comparison", metrics: list[str], folder: Path) -> None:
    from ackclock.comparison import answer
    from ackclock.comparison.explanation import explanations, tally

    printed = [name for name in comparison.metrics if name in metrics]
    say_wrapped(_title(comparison))
    for name in printed:
        say()
        print_rows(answer.marked_table(comparison, name))
    for line in answer.legend(comparison, printed):
        say_wrapped(line)
    say()
    say_wrapped(" ".join([*answer.sentences(comparison, printed), tally(comparison)]))
    hint = _hint(comparison)
    if hint:
        say_wrapped(hint)
    causes = answer.causes(comparison, explanations(comparison), printed)
    if causes:
        say()
        say("May contribute:")
    for line in causes:
        say_wrapped(f"- {line}")
    say()
    say(f"  page    ackclock report {shlex.quote(str(folder))}   (all tables, figures, evidence)")
    say(f"  tables  {folder}")


def _hint(comparison: "Comparison") -> str:
    """Says which control of the kernel could stand in for one that Linux does not have."""
    emulated = comparison.columns.get("emulate")
    if emulated is None or emulated.result is not None or comparison.linux:
        return ""
    from ackclock.run.kernel_controls import nearest, offered

    name = nearest(comparison.points[0]["scenario"], offered())
    return f"With --linux {name} it runs the kernel's {name} beside them." if name else ""


def _title(comparison: "Comparison") -> str:
    """A line such as `leaky pipes: 16 flows, 3 points; runs of each: 10 simulate, 3 emulate`."""
    run = {
        column.method: column.result
        for column in comparison.columns.values()
        if column.result is not None and column.method in ("simulate", "emulate")
    }
    if not run:
        return str(comparison.run["name"])
    from ackclock.report.summary import subject

    counts = [f"{result.counted} {method}" for method, result in run.items()]
    each = " at each point" if len(comparison.points) > 1 else ""
    return f"{subject(next(iter(run.values())))}; runs{each}: {', '.join(counts)}"


def _ending(comparison: "Comparison") -> int:
    """Returns the exit code, and the reason if it is not 0."""
    emulated = comparison.columns.get("emulate")
    result = emulated.result if emulated is not None else None
    if result is not None and result.run.get("failed"):
        return complain("a run failed; the comparison has the others", UNRELIABLE)
    if comparison.partial:
        return complain("interrupted; the same command continues", INTERRUPTED)
    if result is None or not result.unreliable:
        return 0
    runs = result.tables["fidelity"].num_rows
    how = (
        "averages include them"
        if result.averages_unreliable
        else "averages leave them out; --unreliable includes them"
    )
    return complain(
        f"unreliable: {len(result.unreliable)} of {runs} emulated runs; {how}", UNRELIABLE
    )
