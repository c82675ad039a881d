"""The command `measure`: the connections in packet captures."""

import shlex
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.capture import MODELS_OF_CAPTURES
from ackclock.cli.errors import INTERRUPTED
from ackclock.cli.options import checked_time, json_option, models_option, output_option
from ackclock.cli.output import print_json, print_rows, say, say_wrapped
from ackclock.cli.place import REMEDY, claim, force_option

if TYPE_CHECKING:
    from ackclock.result.result import Result


@click.command()
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE")
@output_option("Folder of the result.", "out/FILE-measured")
@force_option
@click.option(
    "--interval", default="100ms", show_default=True, metavar="TIME",
    callback=checked_time("100 ms"),
    help="Time between two samples of a connection.",
)  # fmt: skip
@click.option(
    "--estimators", default="", metavar="NAMES",
    help="Rate estimators to run on captures taken near the sender: all, or names separated by "
    "commas. See "
    "ackclock show estimators.",
)  # fmt: skip
@click.option(
    "--segments", is_flag=True, help="Keep the table of segments, for time-sequence plots."
)
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True,
    help="Number of connections to show, those with the most payload first.",
)  # fmt: skip
@models_option(MODELS_OF_CAPTURES)
@json_option
def measure(
    source: Path, output: Path | None, force: bool, interval: str, estimators: str, segments: bool,
    top: int, models: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Explain what limits the connections in a packet capture.

    FILE is a capture (pcap or pcapng, also gzipped), - for standard input, or the folder of a
    result with captures. The result is kept in a folder. Ctrl-C keeps what has been read, marked as
    partial. Encrypted UDP, such as QUIC, shows rates, gaps, sizes and round trips of the spin bit.

    \b
    Example:
      ackclock measure capture.pcap
      tcpdump -i eth0 -s 128 -w - tcp | ackclock measure -
    """
    started = time.monotonic()
    result, folder = _measured(
        source, output, force=force, interval=interval, estimators=estimators, segments=segments,
        top=top, models=models,
    )  # fmt: skip
    _print(result, folder, top, as_json, time.monotonic() - started)
    return INTERRUPTED if result.partial else 0


def is_capture(path: Path) -> bool:
    """Returns true for a file and for standard input."""
    from ackclock.capture.sources import STANDARD_INPUT

    return path.is_file() or str(path) == STANDARD_INPUT


def measured_for_page(source: Path) -> Path:
    """Measures a capture, with the segments for a page; returns the folder of the result."""
    remedy = f"measure into another: ackclock measure {shlex.quote(str(source))} -o FOLDER"
    return _measured(source, None, remedy=remedy, segments=True)[1]


def _measured(
    source: Path,
    output: Path | None,
    *,
    force: bool = False,
    remedy: str = REMEDY,
    **options: Any,
) -> tuple["Result", Path]:
    """Measures a capture with progress and warnings; returns the result and its folder."""
    from ackclock.capture import measurement, sources
    from ackclock.cli.progress import progress
    from ackclock.result.interrupted import partly

    captured = sources.find(source)
    repeatable = partial(measurement.is_repeatable, source)
    folder = claim(
        output, Path("out") / f"{captured.stem}-measured", force=force, repeatable=repeatable,
        goes_on=lambda place: measurement.is_partial(place) and repeatable(place), remedy=remedy,
    )  # fmt: skip
    with progress(f"measure {source}") as tell:
        result = partly(
            lambda: measurement.measure(
                source, folder, replace=True, **options,
                progress=lambda now: tell(now["fraction"], f"{now['packets']:,} packets"),
            )
        )  # fmt: skip
    for warning in result.run["warnings"]:
        say(f"warning: {warning}", err=True)
    return result, folder


# The number of answers to print.
_ANSWERED = 3

_VANTAGES = {
    "sender": ", captured near the sender",
    "receiver": ", captured near the receiver",
}


def _print(
    result: "Result", folder: Path, top: int, as_json: bool, lasted_s: float | None = None
) -> None:
    """Prints the limiting factors, the table of connections, and the predictions of models."""
    from ackclock.capture import connections, datagrams
    from ackclock.report import run_tables

    rows = connections.connection_rows(result, top)
    predicted: list[dict[str, Any]] = run_tables.prediction_rows(result)
    if as_json:
        print_json(
            {"folder": str(folder), "partial": result.partial, "captures": result.run["captures"]}
            | {"connections": rows, "others": connections.others(result, len(rows))}
            | {"datagrams": datagrams.rows(result)}
            | {"estimates": result.tables["estimates"].to_pylist(), "predictions": predicted}
        )
        return
    left, flows = connections.others(result, len(rows)), datagrams.rows(result)
    if rows:
        notes = [f"{left} more with less payload: --top {len(rows) + left}"] if left else []
        print_rows(connections.brief_table(rows, _title(rows, left)), "; ".join(notes))
    elif not flows:
        say("no connection carried payload")
    answers: dict[str, list[str]] = {}
    for number, row in enumerate(rows[:_ANSWERED], start=1):
        answers.setdefault(row["answer"], []).append(str(number))
    for answer, numbers in answers.items():
        say()
        say_wrapped(f"{', '.join(numbers)}: {answer}.")
    if flows:
        say()
        print_rows(datagrams.brief_table(flows[:top], len(flows[top:])))
    sentence = connections.prediction_words(rows, predicted)
    if sentence:
        say()
        say_wrapped(sentence)
    say()
    say(f"  result  {folder}")
    say(f"  next    ackclock report {shlex.quote(str(folder))}")
    if lasted_s is not None:
        say(f"  time    {lasted_s:.1f} s")


def _title(rows: list[dict[str, Any]], left: int) -> str:
    """The number of connections, the length of the capture, and where it was taken."""
    count = len(rows) + left
    lasts = max(row["end_s"] for row in rows) - min(row["start_s"] for row in rows)
    vantages = {row["vantage"] for row in rows}
    place = _VANTAGES.get(vantages.pop(), "") if len(vantages) == 1 else ""
    which = f"; the {len(rows)} with most payload" if left else ""
    return f"{count} connection{'' if count == 1 else 's'}, {lasts:.3g} s{place}{which}"
