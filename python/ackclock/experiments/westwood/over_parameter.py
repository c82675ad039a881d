"""Means over replicates of a metric, point by point of a sweep."""

from collections.abc import Sequence

import numpy as np

from ackclock import metrics, plot
from ackclock.metrics import Interval, by_replicate, interval
from ackclock.result import Result

#: The names of the flow groups and of the hop in which these figures differ from point to point.
FLOW = "senders"
BOTTLENECK = "bottleneck"

#: In figures with several senders: their packets leave up to this much later than they could. Without, those of each
#: sender stay together, as trains (Shenker, Zhang and Clark, "Some observations on the dynamics of a congestion control
#: algorithm", 1990), and ABSE reads their rate far too low. Guessed; `readings` shows what else breaks trains up.
JITTER_S = 0.010
JITTER = f"uniform up to {JITTER_S * 1000:g} ms, which breaks up trains of packets"


def of_replicates(result: Result, name: str, subject: str, point: int = 0) -> list[float]:
    """A metric of a flow or hop at a point, of each replicate, in the unit it is shown in."""
    what = metrics.metric(name)
    return [value * what.shown_per_unit for value in by_replicate(result, what)[point, subject].values()]


def means(result: Result, name: str, subject: str) -> list[Interval]:
    """The same at every point, as mean and interval."""
    return [interval(of_replicates(result, name, subject, point)) for point in range(len(result.points))]


def quotient(above: Sequence[float], below: Sequence[float]) -> Interval:
    """The mean over replicates of one thing over another, of the same run or of two: each replicate is used once."""
    return interval(np.array(above) / np.array(below))


def curve(label: str, x: Sequence[float], values: Sequence[Interval], drawn: str = "line") -> plot.Curve:
    """Means with their intervals."""
    return plot.Curve(label, x, [one.mean for one in values], drawn, half_widths=[one.half_width for one in values])
