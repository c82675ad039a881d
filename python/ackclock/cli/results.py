"""Results beside each other on the command line: `compare`, `plot` and `table` of several."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ackclock.cli.errors import UNRELIABLE, complain
from ackclock.cli.options import read_result
from ackclock.cli.output import fits, print_json, print_rows, say, say_wrapped
from ackclock.cli.place import claim
from ackclock.errors import InputError
from ackclock.result.folder import Contents

if TYPE_CHECKING:
    from ackclock.comparison import SideBySide
    from ackclock.comparison.bounds import Bound, Judged

# Schema version of differences.json; changes with its shape.
SCHEMA = 1
PAGE = "report.html"
DIFFERENCES = Contents(
    "comparison of results", "differences.json", re.compile(r"differences\.json|report\.html")
)

#: Folders that hold several results, and what to compare instead.
_OTHERS = {
    "comparison.json": "holds a comparison; name a result in it, for example {folder}/simulate",
    "sweep.json": "holds a sweep of ackclock sweep run, which is not compared; a scenario with "
    "[sweep] and ackclock simulate gives results that are",
    "evaluation.json": "holds an evaluation; ackclock evaluate --against compares those",
    "advice.json": "holds advice, which is not compared",
}


def are_results(given: Sequence[Path]) -> bool:
    """Returns true if what is given are results, and false if it is one scenario.

    Raises:
        InputError: It is neither.
    """
    if not given:
        words = "is missing; give a scenario, or folders of results"
        raise InputError("missing", "SCENARIO", words)
    folders = [path for path in given if path.is_dir()]
    if len(folders) == len(given) > 1:
        return True
    if len(given) == 1 and not folders:
        return False
    if len(given) == 1:
        words = "is one result; give another one, or a scenario file"
        raise InputError("missing", f"{given[0]}", words)
    [wrong, *_] = [path for path in given if path not in folders]
    if wrong.exists():
        words = "is no folder; compare one scenario, or folders of results"
        raise InputError("contradiction", f"{wrong}", words.replace("is no", "is not a"))
    raise InputError("file", f"{wrong}", f"no such folder{_near(wrong)}")


def _near(path: Path) -> str:
    """Returns a folder of a similar name beside a path that is not there, as a question."""
    from difflib import get_close_matches

    beside = path.parent
    names = [entry.name for entry in beside.iterdir() if entry.is_dir()] if beside.is_dir() else []
    near = get_close_matches(path.name, names, n=1)
    return f'; did you mean "{beside / near[0]}"?' if near else "; give folders of results"


def refuse_options(context: click.Context, names: Sequence[str], given: str) -> None:
    """Refuses options that do not apply to what is compared."""
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        if option.name in names and is_given:
            words = f"does not apply to {given}; remove it"
            raise InputError("contradiction", option.opts[0], words)


def read(
    folders: Sequence[Path], *, reference: str | None = None, metrics: Sequence[str] = (),
    unreliable: bool = False,
) -> "SideBySide":  # fmt: skip
    """Reads results and sets them beside each other.

    Args:
        folders: Their folders.
        reference: One of the folders, or the name that it has in tables; None for the first.
        metrics: Names of metrics; none for the usual ones.
        unreliable: True to include unreliable runs in averages.

    Raises:
        InputError: A folder holds no result, or two of them have nothing in common.
    """
    from ackclock.comparison import beside

    for folder in folders:
        for mark, words in _OTHERS.items():
            if (folder / mark).exists() and not (folder / "run.json").exists():
                raise InputError("unsupported", f"{folder}", words.format(folder=folder))
    names = named(folders)
    results = {
        name: read_result(folder, unreliable=unreliable)
        for name, folder in zip(names, folders, strict=True)
    }
    first = None
    if reference is not None:
        paths = {str(folder): name for name, folder in zip(names, folders, strict=True)}
        first = paths.get(str(Path(reference)), reference)
        if first not in names:
            raise InputError.unknown("--reference", "result", reference, names)
    return beside(results, *metrics, reference=first)


def named(folders: Sequence[Path]) -> list[str]:
    """Returns the name of each folder beside the others."""
    from ackclock.comparison.side_by_side import names_of

    return names_of(folders) if len(folders) > 1 else [folder.name for folder in folders]


def compare(
    folders: Sequence[Path], reference: str | None, metrics: str | None, bounds: Sequence[str],
    output: Path | None, *, force: bool, unreliable: bool, as_json: bool,
) -> int:  # fmt: skip
    """Prints results beside each other, writes their page, and returns the exit code."""
    from ackclock.comparison import bounds as bounded
    from ackclock.comparison import side_by_side_tables as tables

    chosen = read_bounds(bounds)
    side = read(folders, reference=reference, metrics=_metrics(metrics), unreliable=unreliable)
    rows = side.rows
    try:
        entries = bounded.judged(side, chosen)
    except InputError as error:
        raise error.for_field("--fail-if") from None
    if output is not None:
        write_page(output, side, entries, force=force)
    if as_json:
        print_json(tables.plain(side, rows, entries))
    else:
        _print(side, entries, output)
    return _ending(entries)


def read_bounds(texts: Sequence[str]) -> "list[Bound]":
    """Returns the bounds of the option `--fail-if`."""
    from ackclock.comparison.bounds import read as read_bound

    try:
        return [read_bound(text) for text in texts]
    except InputError as error:
        raise error.for_field("--fail-if") from None


def _metrics(names: str | None) -> list[str]:
    """Returns the metrics of an option: all, or names separated by commas."""
    from ackclock.metrics import METRICS

    if names is None:
        return []
    if names == "all":
        return list(METRICS)
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in METRICS:
            raise InputError.unknown(
                "--metrics", "metric", name, METRICS, "see ackclock show metrics"
            )
    return chosen


def write_page(
    output: Path, side: "SideBySide", entries: "Sequence[Judged]", *, force: bool
) -> None:
    """Writes the page and the numbers of results into a folder."""
    from ackclock.comparison import side_by_side_tables as tables
    from ackclock.report.side_by_side import page_of_results
    from ackclock.result.folder import write_whole
    from ackclock.result.manifest import write_sealed
    from ackclock.table import plain

    folder = claim(output, output, force=force, may_hold=DIFFERENCES, goes_on=_always)
    page = page_of_results(side, entries)
    folder.mkdir(parents=True, exist_ok=True)
    content = {"schema": SCHEMA, **plain(tables.plain(side, side.rows, entries))}
    write_sealed(folder / DIFFERENCES.mark, content)
    write_whole(folder / PAGE, page)


def _always(_folder: Path) -> bool:
    """The results that were compared are elsewhere: nothing is lost."""
    return True


def _print(side: "SideBySide", entries: "Sequence[Judged]", output: Path | None) -> None:
    from ackclock.comparison import side_by_side_tables as tables

    rows = side.rows
    say_wrapped(tables.title(side))
    for note in side.notes:
        say_wrapped(f"- {note}")
    changes = tables.changes_table(side)
    say()
    if changes.rows:
        print_rows(changes)
    else:
        say("The scenarios, seeds and versions are the same.")
    say()
    every = tables.number_table(side, rows)
    has_room = fits(every)
    print_rows(every if has_room else tables.number_table(side, rows, absolute=False))
    if not has_room:
        say_wrapped("A wider terminal shows differences in the metric's unit, too; --json has all.")
    for line in tables.legend(rows):
        say_wrapped(line)
    say()
    say_wrapped(" ".join(tables.sentences(side, rows)))
    if entries:
        say()
        print_rows(tables.bound_table(side, entries))
    if output is not None:
        say()
        say(f"  page    {output / PAGE}")
        say(f"  numbers {output / DIFFERENCES.mark}")


def _ending(entries: "Sequence[Judged]") -> int:
    """Returns the exit code, and a line for each difference beyond its bound."""
    from ackclock.comparison.bounds import sentence

    failing = [entry for entry in entries if entry.fails]
    for entry in failing:
        complain(sentence(entry), UNRELIABLE)
    return UNRELIABLE if failing else 0
