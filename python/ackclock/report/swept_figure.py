"""A metric with its intervals against the swept value: one panel for each flow or hop."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ackclock import metrics, units
from ackclock.elements import facts
from ackclock.metrics import Interval, Metric
from ackclock.models import flow_path
from ackclock.plot.sweep import Axis, swept_axis
from ackclock.report import live
from ackclock.report.run_tables import VIOLATED
from ackclock.report.section import Live
from ackclock.result.labels import control_label
from ackclock.table import assigned, capital, number, short

__all__ = ["Mark", "swept_figure"]

# More panels do not fit on a page.
_MOST_PANELS = 6
# Height of a panel in pixels, beside the answer and elsewhere.
_KEY_HEIGHT, _HEIGHT = 350, 236


# Metrics that may be drawn on a logarithmic axis.
_WIDE = frozenset({"goodput", "retransmissions", "loss_rate", "cwnd", "completion_time"})


class Mark(NamedTuple):
    """A number with its interval.

    Attributes:
        point: Index of the point.
        subject: Name of the flow or hop.
        control: The control of the flow; empty for a hop.
        series: Name of the method's series.
        interval: In the metric's shown unit.
        runs: Values of single runs in that unit.
        note: Difference from its reference, for people.
        violated: True if the flow violates an assumption of the model.
    """

    point: int
    subject: str
    control: str
    series: str
    interval: Interval
    runs: Sequence[float]
    note: str = ""
    violated: bool = False


def swept_figure(
    name: str,
    metric: str,
    marks: Sequence[Mark],
    points: list[dict[str, Any]],
    keys: list[Any],
    *,
    is_key: bool = False,
    note: tuple[Mark, Mark, list[str]] | None = None,
) -> Live:
    """Returns the figure.

    Args:
        name: Its id.
        metric: Name of the metric.
        marks: What it shows.
        points: The points of the result or comparison.
        keys: Entries of the legend.
        is_key: True if it stands beside the answer.
        note: Two marks and lines about their difference.
    """
    what, axis = metrics.metric(metric), swept_axis(points)
    x, of_mark, panel_of = _horizontal(points, axis, marks)
    panels: dict[str, list[Mark]] = {}
    for mark in marks:
        panels.setdefault(panel_of(mark), []).append(mark)
    shown = dict(list(panels.items())[:_MOST_PANELS])
    log = metric in _WIDE and live.log_axis(mark.interval.mean for mark in marks)
    spec = {
        "title": f"{capital(what.label)}: mean of each method",
        "description": _described(what, shown),
        "height": _KEY_HEIGHT if is_key else _HEIGHT,
        "columns": 3 if len(shown) != 4 else 2,
        "x": x,
        "y": {
            "kind": "log" if log else "linear",
            "unit": what.shown_unit,
            "zero": not log and metric != "rtt",
        },
        "keys": keys,
        "panels": [
            {
                "title": title,
                "limits": _limits(metric, members[0], points),
                "series": [
                    _series(entry["s"], members, of_mark)
                    for entry in keys
                    if any(mark.series == entry["s"] for mark in members)
                ],
                "notes": _notes(note, members, of_mark),
            }
            for title, members in shown.items()
        ],
    }
    axes = "both axes logarithmic" if log and x["kind"] == "log" else ""
    axes = axes or ("logarithmic axis" if log else "")
    sub = ", ".join(filter(None, [what.shown_unit, "mean and 95 % interval", axes]))
    left = f" {len(shown)} of {len(panels)} panels." if len(panels) > len(shown) else ""
    doubts = f" {VIOLATED}." if any(mark.violated for mark in marks) else ""
    caption = f"{what.summary}{_instances(metric, marks, points)}{left}{doubts}"
    return Live(name, capital(what.label), sub, caption, spec, wide=len(shown) > 2 and not is_key)


def _horizontal(points: list[dict[str, Any]], axis: Axis | None, marks: Sequence[Mark]) -> Any:
    """Returns the axis, the position of a mark on it, and the panel of a mark."""
    if axis is not None:
        label = " ".join(short([axis.path])).replace("_", " ")
        unit = "" if axis.unit == "%" else f", {axis.unit}" if axis.unit else ""
        x = live.values_axis(axis.values, f"{label}{unit}", axis.unit)

        def panel(mark: Mark) -> str:
            others = {
                path: value
                for path, value in points[mark.point]["assignments"].items()
                if path not in axis.settled and str(value) != mark.control
            }
            return ", ".join([_named(mark), *assigned(others)])

        return x, lambda mark: live.position(axis.values, axis.values[mark.point]), panel
    if len(points) > 1:
        names = [", ".join(map(_text, point["assignments"].values())) for point in points]
        ticks = [[at, name] for at, name in enumerate(names)]
        label = ", ".join(short(points[0]["assignments"])).replace("_", " ")
        x = {"kind": "category", "label": label, "ticks": ticks}
        return x, lambda mark: mark.point, lambda mark: mark.subject
    subjects = list(dict.fromkeys(_named(mark) for mark in marks))
    x = {"kind": "category", "label": "", "ticks": [[at, one] for at, one in enumerate(subjects)]}
    return x, lambda mark: subjects.index(_named(mark)), lambda _mark: ""


def _text(value: Any) -> str:
    return " → ".join(map(str, value)) if isinstance(value, list) else str(value)


def _named(mark: Mark) -> str:
    if mark.control in ("", mark.subject):
        return mark.subject
    return f"{mark.subject}, {control_label(mark.control)}"


def _series(name: str, members: Iterable[Mark], of_mark: Any) -> dict[str, Any]:
    chosen = sorted((mark for mark in members if mark.series == name), key=of_mark)
    series: dict[str, Any] = {
        "s": name,
        "draw": "points",
        "x": [of_mark(mark) for mark in chosen],
        "y": live.rounded(mark.interval.mean for mark in chosen),
    }
    half = live.rounded(mark.interval.half_width for mark in chosen)
    more = {
        "half": half if any(half) else None,
        "runs": [live.rounded(mark.runs) for mark in chosen],
        "notes": [mark.note for mark in chosen],
        "doubts": [mark.violated for mark in chosen],
    }
    return series | {key: value for key, value in more.items() if value and any(value)}


def _notes(
    note: tuple[Mark, Mark, list[str]] | None, members: Iterable[Mark], of_mark: Any
) -> list[Any]:
    if note is None or note[0] not in members:
        return []
    one, other, text = note
    ends = live.rounded([one.interval.mean, other.interval.mean])
    return [
        {
            "x": of_mark(one), "from": ends[0], "to": ends[1], "text": text,
            "needs": [one.series, other.series],
        }
    ]  # fmt: skip


def _limits(metric: str, mark: Mark, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rate of the slowest link for a goodput, the RTT without queueing for an RTT."""
    scenarios = [point["scenario"] for point in points]
    if None in scenarios or metric not in ("goodput", "rtt", "rtt_p99"):
        return []
    flows = [flow for tree in scenarios for flow in tree["flows"] if flow["name"] == mark.subject]
    if not flows or any("count" not in flow for flow in flows):
        return []
    found = {_limit(metric, tree, flow) for tree, flow in zip(scenarios, flows, strict=False)}
    [limit] = found if len(found) == 1 else [None]
    return [] if limit is None else [{"y": live.rounded([limit[0]])[0], "text": limit[1]}]


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


def _described(what: Metric, panels: dict[str, list[Mark]]) -> str:
    """Returns the range of each series in words."""
    said = []
    for title, members in panels.items():
        for series in dict.fromkeys(mark.series for mark in members):
            means = [mark.interval.mean for mark in members if mark.series == series]
            ends = " to ".join(dict.fromkeys(map(number, (means[0], means[-1]))))
            name = " ".join(filter(None, live.KEYS.get(series, (series, ""))))
            said.append(f"{title + ': ' if title else ''}{name} {ends} {what.shown_unit}".strip())
    return ". ".join(said) + "."
