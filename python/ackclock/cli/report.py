"""The command `report`."""

from pathlib import Path
from typing import Any

import click

from ackclock.cli import results, swept
from ackclock.cli.compare import is_comparison, read
from ackclock.cli.measure import is_capture, measured_for_page
from ackclock.cli.options import (
    json_option,
    models_option,
    output_option,
    read_result,
    unreliable_option,
)
from ackclock.cli.output import print_json, say
from ackclock.cli.place import claim_file
from ackclock.cli.predicted import check_models, predicted
from ackclock.errors import InputError
from ackclock.result.folder import refuse_unwritable_folder, write_whole
from ackclock.result.manifest import read_sealed


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@output_option("File of the page.", "report.html in the first folder")
@models_option("usual")
@unreliable_option
@json_option
def report(
    runs: tuple[Path, ...], output: Path | None, models: str, unreliable: bool, as_json: bool
) -> None:
    """Write one HTML page about results, a comparison, a sweep, advice on a buffer or a capture.

    The page is self-contained: scenario, tables, figures, versions and seeds. RUNS are folders of
    results, or of one comparison, sweep or advice. A capture (pcap or pcapng, also gzipped, or -
    for standard input) is measured first.

    \b
    Example:
      ackclock report out/leaky-pipe -o report.html
      ackclock report capture.pcap
    """
    from ackclock.cli.progress import progress

    runs = tuple(measured_for_page(run) if is_capture(run) else run for run in runs)
    path = output or runs[0] / "report.html"
    if path.is_dir():
        raise InputError(
            "contradiction",
            "-o",
            f"{path} is a folder; name a file, for example -o {path}/report.html",
        )
    for run in runs:
        if (run / results.DIFFERENCES.mark).is_file():
            words = f"is a comparison of results; its page is {run / results.PAGE}"
            raise InputError("unsupported", f"{run}", words)
    claim_file(path)
    refuse_unwritable_folder(path)
    compared = [run for run in runs if is_comparison(run)]
    swept_runs = [run for run in runs if swept.is_sweep(run)]
    advised = [run for run in runs if is_buffer_advice(run)]
    alone = [*compared, *swept_runs, *advised]
    if alone and len(runs) > 1:
        raise InputError(
            "contradiction",
            f"{alone[0]}",
            f"is a {'comparison' if compared else 'sweep' if swept_runs else 'recommendation'}, "
            "which has a page of its own; report it alone",
        )
    if swept_runs:
        text = swept.page(runs[0])
    elif advised:
        from ackclock.report.buffer import page_of_buffer

        text = page_of_buffer(_buffer_advice(runs[0]))
    elif compared:
        comparison = read(compared[0], unreliable=unreliable)
        from ackclock.report.comparison import page_of_comparison

        with progress("report") as tell:
            text = page_of_comparison(comparison, tell)
    else:
        reported = [read_result(run, unreliable=unreliable) for run in runs]
        check_models(reported, models)
        from ackclock.report import page

        with progress("report") as tell:
            text = page([(result, predicted(result, models)) for result in reported], tell)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    if as_json:
        print_json({"report": str(path)})
    else:
        say(f"report: {path}")


def is_buffer_advice(folder: Path) -> bool:
    """Returns true if a folder holds a recommendation about a buffer, whole or not.

    One about feedback is a result, and has the page of a result.
    """
    return (folder / "advice.json").is_file() and not (folder / "run.json").exists()


def _buffer_advice(folder: Path) -> dict[str, Any]:
    """Returns a whole recommendation about a buffer.

    Raises:
        InputError: It is interrupted or damaged.
    """
    place = folder / "advice.json"
    advice = read_sealed(place)
    if "curve_packets" not in advice:
        raise InputError(
            "file", f"{place}", "is interrupted or damaged; run ackclock advise buffer again"
        )
    return advice
