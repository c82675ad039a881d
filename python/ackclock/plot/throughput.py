"""The figure `throughput`."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plot.canvas import Span, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.series import TAKES, Line, Replicate, draw_line, is_known, with_looks
from ackclock.result.result import Result

__all__ = ["THROUGHPUT", "throughput"]

# An allowed rate this many times above the highest throughput is not drawn, as it would flatten
# everything else.
_FAR = 4

# Number of averaging intervals. Shorter intervals would show bursts of in-order delivery after a
# repaired loss rather than the flow's rate.
_THROUGHPUT_INTERVALS = 200

# The delivery that each method observes. For other methods the sender knows what was acknowledged.
_DELIVERED = {
    "simulate": "delivered in order",
    "send": "arrived, as reported",
    "receive": "arrived",
}


@with_looks
def throughput(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> Figure:
    """Draws the rate of payload delivered in order or acknowledged, in about 200 intervals.

    A single flow under a rate control also has its allowed rate, unless that is far above.
    """
    run = Replicate(result, point, replicate, span)
    figure, [axes] = new()
    lines = run.lines("time_s", "delivered_bytes")
    for line in lines:
        every = max(1, line.rows["time_s"].size // _THROUGHPUT_INTERVALS)
        time, delivered = line.rows["time_s"][::every], line.rows["delivered_bytes"][::every]
        if time.size > 1:
            # Drawn at the middle of the averaging interval.
            draw_line(
                axes,
                (time[1:] + time[:-1]) / 2,
                np.diff(delivered) * 8e-6 / np.diff(time),
                line,
                line.label,
            )
    has_allowed_rate = run.method != "measure" and is_known(result, "allowed_rate_bit_per_s", point)
    if has_allowed_rate and len(lines) == len(axes.lines) == 1:
        for line in run.lines("time_s", "allowed_rate_bit_per_s"):
            _draw_allowed(axes, line, _FAR * float(np.max(axes.lines[0].get_ydata())))
    for flow in _unsampled(run):
        axes.plot([], [], linestyle="none", label=f"{flow}: not sampled")
    axes.set_ylabel(f"{_DELIVERED.get(run.method, 'acknowledged')} (Mbit/s)")
    return run.finish(figure, [axes], "Throughput")


def _draw_allowed(axes: Axes, line: Line, most: float) -> None:
    """Draws the rate that a control allows, in Mbit/s, where it is at most `most`."""
    allowed = line.rows["allowed_rate_bit_per_s"] * 1e-6
    near = allowed <= most
    axes.plot(
        line.rows["time_s"], np.where(near, allowed, np.nan), color=line.looks.color,
        linewidth=0.9, linestyle=(0, (1, 2)) if near.any() else "none", drawstyle="steps-post",
        label=f"{line.label} allowed" + ("" if near.any() else ":\nfar above, not drawn"),
    )  # fmt: skip


def _unsampled(run: Replicate) -> list[str]:
    """Returns flows that were run but have no sample: the kernel reports only TCP."""
    if run.method != "emulate":
        return []
    of_flows, of_samples = (
        dict.fromkeys(run.rows(table)["flow"].to_pylist()) for table in ("flows", "samples")
    )
    return [flow for flow in of_flows if flow not in of_samples]


THROUGHPUT = FigureKind(
    "throughput",
    "Rate of payload delivered in order, or acknowledged, over time; for a single flow under a "
    "rate control also the allowed rate.",
    ("simulate", "emulate", "measure", "send", "receive"), throughput, TAKES, ("samples", "flows"),
)  # fmt: skip
