"""Figures of a result whose axis is not time: distributions, smoothness, sizes of bursts.

Each is there if `ackclock plot` would draw it, and shows the same numbers.
"""

from typing import Any

import numpy as np

from ackclock.metrics.tables import column
from ackclock.plot import View
from ackclock.plot.bursts import BURSTS
from ackclock.plot.distribution import CDF, quantiles
from ackclock.plot.flows import described
from ackclock.plot.heat_map import HEAT_MAP, Cells, cells_of
from ackclock.plot.variation import MOST_LINES, VARIATION, variations
from ackclock.report import live
from ackclock.report.section import HeatMap, Live
from ackclock.result.result import Result
from ackclock.table import assigned, named

__all__ = ["heat_map", "heat_map_of_cells", "of_result"]

_HEIGHT = 240
# Sizes of bursts beyond this ratio of frequencies have a logarithmic axis.
_FAR = 30


def of_result(result: Result) -> list[Live]:
    """Returns the figures that a result has: distribution of delay, variation, bursts."""
    view = View()
    known = ((CDF, _distribution), (VARIATION, _variation), (BURSTS, _bursts))
    drawn = [
        draw(result)
        for kind, draw in known
        if result.run["method"] in kind.methods and kind.why_not(result, view) is None
    ]
    return [one for one in drawn if one is not None]


def heat_map(result: Result) -> list[HeatMap]:
    """Returns the heat map of a sweep of at least two values; none of another."""
    if result.run["method"] not in HEAT_MAP.methods or HEAT_MAP.why_not(result, View()):
        return []
    return [heat_map_of_cells("heatmap", cells_of(result, View().metric))]


def heat_map_of_cells(name: str, cells: Cells) -> HeatMap:
    """Returns a heat map with its caption."""
    star = " * has not settled." if cells.unsettled else ""
    caption = f"The stronger the colour, the more. Means, with half of the 95 % interval.{star}"
    return HeatMap(name, cells.title, caption, cells)


def _looks(result: Result, names: list[str], name: str) -> str:
    """Returns the series of a name: that of the method if there is one name only."""
    method = str(result.run["method"])
    return method if len(names) == 1 and method in live.KEYS else live.ordered(names, name)


def _distribution(result: Result) -> Live | None:
    """Returns the distribution of the delay; None if there never is one."""
    label, found = quantiles(result)
    what = label.rpartition(" (")[0]
    names = list(dict.fromkeys(name for _, lines in found for name, _ in lines))
    share = live.rounded(np.linspace(0, 100, 201))
    panels = [
        {
            "title": title,
            "series": [
                {"s": _looks(result, names, name), "draw": "line", "x": live.rounded(values),
                 "y": share}
                for name, values in lines
            ],
        }
        for title, lines in found
    ]  # fmt: skip
    most = max(float(values[-1]) for _, lines in found for _, values in lines)
    if most <= 0:
        return None
    spec = {
        "title": f"Share of the time in which the {what} is at most as large",
        "description": f"Lines: {', '.join(filter(None, names)) or what}.",
        "height": _HEIGHT,
        "columns": 3,
        "x": live.span_axis(0.0, most, f"{what}, ms", "ms"),
        "y": {"kind": "linear", "unit": "%", "zero": True},
        "link": "distribution",
        "keys": [live.key(_looks(result, names, one), "line", one or what) for one in names],
        "panels": panels,
    }
    caption = (
        f"In how much of the time, after the warm-up and over all replicates, the {what} is at "
        "most as large."
    )
    return Live(
        "cdf", f"Distribution of the {what}", "% of time", caption, spec, wide=len(panels) > 1
    )


def _variation(result: Result) -> Live | None:
    """Returns the variation of the rate; None if no flow has one."""
    scales, found = variations(result, 0)
    flows = described(result, 0).flows
    names = [named(flow, flows[flow].instances) for flow, _ in found[:MOST_LINES]]
    series: list[dict[str, Any]] = [
        {
            "s": _looks(result, names, name),
            "draw": "points",
            "x": scales,
            "y": live.rounded(one.interval.mean for one in told),
            "half": live.rounded(one.interval.half_width for one in told),
        }
        for name, (_, told) in zip(names, found, strict=False)
    ]
    known = [value for one in series for value in one["y"] if value is not None]
    if not known:
        return None
    where = ", ".join(assigned(result.points[0]["assignments"]))
    spec = {
        "title": "Coefficient of variation of the rate against the time scale",
        "description": f"Flows: {', '.join(names)}.",
        "height": _HEIGHT,
        "x": live.values_axis(scales, "time scale, s", "s"),
        "y": {"kind": "log" if live.log_axis(known) else "linear", "unit": "", "zero": True},
        "keys": [live.key(_looks(result, names, one), "points", one) for one in names],
        "panels": [{"title": "", "series": series}],
    }
    caption = (
        f"The smoother a flow, the lower its line.{f' Point 0 ({where}).' if where else ''} "
        "Means over instances and replicates with 95 % intervals."
    )
    return Live("variation", "Variation of the rate", "coefficient of variation", caption, spec)


def _bursts(result: Result) -> Live:
    rows = result.tables["bursts"]
    packets, counts = column(rows, "packets"), column(rows, "bursts").astype(float)
    far = bool(counts.size) and counts.max() > _FAR * counts.min()
    low = 0.5 if far else 0.0
    method = str(result.run["method"])
    series: dict[str, Any] = {
        "s": method, "draw": "bars", "x": live.rounded(packets), "y": live.rounded(counts),
        "low": [low] * len(counts),
    }  # fmt: skip
    end = float(packets.max()) + 1 if counts.size else 2.0
    spec = {
        "title": "How often packets left together",
        "description": "Packets sent between two readings of the clock.",
        "height": _HEIGHT,
        "x": live.span_axis(0.0, end, "packets that left together", "packets"),
        "y": {"kind": "log" if far else "linear", "unit": "times", "zero": True},
        "link": "bursts",
        "keys": [live.key(method, "bars", "bursts")],
        "panels": [{"title": "", "series": [series]}],
    }
    caption = "Packets that the sender sent between two readings of its clock, and how often."
    return Live("bursts", "Bursts", "how often", caption, spec)
