"""The page about results beside each other: the answer, what differs, figures, numbers."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ackclock import engine
from ackclock.comparison import SideBySide
from ackclock.comparison import side_by_side_tables as tables
from ackclock.comparison.bounds import Judged, sentence
from ackclock.comparison.side_by_side import Difference, Row
from ackclock.metrics import metric
from ackclock.plot.kind import View
from ackclock.plot.side_by_side import FIGURES, means_of
from ackclock.plot.spec import FigureSpec
from ackclock.plot.style import line
from ackclock.report import certainty, question
from ackclock.report.environment import render_page
from ackclock.report.live import live
from ackclock.report.reasons import Axis, axis_of
from ackclock.report.section import Asked, Bar, Group, HeatMap, Live, Made, Reason, Section, Sure
from ackclock.result.result import Result
from ackclock.table import Table, capital

# Metrics that have a figure, the one beside the answer first.
_DRAWN = ("goodput", "rtt", "retransmissions", "utilisation", "queueing_delay", "completion_time")


# Differences shown at once; the table has all.
_MOST_BARS = 12

_LEAD = (
    "Each result less the reference, as a share of the reference, with the 95 % interval. All "
    "stand on one scale."
)


def page_of_results(side: SideBySide, entries: Sequence[Judged] = ()) -> str:
    """Returns the text of the page. The same results give the same text.

    Args:
        side: The results.
        entries: Bounds that were judged.
    """
    return render_page([_section(side, entries)])


def _section(side: SideBySide, entries: Sequence[Judged]) -> Section:
    rows = side.rows
    names = side.names
    return Section(
        name=" and ".join(names),
        question=f"{', '.join(names[:-1])} and {names[-1]} beside each other",
        answer=[*_missed(entries), *tables.sentences(side, rows)],
        asked=_asked(side),
        sure=_sure(side, rows),
        figures=_figures(side, rows),
        tables=_tables(side, rows, entries),
        made=_made(side),
        groups=_groups(side, rows),
        groups_title="Differences",
        lead=_LEAD,
    )


def _groups(side: SideBySide, rows: Sequence[Row]) -> list[Group]:
    """Returns the differences of each result on one scale, those beyond chance first."""
    compared = {
        number: [(row, entry) for row in rows if (entry := row.differences[number]) is not None]
        for number in range(1, len(side.results))
    }
    ends = [
        100 * end
        for pairs in compared.values()
        for _, entry in pairs
        for end in (entry.relative.low, entry.relative.high, entry.relative.mean)
        if math.isfinite(end)
    ]
    axis = axis_of(ends)
    groups = []
    for number, pairs in compared.items():
        reasons = []
        for is_beyond, mark, title in (
            (True, tables.BEYOND, "Beyond chance"), (False, "≈", "May be chance"),
        ):  # fmt: skip
            bars = [
                _bar(side, row, entry, axis)
                for row, entry in pairs
                if entry.is_beyond_chance == is_beyond
            ]
            if bars:
                left = max(0, len(bars) - _MOST_BARS)
                reasons.append(Reason(mark, title, "", bars[:_MOST_BARS], left))
        if reasons:
            heading = f"{side.names[number]} against {side.names[0]}"
            note = f"{len(pairs)} differences"
            look = line(number)
            groups.append(Group(heading, note, look, axis.position(0), reasons))
    return groups


def _bar(side: SideBySide, row: Row, entry: Difference, axis: Axis) -> Bar:
    label = f"{metric(row.metric).label}, {tables.place(side, row)}"
    text = f"{tables.percent(entry)} %".replace("-", "−")
    relative = entry.relative
    if not math.isfinite(relative.mean):
        return Bar(label, text)
    half = 0.0 if math.isnan(relative.half_width) else relative.half_width
    ends = [axis.position(100 * (relative.mean + side * half)) for side in (0, -1, 1)]
    return Bar(label, text, *ends)


def _missed(entries: Sequence[Judged]) -> list[str]:
    return [f"{capital(sentence(entry))}: beyond the bound." for entry in entries if entry.fails]


def _asked(side: SideBySide) -> Asked:
    """Returns the path of the reference, and what differs from it."""
    scenarios = [point["scenario"] for point in side.points]
    asked = question.asked(side.points) if None not in scenarios else Asked("", [])
    facts = []
    for number, name in enumerate(side.names[1:], 1):
        for change in side.changes(number):
            facts.append(f"{name}: {change.path} {change.now} instead of {change.before}")
    same = [] if facts else ["the same scenario, seed and versions"]
    return asked._replace(facts=[*asked.facts, *(facts or same), *side.notes])


def _sure(side: SideBySide, rows: Sequence[Row]) -> list[Sure]:
    results = dict(side.results)
    statements = [
        certainty.reliable(result)
        for result in results.values()
        if result.run["method"] == "emulate"
    ]
    counted = {
        name: result
        for name, result in results.items()
        if result.run["method"] in ("simulate", "emulate")
    }
    statements.append(_paired(side))
    if counted:
        statements.append(certainty.replicates(counted, "result"))
    if any(result.partial for result in results.values()):
        statements.append(Sure(False, "Interrupted:", "replicates or points are missing."))
    unsettled = [
        f"{name}: {warning}"
        for number, name in enumerate(side.names)
        if (warning := side.unsettled(number))
    ]
    statements += [Sure(False, "Not settled:", certainty.sentence(text)) for text in unsettled]
    differences = [entry for row in rows for entry in row.differences if entry is not None]
    count = sum(difference.is_beyond_chance for difference in differences)
    lead = f"{count} of {len(differences)} differences are beyond chance."
    rest = "Each interval is of 95 %: one of twenty leaves out zero by chance."
    return [*statements, Sure(True, lead, rest, "tables")]


def _paired(side: SideBySide) -> Sure:
    words = tables.pairing(side)
    if words == "paired by seed":
        rest = "equal replicates have the same random losses, delays and starts."
        return Sure(True, "Paired by seed:", rest)
    rest = "seeds or numbers of replicates differ, so that intervals are Welch's and wider."
    return Sure(False, f"{capital(words)}:", rest)


def _figures(side: SideBySide, rows: Sequence[Row]) -> list[Live | HeatMap]:
    """Returns the figures over time, and of several points those of metrics before.

    The means of one point are the bars above.
    """
    present = {row.metric for row in rows}
    drawn = [name for name in side.metrics or _DRAWN if name in present]
    specs = [(f"figure-{name}", replace(means_of(side, metric=name), where="")) for name in drawn]
    over_time = []
    for kind in FIGURES:
        if kind.is_over_time and kind.why_not(side, View()) is None:
            spec = kind.spec(side, View())
            assert isinstance(spec, FigureSpec)
            over_time.append((f"time-{kind.name}", spec))
    ordered = specs + over_time if len(side.points) > 1 else over_time or specs
    figures: list[Live | HeatMap] = []
    for name, spec in ordered:
        figures += live(spec, name, is_key=not figures)
    return figures


def _tables(side: SideBySide, rows: Sequence[Row], entries: Sequence[Judged]) -> list[Table]:
    every = [tables.bound_table(side, entries)] if entries else []
    every += [tables.number_table(side, rows, whole=True), tables.changes_table(side)]
    return [table for table in every if table.rows]


def _made(side: SideBySide) -> Made:
    folders = [
        str(result.folder) if result.folder is not None else name for name, result in side.results
    ]
    command = f"ackclock compare {shlex.join(folders)}"
    facts = {name: _made_by(result) for name, result in side.results}
    facts["intervals"] = f"95 %, {tables.pairing(side)}"
    scenario = side.reference.result.run.get("scenario")
    note = "The scenario is that of the reference."
    return Made(
        [command], note if scenario else "", facts, engine.to_toml(scenario) if scenario else ""
    )


def _made_by(result: Result) -> str:
    run = result.run
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    seed = f"seed {run['seed']}" if run.get("seed") is not None else "no seed"
    return f"{run['method']} of {run['name']}, {seed}, {result.counted} replicates, {versions}"
