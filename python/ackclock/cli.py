"""The command line.

Answers go to standard output, progress, warnings and errors (one line each) to standard error. Exit codes: 0 fine, 2
bad input, 3 this machine lacks what is needed, 4 the result is not to be trusted, 130 interrupted.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock import __version__, quantity
from ackclock.advising import advise
from ackclock.asking import PredictCommand
from ackclock.comparing import compare
from ackclock.exits import INTERRUPTED, LACKING, UNTRUSTWORTHY, Commands, complain
from ackclock.measuring import measure
from ackclock.options import (
    checked_time,
    json_option,
    models_option,
    read_result,
    read_scenario,
    scenario_options,
    untrusted_option,
)
from ackclock.running import emulate, replay, simulate
from ackclock.suggestion import suggestion
from ackclock.terminal import print_json, print_table
from ackclock.transporting import receive, send

# Everything heavy (pyarrow, matplotlib, scipy, jinja2, rich) is imported by the command that needs it, when it needs
# it.
if TYPE_CHECKING:
    from ackclock.comparison import Comparison
    from ackclock.result import Result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ackclock")
def cli() -> None:
    """A congestion-control laboratory.

    One description of a network path and its traffic is answered by models, by a packet-level engine, and by the real
    Linux TCP stack; captures of real packets are asked the same.

    \b
    Example:
      ackclock simulate examples/leaky-pipe.toml -o out/leaky-pipe
    """


for _command in (simulate, emulate, measure, compare, replay, advise, send, receive):
    cli.add_command(_command)


@cli.command()
@scenario_options
@json_option
def check(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None, as_json: bool
) -> None:
    """Say whether a scenario can be run; with --json, print it with all defaults filled in.

    \b
    Example:
      ackclock check examples/leaky-pipe.toml
    """
    checked = read_scenario(scenario, assignments, seed, replicates)
    points = [(point.assignments, point.scenario.resolve().tree) for point in checked.expand()]
    if as_json:
        print_json([{"assignments": assigned, "scenario": tree} for assigned, tree in points])
        return
    tree, replicates = points[0][1], points[0][1]["replicates"]
    arriving = sum("arrivals" in flow for flow in tree["flows"])
    flows = _count(sum(flow.get("count", 0) for flow in tree["flows"]), "flow")
    flows += f" and {arriving} whose instances arrive" if arriving else ""
    path = f"{_count(len(tree['hops']), 'hop')}, {flows}"
    runs = f"{_count(len(points), 'point')}, {_count(replicates, 'replicate')} of each"
    total = f"{_count(len(points) * replicates, 'run')} of {tree['duration']}"
    click.echo(f"{scenario}: fine. {path}; {runs}: {total}")


@cli.command(cls=PredictCommand)
@scenario_options
@models_option("all")
@json_option
def predict(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None, models: str, as_json: bool
) -> None:
    """Ask models about every flow of a scenario, or one model about plain numbers.

    The first word says which: a file that exists, or ends in .toml, is a scenario; anything else is a model's name.

    Of a scenario each model says what each flow gets, whether it applies, and which of its assumptions the flow
    violates. A model by name takes its own options, see for example: ackclock predict pftk --help. With several values
    of one of them it prints a table; with --solve it looks for the input that gives an output.

    \b
    Example:
      ackclock predict examples/leaky-pipe.toml
      ackclock predict pftk --loss 0.1%,1%,5% --rtt 100ms --timeout 400ms
      ackclock predict pftk --rtt 100ms --throughput 5Mbit/s --solve loss
    """
    from ackclock import summary, ways

    predicted = ways.predict(read_scenario(scenario, assignments, seed, replicates), models)
    rows = summary.prediction_rows(predicted)
    if as_json:
        print_json(rows)
    else:
        title = f"{predicted.run['name']}: predicted goodput"
        print_table(title, *summary.prediction_cells(rows), spare=summary.SPARE_PREDICTION_COLUMNS)


def _kinds() -> tuple[str, ...]:
    return (
        "all", "sweep", "cwnd", "throughput", "queue", "rtt", "loss_event_rate", "variation", "bursts", "outstanding",
        "sequence", "rate_estimates",
    )  # fmt: skip


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(_kinds()), default="all", show_default=True, help="Which figure.")
@click.option(
    "--metric", default="goodput", show_default=True, help="What the figure 'sweep' shows; see: ackclock show metrics."
)
@click.option(
    "--point",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Which point the other figures show, 0 being the first that `simulate` lists.",
)
@click.option(
    "--replicate", type=click.IntRange(0), default=0, show_default=True, help="Which replicate figures over time show."
)
@click.option(
    "--connection", type=click.IntRange(0), default=0, show_default=True,
    help="Of a measurement, which connection figures of one show, 0 being the one with the most payload.",
)  # fmt: skip
@click.option(
    "--from", "begin", metavar="TIME", callback=checked_time("10 s", from_zero=True),
    help="When figures over time begin; by default when the run does.",
)  # fmt: skip
@click.option(
    "--to", "end", metavar="TIME", callback=checked_time("12 s"), help="When they end; by default when the run does."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="A file (.svg, .png, .pdf), or a folder for all; by default RUN/figures.",
)  # fmt: skip
@models_option("usual")
@untrusted_option
@json_option
def plot(
    run: Path, kind: str, metric: str, point: int, replicate: int, connection: int, begin: str | None, end: str | None,
    output: Path | None, models: str, untrusted: bool, as_json: bool,
) -> None:  # fmt: skip
    """Draw figures of a result, or of a comparison.

    \b
    Example:
      ackclock plot out/leaky-pipe --kind sweep --metric goodput -o goodput.svg
      ackclock plot out/measured --kind sequence --from 10s --to 12s
    """
    from ackclock import comparing
    from ackclock import plot as figures
    from ackclock.progress import progress

    span = _span(kind, begin, end)
    if comparing.is_comparison(run):
        comparison = comparing.read(run, untrusted=untrusted)
        if connection != 0:
            raise click.UsageError(f"--connection {connection}: is of no use, as this is a comparison")
        if span is not None:
            raise click.UsageError("--from and --to: are of no use, as this is a comparison")
        _check_plot(comparison, kind, metric, point, replicate, output)
        available = figures.figures_of_ways(comparison, of=metric, point=point, replicate=replicate)
        remedy = f"is no figure of this comparison; choose from {', '.join(available)}"
    else:
        result = read_result(run, untrusted=untrusted)
        _check_plot(result, kind, metric, point, replicate, output)
        _check_connection(result, point, replicate, connection)
        _check_session(result, metric)
        _check_models([result], models)
        predicted = _predicted(result, models)
        available = figures.figures(
            result, predicted, of=metric, point=point, replicate=replicate, connection=connection, span=span
        )
        remedy = "" if kind in ("all", *available) else f"{run} {_why_not_drawn(result, kind, list(available))}"
    if kind != "all" and kind not in available:
        raise click.UsageError(f"--kind {kind}: {remedy}")
    chosen = available if kind == "all" else {kind: available[kind]}
    paths = _figure_paths(run, list(chosen), output, metric)
    drawn = {}
    with progress("plot") as tell:
        for position, (name, draw) in enumerate(chosen.items()):
            try:
                drawn[name] = draw()
            except ValueError as error:
                raise click.UsageError(f"{run}: {error}") from None
            tell(0.5 * (position + 1) / len(chosen))
        for position, (name, figure) in enumerate(drawn.items()):
            figures.save(figure, paths[name])
            tell(0.5 + 0.5 * (position + 1) / len(chosen))
    if as_json:
        print_json({"figures": [str(path) for path in paths.values()]})
    else:
        for path in paths.values():
            click.echo(f"figure: {path}")


def _predicted(result: "Result", models: str) -> "Result | None":
    """What models say; of a measurement, unless others are asked for, what those said that were asked then.

    No model is asked about a session: of the path nothing is known but what the sender made of it.
    """
    from ackclock import ways
    from ackclock.described import is_session

    if is_session(result):
        return None
    if models == "usual" and result.run["way"] == "measure" and "predictions" in result.tables:
        return result
    return ways.predict(result, models)


def _span(kind: str, begin: str | None, end: str | None) -> tuple[float, float] | None:
    """From when to when figures over time go, in seconds; None for all the time."""
    if begin is None and end is None:
        return None
    if kind in ("sweep", "variation", "bursts"):
        raise click.UsageError(f"--from and --to: are of no use, as --kind {kind} is no figure over time")
    span = (quantity.seconds(begin or "0 s"), math.inf if end is None else quantity.seconds(end))
    if not span[0] < span[1]:
        raise click.UsageError(f"--to {end}: is not after --from {begin}; write for example --from 10s --to 12s")
    return span


def _check_plot(
    result: "Result | Comparison", kind: str, metric: str, point: int, replicate: int, output: Path | None
) -> None:
    from ackclock.metrics import METRICS

    known = [entry.name for entry in METRICS]
    if metric not in known:
        raise click.UsageError(f'--metric "{metric}" is no metric; write one of {", ".join(known)}')
    if point >= len(result.points):
        raise click.UsageError(f"--point {point}: there is none; points go from 0 to {len(result.points) - 1}")
    if replicate >= result.run["replicates"]:
        raise click.UsageError(
            f"--replicate {replicate}: there is none; replicates go from 0 to {result.run['replicates'] - 1}"
        )
    formats = (".svg", ".png", ".pdf")
    if output is not None and kind != "all" and output.suffix.lower() not in formats:
        raise click.UsageError(f"-o {output}: ends in no picture format; write {', '.join(formats)}")
    if output is not None and kind == "all" and output.suffix.lower() in formats:
        raise click.UsageError(
            f"-o {output}: one file cannot hold all figures; name a folder, or one figure with --kind"
        )


def _check_connection(result: "Result", point: int, replicate: int, connection: int) -> None:
    if connection == 0:
        return
    if result.run["way"] != "measure":
        raise click.UsageError(f"--connection {connection}: is of no use, as this is no measurement of captures")
    from ackclock.measured import largest

    count = len(largest(result, columns=("flow",), point=point, replicate=replicate))
    if connection >= count:
        raise click.UsageError(f"--connection {connection}: there is none; connections go from 0 to {count - 1}")


def _check_session(result: "Result", metric: str) -> None:
    """Refuses a metric of a session, which sweeps nothing."""
    from ackclock.described import is_session

    if metric != "goodput" and is_session(result):
        raise click.UsageError(f"--metric {metric}: is of no use, as this is a session, which sweeps nothing")


def _check_models(results: "list[Result]", models: str) -> None:
    """Refuses models if no result is there that they could be asked about."""
    from ackclock.described import is_session

    if models != "usual" and all(is_session(result) for result in results):
        raise click.UsageError(f"--models {models}: is of no use, as no model is asked about a session")


def _why_not_drawn(result: "Result", kind: str, available: list[str]) -> str:
    """Why a result has no figure of that kind, and what to do."""
    from ackclock.described import is_session

    if is_session(result):
        return f"is of a session, which does not show it; choose from {', '.join(available)}"
    measured = result.run["way"] == "measure"
    if kind == "sequence" and measured:
        return "keeps no segments; run ackclock measure again with --segments"
    if kind == "rate_estimates" and measured:
        return "keeps no rate estimates; run ackclock measure at the sender's capture again with --estimators all"
    if kind in ("outstanding", "sequence", "rate_estimates"):
        return "is no measurement of captures; run ackclock measure on them, or choose for example --kind cwnd"
    if kind == "bursts":
        return "is no session of ackclock send, whose packets leave in bursts; choose for example --kind throughput"
    if kind == "loss_event_rate" and not measured:
        return "has no flow under a rate control, which takes anything for the loss rate; choose for example --kind rtt"
    if kind == "variation" and not measured:
        return (
            "has no time scale of 0.2 s to 10 s that its samples show and that fits five times into its measured time; "
            "run it longer, or with a shorter sample_interval"
        )
    if kind == "sweep":
        other = "throughput" if measured else "cwnd"
        return f"sweeps no quantity; choose a figure over time, for example --kind {other}"
    return "is of captures, which do not show it; choose for example --kind outstanding"


def _figure_paths(run: Path, names: list[str], output: Path | None, metric: str) -> dict[str, Path]:
    if output is not None and len(names) == 1 and output.suffix:
        return {names[0]: output}
    folder = output or run / "figures"
    return {name: folder / f"{metric if name == 'sweep' else name}.svg" for name in names}


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The page; by default report.html in the first run's folder.",
)
@models_option("usual")
@untrusted_option
@json_option
def report(runs: tuple[Path, ...], output: Path | None, models: str, untrusted: bool, as_json: bool) -> None:
    """Write one self-contained HTML page: scenario, capture or session, tables, figures, versions and seeds.

    RUNS are results, or one comparison.

    \b
    Example:
      ackclock report out/leaky-pipe -o report.html
    """
    from ackclock import comparing
    from ackclock.progress import progress

    path = output or runs[0] / "report.html"
    if path.is_dir():
        raise click.UsageError(f"-o {path}: is a folder; write for example -o {path}/report.html")
    compared = [run for run in runs if comparing.is_comparison(run)]
    if compared and len(runs) > 1:
        raise click.UsageError(f"{compared[0]}: is a comparison, which has a page of its own; give it alone")
    if compared:
        comparison = comparing.read(compared[0], untrusted=untrusted)
        from ackclock.report.ways import page_of_ways

        with progress("report") as tell:
            text = page_of_ways(comparison, tell)
    else:
        results = [read_result(run, untrusted=untrusted) for run in runs]
        _check_models(results, models)
        from ackclock.report import page

        with progress("report") as tell:
            text = page([(result, _predicted(result, models)) for result in results], tell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"report": str(path)})
    else:
        click.echo(f"report: {path}")


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Reproduce all there is.")
@click.option("--list", "listed", is_flag=True, help="List what there is, and about how long it takes.")
@click.option(
    "--quick",
    is_flag=True,
    help="Take a first look: fewer replicates, shorter and little emulated where that is honest. Kept in quick/ "
    "within the folder; no documented verdict comes of it.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("out/reproduce"), show_default=True,
    help="The gallery's folder. What is in it and made of the same is not computed again.",
)  # fmt: skip
@json_option
def reproduce(names: tuple[str, ...], everything: bool, listed: bool, quick: bool, output: Path, as_json: bool) -> int:
    """Compute published tables and figures again: their numbers beside ours, a verdict, a gallery.

    NAMES are experiments, or groups of them. What is emulated takes as long as its scenario lasts; where that is not
    possible the verdict says so. Exits with 4 if something that we claim is not so any more, or an emulation is not to
    be trusted.

    \b
    Example:
      ackclock reproduce --list
      ackclock reproduce markov-table-7.2 rfc9438
      ackclock reproduce westwood --quick
    """
    from ackclock.experiments import EXPERIMENTS, Kind, chosen

    if not (names or everything or listed):
        raise click.UsageError("NAMES: is missing; write names or groups, or --all; see ackclock reproduce --list")
    try:
        experiments = chosen(names, EXPERIMENTS)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if everything or not names:
        experiments = list(EXPERIMENTS)
    from ackclock import reproducing, reproduction
    from ackclock.progress import progress

    if listed:
        reproducing.print_catalogue(experiments, as_json)
        return 0
    reproduction.prepare(output)
    if quick:
        output /= reproduction.QUICK
        reproduction.prepare(output)
    with progress("reproduce") as tell:
        records = reproduction.reproduce_all(experiments, output, tell, quick=quick)
        page = reproduction.write_gallery(EXPERIMENTS, output)
    reproducing.print_records(records, page, as_json)
    left = len(experiments) - len(records)
    if left:
        return complain(f"interrupted; {len(records)} done, {left} left: the same command goes on", INTERRUPTED)
    failed = [record["name"] for record in records if record["verdict"]["kind"] == Kind.CHANGED]
    if failed:
        return complain(f"numbers have changed: {', '.join(failed)}", UNTRUSTWORTHY)
    doubtful = [record["name"] for record in records if record["verdict"]["kind"] == Kind.UNTRUSTED]
    return complain(f"not to be trusted: {', '.join(doubtful)}; run it again", UNTRUSTWORTHY) if doubtful else 0


@cli.command()
@json_option
def doctor(as_json: bool) -> int:
    """Say what this machine can do of an emulation, and what would help.

    Tries everything for a moment, in namespaces of its own. Exits with 3 if no emulation is possible.

    \b
    Example:
      ackclock doctor --json
    """
    from ackclock import doctor

    examination = doctor.examine()
    if as_json:
        print_json(examination)
    else:
        print_table(*doctor.table(examination))
    if examination["emulation"]:
        return 0
    return complain(doctor.complaint(examination), LACKING)


_SHOWN = (
    "controls", "rate_controls", "estimators", "queues", "links", "feedback", "impairments", "traffic", "sizes",
    "models", "metrics", "causes", "experiments", "presets", "schema",
)  # fmt: skip


@cli.command()
@click.argument("kind", type=click.Choice(_SHOWN))
@click.argument("name", required=False)
@json_option
def show(kind: str, name: str | None, as_json: bool) -> None:
    """List what there is; with a name, what it can be told.

    \b
    Example:
      ackclock show controls
      ackclock show queues droptail
    """
    from ackclock import shown

    if kind == "schema":
        from ackclock.registry import schema

        print_json(schema())
        return
    records = shown.records(kind)
    if name is not None:
        if name not in records:
            raise click.UsageError(f'"{name}" is none of the {kind}; {suggestion(name, records)}')
        records = {name: records[name]}
    if as_json:
        print_json(list(records.values()))
    elif name is None:
        print_table(kind, *shown.overview(records))
    else:
        for title, head, cells in shown.details(records[name]):
            print_table(title, head, cells)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def main() -> None:
    """The command `ackclock`."""
    cli(prog_name="ackclock")


if __name__ == "__main__":
    main()
