"""A figure of how smooth rates are: their coefficient of variation over the time scale."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ackclock.described import described
from ackclock.metrics import Summary, rate_variation, shown_time_scales, summarise
from ackclock.plot.canvas import entitle, looks, new
from ackclock.plot.style import control_label, control_styles, style
from ackclock.plot.sweep import set_scales
from ackclock.result import Result
from ackclock.summary import averaging, short

#: More lines than this hide each other.
_MOST_LINES = 8


def variation(
    result: Result, *, point: int = 0, time_scales_s: Sequence[float] | None = None, of: str = "sent"
) -> Figure:
    """Standard deviation of a flow instance's rate over its mean, against the time over which rates are taken.

    Means over the instances and replicates of each flow, with 95 % confidence intervals over replicates. The smoother a
    flow the lower its line; of independent increments it falls as one over the square root of the time scale.

    Args:
        result: Of `simulate` or `emulate`.
        point: Which point.
        time_scales_s: In seconds; by default those of `metrics.TIME_SCALES_S` that the samples show.
        of: Which rate: `sent`, `delivered` or `allowed`.

    Raises:
        ValueError: The samples do not show a time scale, or none of the usual ones; one line.
    """
    scales = list(time_scales_s or shown_time_scales(result, point))
    if not scales:
        raise ValueError(
            "no time scale of 0.2 s to 10 s is shown by the samples and fits five times into the measured time; run it "
            "longer, or with a shorter sample_interval"
        )
    lines: dict[str, list[Summary]] = {}
    for scale in scales:
        for summary in summarise(result, rate_variation(scale, of)):
            if summary.point == point:
                lines.setdefault(summary.subject, []).append(summary)
    known = {flow: told for flow, told in lines.items() if not all(math.isnan(one.interval.mean) for one in told)}
    with looks():
        figure, [axes] = new(height=3.8)
        of_controls = control_styles(result.run)
        flows, taken, drawn = described(result, point).flows, set(), []
        for position, (flow, told) in enumerate(list(known.items())[:_MOST_LINES]):
            control = flows[flow].control
            looked = of_controls.get(control, style(len(of_controls) + position))
            looked = style(len(of_controls) + position) if looked in taken else looked
            taken.add(looked)
            means, half = (np.array([getattr(one.interval, name) for one in told]) for name in ("mean", "half_width"))
            label = flow if flows[flow].instances == 1 else f"{flow} ×{flows[flow].instances}"
            axes.errorbar(
                scales, means, np.nan_to_num(half), **looked._asdict(), elinewidth=0.8, capsize=2.5,
                label=f"{label} ({control_label(result.run, control)})",
            )  # fmt: skip
            drawn.append([float(mean) for mean in means])
        axes.set_xlabel("time scale (s)")
        axes.set_ylabel("coefficient of variation of the rate")
        assignments = result.points[point]["assignments"]
        where = ", ".join(
            f"{name} {value}" for name, value in zip(short(assignments), assignments.values(), strict=True)
        )
        title = f"Variation of the rate: {described(result, point).name}" + (f", {where}" if where else "")
        entitle(axes, f"{title}, {averaging(result)}")
        if drawn:
            set_scales(axes, scales, drawn)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        else:
            axes.text(0.5, 0.5, "known of no flow", transform=axes.transAxes, horizontalalignment="center")
    return figure
