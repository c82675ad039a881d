"""The command `evaluate`."""

import shlex
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
    from ackclock.evaluation import Plan, Suite

# Seeds of each case by default: our choice, so that no verdict rests on one draw.
_SEEDS = 5


@click.command()
@click.argument("control", required=False, shell_complete=names_of("controls"))
@click.option(
    "--suite", "named", default="rfc9743", show_default=True, metavar="NAME",
    help="Suite of test cases: its name, or a .toml file.",
)  # fmt: skip
@click.option("--only", default="", metavar="CASES", help="Cases by name or number, with commas.")
@click.option("--list", "listed", is_flag=True, help="List the cases of the suite.")
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=_SEEDS, show_default=True,
    help="Number of runs of each case, each with its own start and random numbers.",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="Run the cases on the corners of the suite too: the ends of its ranges, and with bursts.",
)  # fmt: skip
@stack_options
@output_option(
    "Folder of the evaluation. Unchanged cases in it are not run again.",
    "out/evaluate-CONTROL",
)
@force_option
@json_option
def evaluate(
    control: str | None, named: str, only: str, listed: bool, seeds: int, full: bool,
    output: Path | None, force: bool, as_json: bool,
) -> int:  # fmt: skip
    """Evaluate a congestion control by a suite of test cases.

    CONTROL is a name, quic:STACK/CONTROL, or a table in TOML of either. Prints a verdict for each
    case, and writes a page with the evidence and evaluation.json. The exit code is 4 if a case
    fails.

    \b
    Example:
      ackclock evaluate bbr1
      ackclock evaluate cubic --only policer,rate-up
      ackclock evaluate quic:quinn/cubic
    """
    from ackclock import evaluation

    suite = evaluation.load(named)
    cases = suite.chosen(only)
    if listed:
        _print_cases(suite, as_json)
        return 0
    if control is None:
        raise InputError("missing", "CONTROL", "is missing; see ackclock show controls")
    plan = evaluation.Plan(
        suite,
        cases,
        evaluation.Candidate.read(control),
        suite.paths if full else suite.paths[:1],
        tuple(range(1, seeds + 1)),
        full,
        _command(control, named, only, seeds, full=full),
    )
    folder = claim(
        output,
        Path("out") / f"evaluate-{plan.candidate.kind.replace('/', '-')}",
        force=force,
        may_hold=evaluation.EVALUATION,
        goes_on=lambda place: evaluation.continues(plan, place),
        repeatable=lambda _: True,
    )
    return _run(plan, folder, as_json)


def _command(control: str, named: str, only: str, seeds: int, *, full: bool) -> str:
    """Returns the command that evaluates the same, for a page."""
    words = ["ackclock", "evaluate", control, "--suite", named, "--seeds", str(seeds)]
    words += ["--only", only] if only else []
    words += ["--full"] if full else []
    return shlex.join(words)


def _run(plan: "Plan", folder: Path, as_json: bool) -> int:
    from ackclock.cli.progress import progress
    from ackclock import evaluation

    with progress(f"evaluate {plan.candidate.kind}") as tell:
        verdicts, complete = evaluation.evaluate(plan, folder, tell)
    _print(verdicts, folder, as_json)
    if not complete:
        return complain(
            f"interrupted; {counted(len(verdicts['cases']), 'case')} done: "
            "the same command continues",
            INTERRUPTED,
        )
    failed = verdicts["failed"]
    return complain(f"fail: {', '.join(failed)}", UNRELIABLE) if failed else 0


def _print(verdicts: dict[str, Any], folder: Path, as_json: bool) -> None:
    from ackclock.evaluation.page import answer, quotation, verdicts_table

    if as_json:
        print_json({"page": str(folder / "index.html"), **verdicts})
        return
    print_table(verdicts_table(verdicts))
    say()
    say_wrapped(answer(verdicts))
    say_wrapped(quotation(verdicts))
    say()
    say(f"  page    {folder / 'index.html'}   open it in a browser")
    say(f"  data    {folder / 'evaluation.json'}")


def _print_cases(suite: "Suite", as_json: bool) -> None:
    from ackclock.table import table

    rows = [[str(case.number), case.id, case.title] for case in suite.cases]
    if as_json:
        print_json([{"number": n, "id": i, "title": t} for n, i, t in rows])
        return
    print_table(table(f"{suite.title}: {suite.revision}", ["", "case", "title"], rows))
