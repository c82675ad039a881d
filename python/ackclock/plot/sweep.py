"""A metric against the swept parameter, with a confidence band."""

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import metrics, units
from ackclock.errors import InputError
from ackclock.metrics import Metric, Summary, summarise
from ackclock.plot.canvas import entitle, looks, mark_unsettled, new
from ackclock.plot.figure import FigureKind, View, refusal
from ackclock.plot.panels import dimensions
from ackclock.plot.paper import AS_DRAWN, Paper
from ackclock.plot.scales import set_scales
from ackclock.plot.small_multiples import small_multiples, small_multiples_axes
from ackclock.plot.style import Style, control_styles, line_styles, reference_style
from ackclock.plot.subject import bottleneck, points_table, subject_table
from ackclock.result.flows import control_of
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import capital
from ackclock.validity.stationarity import Stationarity, judge

__all__ = ["NOTHING_SWEPT", "SWEEP", "Axis", "sweep", "swept_axis"]

#: Reason why a result without a sweep lacks the figure.
NOTHING_SWEPT = "sweeps no quantity; choose a figure over time, for example --kind throughput"

# Markers for a model that applies to only one swept value, which gives no line.
_LONE_POINTS = "dhp*"


class Axis(NamedTuple):
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

    @property
    def label(self) -> str:
        """Label of the axis."""
        return f"{self.path} ({self.unit})" if self.unit else self.path


def swept_axis(points: list[dict[str, Any]]) -> Axis | None:
    """Returns the first swept quantity with more than one value; None if there is none."""
    for path in points[0]["assignments"]:
        try:
            read = [units.parse(point["assignments"][path]) for point in points]
        except ValueError:
            continue
        if len({one.base for one in read}) == 1 and len({one.amount for one in read}) > 1:
            same_unit = len({one.unit for one in read}) == 1
            unit = read[0].unit if same_unit else read[0].base
            values = [one.number if same_unit else one.amount for one in read]
            return Axis(path, unit, values, _settled(points, path))
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


def sweep(
    result: Result, predicted: Result | None = None, *, metric: str = "goodput",
    x: str | None = None, subject: str | None = None, paper: Paper = AS_DRAWN,
) -> Figure:  # fmt: skip
    """Draws a metric's means and 95 % confidence intervals against the swept parameter.

    If more than two values are swept, or `x` or `subject` is given, it shows one flow or hop in
    small multiples, without models.

    Args:
        result: The result of a scenario with a sweep.
        predicted: The answers of models to the same scenario (`predict`), drawn with the goodput.
            Not drawn with a measurement, for which models answer for single connections.
        metric: The metric's name.
        x: Path of the horizontal axis of small multiples; by default the last swept quantity.
        subject: Flow or hop; by default all flows, or the bottleneck.
        paper: Width and title of small multiples.

    Raises:
        ValueError: The sweep has no quantity.
        KeyError: The metric is unknown.
    """
    if x or _has_panels(result, subject):
        table, title = subject_table(result, metric, subject)
        styles = control_styles(result.run)
        return small_multiples(
            table, metric, x=x, title=paper.titled(title), width_in=paper.panels_width_in,
            styles=styles,
        )  # fmt: skip
    axis, what = swept_axis(result.points), metrics.metric(metric)
    if axis is None:
        raise InputError("no-data", "", NOTHING_SWEPT)
    with looks():
        figure, [axes] = new(height=3.8)
        series = _series(result, axis, what)
        judged = judge(result)
        drawn = [_draw_series(axes, axis, what, judged, *entry) for entry in series]
        if predicted is not None and metric == "goodput" and result.run["method"] != "measure":
            drawn += _draw_predictions(
                axes, axis, what, predicted, {entry.label for entry in series}
            )
        axes.set_xlabel(axis.label)
        axes.set_ylabel(f"{what.label} ({what.shown_unit})" if what.shown_unit else what.label)
        entitle(
            axes,
            f"{capital(what.label)}: {result.run['name']}, {result.averaging}",
        )
        if drawn:
            set_scales(axes, axis.values, drawn)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        else:  # of flows that have no such thing, or no run is reliable
            axes.text(
                0.5,
                0.5,
                "known of no point",
                transform=axes.transAxes,
                horizontalalignment="center",
            )
    return figure


class _Series(NamedTuple):
    label: str
    looks: Style
    members: list[Summary]


def _others(point: dict[str, Any], axis: Axis) -> str:
    """Returns the swept values that do not follow from the horizontal one, as words."""
    return ", ".join(
        str(value) for path, value in point["assignments"].items() if path not in axis.settled
    )


def _series(result: Result, axis: Axis, what: Metric) -> list[_Series]:
    """Returns one series per flow, or of the bottleneck, and combination of other swept values."""
    found: dict[tuple[str, str], list[Summary]] = {}
    known = [one for one in summarise(result, what) if not math.isnan(one.interval.mean)]
    busiest = bottleneck(result)
    of_hops = busiest in {summary.subject for summary in known}
    for summary in known:
        if not of_hops or summary.subject == busiest:
            others = _others(result.points[summary.point], axis)
            found.setdefault((summary.subject, others), []).append(summary)
    subjects = {subject for subject, _ in found}
    controls = [
        _control(result.points[one[0].point]["scenario"], subject)
        for (subject, _), one in found.items()
    ]
    return [
        _Series(_label(result, members[0].point, subject, axis, len(subjects) > 1), looked, members)
        for looked, ((subject, _), members) in zip(
            line_styles(result.run, controls), found.items(), strict=True
        )
    ]


def _label(result: Result, point: int, subject: str, axis: Axis, many: bool) -> str:
    """Returns a line's label: flow or hop if there are many, control, other swept values."""
    control = _control(result.points[point]["scenario"], subject)
    others = _others(result.points[point], axis)
    words = [subject] if many or not (control or others) else []
    words += [control_label(control)] if control else []
    words += [others] if others and others != control else []
    return ", ".join(words)


def _control(scenario: dict[str, Any], flow: str) -> str:
    for entry in scenario["flows"]:
        if entry["name"] == flow:
            return control_of(entry)
    return ""


def _draw_series(
    axes: Axes,
    axis: Axis,
    what: Metric,
    judged: Stationarity,
    label: str,
    looked: Style,
    members: list[Summary],
) -> list[float]:
    members = sorted(members, key=lambda member: axis.values[member.point])
    x = [axis.values[member.point] for member in members]
    means = np.array([member.interval.mean for member in members]) * what.shown_per_unit
    half = np.array([member.interval.half_width for member in members]) * what.shown_per_unit
    axes.plot(
        x, means, color=looked.color, linestyle=looked.linestyle, marker=looked.marker, label=label
    )
    if not np.isnan(half).all():
        half = np.nan_to_num(half)
        axes.fill_between(x, means - half, means + half, color=looked.color, alpha=0.2, linewidth=0)
        # Error bars show the ends of a band that is narrower than the line.
        axes.errorbar(x, means, half, fmt="none", ecolor=looked.color, elinewidth=0.8, capsize=2.5)
    marked = np.array([judged.marks(what.name, member.point, member.subject) for member in members])
    mark_unsettled(axes, np.array(x)[marked], means[marked], looked.color)
    return [float(mean) for mean in means]


def _draw_predictions(
    axes: Axes, axis: Axis, what: Metric, predicted: Result, whole: set[str]
) -> list[list[float]]:
    """Draws each model's line once for all flows with the same prediction.

    If these are all flows of the run, whose labels are `whole`, the legend does not list them.
    """
    lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
    many = (
        len({flow["name"] for point in predicted.points for flow in point["scenario"]["flows"]}) > 1
    )
    for row in predicted.tables["predictions"].to_pylist():
        if row["goodput_bit_per_s"] is not None:
            whose = _label(predicted, row["point"], row["flow"], axis, many)
            height = row["goodput_bit_per_s"] * what.shown_per_unit
            lines.setdefault((row["label"], whose), []).append((axis.values[row["point"]], height))
    curves: dict[tuple[str, tuple[tuple[float, float], ...]], list[str]] = {}
    for (model, whose), line in lines.items():
        curves.setdefault((model, tuple(sorted(line))), []).append(whose)
    for position, ((model, curve), owners) in enumerate(curves.items()):
        looked = reference_style(position)
        label = f"model: {model}" + ("" if set(owners) == whole else f" ({'; '.join(owners)})")
        if len(curve) == 1:
            looked = looked._replace(
                linestyle="none", marker=_LONE_POINTS[position % len(_LONE_POINTS)]
            )
        axes.plot(
            *zip(*curve, strict=True),
            color=looked.color,
            linestyle=looked.linestyle,
            marker=looked.marker,
            markersize=5,
            linewidth=1.1,
            label=label,
        )
    return [[y for _, y in curve] for _, curve in curves]


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
    ("simulate", "emulate", "measure"), sweep,
    ("predicted", "metric", "x", "subject", "paper"), ("flows",), _lacks,
)  # fmt: skip
