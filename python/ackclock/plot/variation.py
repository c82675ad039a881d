"""The figure `variation`: smoothness of rates."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics import Summary, rate_cov, shown_time_scales, summarise
from ackclock.plot.flows import described
from ackclock.plot.kind import FigureKind, View, check_numbers
from ackclock.plot.scales import height_axis, swept_axis_of
from ackclock.plot.series import MOST_LINES
from ackclock.plot.spec import FigureSpec, Panel, Series, values_of
from ackclock.plot.style import line_styles, method_style
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import assigned, named

_NO_TIME_SCALE = (
    "has no time scale of 0.2 s to 10 s that its samples show and that fits five times into its "
    "measured time; run it longer, or with a shorter sample_interval"
)


def variation(
    result: Result,
    *,
    point: int = 0,
    time_scales_s: Sequence[float] | None = None,
    source: str | None = None,
) -> FigureSpec:
    """Shows the coefficient of variation of a flow's rate against the averaging time scale.

    It has means over the instances and replicates of each flow, with 95 % confidence intervals
    over replicates. The smoother a flow, the lower its line. For independent increments it falls as
    one over the square root of the time scale.

    Args:
        result: The result of `simulate` or `emulate`, or of a session.
        point: Index of the point.
        time_scales_s: Time scales in seconds; by default those of `metrics.TIME_SCALES_S` that the
            samples resolve.
        source: Kind of rate: `sent`, `delivered` or `allowed`. By default `sent`; for a receiver,
            which knows only arrivals, `delivered`.

    Raises:
        ValueError: The samples are too coarse for a time scale, or for all usual ones; one line.
    """
    check_numbers(result, point=point)
    scales, by_flow = _variations(result, point, time_scales_s, source)
    shown = described(result, point)
    controls = [shown.flows[flow].control for flow in by_flow]
    series = [
        Series(
            style, values_of(scales), values_of([item.interval.mean for item in summaries]),
            "points",
            group=f"{named(flow, shown.flows[flow].instances)} ({control_label(control)})",
            part=method_style(str(result.run["method"])),
            half=values_of([item.interval.half_width for item in summaries]),
        )
        for (flow, summaries), control, style in zip(
            by_flow.items(), controls, line_styles(result.run, controls), strict=True
        )
    ]  # fmt: skip
    where = assigned(result.points[point]["assignments"])
    return FigureSpec(
        "variation", "Variation of the rate", swept_axis_of(scales, "time scale", "s"),
        height_axis(np.concatenate([[], *(points.y for points in series)]),
            "coefficient of variation of the rate"),
        (Panel(tuple(series)),), ", ".join([shown.name, *where, result.averaging]),
        VARIATION.summary, absent="known of no flow",
    )  # fmt: skip


def _variations(
    result: Result, point: int, time_scales_s: Sequence[float] | None, source: str | None
) -> tuple[list[float], dict[str, list[Summary]]]:
    """Returns the time scales in s, and the coefficients of variation of flows that have any.

    Raises:
        InputError: The samples are too coarse for all usual time scales.
    """
    source = source or ("delivered" if result.run["method"] == "receive" else "sent")
    scales = list(time_scales_s or shown_time_scales(result, point))
    if not scales:
        raise InputError("no-data", "", _NO_TIME_SCALE)
    of_point = _only(result, point)
    by_flow: dict[str, list[Summary]] = {}
    for scale in scales:
        for summary in summarise(of_point, rate_cov(scale, source)):
            by_flow.setdefault(summary.subject, []).append(summary)
    is_known = {
        flow: not all(math.isnan(summary.interval.mean) for summary in summaries)
        for flow, summaries in by_flow.items()
    }
    shown = [flow for flow in by_flow if is_known[flow]][:MOST_LINES]
    return scales, {flow: by_flow[flow] for flow in shown}


def _only(result: Result, point: int) -> Result:
    """Returns a result with only one point's rows of the tables that rates are computed from."""
    names = [name for name in ("flows", "samples", "fidelity") if name in result.tables]
    return replace(result, tables={name: result.rows(name, point=point) for name in names})


def _lacks(result: Result, view: View) -> str | None:
    return None if shown_time_scales(result, view.point) else _NO_TIME_SCALE


VARIATION = FigureKind(
    "variation",
    "Coefficient of variation of each flow's rate against the time scale, with 95 % intervals.",
    ("simulate", "emulate", "send", "receive"), variation, ("point",), ("flows", "samples"), _lacks,
)  # fmt: skip

FIGURES = (VARIATION,)
