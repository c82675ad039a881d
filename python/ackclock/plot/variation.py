"""The figure `variation`: smoothness of rates."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from ackclock.errors import InputError
from ackclock.metrics import Summary, rate_cov, shown_time_scales, summarise
from ackclock.plot.canvas import entitle, looks, new
from ackclock.plot.figure import FigureKind, View, check_numbers
from ackclock.plot.flows import described
from ackclock.plot.scales import set_scales
from ackclock.plot.style import line_styles
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import assigned, named

__all__ = ["MOST_LINES", "VARIATION", "variation", "variations"]

#: More lines hide each other.
MOST_LINES = 8

_NO_TIME_SCALE = (
    "has no time scale of 0.2 s to 10 s that its samples show and that fits five times into its "
    "measured time; run it longer, or with a shorter sample_interval"
)


def variation(
    result: Result,
    *,
    point: int = 0,
    time_scales_s: Sequence[float] | None = None,
    of: str | None = None,
) -> Figure:
    """Draws the coefficient of variation of a flow's rate against the averaging time scale.

    It shows means over the instances and replicates of each flow, with 95 % confidence intervals
    over replicates. The smoother a flow, the lower its line. For independent increments it falls as
    one over the square root of the time scale.

    Args:
        result: The result of `simulate` or `emulate`, or of a session.
        point: Index of the point.
        time_scales_s: Time scales in seconds; by default those of `metrics.TIME_SCALES_S` that the
            samples resolve.
        of: Kind of rate: `sent`, `delivered` or `allowed`. By default `sent`; for a receiver, which
            knows only arrivals, `delivered`.

    Raises:
        ValueError: The samples are too coarse for a time scale, or for all usual ones; one line.
    """
    check_numbers(result, point=point)
    scales, known = variations(result, point, time_scales_s, of)
    shown = described(result, point)
    controls = [shown.flows[flow].control for flow, _ in known[:MOST_LINES]]
    drawn = []
    with looks():
        figure, [axes] = new(height=3.8)
        for (flow, told), control, looked in zip(
            known, controls, line_styles(result.run, controls), strict=False
        ):
            means, half = (
                np.array([getattr(one.interval, name) for one in told])
                for name in ("mean", "half_width")
            )
            label = f"{named(flow, shown.flows[flow].instances)} ({control_label(control)})"
            axes.errorbar(
                scales,
                means,
                np.nan_to_num(half),
                **looked._asdict(),
                elinewidth=0.8,
                capsize=2.5,
                label=label,
            )
            drawn.append([float(mean) for mean in means])
        axes.set_xlabel("time scale (s)")
        axes.set_ylabel("coefficient of variation of the rate")
        where = assigned(result.points[point]["assignments"])
        entitle(axes, ", ".join([f"Variation of the rate: {shown.name}", *where, result.averaging]))
        if drawn:
            set_scales(axes, scales, drawn)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        else:
            axes.text(
                0.5, 0.5, "known of no flow", transform=axes.transAxes, horizontalalignment="center"
            )
    return figure


def variations(
    result: Result, point: int, time_scales_s: Sequence[float] | None = None, of: str | None = None
) -> tuple[list[float], list[tuple[str, list[Summary]]]]:
    """Returns the time scales in s, and for each flow that has any its coefficients of variation.

    Raises:
        InputError: The samples are too coarse for all usual time scales.
    """
    of = of or ("delivered" if result.run["method"] == "receive" else "sent")
    scales = list(time_scales_s or shown_time_scales(result, point))
    if not scales:
        raise InputError("no-data", "", _NO_TIME_SCALE)
    of_point = _only(result, point)
    lines: dict[str, list[Summary]] = {}
    for scale in scales:
        for summary in summarise(of_point, rate_cov(scale, of)):
            lines.setdefault(summary.subject, []).append(summary)
    known = [
        entry
        for entry in lines.items()
        if not all(math.isnan(one.interval.mean) for one in entry[1])
    ]
    return scales, known


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
