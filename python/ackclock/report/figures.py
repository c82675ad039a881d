"""The figures of a page: those that `ackclock plot` would draw, of point 0 and replicate 0."""

from collections.abc import Iterable
from dataclasses import replace

from ackclock.comparison import Comparison
from ackclock.metrics.frame import swept
from ackclock.plot import FIGURES, FigureKind, FigureSpec, HeatMap, Subject, View
from ackclock.plot.compared import over_time, swept_of
from ackclock.plot.kind import method_of
from ackclock.plot.sweep import swept_axis, swept_by
from ackclock.report import section
from ackclock.report.live import MOST_PANELS, live
from ackclock.report.section import Live
from ackclock.result.result import Result

# Metrics that are drawn against the swept value.
_SWEPT = ("goodput", "rtt", "retransmissions", "utilisation", "queueing_delay")

# Metrics of a comparison that have a figure, the one beside the answer first.
_COMPARED = (
    "goodput",
    "rtt",
    "retransmissions",
    "cwnd",
    "queueing_delay",
    "completion_time",
    "fairness",
)

Shown = list[Live | section.HeatMap]


def of_result(result: Result, predicted: Result | None = None) -> Shown:
    """Returns the figures of a sweep, if it has one axis to draw, then all others."""
    figures: Shown = []
    if result.run["method"] in ("simulate", "emulate") and _has_axis(result):
        for name in _SWEPT:
            swept_spec = replace(swept_by(result, predicted, name), where="")
            figures += live(swept_spec, f"figure-{name}", is_key=not figures)
    view = View(predicted)
    figures += _heat_maps(result, view)
    kinds = [kind for kind in FIGURES if kind.on_pages and kind.name not in ("sweep", "heatmap")]
    for kind in _available(result, kinds, view):
        spec = kind.spec(result, view)
        assert isinstance(spec, FigureSpec)
        name = f"time-{spec.name}" if kind.is_over_time else spec.name
        figures += live(spec, name, is_key=not figures)
    return figures


def _available(subject: Subject, kinds: Iterable[FigureKind], view: View) -> list[FigureKind]:
    """Returns the kinds that a result has; a result that shows nothing has none."""
    return [
        kind
        for kind in kinds
        if method_of(subject) in kind.methods and kind.why_not(subject, view) is None
    ]


def _heat_maps(result: Result, view: View) -> Shown:
    kinds = [kind for kind in FIGURES if kind.name == "heatmap"]
    specs = [kind.spec(result, view) for kind in _available(result, kinds, view)]
    return [heat_map("heatmap", spec) for spec in specs if isinstance(spec, HeatMap)]


def heat_map(name: str, spec: HeatMap) -> section.HeatMap:
    """Returns a heat map with its caption."""
    star = " * has not settled." if spec.unsettled else ""
    caption = f"The stronger the colour, the more. Means, with half of the 95 % interval.{star}"
    return section.HeatMap(name, spec.title, caption, spec)


def _has_axis(result: Result) -> bool:
    """True if few enough panels show the sweep."""
    axis = swept_axis(result.points)
    if axis is None:
        return 1 < len(result.points) <= MOST_PANELS
    others = [column for column in swept(result.points) if column.path not in axis.settled]
    panels = {
        tuple(str(column.values[point]) for column in others) for point in range(len(result.points))
    }
    return len(panels) * len(result.points[0]["scenario"]["flows"]) <= MOST_PANELS


def of_comparison(comparison: Comparison) -> Shown:
    """Returns the figures of metrics, then those over time."""
    figures: Shown = []
    for name in (name for name in _COMPARED if name in comparison.metrics):
        spec = replace(swept_of(comparison, name, with_residual=not figures), where="")
        figures += live(spec, f"figure-{name}", is_key=not figures)
    for quantity in ("throughput", "cwnd"):
        figures += live(over_time(comparison, quantity, point=None), f"time-{quantity}")
    return figures
