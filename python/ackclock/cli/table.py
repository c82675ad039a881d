"""The command `table`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli import results
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
    "more", nargs=-1, metavar="[RUN...] METRIC...",
    shell_complete=names_of("metrics"),
)  # fmt: skip
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
    run: Path, more: tuple[str, ...], subject: str | None, by: str, output: Path | None, *,
    unreliable: bool, as_json: bool,
) -> None:  # fmt: skip
    """Print metrics of a result or of several, or write them to a file.

    A row is a point of the sweep and a flow or hop. Swept values are columns, numbers with the unit
    in the name. Of several results a column has the name. See ackclock show metrics.

    \b
    Example:
      ackclock table out/leaky-pipe goodput loss_rate -o leaky-pipe.csv
      ackclock table out/before out/now goodput rtt
    """
    from ackclock.validity.metric_table import metric_table

    runs, metrics = _split(run, more)
    if output is not None and output.suffix not in _FORMATS:
        raise InputError(
            "unsupported",
            f"{output}",
            f"ends in no table format; choose from {', '.join(_FORMATS)}",
        )
    names = results.named(runs)
    frames, tables = [], []
    for path in runs:
        result = read_result(path, unreliable=unreliable)
        try:
            frame = result.frame(*metrics, subject=subject, by=by)
        except InputError as error:
            raise error.for_field(f"--{error.field}" if error.field else f"{path}") from None
        frames.append(frame)
        tables.append(metric_table(result, metrics, frame))
    frame = frames[0] if len(runs) == 1 else _stacked(names, frames)
    rows: list[dict[str, Any]] = frame.to_pylist()
    shown = tables[0] if len(runs) == 1 else _merged(names, tables)
    if output is not None:
        _write(output, frame, rows, shown)
        say(f"table: {output}")
    elif as_json:
        print_json(rows)
    else:
        title = f"{shown.title}. {shown.note}" if shown.note else shown.title
        print_table(replace(shown, title=title))


def _split(run: Path, more: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Returns the folders of results, and the names of metrics behind them."""
    from ackclock.metrics import METRICS

    runs, metrics = [run], []
    for word in more:
        if word in METRICS:
            metrics.append(word)
        elif not metrics and Path(word).is_dir():
            runs.append(Path(word))
        elif Path(word).is_dir():
            words = f"{word} stands behind metrics; name results first"
            raise InputError("syntax", "RUN", words, word)
        else:
            raise InputError.unknown("METRIC", "metric", word, METRICS)
    if not metrics:
        raise InputError("missing", "METRIC", "is missing; for example goodput")
    return runs, metrics


def _stacked(names: Sequence[str], frames: Sequence[Any]) -> Any:
    """Returns tidy tables below each other, with a column of the result's name."""
    import pyarrow as pa

    named = [
        frame.add_column(0, "result", pa.array([name] * frame.num_rows, pa.string()))
        for name, frame in zip(names, frames, strict=True)
    ]
    return pa.concat_tables(named, promote_options="permissive")


def _merged(names: Sequence[str], tables: "Sequence[Table]") -> "Table":
    """Returns tables below each other; columns that a result does not have are empty there."""
    from ackclock.table import Column
    from ackclock.table import table as plain_table

    heads = {column.head: column for shown in tables for column in shown.columns}
    order = sorted(heads, key=lambda head: max(
        [shown.head.index(head) for shown in tables if head in shown.head]
    ))  # fmt: skip
    cells = []
    for name, shown in zip(names, tables, strict=True):
        for row in shown.rows:
            own = dict(zip(shown.head, row, strict=True))
            cells.append([name, *(own.get(head) for head in order)])
    title = "; ".join(f"{name} ({shown.title})" for name, shown in zip(names, tables, strict=True))
    note = next((shown.note for shown in tables if shown.note), "")
    return plain_table(title, [Column("result"), *(heads[head] for head in order)], cells, note)


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
