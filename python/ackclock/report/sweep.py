"""The page of a sweep: the range of each metric, figures over the swept values, tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from ackclock import engine
from ackclock.errors import InputError
from ackclock.metrics import Interval, Metric
from ackclock.metrics.frame import HALF_WIDTH, SUBJECT
from ackclock.plot.heat_map import heat_map
from ackclock.plot.panels import UNSETTLED, dimensions
from ackclock.plot.sweep import Mark, swept_axis
from ackclock.plot.sweep import swept as swept_figure
from ackclock.report import figures, live, provenance
from ackclock.report.certainty import identical
from ackclock.report.environment import render_page
from ackclock.report.question import asked
from ackclock.report.section import Asked, HeatMap, Live, Made, Section, Sure
from ackclock.table import Table, as_written, assigned, capital, number

# Metrics that the answer names.
_SAID = 3

# Below so many replicates an interval says little.
_FEW = 5

_SPEAKERS = {"predict": "the models", "simulate": "the simulation", "emulate": "Linux"}


class Runs(NamedTuple):
    """The number of runs of a sweep: wanted, ended, failed and unreliable ones."""

    wanted: int
    ended: int
    failed: int
    unreliable: int


@dataclass(frozen=True)
class Swept:
    """A sweep as data.

    Attributes:
        run: `name`, `seed` and `version`, as in a `run.json`.
        scenario: The scenario as written.
        command: The command that gives the sweep, for a file of the scenario.
        vary: What is swept, as options say it.
        methods: Methods, the one that the answer is about first.
        is_grid: True if each value of a parameter comes with each of the others.
        points: The `assignments` of each point, and its resolved `scenario`; None for too many.
        means: Each metric with its tidy table, as `sweeps.summary.frame` returns it.
        tables: The same for people.
        runs: How many runs there are.
    """

    run: dict[str, Any]
    scenario: dict[str, Any]
    command: str
    vary: Sequence[str]
    methods: Sequence[str]
    is_grid: bool
    points: list[dict[str, Any]]
    means: Sequence[tuple[Metric, pa.Table]]
    tables: list[Table]
    runs: Runs


def page_of_sweep(swept: Swept) -> str:
    """Returns the text of the page. The same sweep gives the same text."""
    return render_page([_section(swept)])


def _section(swept: Swept) -> Section:
    subject = f"{swept.run['name']}: {len(swept.points)} points"
    ranges = [_range(swept, *means) for means in swept.means[:_SAID]]
    return Section(
        name=swept.run["name"],
        question=provenance.question(swept.scenario, subject),
        answer=[text for text in ranges if text] or ["No run has a result."],
        asked=_asked(swept),
        sure=_sure(swept),
        figures=_figures(swept),
        tables=swept.tables,
        made=_made(swept),
    )


def _asked(swept: Swept) -> Asked:
    varied = [f"swept: {variation.replace('=', ' = ', 1)}" for variation in swept.vary]
    if swept.points[0]["scenario"] is None:
        return Asked("", varied)
    question = asked(swept.points)
    return question._replace(facts=[*question.facts, *varied])


def _method(swept: Swept, tidy: pa.Table) -> str:
    """Returns the method that the answer is about."""
    present = tidy["method"].to_pylist()
    return next(method for method in swept.methods if method in present)


def _range(swept: Swept, metric: Metric, tidy: pa.Table) -> str:
    """Returns the least and the greatest mean of a metric in a sentence."""
    method = _method(swept, tidy)
    rows = [
        row for row in tidy.to_pylist() if row["method"] == method and _is_known(row[metric.name])
    ]
    if not rows:
        return ""
    several = len({row[SUBJECT] for row in rows}) > 1
    scale, unit = metric.shown_per_unit, metric.shown_unit

    def written(row: dict[str, Any]) -> str:
        subject = [row[SUBJECT]] if several else []
        where = [*subject, *assigned(swept.points[row["point"]]["assignments"])]
        return f"{number(row[metric.name], scale)} {unit}".strip() + f" ({', '.join(where)})"

    least, most = (end(rows, key=lambda row: float(row[metric.name])) for end in (min, max))
    by = f" of {_SPEAKERS[method]}" if len(swept.methods) > 1 else ""
    label = f"{capital(metric.label)}{_at_hop(swept, tidy)}{by}"
    if number(least[metric.name], scale) == number(most[metric.name], scale):
        return f"{label} is {number(most[metric.name], scale)} {unit}".strip() + " at every point."
    return f"{label} goes from {written(least)} to {written(most)}."


def _at_hop(swept: Swept, tidy: pa.Table) -> str:
    """Returns the hop that a table is about; empty for flows."""
    subjects = set(tidy[SUBJECT].to_pylist())
    flows = {flow.get("name") for flow in swept.scenario.get("flows", [])}
    return f" at {subjects.pop()}" if len(subjects) == 1 and not subjects <= flows else ""


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _sure(swept: Swept) -> list[Sure]:
    """Returns what supports the numbers and what does not."""
    runs, statements = swept.runs, []
    if runs.ended < runs.wanted:
        statements.append(
            Sure(False, "Unfinished:", f"{runs.ended} of {runs.wanted} runs have ended.")
        )
    for count, problem in ((runs.failed, "failed"), (runs.unreliable, "are unreliable")):
        if count:
            words = f"{count} of {runs.ended} runs {problem}; averages leave them out."
            statements.append(Sure(False, "Runs left out:", words))
    rows = [(metric, row) for metric, tidy in swept.means for row in tidy.to_pylist()]
    counts = [row["replicates"] for _, row in rows if row["method"] != "predict"]
    same = {row["point"] for _, row in rows if row["identical"]}
    if same:
        statements.append(identical({_SPEAKERS["simulate"]: (len(same), len(swept.points))}))
    elif counts:
        statements.append(_replicates(min(counts), max(counts)))
    unsettled = sum(bool(row[f"{metric.name}{UNSETTLED}"]) for metric, row in rows)
    if unsettled:
        words = f"{unsettled} of {len(rows)} means, marked *; longer runs would settle."
        statements.append(Sure(False, "Not settled:", words, "tables"))
    elif counts:
        statements.append(Sure(True, "Means have settled", "as far as it can be judged."))
    return statements


def _replicates(fewest: int, most: int) -> Sure:
    each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    words = f"{each} replicate{'' if most == 1 else 's'} of each point."
    if fewest == 1:
        return Sure(False, "No interval:", words)
    lead = "Few replicates:" if fewest < _FEW else "Enough replicates:"
    return Sure(fewest >= _FEW, lead, words)


def _figures(swept: Swept) -> list[Live | HeatMap]:
    """Returns a figure of each metric; of points drawn at random one over each parameter."""
    if not swept.is_grid:
        return _scattered(swept)
    drawn: list[Live | HeatMap] = []
    for metric, tidy in swept.means:
        over_axis = _over_an_axis(metric, tidy, swept.points, is_key=not drawn)
        maps = _heat_map(swept, metric, tidy)
        drawn += [*over_axis, *maps] if not drawn else maps or over_axis
    return drawn


def _over_an_axis(
    metric: Metric, tidy: pa.Table, points: list[dict[str, Any]], *, is_key: bool,
    at_random: bool = False,
) -> list[Live]:  # fmt: skip
    """Returns the figure of a metric over the first swept quantity; none with too many panels."""
    over, marks = swept_axis(points), _marks(metric, tidy)
    if over is None or not marks:
        return []
    panels = {
        (mark.subject, *_others(points[mark.point]["assignments"], over.settled)) for mark in marks
    }
    if len(panels) > live.MOST_PANELS:
        return []
    spec = swept_figure(metric.name, marks, points, {"controls": []})
    name, caption = f"figure-{metric.name}", ""
    if at_random:
        [panel] = spec.panels
        marks_alone = tuple(replace(series, form="marks") for series in panel.series)
        spec = replace(
            spec, title=f"{spec.title} over {spec.x.label}", x=replace(spec.x, ticks=()),
            panels=(replace(panel, series=marks_alone),),
        )  # fmt: skip
        name, caption = f"{name}-{over.path}", "The other parameters vary at random too."
    return live.live(spec, name.replace(".", "-"), is_key=is_key, caption=caption)


def _others(assignments: dict[str, Any], settled: frozenset[str]) -> list[str]:
    return [as_written(value) for path, value in assignments.items() if path not in settled]


def _scattered(swept: Swept) -> list[Live | HeatMap]:
    """Returns the first metric over each parameter, the others being at random.

    Its points are not joined.
    """
    drawn: list[Live | HeatMap] = []
    for option in swept.vary if swept.means else ():
        path = option.partition("=")[0].split(",")[0].strip()
        points = [
            {"assignments": {path: point["assignments"][path]}, "scenario": None}
            for point in swept.points
        ]
        drawn += _over_an_axis(*swept.means[0], points, is_key=not drawn, at_random=True)
    return drawn


def _marks(metric: Metric, tidy: pa.Table) -> list[Mark]:
    marks = []
    for row in tidy.to_pylist():
        if _is_known(row[metric.name]):
            half = row[f"{metric.name}{HALF_WIDTH}"]
            shown = Interval(
                row[metric.name] * metric.shown_per_unit,
                math.nan if half is None else half * metric.shown_per_unit,
                row["replicates"],
            )
            violated = bool(row.get("violated"))
            method = row["method"]
            point, subject = row["point"], row["subject"]
            marks.append(Mark(point, subject, "", method, shown, violated=violated))
    return marks


def _heat_map(swept: Swept, metric: Metric, tidy: pa.Table) -> list[HeatMap]:
    """Returns the heat map over two swept values or more; none if there are too many panels."""
    method = _method(swept, tidy)
    rows = tidy.filter(pa.array([name == method for name in tidy["method"].to_pylist()]))
    if sum(dimension.column != SUBJECT for dimension in dimensions(rows)) < 2:
        return []
    title = f"{capital(metric.label)}{_at_hop(swept, tidy)}"
    try:
        spec = heat_map(rows, metric.name, title=title)
        return [figures.heat_map(f"heatmap-{metric.name}", spec)]
    except InputError:
        return []


def _made(swept: Swept) -> Made:
    facts: dict[str, Any] = {
        "method": ", ".join(swept.methods),
        "versions": f"ackclock {swept.run['version']}",
    }
    facts |= {"seed": swept.run["seed"], "points": len(swept.points)}
    facts |= {"runs": swept.runs.ended}
    note = "Save the scenario below under that name. Simulated runs repeat exactly."
    return Made([swept.command], note, facts, engine.to_toml(swept.scenario))
