"""The command `report`."""

from pathlib import Path

import click

from ackclock.cli.compare import is_comparison, read
from ackclock.cli.options import json_option, models_option, read_result, unreliable_option
from ackclock.cli.output import print_json, say
from ackclock.cli.predicted import check_models, predicted
from ackclock.errors import InputError
from ackclock.folder import refuse_unwritable_folder, write_whole


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File of the page.  [default: report.html in the first folder]",
)
@models_option("usual")
@unreliable_option
@json_option
def report(
    runs: tuple[Path, ...], output: Path | None, models: str, unreliable: bool, as_json: bool
) -> None:
    """Write one HTML page about results, or about a comparison.

    The page is self-contained: scenario, tables, figures, versions and seeds. RUNS are folders of
    results, or of one comparison.

    \b
    Example:
      ackclock report out/leaky-pipe -o report.html
    """
    from ackclock.cli.progress import progress

    path = output or runs[0] / "report.html"
    if path.is_dir():
        raise InputError(
            "contradiction",
            "-o",
            f"{path} is a folder; name a file, for example -o {path}/report.html",
        )
    refuse_unwritable_folder(path)
    compared = [run for run in runs if is_comparison(run)]
    if compared and len(runs) > 1:
        raise InputError(
            "contradiction",
            f"{compared[0]}",
            "is a comparison, which has a page of its own; report it alone",
        )
    if compared:
        comparison = read(compared[0], unreliable=unreliable)
        from ackclock.report.comparison import page_of_comparison

        with progress("report") as tell:
            text = page_of_comparison(comparison, tell)
    else:
        results = [read_result(run, unreliable=unreliable) for run in runs]
        check_models(results, models)
        from ackclock.report import page

        with progress("report") as tell:
            text = page([(result, predicted(result, models)) for result in results], tell)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    if as_json:
        print_json({"report": str(path)})
    else:
        say(f"report: {path}")
