"""The command `measure`: the connections in packet captures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.capture.measurement import MODELS_OF_CAPTURES
from ackclock.cli.errors import INTERRUPTED
from ackclock.cli.options import checked_time, json_option, models_option
from ackclock.cli.output import print_json, print_table, say
from ackclock.cli.place import claim, force_option

if TYPE_CHECKING:
    from ackclock.result import Result

__all__ = ["measure"]


@click.command()
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="The result's folder; by default out/ and the file's name with -measured.",
)  # fmt: skip
@force_option
@click.option(
    "--interval", default="100ms", show_default=True, metavar="TIME", callback=checked_time("100 ms"),
    help="Time between two samples of a connection.",
)  # fmt: skip
@click.option(
    "--estimators", default="", metavar="NAMES",
    help="Rate estimators to run along with the ACKs of what was captured near its sender: names with commas between "
    "them, or all; see ackclock show estimators.",
)  # fmt: skip
@click.option(
    "--segments", is_flag=True, help="Keep the table of segments, for a time-sequence plot."
)
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True,
    help="How many connections are shown, and models asked about: those with the most payload.",
)  # fmt: skip
@models_option(MODELS_OF_CAPTURES)
@json_option
def measure(
    source: Path, output: Path | None, force: bool, interval: str, estimators: str, segments: bool,
    top: int, models: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Say why the connections in a packet capture were not faster, and keep what was measured in a folder.

    FILE is a capture (pcap, pcapng, packed with gzip or not), - for standard input, or the folder
    of a result of simulate --pcap or of emulate. Ctrl-C keeps what has been read by then, marked as
    partial.

    \b
    Example:
      ackclock measure capture.pcap -o out/measured
      ackclock measure capture.pcap --estimators be,abse
      tcpdump -i eth0 -s 128 -w - tcp | ackclock measure -
    """
    from ackclock.capture import measurement, sources
    from ackclock.cli.progress import progress

    found = sources.find(source)
    folder = claim(
        output, Path("out") / f"{found.stem}-measured", force=force, goes_on=measurement.is_partial
    )
    with progress(f"measure {source}") as tell:
        result = measurement.measure(
            source, folder, interval=interval, segments=segments, estimators=estimators,
            models=models, top=top,
            progress=lambda now: tell(now["fraction"], f"{now['packets']:,} packets"),
        )  # fmt: skip
    for warning in result.run["warnings"]:
        say(f"warning: {warning}", err=True)
    _print(result, folder, top, as_json)
    return INTERRUPTED if result.partial else 0


def _print(result: "Result", folder: Path, top: int, as_json: bool) -> None:
    """Prints the limiting factors, the table of connections, and the predictions of models."""
    from ackclock.capture import connections
    from ackclock.report import run_tables

    rows = connections.connection_rows(result, top)
    predicted: list[dict[str, Any]] = run_tables.prediction_rows(result)
    if as_json:
        print_json(
            {"folder": str(folder), "partial": result.partial, "captures": result.run["captures"]}
            | {"connections": rows, "others": connections.others(result, len(rows))}
            | {"estimates": result.tables["estimates"].to_pylist(), "predictions": predicted}
        )
        return
    for row in rows:
        say(f"{row['heading']}: {row['answer']}")
    if not rows:
        say("no connection carried payload")
    left = connections.others(result, len(rows))
    if left:
        say(f"and {left} more with less payload; --top {len(rows) + left} shows all")
    say()
    print_table(connections.connection_table(rows))
    applying = [row for row in predicted if row["goodput_bit_per_s"] is not None]
    if applying:
        say()
        print_table(connections.prediction_table(result, applying, "What models say of them"))
    say(f"result: {folder}")
