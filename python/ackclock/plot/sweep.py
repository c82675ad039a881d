"""A metric against the swept parameter, with a confidence band."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ackclock import metrics, units
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.metrics import METRICS, Interval, by_replicate, in_shown_unit, summarise
from ackclock.models import flow_path
from ackclock.plot.kind import FigureKind, View, refusal
from ackclock.plot.panels import dimensions, names_of_path, words_of_path
from ackclock.plot.scales import height_axis, swept_axis_of
from ackclock.plot.small_multiples import small_multiples, small_multiples_axes
from ackclock.plot.spec import Axis, FigureSpec, Limit, Panel, Residual, Series, values_of
from ackclock.plot.style import control_styles, line_styles, method_style, reference
from ackclock.plot.subject import bottleneck, points_table, subject_table
from ackclock.result.flows import control_of
from ackclock.result.labels import control_label, value_label
from ackclock.result.result import Result
from ackclock.table import assigned, capital, short
from ackclock.validity.stationarity import judge

#: Reason why a result without a sweep lacks the figure.
NOTHING_SWEPT = "sweeps no quantity; choose a figure over time, for example --kind throughput"

# Markers for a model that applies to only one swept value, which gives no line.
_LONE_POINTS = ("diamond", "pentagon", "star", "wedge")


class Swept(NamedTuple):
    """The swept parameter on the horizontal axis.

    Attributes:
        path: Path in the scenario.
        unit: Unit as written.
        values: Value of each point.
        settled: Paths of the swept parameters whose value follows from this one's: itself, those
            that vary together with it, those with one value.
    """

    path: str
    unit: str
    values: list[float]
    settled: frozenset[str]


def swept_axis(points: list[dict[str, Any]]) -> Swept | None:
    """Returns the first swept quantity with more than one value; None if there is none."""
    for path in points[0]["assignments"]:
        try:
            read = [units.parse(point["assignments"][path]) for point in points]
        except ValueError:
            continue
        if (
            len({quantity.base for quantity in read}) == 1
            and len({quantity.amount for quantity in read}) > 1
        ):
            same_unit = len({quantity.unit for quantity in read}) == 1
            unit = read[0].unit if same_unit else read[0].base
            values = [quantity.number if same_unit else quantity.amount for quantity in read]
            return Swept(path, unit, values, _settled(points, path))
    return None


def _settled(points: list[dict[str, Any]], path: str) -> frozenset[str]:
    assigned = [
        {name: str(value) for name, value in point["assignments"].items()} for point in points
    ]
    different = len({values[path] for values in assigned})
    return frozenset(
        name
        for name in assigned[0]
        if len({(values[path], values[name]) for values in assigned}) == different
    )


class Mark(NamedTuple):
    """A number with its interval.

    Attributes:
        point: Index of the point.
        subject: Name of the flow or hop.
        control: The control of the flow; empty for a hop.
        method: Name of the method, or the label of a model.
        interval: In the metric's shown unit.
        runs: Values of single runs in that unit.
        note: Difference from its reference, for people.
        violated: True if the flow violates an assumption of the model.
        unsettled: True if the mean has not settled.
    """

    point: int
    subject: str
    control: str
    method: str
    interval: Interval
    runs: Sequence[float] = ()
    note: str = ""
    violated: bool = False
    unsettled: bool = False


def swept(
    metric: str, marks: Sequence[Mark], points: list[dict[str, Any]], run: dict[str, Any], *,
    where: str = "", labels: Mapping[str, str] | None = None,
    residual: tuple[Mark, Mark, Sequence[str]] | None = None,
) -> FigureSpec:  # fmt: skip
    """Returns the figure of numbers against the swept value, with a group for each line.

    Args:
        metric: Name of the metric.
        marks: What it shows.
        points: The points of the result or comparison.
        run: The `run.json`, whose controls have looks.
        where: What it is of.
        labels: Names of methods in the legend; those without one have the group's name.
        residual: Two marks and lines about their difference.
    """
    definition, over = metrics.metric(metric), swept_axis(points)
    x, place = _horizontal(points, over, marks)
    groups: dict[str, list[Mark]] = {}
    alone = len({mark.subject for mark in marks}) == 1
    for mark in marks:
        groups.setdefault(_group(mark, points, over, alone=alone), []).append(mark)
    controls = [members[0].control for members in groups.values()]
    styles = dict(zip(groups, line_styles(run, controls), strict=True))
    series, limits = [], []
    for group, members in groups.items():
        for method in dict.fromkeys(mark.method for mark in members):
            chosen = sorted((mark for mark in members if mark.method == method), key=place)
            label = (labels or {}).get(method, "")
            series.append(_series(chosen, place, group, label, styles[group]))
        limits += _limits(metric, members[0], points, group)
    y = height_axis([mark.interval.mean for mark in marks], definition.label, definition.shown_unit)
    difference = None
    if residual is not None:
        mark, other, text = residual
        ends = (mark.interval.mean, other.interval.mean)
        needs = (method_style(mark.method), method_style(other.method))
        group = _group(mark, points, over, alone=alone)
        difference = Residual(place(mark), ends, text, needs, group)
    panel = Panel(tuple(series), limits=tuple(limits), residual=difference)
    summary = f"{definition.summary}{_instances(metric, marks, points)}"
    return FigureSpec(
        "sweep", capital(definition.label), x, y, (panel,), where, summary,
        absent="known of no point",
    )  # fmt: skip


def _series(
    marks: Sequence[Mark], place: Any, group: str, label: str, style: str
) -> Series:  # fmt: skip
    half = values_of([mark.interval.half_width for mark in marks])
    return Series(
        style, values_of([place(mark) for mark in marks]),
        values_of([mark.interval.mean for mark in marks]), "points", label, group,
        method_style(marks[0].method), half=half if np.isfinite(half).any() else None,
        unsettled=np.array([mark.unsettled for mark in marks]),
        runs=[mark.runs for mark in marks], notes=[mark.note for mark in marks],
        doubts=[mark.violated for mark in marks],
    )  # fmt: skip


def _horizontal(points: list[dict[str, Any]], over: Swept | None, marks: Sequence[Mark]) -> Any:
    """Returns the axis, and the position of a mark on it."""
    if over is not None:
        x = swept_axis_of(over.values, _path_words(over.path), over.unit)
        return x, lambda mark: over.values[mark.point]
    if len(points) > 1:
        names = [", ".join(map(_text, point["assignments"].values())) for point in points]
        label = ", ".join(short(points[0]["assignments"])).replace("_", " ")
        return _choice(label, names), lambda mark: mark.point
    subjects = list(dict.fromkeys(_named(mark) for mark in marks))
    return _choice("", subjects), lambda mark: subjects.index(_named(mark))


def _path_words(path: str) -> str:
    """Returns the end of a path as the label of an axis; an element's field has its name before."""
    return words_of_path(".".join(names_of_path(path)[-2:]))


def _choice(label: str, names: Sequence[str]) -> Axis:
    ticks = tuple((float(position), name) for position, name in enumerate(names))
    return Axis(label, ticks=ticks, is_choice=True)


def _text(value: Any) -> str:
    return " → ".join(map(str, value)) if isinstance(value, list) else str(value)


def _named(mark: Mark) -> str:
    if mark.control in ("", mark.subject):
        return mark.subject
    return f"{mark.subject}, {control_label(mark.control)}"


def _group(mark: Mark, points: list[dict[str, Any]], over: Swept | None, *, alone: bool) -> str:
    """Returns flow or hop if there are several, control, and the swept values beside the axis."""
    others: dict[str, Any] = {}
    if over is not None:
        others = {
            path: value
            for path, value in points[mark.point]["assignments"].items()
            if path not in over.settled and str(value) != mark.control
        }
    kinds = [value_label(path, value) for path, value in others.items() if path.endswith(".kind")]
    rest = {path: value for path, value in others.items() if not path.endswith(".kind")}
    words = [control_label(mark.control)] if mark.control else []
    if not alone or not (words or others):
        words = [_named(mark)]
    return ", ".join([*words, *kinds, *assigned(rest)])


def _limits(
    metric: str, mark: Mark, points: list[dict[str, Any]], group: str
) -> list[Limit]:  # fmt: skip
    """Returns the rate of the slowest link for a goodput, the RTT without queueing for an RTT."""
    scenarios = [point["scenario"] for point in points]
    if None in scenarios or metric not in ("goodput", "rtt", "rtt_p99"):
        return []
    flows = [flow for tree in scenarios for flow in tree["flows"] if flow["name"] == mark.subject]
    if not flows or any("count" not in flow for flow in flows):
        return []
    distinct = {_limit(metric, tree, flow) for tree, flow in zip(scenarios, flows, strict=False)}
    [limit] = distinct if len(distinct) == 1 else [None]
    return [] if limit is None else [Limit(*limit, group=group)]


def _limit(metric: str, tree: dict[str, Any], flow: dict[str, Any]) -> tuple[float, str] | None:
    if metric != "goodput":
        if isinstance(flow["access_delay"], list):
            return None
        return 1e3 * flow_path(tree, flow).round_trip.base_s, "without queueing"
    hops = [hop for hop in tree["hops"] if hop["name"] in flow["route"]]
    rates = facts.constant_rates(hops)
    if not rates:
        return None
    rate = min(rates)
    count = flow["count"] if hops[rates.index(rate)]["scope"] == "per_flow" else 1
    words = units.shown(rate, "bit/s").replace(".0 ", " ")
    text = f"link rate {words}" if count == 1 else f"{count} links of {words}"
    return count * rate * 1e-6, text


def _instances(metric: str, marks: Sequence[Mark], points: list[dict[str, Any]]) -> str:
    """Says over how many flows a goodput is summed."""
    scenario = points[0]["scenario"]
    if metric != "goodput" or scenario is None:
        return ""
    named = {mark.subject for mark in marks}
    counts = {flow.get("count", 0) for flow in scenario["flows"] if flow["name"] in named}
    [count] = counts if len(counts) == 1 else [0]
    return f" The sum of {count} flows." if count > 1 else ""


def swept_by(result: Result, predicted: Result | None, metric: str) -> FigureSpec:
    """Returns a metric of a run against its swept value, point or flow, with all models."""
    marks = _marks(result, metric)
    where = f"{result.run['name']}, {result.averaging}"
    figure = swept(metric, marks, result.points, result.run, where=where)
    if predicted is None or metric != "goodput" or result.run["method"] == "measure":
        return figure
    [panel] = figure.panels
    models = _models(predicted, result, marks)
    values = np.concatenate([[], *(series.y for series in (*panel.series, *models))])
    y = height_axis(values, figure.y.label, figure.y.unit)
    return replace(figure, y=y, panels=(replace(panel, series=(*panel.series, *models)),))


def _marks(result: Result, metric: str) -> list[Mark]:
    """Returns the numbers of flows, or of the bottleneck."""
    definition, scale = metrics.metric(metric), metrics.metric(metric).shown_per_unit
    values = by_replicate(result, METRICS[metric])
    summaries = [
        summary
        for summary in summarise(result, definition)
        if not math.isnan(summary.interval.mean)
    ]
    busiest = bottleneck(result)
    of_hops = busiest in {summary.subject for summary in summaries}
    judged, method = judge(result), str(result.run["method"])
    marks = []
    for summary in summaries:
        if of_hops and summary.subject != busiest:
            continue
        interval = in_shown_unit(summary.interval, metric)
        assert interval is not None
        runs = [
            value * scale for value in values.get((summary.point, summary.subject), {}).values()
        ]
        control = _control(result.points[summary.point]["scenario"], summary.subject)
        unsettled = judged.marks(metric, summary.point, summary.subject)
        marks.append(
            Mark(
                summary.point, summary.subject, control, method, interval, runs,
                unsettled=unsettled,
            )
        )  # fmt: skip
    return marks


def _models(predicted: Result, result: Result, marks: Sequence[Mark]) -> list[Series]:
    """Returns each model's line, once if all flows have the same prediction."""
    over, scale = swept_axis(result.points), METRICS["goodput"].shown_per_unit
    _, place = _horizontal(result.points, over, marks)
    alone = len({mark.subject for mark in marks}) == 1
    lines: dict[tuple[str, str], list[tuple[float, float, bool]]] = {}
    for row in predicted.tables["predictions"].to_pylist():
        value = row["goodput_bit_per_s"]
        if value is not None:
            control = _control(predicted.points[row["point"]]["scenario"], row["flow"])
            mark = Mark(row["point"], row["flow"], control, "predict", Interval(value, value, 1))
            group = _group(mark, predicted.points, over, alone=alone)
            places = lines.setdefault((f"model: {row['label']}", group), [])
            places.append((place(mark), value * scale, bool(row["violated"])))
    groups = {_group(mark, result.points, over, alone=alone) for mark in marks}
    names = list(dict.fromkeys(label for label, _ in lines))
    merged: list[tuple[str, str, list[tuple[float, float, bool]]]] = []
    for label in names:
        own = {group: sorted(line) for (name, group), line in lines.items() if name == label}
        if set(own) == groups and len({tuple(line) for line in own.values()}) == 1:
            own = {"": next(iter(own.values()))}
        merged += [(label, group, line) for group, line in own.items()]
    fitting = _fitting(lines)
    series = []
    for position, (label, group, line) in enumerate(merged):
        part = reference(names.index(label))
        style = reference(position)
        form = "points"
        if len(line) == 1:
            style, form = f"{style}/{_LONE_POINTS[position % len(_LONE_POINTS)]}", "marks"
        x, y, doubts = zip(*line, strict=True)
        series.append(
            Series(
                style, values_of(x), values_of(y), form, label, group, part, doubts=doubts,
                is_off=label not in fitting,
            )
        )  # fmt: skip
    return series


def _fitting(lines: Mapping[tuple[str, str], Sequence[tuple[float, float, bool]]]) -> set[str]:
    """Returns the models that fit best: for each group the one with the fewest doubts."""
    groups: dict[str, list[tuple[int, int, str]]] = {}
    for order, ((label, group), line) in enumerate(lines.items()):
        doubts = sum(doubt for *_, doubt in line) - len(line)
        groups.setdefault(group, []).append((doubts, order, label))
    return {min(candidates)[2] for candidates in groups.values()}


def _control(scenario: dict[str, Any] | None, flow: str) -> str:
    flows = scenario["flows"] if scenario else []
    return next((control_of(entry) for entry in flows if entry["name"] == flow), "")


def _sweep(
    result: Result, predicted: Result | None = None, *, metric: str = "goodput",
    x: str | None = None, subject: str | None = None,
) -> FigureSpec:  # fmt: skip
    """Shows a metric's means and 95 % confidence intervals against the swept parameter.

    If more than two values are swept, or `x` or `subject` is given, it shows one flow or hop in
    small multiples, without models.

    Args:
        result: The result of a scenario with a sweep.
        predicted: The answers of models to the same scenario (`predict`), shown with the goodput.
            Not shown with a measurement, for which models answer for single connections.
        metric: The metric's name.
        x: Path of the horizontal axis of small multiples; by default the last swept quantity.
        subject: Flow or hop; by default all flows, or the bottleneck.

    Raises:
        InputError: The sweep has no quantity.
        KeyError: The metric is unknown.
    """
    if x or _has_panels(result, subject):
        table, title = subject_table(result, metric, subject)
        return small_multiples(table, metric, x=x, title=title, styles=control_styles(result.run))
    if swept_axis(result.points) is None:
        raise InputError("no-data", "", NOTHING_SWEPT)
    return swept_by(result, predicted, metric)


def _lacks(result: Result, view: View) -> str | None:
    if swept_axis(result.points) is None:
        return NOTHING_SWEPT
    if view.x or not _has_panels(result, view.subject):
        return None
    return refusal(
        lambda: small_multiples_axes(subject_table(result, view.metric, view.subject)[0])
    )


def _has_panels(result: Result, subject: str | None) -> bool:
    """True if the figure has small multiples: lines of one panel would hide each other."""
    return subject is not None or len(dimensions(points_table(result))) > 2


SWEEP = FigureKind(
    "sweep",
    "Means of a metric over replicates against the swept parameter, with 95 % intervals and the "
    "usual models; small multiples if more than two values are swept.",
    ("simulate", "emulate", "measure"), _sweep,
    ("predicted", "metric", "x", "subject"), ("flows",), _lacks,
)  # fmt: skip

FIGURES = (SWEEP,)
