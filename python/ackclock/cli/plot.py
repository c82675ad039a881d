"""The command `plot`."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ackclock import units
from ackclock.cli import results
from ackclock.cli.compare import is_comparison, read
from ackclock.cli.complete import names_of
from ackclock.cli.options import (
    checked_time,
    json_option,
    models_option,
    output_option,
    paper_options,
    read_result,
    unreliable_option,
)
from ackclock.cli.output import print_json, say
from ackclock.cli.place import claim_file
from ackclock.cli.predicted import check_models, predicted
from ackclock.errors import InputError

# Imported where figures are drawn: the help of a command does not need matplotlib.
if TYPE_CHECKING:
    from ackclock.plot import FigureKind, Paper, Subject, View

_ALL = "all"


def _kind(_context: click.Context, _option: click.Parameter, name: str) -> str:
    from ackclock.plot import names

    if name not in (_ALL, *names()):
        raise InputError.unknown("--kind", "figure", name, [_ALL, *names()])
    return name


def _metric(_context: click.Context, _option: click.Parameter, name: str) -> str:
    from ackclock.metrics import METRICS

    if name not in METRICS:
        raise InputError.unknown("--metric", "metric", name, METRICS)
    return name


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--kind", default=_ALL, show_default=True, metavar="NAME", callback=_kind,
    shell_complete=names_of("figures"),
    help="Figure to draw. See ackclock show figures.",
)  # fmt: skip
@click.option(
    "--metric", default="goodput", show_default=True, metavar="NAME", callback=_metric,
    shell_complete=names_of("metrics"),
    help="Metric of the figure sweep. See ackclock show metrics.",
)  # fmt: skip
@click.option(
    "--point",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Point of a sweep to draw, from 0.",
)
@click.option(
    "--replicate",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Replicate to draw, from 0.",
)
@click.option(
    "--connection", type=click.IntRange(0), default=0, show_default=True,
    help="Connection of a measurement to draw, from 0, the one with the most payload.",
)  # fmt: skip
@click.option(
    "--from", "begin", metavar="TIME", callback=checked_time("10 s", from_zero=True),
    help="Start of figures over time.  [default: start of the run]",
)  # fmt: skip
@click.option(
    "--to",
    "end",
    metavar="TIME",
    callback=checked_time("12 s"),
    help="End of figures over time.  [default: end of the run]",
)
@click.option(
    "--x", metavar="PATH",
    help="Swept value on the horizontal axis, or of the lines of a distribution.  [default: the "
    "last quantity]",
)  # fmt: skip
@click.option(
    "--y", metavar="PATH",
    help="Swept value on the vertical axis of a heat map.  [default: the quantity before]",
)  # fmt: skip
@click.option(
    "--subject", metavar="NAME",
    help="Flow or hop that figures of a sweep show.  [default: the bottleneck, or all flows]",
)  # fmt: skip
@paper_options
@output_option(
    "File (.svg, .png, .pdf), or folder for several figures.", "RUN/figures; none for several runs"
)
@models_option("usual")
@unreliable_option
@json_option
@click.pass_context
def plot(
    context: click.Context, runs: tuple[Path, ...], kind: str, metric: str, point: int,
    replicate: int, connection: int, begin: str | None, end: str | None, x: str | None,
    y: str | None,
    subject: str | None, width: float | None, font: str, font_size: float | None,
    title: str | None, output: Path | None, models: str, unreliable: bool, as_json: bool,
) -> None:  # fmt: skip
    """Draw figures of a result or comparison, or of several results in one figure.

    \b
    Example:
      ackclock plot out/leaky-pipe --kind sweep --metric goodput -o goodput.svg
      ackclock plot out/before out/now --kind throughput -o throughput.svg
      ackclock plot out/lab --kind heatmap --metric utilisation --width column -o u.pdf
    """
    from ackclock.plot import Paper, View
    from ackclock.plot.kind import check_numbers
    from ackclock.result.result import Result

    drawn_from, run = _subject(runs, output, unreliable=unreliable)
    _check_output(kind, output)
    paper = Paper(width, font, font_size, "" if title == "none" else title)
    view = View(
        None, metric, point, replicate, connection, _span(begin, end), x, y, subject,
    )  # fmt: skip
    with _of_option(run):
        check_numbers(drawn_from, point=point, replicate=replicate)
    chosen = _chosen(drawn_from, kind, view, run)
    _check_options(context, chosen, kind, run)
    if isinstance(drawn_from, Result):
        check_models([drawn_from], models)
        if any("predicted" in figure.takes for figure in chosen):
            view = replace(view, predicted=predicted(drawn_from, models))
    paths = _draw(drawn_from, chosen, view, paper, run, output)
    if as_json:
        print_json({"figures": [str(path) for path in paths]})
    else:
        for path in paths:
            say(f"figure: {path}")


def _subject(
    runs: tuple[Path, ...], output: Path | None, *, unreliable: bool
) -> "tuple[Subject, Path]":
    """Returns what is drawn, and its folder: the first one of several."""
    run, *others = runs
    if not others:
        if is_comparison(run):
            return read(run, unreliable=unreliable), run
        return read_result(run, unreliable=unreliable), run
    if output is None:
        words = "is missing; name a file, or a folder for figures of several results"
        raise InputError("missing", "-o", words)
    return results.read(runs, unreliable=unreliable), run


def _span(begin: str | None, end: str | None) -> tuple[float, float] | None:
    """Returns start and end of figures over time, in seconds; None for the whole run."""
    if begin is None and end is None:
        return None
    span = (units.seconds(begin or "0 s"), math.inf if end is None else units.seconds(end))
    if not span[0] < span[1]:
        raise InputError(
            "contradiction",
            "--to",
            f"{end} must be later than --from {begin}",
        )
    return span


def _check_output(kind: str, output: Path | None) -> None:
    formats = (".svg", ".png", ".pdf")
    if output is None or (kind == _ALL) == (output.suffix.lower() not in formats):
        return
    if kind == _ALL:
        raise InputError(
            "contradiction",
            "-o",
            f"{output} is one file, but there are several figures; choose a folder, or one "
            f"figure with --kind",
        )
    raise InputError(
        "unsupported",
        "-o",
        f"{output} has an unknown picture format; choose from {', '.join(formats)}",
    )


def _chosen(subject: "Subject", kind: str, view: "View", run: Path) -> "list[FigureKind]":
    """Returns the figures to draw: the one asked for, or all that the result has."""
    from ackclock.plot import FIGURES, available, why_not

    named = [figure for figure in FIGURES if kind in (_ALL, figure.name)]
    chosen = [figure for figure in named if figure.why_not(subject, view) is None]
    if chosen:
        return chosen
    shown = available(subject, view)
    others = (
        f"choose from {', '.join(figure.name for figure in shown)}"
        if shown
        else "no figure shows it"
    )
    if kind == _ALL:
        raise InputError("no-data", str(run), others)
    reason = why_not(subject, kind, view) or ""
    remedy = "" if ";" in reason else f"; {others}"
    whole = replace(view, subject=None)
    if view.subject and why_not(subject, kind, whole) is None:
        raise InputError("unknown-name", "--subject", f"{run} {reason}{remedy}", view.subject)
    raise InputError("no-data", "--kind", f"{run} {reason}{remedy}", kind)


def _check_options(
    context: click.Context, chosen: "list[FigureKind]", kind: str, run: Path
) -> None:
    """Refuses options that none of the figures uses."""
    taken = {name for figure in chosen for name in figure.takes}
    for option, name in _view_options():
        is_given = context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        if is_given and name not in taken:
            figures = f"figures of {run}" if kind == _ALL else f"--kind {kind}"
            raise InputError(
                "contradiction", option.opts[0], f"does not apply to {figures}; remove it"
            )


def _view_options() -> Iterator[tuple[click.Parameter, str]]:
    """Returns the options that choose a field of a view, with that field."""
    from ackclock.plot import OPTIONS

    for option in plot.params:
        name = "span" if option.name in ("begin", "end") else str(option.name)
        if name in OPTIONS:
            yield option, name


@contextmanager
def _of_option(run: Path) -> Iterator[None]:
    """Makes errors from within name an option, or the result if none is wrong."""
    from ackclock.plot import OPTIONS

    try:
        yield
    except InputError as error:
        field = f"--{error.field}" if error.field in OPTIONS else error.field
        raise error.for_field(field if field.startswith("--") else f"{run}") from None


def _draw(
    subject: "Subject", chosen: "list[FigureKind]", view: "View", paper: "Paper", run: Path,
    output: Path | None,
) -> list[Path]:  # fmt: skip
    """Draws figures and writes all or none; returns the files."""
    from ackclock.cli.progress import progress
    from ackclock.plot import draw, save

    paths = _paths(run, chosen, output, view)
    for path in paths:
        claim_file(path)
    drawn = []
    with progress("plot") as tell:
        for position, kind in enumerate(chosen):
            with _of_option(run):
                drawn.append(draw(kind.spec(subject, view), paper))
            tell(0.5 * (position + 1) / len(chosen))
        for position, (figure, path) in enumerate(zip(drawn, paths, strict=True)):
            save(figure, path)
            tell(0.5 + 0.5 * (position + 1) / len(chosen))
    return paths


def _paths(run: Path, chosen: "list[FigureKind]", output: Path | None, view: "View") -> list[Path]:
    """Returns the files of figures; the name of a figure of a metric ends in the metric's."""
    if output is not None and len(chosen) == 1 and output.suffix:
        return [output]
    folder = output or run / "figures"
    metric = f"_{view.metric}"
    return [
        folder / f"{kind.name}{metric if 'metric' in kind.takes else ''}.svg" for kind in chosen
    ]
