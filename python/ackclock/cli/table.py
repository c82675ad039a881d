"""The command `table`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import names_of
from ackclock.cli.options import json_option, read_result, unreliable_option
from ackclock.cli.output import print_json, print_table, say
from ackclock.errors import InputError
from ackclock.result.folder import write_whole

if TYPE_CHECKING:
    from ackclock.result.result import Result
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
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File to write: .csv, .json or .parquet with numbers in base units, .tex for a paper.",
)  # fmt: skip
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
    from ackclock.errors import suggestion
    from ackclock.metrics import METRICS

    for name in metrics:
        if name not in METRICS:
            raise InputError(
                "unknown-name", "METRIC", f'unknown metric "{name}"; {suggestion(name, METRICS)}'
            )
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
        raise error.at(f"--{error.field}" if error.field else f"{run}") from None
    rows: list[dict[str, Any]] = frame.to_pylist()
    if output is not None:
        _write(output, frame, rows, _shown(result, rows, metrics))
        say(f"table: {output}")
    elif as_json:
        print_json(rows)
    else:
        print_table(_shown(result, rows, metrics))


def _write(output: Path, frame: Any, rows: list[dict[str, Any]], shown: "Table") -> None:
    """Writes a file completely or not at all."""
    from ackclock.table import json_text
    from ackclock.table import table as plain_table

    output.parent.mkdir(parents=True, exist_ok=True)
    if output.suffix == ".parquet":
        from pyarrow import parquet

        aside = output.with_name(f".{output.name}.unfinished")
        parquet.write_table(frame, aside)
        aside.replace(output)
    elif output.suffix == ".json":
        write_whole(output, json_text(rows))
    elif output.suffix == ".csv":
        names = frame.schema.names
        write_whole(output, plain_table("", names, [list(row.values()) for row in rows]).to_csv())
    else:
        write_whole(output, shown.to_latex())


def _plain(value: Any) -> Any:
    """Returns a swept value as it was written: 0.25 rather than 0.2500."""
    from ackclock.table import Written

    return Written(value, f"{value:g}") if isinstance(value, float) else value


def _shown(result: "Result", rows: list[dict[str, Any]], metrics: tuple[str, ...]) -> "Table":
    """Returns the table for people: intervals in the units of tables, swept values as written."""
    from ackclock.metrics import METRICS, Interval
    from ackclock.metrics.frame import HALF_WIDTH, SUBJECT, swept
    from ackclock.table import Column, scaled, short
    from ackclock.table import table as made
    from ackclock.validity.stationarity import NOTE, judge, starred

    judged = judge(result)
    columns = swept(result.points)
    names = short(one.path for one in columns)
    by_replicate = bool(rows) and "replicate" in rows[0]
    chosen = [METRICS[name] for name in dict.fromkeys(metrics)]
    marked = False
    cells = []
    for row in rows:
        line: list[Any] = [_plain(row[one.name]) for one in columns]
        line += [row["replicate"]] if by_replicate else []
        line.append(row[SUBJECT])
        for what in chosen:
            scale = what.shown_per_unit
            if by_replicate or row[what.name] is None:
                line.append(scaled(row[what.name], scale))
                continue
            half = row[what.name + HALF_WIDTH]
            interval = Interval(
                row[what.name] * scale, float("nan") if half is None else half * scale, 0
            )
            star = judged.marks(what.name, row["point"], row[SUBJECT])
            marked = marked or star
            line.append(starred(interval, star))
        cells.append(line)
    head: list[Column | str] = [
        *(Column(name, one.unit) for name, one in zip(names, columns, strict=True)),
        *(["replicate"] if by_replicate else []),
        "subject",
        *(Column(what.label, what.shown_unit) for what in chosen),
    ]
    title = f"{result.run['name']}: {result.averaging}"
    return made(f"{title}. {NOTE}" if marked else title, head, cells)
