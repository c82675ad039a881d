"""The command `plot`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock import units
from ackclock.cli.compare import is_comparison, read
from ackclock.cli.options import checked_time, json_option, models_option, read_result, untrusted_option
from ackclock.cli.output import print_json
from ackclock.cli.predicted import check_models, predicted

if TYPE_CHECKING:
    from ackclock.comparison import Comparison
    from ackclock.result import Result


def _kinds() -> tuple[str, ...]:
    return (
        "all", "sweep", "cwnd", "throughput", "queue", "rtt", "loss_event_rate", "variation", "bursts", "outstanding",
        "sequence", "rate_estimates",
    )  # fmt: skip


@click.command()
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
    from ackclock import plot as figures
    from ackclock.cli.progress import progress

    span = _span(kind, begin, end)
    if is_comparison(run):
        comparison = read(run, untrusted=untrusted)
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
        check_models([result], models)
        says = predicted(result, models)
        available = figures.figures(
            result, says, of=metric, point=point, replicate=replicate, connection=connection, span=span
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


def _span(kind: str, begin: str | None, end: str | None) -> tuple[float, float] | None:
    """From when to when figures over time go, in seconds; None for all the time."""
    if begin is None and end is None:
        return None
    if kind in ("sweep", "variation", "bursts"):
        raise click.UsageError(f"--from and --to: are of no use, as --kind {kind} is no figure over time")
    span = (units.seconds(begin or "0 s"), math.inf if end is None else units.seconds(end))
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
    from ackclock.capture.connections import largest

    count = len(largest(result, columns=("flow",), point=point, replicate=replicate))
    if connection >= count:
        raise click.UsageError(f"--connection {connection}: there is none; connections go from 0 to {count - 1}")


def _check_session(result: "Result", metric: str) -> None:
    """Refuses a metric of a session, which sweeps nothing."""
    if metric != "goodput" and result.is_session:
        raise click.UsageError(f"--metric {metric}: is of no use, as this is a session, which sweeps nothing")


def _why_not_drawn(result: "Result", kind: str, available: list[str]) -> str:
    """Why a result has no figure of that kind, and what to do."""
    if result.is_session:
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
