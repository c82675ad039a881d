"""The command `regressions`: scenarios and a suite beside a baseline, on every change."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ackclock.cli.errors import BAD_INPUT, INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.options import output_option, read_scenario
from ackclock.cli.output import say, say_wrapped
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.comparison import SideBySide
    from ackclock.comparison.bounds import Bound, Judged
    from ackclock.result.result import Result

#: The bound without --fail-if. Ours: continuous integration should not cry wolf.
USUAL = ("goodput < -3 %",)

_BASELINE = Path("baseline")


class Compared(NamedTuple):
    """A scenario beside its baseline.

    Attributes:
        name: Name of the scenario's file, without its ending.
        side: Baseline and now; None if there is no baseline.
        entries: Its judged bounds.
    """

    name: str
    side: "SideBySide | None"
    entries: "Sequence[Judged]"

    @property
    def fails(self) -> bool:
        """True if a bound is missed."""
        return any(entry.fails for entry in self.entries)


@click.command()
@click.argument("scenarios", nargs=-1, type=click.Path(path_type=Path), metavar="[SCENARIO...]")
@click.option(
    "--baseline", type=click.Path(path_type=Path), default=_BASELINE, show_default=True,
    metavar="FOLDER", help="Folder of the baseline, with a result for each scenario.",
)  # fmt: skip
@click.option(
    "--fail-if", "bounds", multiple=True, metavar="BOUND",
    help="Exit with 4 if a scenario differs from its baseline by more than this, and beyond "
    f"chance; may be repeated. See ackclock compare.  [default: {USUAL[0]}]",
)  # fmt: skip
@click.option(
    "--evaluate", "control", metavar="CONTROL",
    help="Evaluate a control, too, against its evaluation in the baseline.",
)  # fmt: skip
@click.option("--suite", metavar="NAME", help="Suite of --evaluate.  [default: rfc9743]")
@click.option(
    "--update", is_flag=True, help="Write the results as the new baseline, and compare nothing."
)
@click.option(
    "--summary", type=click.Path(path_type=Path), metavar="FILE",
    help="Append a summary in Markdown to this file, such as $GITHUB_STEP_SUMMARY.",
)  # fmt: skip
@output_option("Folder of results and pages.", "out/regressions")
@click.pass_context
def regressions(
    context: click.Context, scenarios: tuple[Path, ...], baseline: Path, bounds: tuple[str, ...],
    control: str | None, suite: str | None, update: bool, summary: Path | None,
    output: Path | None,
) -> int:  # fmt: skip
    """Simulate scenarios, and compare them with a baseline that the repository keeps.

    Prints a verdict for each bound, writes a page for each scenario, and exits with 4 if a bound is
    missed beyond chance. A scenario without a baseline is named and misses nothing.

    \b
    Example:
      ackclock regressions ci/*.toml --update
      ackclock regressions ci/*.toml --fail-if 'goodput < -3 %' --fail-if 'rtt > 10 %'
    """
    from ackclock.cli.results import read_bounds

    chosen = read_bounds(bounds or USUAL)
    _check(scenarios, control, suite)
    folder = output or Path("out/regressions")
    results = []
    for scenario in scenarios:
        result = _simulated(scenario, folder / scenario.stem)
        if result.partial:
            return complain("interrupted; the same command continues", INTERRUPTED)
        results.append((scenario.stem, result))
    evaluated = folder / f"evaluate-{_slug(control)}" if control else None
    if update:
        for name, result in results:
            result.save(baseline / name, replace=True)
            say(f"baseline: {baseline / name}")
        return _evaluate(context, str(control), suite, evaluated, baseline, update=True)
    compared = [_compared(name, result, baseline, chosen, folder) for name, result in results]
    _check_bounds(chosen, compared)
    code = _evaluate(context, str(control), suite, evaluated, baseline, update=False)
    if code not in (0, UNRELIABLE):
        return code
    text = _markdown(compared, baseline, evaluated, folder)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(text)
    return _ended(compared, baseline, folder, code)


def _check(scenarios: Sequence[Path], control: str | None, suite: str | None) -> None:
    if not scenarios and control is None:
        raise InputError("missing", "SCENARIO", "is missing; give scenarios, or --evaluate CONTROL")
    if suite is not None and control is None:
        raise InputError("contradiction", "--suite", "is that of --evaluate, which is not given")
    names = [scenario.stem for scenario in scenarios]
    for scenario in scenarios:
        if names.count(scenario.stem) > 1:
            words = f"another scenario is called {scenario.stem}, too; rename one of the files"
            raise InputError("contradiction", f"{scenario}", words)


def _simulated(path: Path, folder: Path) -> "Result":
    from ackclock.cli.place import claim
    from ackclock.cli.progress import progress
    from ackclock.run import cache

    simulation = cache.Simulation(read_scenario(path, (), None, None))
    claim(folder, folder, force=True, goes_on=lambda _: True)
    kept = simulation.complete_result(folder)
    if kept is not None:
        return kept
    with progress(f"simulate {path.name}") as tell:
        return simulation.run(folder, tell)


def _compared(
    name: str, result: "Result", baseline: Path, bounds: "Sequence[Bound]", folder: Path
) -> Compared:
    """Compares a result with its baseline, and writes their page."""
    from ackclock.cli.results import write_page
    from ackclock.comparison import beside
    from ackclock.comparison.bounds import judged
    from ackclock.result.result import Result

    before = baseline / name
    if not (before / "run.json").exists():
        return Compared(name, None, ())
    try:
        side = beside({"baseline": Result.load(before), "now": result})
        entries = judged(side, _of_scenario(bounds, side))
    except InputError as error:
        field = f"{name}: {error.field}".removesuffix(": ")
        raise error.for_field(field) from None
    write_page(folder / f"{name}-compared", side, entries, force=True)
    return Compared(name, side, entries)


def _of_scenario(bounds: "Sequence[Bound]", side: "SideBySide") -> "list[Bound]":
    """Returns the bounds on flows and hops of a scenario: others may be those of another one."""
    kept = []
    for bound in bounds:
        rows = side.rows_of(bound.metric)
        known_subjects = {row.subject for row in rows if row.cells[0].is_known}
        if known_subjects and bound.subject in ("", *known_subjects):
            kept.append(bound)
    return kept


def _check_bounds(bounds: "Sequence[Bound]", compared: Sequence[Compared]) -> None:
    """Refuses a bound that applies to no scenario, which could never fail."""
    judged = {entry.bound for each in compared for entry in each.entries}
    for bound in bounds:
        if bound not in judged and any(each.side is not None for each in compared):
            words = f'"{bound.text}" applies to no scenario: none has {bound.metric}'
            whose = f' of "{bound.subject}"' if bound.subject else ""
            raise InputError("no-data", "--fail-if", f"{words}{whose}")


def _evaluate(
    context: click.Context, control: str, suite: str | None, folder: Path | None, baseline: Path,
    *, update: bool,
) -> int:  # fmt: skip
    """Evaluates a control against its evaluation in the baseline; returns the exit code."""
    if folder is None:
        return 0
    from ackclock.cli.evaluate import evaluate
    from ackclock.result.folder import write_whole

    kept = baseline / folder.name / "evaluation.json"
    words = [control, "-o", str(folder), "--force"]
    words += ["--suite", suite] if suite is not None else []
    words += ["--against", str(kept)] if kept.exists() and not update else []
    with evaluate.make_context("evaluate", words, parent=context) as own:
        code = evaluate.invoke(own)
    if update and code in (0, UNRELIABLE):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, (folder / "evaluation.json").read_text(encoding="utf-8"))
        say(f"baseline: {kept}")
        return 0
    return int(code or 0)


def _slug(control: str | None) -> str:
    return Path(control or "").name.replace(".", "-").replace(":", "-")


def _markdown(
    compared: Sequence[Compared], baseline: Path, evaluated: Path | None, folder: Path
) -> str:
    """Returns the summary: a row for each bound, then the goodput of what has none."""
    lines = ["## ackclock: now and the baseline", ""]
    rows = [row for entry in compared for row in _rows(entry)]
    if rows:
        lines += [
            "| | scenario | bound | of | baseline | now | difference |",
            "|---|---|---|---|--:|--:|--:|",
            *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows),
            "",
        ]
    for entry in compared:
        if entry.side is None:
            lines += [f"`{entry.name}` has no baseline in `{baseline}`.", ""]
        else:
            changed = entry.side.changes(1)
            names = ", ".join(f"{each.path} {each.before} → {each.now}" for each in changed)
            lines += [f"`{entry.name}` was changed, too: {names}.", ""] if changed else []
    lines += _of_evaluation(evaluated) if evaluated is not None else []
    missed = sum(entry.fails for row in compared for entry in row.entries)
    bounds = sum(len(entry.entries) for entry in compared)
    lines += [
        f"Bounds missed: {missed} of {bounds}. A bound is missed if the mean difference "
        "is beyond it and its 95 % interval leaves out zero.",
        f"Pages: `{folder}/NAME-compared/report.html` in the artefact.",
        "",
    ]
    return "\n".join(lines) + "\n"


def _rows(compared: Compared) -> list[list[str]]:
    from ackclock.comparison.side_by_side_tables import place
    from ackclock.metrics import in_shown_unit, metric
    from ackclock.table import text

    rows = []
    for entry in compared.entries:
        assert compared.side is not None
        record = metric(entry.row.metric)
        numbers = [
            f"{text(in_shown_unit(cell.interval, entry.row.metric))} {record.shown_unit}".strip()
            for cell in entry.row.cells
        ]
        sign = ":x:" if entry.fails else ":white_check_mark:"
        where = place(compared.side, entry.row)
        rows.append([sign, compared.name, entry.bound.text, where, *numbers, _difference(entry)])
    return rows


def _difference(entry: "Judged") -> str:
    from ackclock.comparison.side_by_side_tables import BEYOND, percent

    if entry.difference is None:
        return "unknown"
    mark = f" {BEYOND}" if entry.difference.is_beyond_chance else ""
    return f"{percent(entry.difference)} %{mark}".replace("-", "−")


def _of_evaluation(folder: Path) -> list[str]:
    """Returns lines about an evaluation: verdicts, and what changed against the baseline."""
    record: dict[str, Any] = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    verdicts: dict[str, list[str]] = {}
    for case in record["cases"]:
        verdicts.setdefault(case["verdict"], []).append(case["id"])
    lines = [
        f"- {verdict}: {', '.join(dict.fromkeys(cases))}" for verdict, cases in verdicts.items()
    ]
    against = record.get("against")
    return [
        f"### Evaluation `{folder.name}`",
        "",
        *lines,
        *(["", against["summary"]] if against else []),
        "",
    ]


def _ended(compared: Sequence[Compared], baseline: Path, folder: Path, code: int) -> int:
    from ackclock.comparison.bounds import sentence

    for entry in compared:
        if entry.side is None:
            say_wrapped(f"{entry.name}: no baseline; --update writes {baseline / entry.name}")
            continue
        kept = len(entry.entries) - sum(each.fails for each in entry.entries)
        words = f"bounds that hold: {kept} of {len(entry.entries)}"
        page = shlex.quote(str(folder / f"{entry.name}-compared" / "report.html"))
        say(f"{entry.name}: {words}; page {page}")
    for entry in compared:
        for each in entry.entries:
            if each.fails:
                complain(f"{entry.name}: {sentence(each)}", UNRELIABLE)
    if any(entry.fails for entry in compared):
        return UNRELIABLE
    if compared and all(entry.side is None for entry in compared) and not code:
        return complain(
            f"no scenario has a baseline in {baseline}; write it with --update", BAD_INPUT
        )
    return code
