"""The command `advise`: recommendations for a path, one subcommand for each subject."""

import hashlib
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.errors import Commands
from ackclock.cli.options import (
    checked_time,
    json_option,
    output_option,
    read_scenario,
    scenario_options,
)
from ackclock.cli.output import print_json, print_rows, say, say_wrapped
from ackclock.cli.place import claim, force_option
from ackclock.errors import InputError, ScenarioError
from ackclock.limits import NAMED_FILE_BYTES, read_file
from ackclock.result.manifest import read_sealed, write_sealed
from ackclock.units import shown

if TYPE_CHECKING:
    from ackclock.advice import BufferAdvice, FeedbackAdvice
    from ackclock.advice.buffer.confirmation import Confirmation


@click.group(cls=Commands)
def advise() -> None:
    """Recommend settings for a path.

    \b
    Example:
      ackclock advise buffer examples/buffer-on-a-backbone.toml --utilisation 98%
    """


def _pairs(
    _context: click.Context, _option: click.Parameter, written: tuple[str, ...]
) -> list[tuple[int, int]]:
    pairs = []
    for pair in written:
        numbers = [part.strip() for part in pair.split(",")]
        if len(numbers) != 2 or not all(part.isdecimal() and int(part) > 0 for part in numbers):
            raise InputError(
                "syntax",
                "--effcap",
                f'"{pair}" is not a pair M,N of whole numbers from 1; for example 7,49',
            )
        pairs.append((int(numbers[0]), int(numbers[1])))
    return pairs


@advise.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--rtt", required=True, metavar="TIME", callback=checked_time("100 ms"),
    help="Round-trip time from sender to receiver and back, without queues.",
)  # fmt: skip
@click.option(
    "--buffer", metavar="SIZE",
    help="Buffer of the link: 100 packets, 150 kB or 100 ms.  [default: the mean rate times the "
    "round trip, at "
    "least 10 packets]",
)  # fmt: skip
@click.option("--mss", default="1448 bytes", show_default=True, help="Payload of a full segment.")
@click.option(
    "--sender", type=click.Choice(["cubic", "reno", "jacobson1988"]), default="cubic",
    show_default=True,
    help="Sender: Linux with CUBIC or Reno, or the sender of 1988 without fast retransmit.",
)  # fmt: skip
@click.option(
    "--effcap", multiple=True, metavar="M,N", callback=_pairs,
    help="EFFCAP to try, with M measurements in each of N means; may be repeated.  [default: "
    "memories of 1, 2, 4, 8 and 12 round trips]",
)  # fmt: skip
@click.option(
    "--period", metavar="TIME", callback=checked_time("15 ms"),
    help="Time between two measurements of the capacity, which are fed back.  [default: a "
    "seventh of the round "
    "trip; for a Mahimahi trace at least ten opportunities]",
)  # fmt: skip
@click.option(
    "--interval", metavar="TIME", callback=checked_time("10 ms"),
    help="Interval at which changes of the rate are counted.  [default: that of the trace]",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["mahimahi", "csv", "ucc_downlink", "ucc_uplink"]),
    help="Format of the trace.  [default: by its name: .up, .down, .mahimahi, .csv]",
)  # fmt: skip
@click.option(
    "--replicates",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of runs of each scheme.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True,
    help="Seed of the times at which transfers start.",
)  # fmt: skip
@output_option("Folder for the runs and advice.json.", "none")
@force_option
@json_option
def feedback(
    trace: Path, rtt: str, buffer: str | None, mss: str, sender: str, effcap: list[tuple[int, int]],
    period: str | None, interval: str | None, form: str | None, replicates: int, seed: int,
    output: Path | None, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Recommend whether and how to feed a link's rate back to a sender.

    TRACE is the link's capacity: a Mahimahi trace, or rows of time and rate. A transfer is
    simulated on it without feedback, with the latest rate (INSTCAP), and with the smallest of many
    means (EFFCAP).

    \b
    Example:
      ackclock advise feedback traces/moving-link.csv --rtt 100ms -o out/lte
    """
    from ackclock.cli.progress import progress

    options: dict[str, Any] = {
        "rtt": rtt, "buffer": buffer, "mss": mss, "sender": sender, "effcap": effcap,
        "interval": interval, "period": period, "form": form, "replicates": replicates,
        "seed": seed,
    }  # fmt: skip
    asked_for = _asked(trace, options)
    if output is not None:
        claim(output, output, force=force, goes_on=partial(_answers, asked_for))
    from ackclock.advice import advise_feedback

    try:
        with progress("advise") as tell:
            advice = advise_feedback(trace, **options, progress=tell)
    except ScenarioError:
        raise
    except InputError as error:
        raise error.for_field(f"--{error.field}") from None
    for warning in advice.warnings:
        say(f"warning: {warning}", err=True)
    _print(advice, output, asked_for, as_json=as_json)


def _asked(trace: Path, options: dict[str, object]) -> str:
    """Returns the address of a question about feedback.

    It covers the name and content of the trace, and all options.
    """
    from ackclock.run import address

    content = None
    if trace.is_file():
        content = hashlib.sha256(read_file(trace, NAMED_FILE_BYTES)).hexdigest()
    return address.of_content({"trace": trace.name, "content": content, **options})


def _answers(asked_for: str, folder: Path) -> bool:
    """Returns true if the recommendation in a folder is, or will be, about this question."""
    return bool(read_sealed(folder / "advice.json").get("question") == asked_for)


def _print(advice: "FeedbackAdvice", output: Path | None, asked_for: str, *, as_json: bool) -> None:
    from ackclock.advice import words

    answer = {"question": asked_for} | words.plain(advice)
    if output is not None:
        advice.result.save(output, replace=True)
        write_sealed(output / "advice.json", answer)
    if as_json:
        print_json(answer)
        return
    say_wrapped(words.title(advice))
    _print_paragraphs([" ".join([words.sentence(advice), *words.further(advice)])])
    say()
    print_rows(words.outcome_table(advice), words.legend(advice))
    _print_paragraphs(
        [words.psi_words(advice), words.models_words(advice), words.method_words(advice)]
    )
    say()
    if output is None:
        say("  next    -o FOLDER keeps the runs, for ackclock plot and ackclock report")
    else:
        say(f"  page    ackclock report {shlex.quote(str(output))}")
        say(f"  result  {output}")


@advise.command()
@scenario_options
@click.option(
    "--hop",
    metavar="NAME",
    help="Hop whose buffer to size.  [default: the shared hop with the highest utilisation]",
)
@click.option(
    "--utilisation", metavar="SHARE",
    help="Least utilisation of its link.  [default: 98 % if a long flow crosses it]",
)  # fmt: skip
@click.option("--p99-delay", metavar="TIME", help="Largest queueing delay, for 99 % of the time.")
@click.option(
    "--loss",
    metavar="SHARE",
    help="Largest share of packets dropped by its queue; 100 % for no limit.  [default: 1 %]",
)
@click.option(
    "--completion-p95",
    metavar="TIME",
    help="Longest completion time of 95 % of the finite transfers.",
)
@click.option(
    "--aqm", "with_aqm", is_flag=True,
    help="Try active queue management too, even if a drop-tail buffer meets all targets: Adaptive "
    "RED, RED, CoDel, PIE, PI2 and FQ-CoDel, with all target delays.",
)  # fmt: skip
@click.option(
    "--emulate", "emulated", is_flag=True,
    help="Confirm the recommended and the smallest buffer with the Linux TCP stack, in real time.",
)  # fmt: skip
@output_option(
    "Folder for advice.json, the figure and all runs, from which the same command continues.",
    "none",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace other advice in the folder; its runs are used again.",
)
@json_option
def buffer(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None,
    hop: str | None, utilisation: str | None, p99_delay: str | None, loss: str | None,
    completion_p95: str | None, with_aqm: bool, emulated: bool, output: Path | None, force: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Recommend the size of a buffer.

    The bottleneck queue of SCENARIO is replaced by drop-tail queues of all sizes, simulated with
    the same seeds. The answer is the smallest size that meets every target, with its interval, and
    a size to configure: the geometric middle of those that do, at most twice the smallest. If no
    size does, other queues are tried; with --aqm they are tried in any case, and are the answer if
    they are better.

    \b
    Examples:
      ackclock advise buffer examples/buffer-on-a-backbone.toml --utilisation 98% --p99-delay 20ms
      ackclock advise buffer examples/first.toml --utilisation 95% --p99-delay 30ms --aqm
    """
    from ackclock.cli.progress import progress

    read = read_scenario(scenario, assignments, seed, replicates)
    from ackclock.advice import advise_buffer
    from ackclock.advice.buffer.advise import ADVICE, RUNS, question

    targets: dict[str, Any] = {
        "hop": hop, "utilisation": utilisation, "p99_delay": p99_delay, "loss": loss,
        "completion_p95": completion_p95, "with_aqm": with_aqm,
    }  # fmt: skip
    try:
        asked_for = question(read, **targets)
    except ScenarioError:
        raise
    except InputError as error:
        raise error.for_field(f"--{error.field}") from None
    if output is not None:
        claim(output, output, force=force, may_hold=ADVICE, goes_on=partial(_answers, asked_for))
    try:
        with progress("advise") as tell:
            advice = advise_buffer(
                read, **targets, folder=output, progress=lambda words: tell(None, words),
                announce=lambda line: say(f"advise: {line}", err=True),
            )  # fmt: skip
    except ScenarioError:
        raise
    except InputError as error:
        raise error.for_field(f"--{error.field}") from None
    confirmation = None
    if emulated:
        from ackclock.advice.buffer.confirmation import confirm

        with progress("emulate") as tell:
            confirmation = confirm(
                advice, None if output is None else output / RUNS, lambda line: say(line, err=True),
                tell
            )  # fmt: skip
    for warning in advice.warnings:
        say(f"warning: {warning}", err=True)
    _print_buffer(advice, confirmation, output, as_json=as_json)
    if not as_json:
        _print_buffer_paths(advice, output, scenario, assignments)


def _print_buffer(
    advice: "BufferAdvice",
    confirmation: "Confirmation | None",
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    from ackclock.advice.buffer import phrases

    answer = phrases.plain(advice, confirmation)
    if output is not None:
        from ackclock import plot

        figure = phrases.figure(advice)
        plot.save(figure, output / "trade-off.svg")
        figure.set_layout_engine("none")  # Both pictures have one layout, which takes long to make.
        plot.save(figure, output / "trade-off.png")
        write_sealed(output / "advice.json", answer)
    if as_json:
        print_json(answer)
        return
    say_wrapped(phrases.headline(advice))
    say_wrapped(phrases.title(advice))
    _print_paragraphs(phrases.answer(advice))
    say()
    print_rows(phrases.buffer_table(advice), phrases.legend(advice))
    queues = phrases.aqm_table(advice)
    if queues is not None:
        say()
        print_rows(queues)
    _print_paragraphs(phrases.evidence(advice, confirmation))


def _print_paragraphs(paragraphs: list[str]) -> None:
    for paragraph in paragraphs:
        say()
        # A queue is for pasting: a table of TOML has no line breaks.
        (say if paragraph.startswith("queue = ") else say_wrapped)(paragraph)


def _print_buffer_paths(
    advice: "BufferAdvice", output: Path | None, scenario: Path, assignments: tuple[str, ...]
) -> None:
    """Prints where the files are, and the command that runs the scenario with the advised queue."""
    from ackclock.advice.buffer.advise import RUNS
    from ackclock.advice.buffer.phrases import advised_queue

    say()
    if output is not None:
        runs = output / RUNS
        written = sum(path.stat().st_size for path in runs.rglob("*") if path.is_file())
        say(f"  page    ackclock report {shlex.quote(str(output))}")
        say(f"  figure  {output / 'trade-off.png'}")
        say(f"  result  {output / 'advice.json'}")
        say(f"  runs    {runs}   {shown(written, 'bytes')}; page: ackclock report {runs}/NAME")
    queue = advised_queue(advice)
    if queue is not None:
        changes = [*assignments, f"hops.{advice.hop.name}.queue={queue}"]
        options = " ".join(f"--set {shlex.quote(change)}" for change in changes)
        say(f"  next    ackclock simulate {shlex.quote(str(scenario))} {options}")
