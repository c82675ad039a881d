"""The figure `throughput`."""

from dataclasses import replace

import numpy as np

from ackclock.plot.canvas import Span
from ackclock.plot.kind import FigureKind
from ackclock.plot.series import TAKES, Replicate, is_known, near
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series, Values
from ackclock.plot.trace import OverTime, Trace
from ackclock.result.result import Result

# Number of averaging intervals. Shorter intervals would show bursts of in-order delivery after a
# repaired loss rather than the flow's rate.
_INTERVALS = 200

# The delivery that each method observes. For other methods the sender knows what was acknowledged.
_DELIVERED = {
    "simulate": "delivered in order",
    "send": "arrived, as reported",
    "receive": "arrived",
}

DELIVERED = OverTime(
    "throughput", "Throughput", "samples",
    Axis(_DELIVERED["simulate"], "Mbit/s", begin=0.0),
    (Trace("delivered_bytes", scale=8e-6, is_rate=True),),
)  # fmt: skip


def mean_rates(time_s: Values, delivered_bytes: Values, every: int) -> tuple[Values, Values]:
    """Returns the middles of intervals of so many samples, and the rates in them in Mbit/s."""
    [trace] = DELIVERED.traces
    time, delivered = time_s[::every], delivered_bytes[::every]
    return (time[1:] + time[:-1]) / 2, np.diff(delivered) * trace.scale / np.diff(time)


def throughput(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows the rate of payload delivered in order or acknowledged, in about 200 intervals.

    A flow under a rate control also has its allowed rate, unless that is far above.
    """
    run = Replicate(result, point, replicate, span)
    lines, allowed_by_label = run.lines("time_s", *DELIVERED.columns), {}
    name = "allowed_rate_bit_per_s"
    if run.method != "measure" and is_known(result, name, point):
        allowed_by_label = {line.label: line for line in run.lines("time_s", name)}
    series = []
    for line in lines:
        time, delivered = line.rows["time_s"], line.rows["delivered_bytes"]
        if time.size < 2:
            continue
        middle, rate = mean_rates(time, delivered, max(1, time.size // _INTERVALS))
        series.append(line.series(rate, part=run.main, time=middle))
        if line.label in allowed_by_label:
            allowed = allowed_by_label[line.label]
            drawn = near(allowed.rows[name] * 1e-6, rate)
            words = "allowed:\nfar above, not drawn" if np.isnan(drawn).all() else "allowed"
            series.append(allowed.series(drawn, words, "limit", "steps"))
    series += [
        Series("line-1", np.empty(0), np.empty(0), label=f"{flow}: not sampled")
        for flow in _unsampled(run)
    ]
    y = replace(DELIVERED.y, label=_DELIVERED.get(run.method, "acknowledged"))
    panel = Panel(tuple(series))
    return run.figure(DELIVERED.name, DELIVERED.title, y, [panel], THROUGHPUT.summary)


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
    "Rate of payload delivered in order, or acknowledged, over time; for a flow under a rate "
    "control also the allowed rate.",
    ("simulate", "emulate", "measure", "send", "receive"), throughput, TAKES,
    ("samples", "flows"),
)  # fmt: skip

FIGURES = (THROUGHPUT,)
