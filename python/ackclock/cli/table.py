"""The command `table`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import names_of
from ackclock.cli.options import json_option, output_option, read_result, unreliable_option
from ackclock.cli.output import print_json, print_table, say
from ackclock.cli.place import claim_table
from ackclock.errors import InputError
from ackclock.result.folder import whole, write_whole

if TYPE_CHECKING:
    from ackclock.table import Table

_FORMATS = (".csv", ".tex", ".json", ".parquet")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument(
    "metrics", nargs=-1, required=True, metavar="METRIC...", shell_complete=names_of("metrics")
)
@click.option("--subject", metavar="NAME", help="Flow or hop.  [default: all]")
@click.option(
    "--by", type=click.Choice(["point", "replicate"]), default="point", show_default=True,
    help="A row for each point, with means and intervals, or for each replicate.",
)  # fmt: skip
@output_option(
    "File to write: .csv, .json or .parquet with numbers in base units, .tex for a paper.",
)
@unreliable_option
@json_option
def table(
    run: Path, metrics: tuple[str, ...], subject: str | None, by: str, output: Path | None, *,
    unreliable: bool, as_json: bool,
) -> None:  # fmt: skip
    """Print metrics of a result, or write them to a file.

    A row is a point of the sweep and a flow or hop. Swept values are columns, numbers with the unit
    in the name. See ackclock show metrics.

    \b
    Example:
      ackclock table out/leaky-pipe goodput loss_rate -o leaky-pipe.csv
    """
    from ackclock.metrics import METRICS
    from ackclock.validity.metric_table import metric_table

    for name in metrics:
        if name not in METRICS:
            raise InputError.unknown("METRIC", "metric", name, METRICS)
    if output is not None and output.suffix not in _FORMATS:
        raise InputError(
            "unsupported",
            f"{output}",
            f"ends in no table format; choose from {', '.join(_FORMATS)}",
        )
    result = read_result(run, unreliable=unreliable)
    try:
        frame = result.frame(*metrics, subject=subject, by=by)
    except InputError as error:
        raise error.for_field(f"--{error.field}" if error.field else f"{run}") from None
    rows: list[dict[str, Any]] = frame.to_pylist()
    if output is not None:
        _write(output, frame, rows, metric_table(result, metrics, frame))
        say(f"table: {output}")
    elif as_json:
        print_json(rows)
    else:
        shown = metric_table(result, metrics, frame)
        title = f"{shown.title}. {shown.note}" if shown.note else shown.title
        print_table(replace(shown, title=title))


def _write(output: Path, frame: Any, rows: list[dict[str, Any]], shown: "Table") -> None:
    """Writes a file completely or not at all."""
    from ackclock.table import json_text
    from ackclock.table import table as plain_table

    output.parent.mkdir(parents=True, exist_ok=True)
    if output.suffix in (".parquet", ".json"):
        claim_table(output, ",".join(frame.schema.names))
    if output.suffix == ".parquet":
        from pyarrow import parquet

        with whole(output) as aside:
            parquet.write_table(frame, aside)
    elif output.suffix == ".json":
        write_whole(output, json_text(rows))
    elif output.suffix == ".csv":
        names = frame.schema.names
        text = plain_table("", names, [list(row.values()) for row in rows]).to_csv()
        claim_table(output, text.partition("\n")[0])
        write_whole(output, text)
    else:
        text = shown.to_latex()
        claim_table(output, text.partition(r"\midrule")[0])
        write_whole(output, text)
