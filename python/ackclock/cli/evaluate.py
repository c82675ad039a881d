"""The command `evaluate`."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import names_of
from ackclock.cli.errors import INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.options import json_option, output_option, stack_options
from ackclock.cli.output import counted, print_json, print_table, say, say_wrapped
from ackclock.cli.place import claim, force_option
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.evaluation import Candidate, Plan, Suite


@click.command()
@click.argument("control", required=False, shell_complete=names_of("controls"))
@click.option(
    "--queue", metavar="QUEUE", shell_complete=names_of("queues"),
    help="Evaluate a queue in place of a control: a name, or a table in TOML.",
)  # fmt: skip
@click.option(
    "--suite", "named", metavar="NAME",
    help="Suite of test cases: its name, or a .toml file.  [default: rfc9743; rfc7928 for queues]",
)  # fmt: skip
@click.option("--only", default="", metavar="CASES", help="Cases by name or number, with commas.")
@click.option("--list", "listed", is_flag=True, help="List the cases of the suite.")
@click.option(
    "--seeds", type=click.IntRange(1, 1000),
    help="Number of runs of each cell; by default what the suite says.",
)  # fmt: skip
@click.option(
    "--quick/--full",
    "quick",
    default=True,
    show_default=True,
    help="The cells that tell most, or the wide grids and further paths of the suite.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="Only the cells of 1 Gbit/s and more, as sweeps: hours. The same command continues.",
)
@click.option(
    "--on",
    "place",
    metavar="PLACE",
    help="Where --wide runs, as of sweep: here, here:PROCESSES, dask:ADDRESS or slurm:OPTIONS.  "
    "[default: here]",
)
@click.option(
    "--against",
    default="",
    metavar="WHAT",
    help="Say what is better or worse beyond chance than an earlier evaluation (its folder or "
    "evaluation.json) or another control.",
)
@click.option(
    "--emulate",
    type=click.IntRange(0),
    default=0,
    is_flag=False,
    flag_value=3,
    metavar="[CELLS]",
    help="Run the worst cells on the kernel, too, in real time; three without a number.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["fail", "concern"]),
    default="fail",
    show_default=True,
    help="Verdict from which on the exit code is 4.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge a trace of your own implementation, qlog or CSV, by the case that --only names.",
)
@click.option(
    "--capture",
    "captures",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Judge a capture of your own implementation, pcap or pcapng, by the case that --only "
    "names; may be repeated for several runs.",
)
@click.option(
    "--rig",
    type=click.Choice(["plain", "netem", "mahimahi"]),
    help="Print how to set up the paths of cases elsewhere.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Simulate the controls that it is compared with again, too. Their metrics are kept in "
    "~/.cache/ackclock, 64 MB at most.",
)
@stack_options
@output_option(
    "Folder of the evaluation. Unchanged cases in it are not run again.",
    "out/evaluate-CONTROL",
)
@force_option
@json_option
def evaluate(
    control: str | None, queue: str | None, named: str | None, only: str, listed: bool,
    seeds: int | None, quick: bool, wide: bool, place: str | None, against: str, emulate: int,
    fail_on: str, trace: Path | None, captures: tuple[Path, ...],
    rig: str | None, no_cache: bool, output: Path | None, force: bool, as_json: bool,
) -> int:  # fmt: skip
    """Evaluate a congestion control by a suite of test cases.

    CONTROL is a name, a file in C or Python (mine.bpf.c, mine.py, mine.py:Class),
    quic:STACK/CONTROL, or a table in TOML. Prints a verdict for each case, and writes a page with
    the evidence and evaluation.json. The exit code is 4 if a case fails, or if something is worse
    than what it is compared with.

    \b
    Example:
      ackclock evaluate bbr1
      ackclock evaluate mine.py --only Q3,Q6 --against reno
      ackclock evaluate bbr3 --suite bbr-draft
      ackclock evaluate quic:quinn/cubic --only Q2
      ackclock evaluate --queue fq_codel
      ackclock evaluate --trace mine.sqlog --suite bbr-draft --only policer
      ackclock evaluate --capture mine.pcap --only 'high-loss:random loss'
    """
    from ackclock import evaluation

    named = named or ("rfc7928" if queue else "rfc9743")
    suite = evaluation.load(named)
    elsewhere = trace is not None or bool(captures)
    cases = suite.chosen(only.partition(":")[0] if elsewhere else only)
    if listed:
        _print_cases(suite, as_json)
        return 0
    if rig is not None:
        from ackclock.evaluation.rigs import described

        for line in described(suite, cases, rig):
            say(line)
        return 0
    if elsewhere:
        if control is not None or queue is not None:
            words = "remove it: what ran elsewhere is judged by its trace or capture alone"
            name = "CONTROL" if control is not None else "--queue"
            raise InputError("contradiction", name, words)
        return _judge_elsewhere(suite, only, trace, captures, as_json, cached=not no_cache)
    candidate = _candidate(control, queue, suite)
    if place is not None and not wide:
        raise InputError("contradiction", "--on", "says where --wide runs; add --wide")
    if wide and not quick:
        raise InputError("contradiction", "--wide", "has cells of its own; remove --full")
    number = seeds or suite.seeds[0 if quick and not wide else 1]
    plan = evaluation.Plan(
        suite,
        cases,
        candidate,
        suite.paths[:1] if quick else suite.paths,
        tuple(range(1, number + 1)),
        not quick,
        _command(control, queue, named, only, number, "" if quick else "--full"),
        None if no_cache else evaluation.KeptMetrics.of_user(),
    )
    if wide:
        plan = _widely(plan, place or "here")
    before = _before(against, plan)
    folder = _claimed(plan, output, force=force)
    evaluated, complete = _evaluated(plan, folder, before, emulate)
    _print(evaluated, folder, as_json)
    return _ended(evaluated, complete=complete, fail_on=fail_on)


def _candidate(control: str | None, queue: str | None, suite: "Suite") -> "Candidate":
    from ackclock.evaluation import Candidate

    if control is not None and queue is not None:
        raise InputError("contradiction", "--queue", "stands in place of CONTROL; give one of them")
    if suite.is_of_queues:
        if queue is None:
            words = f"is missing; {suite.name} evaluates queues: see ackclock show queues"
            raise InputError("missing", "--queue", words)
        return Candidate.read_queue(queue)
    if control is None:
        words = f"is missing; {suite.name} evaluates controls: see ackclock show controls"
        raise InputError("missing", "CONTROL", words)
    return Candidate.read(control)


def _widely(plan: "Plan", place: str) -> "Plan":
    """Returns the plan of a campaign, which runs the cells of 1 Gbit/s and more as sweeps.

    Raises:
        InputError: No case that is asked for has such cells, or there is no such place.
    """
    from ackclock.evaluation.campaign import Campaign

    campaign = Campaign(place)
    plan = replace(plan, campaign=campaign, command=f"{plan.command} --wide")
    if not any(plan.parts()):
        words = f"{plan.suite.name} has no cells of 1 Gbit/s and more in these cases"
        raise InputError("unsupported", "--wide", words)
    campaign.check()
    return plan


def _judge_elsewhere(
    suite: "Suite",
    only: str,
    trace: Path | None,
    captures: tuple[Path, ...],
    as_json: bool,
    *,
    cached: bool,
) -> int:
    """Judges a trace or captures by one case, `policer`, or one of its runs, `drain-time:half`."""
    from ackclock.evaluation import KeptMetrics
    from ackclock.evaluation.captured import judge_captures
    from ackclock.evaluation.foreign import judge_trace
    from ackclock.evaluation.page import trace_table
    from ackclock.evaluation.verdict import Verdict

    name, _, run = only.partition(":")
    cases = suite.chosen(name) if name else ()
    if len(cases) != 1:
        raise InputError(
            "missing", "--only", "names the one case of the trace or capture, for example policer"
        )
    if trace is not None and captures:
        raise InputError("contradiction", "--capture", "is other evidence than --trace; give one")
    if trace is not None:
        record = judge_trace(suite, cases[0], run, trace)
    else:
        kept = KeptMetrics.of_user() if cached else None
        record = judge_captures(suite, cases[0], run, captures, kept)
    if as_json:
        print_json(record)
    else:
        if record["checks"]:
            print_table(trace_table(record))
            say()
        say_wrapped(f"{record['verdict']}: {record['reason']}. Evidence: {record['evidence']}.")
    return UNRELIABLE if record["verdict"] == Verdict.FAIL else 0


def _command(
    control: str | None, queue: str | None, named: str, only: str, seeds: int, grid: str
) -> str:
    """Returns the command that evaluates the same, for a page."""
    evaluated = [control] if control is not None else ["--queue", str(queue)]
    words = ["ackclock", "evaluate", *evaluated, "--suite", named, "--seeds", str(seeds)]
    words += ["--only", only] if only else []
    words += [grid] if grid else []
    return shlex.join(words)


def _claimed(plan: "Plan", output: Path | None, *, force: bool) -> Path:
    from ackclock import evaluation

    return claim(
        output,
        Path("out") / f"evaluate-{plan.candidate.name}{'-wide' if plan.campaign else ''}",
        force=force,
        may_hold=evaluation.EVALUATION,
        goes_on=lambda place: evaluation.continues(plan, place),
        repeatable=lambda _: True,
    )


def _evaluated(
    plan: "Plan", folder: Path, before: Any = None, emulate: int = 0
) -> tuple[dict[str, Any], bool]:
    from ackclock import evaluation
    from ackclock.cli.progress import progress

    with progress(f"evaluate {plan.candidate.label}") as tell:
        return evaluation.evaluate(plan, folder, tell, before, emulate)


def _before(against: str, plan: "Plan") -> Any:
    """Returns what gives the evaluation to compare with, and its name; None for no comparison."""
    from ackclock.evaluation import Candidate
    from ackclock.evaluation import against as comparing

    if not against:
        return None
    if Path(against).exists():
        earlier = comparing.read(Path(against))
        return lambda _: (against, earlier)
    if against in plan.references:
        return lambda evaluated: (against, comparing.reference_of(evaluated, against))
    read = Candidate.read_queue if plan.suite.is_of_queues else Candidate.read
    try:
        other = replace(plan, candidate=read(against))
    except InputError as error:
        words = f'"{against}" is neither an evaluation nor a control: {error.message}'
        raise InputError(error.code, "--against", words, against) from None

    def evaluated_first(_: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        record, complete = _evaluated(other, _claimed(other, None, force=False))
        if not complete:
            raise KeyboardInterrupt
        return against, record

    return evaluated_first


def _print(evaluated: dict[str, Any], folder: Path, as_json: bool) -> None:
    from ackclock.evaluation.page import (
        answer,
        changes_table,
        emulated_table,
        quotation,
        reasons,
        verdicts_table,
    )

    if as_json:
        print_json({"page": str(folder / "index.html"), **evaluated})
        return
    print_table(verdicts_table(evaluated, with_reasons=False))
    say()
    for reason in reasons(evaluated):
        say_wrapped(reason)
    say()
    say_wrapped(answer(evaluated))
    if evaluated["emulated"]:
        say()
        print_table(emulated_table(evaluated))
    if evaluated["against"]:
        say()
        print_table(changes_table(evaluated))
        say_wrapped(evaluated["against"]["summary"])
    say_wrapped(quotation(evaluated))
    say()
    say(f"  page    {folder / 'index.html'}   open it in a browser")
    say(f"  data    {folder / 'evaluation.json'}, {folder / 'cells.csv'}")


def _ended(evaluated: dict[str, Any], *, complete: bool, fail_on: str) -> int:
    if not complete:
        return complain(
            f"interrupted; {counted(len(evaluated['cases']), 'case')} done: "
            "the same command continues",
            INTERRUPTED,
        )
    failed = evaluated["failed"] + (evaluated["concerns"] if fail_on == "concern" else [])
    if failed:
        return complain(f"{fail_on}: {', '.join(failed)}", UNRELIABLE)
    if evaluated["against"] and evaluated["against"]["worse"]:
        return complain(
            f"worse than {evaluated['against']['name']}: "
            f"{counted(evaluated['against']['worse'], 'cell')}",
            UNRELIABLE,
        )
    return 0


def _print_cases(suite: "Suite", as_json: bool) -> None:
    from ackclock.table import table

    rows = [[case.number, case.id, case.title] for case in suite.cases]
    if as_json:
        print_json([{"number": n, "id": i, "title": t} for n, i, t in rows])
        return
    print_table(table(f"{suite.title}: {suite.revision}", ["", "case", "title"], rows))
