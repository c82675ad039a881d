"""Metrics: pure functions of a result's tables. Append new ones to `METRICS`."""

from typing import NamedTuple

from ackclock.metrics import flows, hops
from ackclock.metrics.confidence import Interval, interval
from ackclock.metrics.fairness import fairness, jain
from ackclock.metrics.metric import Metric, Value
from ackclock.result import Result

__all__ = ["METRICS", "Interval", "Metric", "Summary", "Value", "interval", "jain", "metric", "summarise"]

METRICS: tuple[Metric, ...] = (
    Metric("goodput", "goodput", "bit/s", "Mbit/s", 1e-6, flows.total("goodput_bit_per_s")),
    Metric("throughput", "throughput", "bit/s", "Mbit/s", 1e-6, flows.total("throughput_bit_per_s")),
    Metric("rtt", "mean RTT", "s", "ms", 1e3, flows.mean("rtt_mean_s")),
    Metric("cwnd", "mean cwnd", "bytes", "kB", 1e-3, flows.mean("cwnd_mean_bytes")),
    Metric("retransmissions", "retransmitted", "", "%", 100, flows.share("retransmitted_packets", "sent_packets")),
    Metric("drops", "dropped", "", "%", 100, flows.share("dropped_packets", "sent_packets")),
    Metric("timeouts", "timeouts", "", "", 1, flows.total("timeouts")),
    Metric("completion_time", "completion time", "s", "s", 1, flows.mean("completion_time_s")),
    Metric("fairness", "Jain's index", "", "", 1, fairness),
    Metric("utilisation", "utilisation", "", "%", 100, hops.utilisation),
    Metric("hop_drops", "dropped", "", "%", 100, hops.drop_rate),
    Metric("backlog", "mean backlog", "packets", "packets", 1, hops.backlog_packets),
    Metric("queueing_delay", "mean queueing delay", "s", "ms", 1e3, hops.queueing_delay),
)


class Summary(NamedTuple):
    """A metric of one point and subject over all replicates.

    Attributes:
        point: Index of the point.
        subject: The flow's or the hop's name.
        interval: Mean and 95 % confidence interval, in the metric's unit.
    """

    point: int
    subject: str
    interval: Interval


def metric(name: str) -> Metric:
    """The metric of that name.

    Raises:
        KeyError: There is none.
    """
    for entry in METRICS:
        if entry.name == name:
            return entry
    raise KeyError(f"{name!r} is no metric; write one of {', '.join(entry.name for entry in METRICS)}")


def summarise(result: Result, what: Metric) -> list[Summary]:
    """Means over replicates with 95 % Student-t confidence intervals, for each point and subject."""
    replicates: dict[tuple[int, str], list[float]] = {}
    for value in what.values(result):
        replicates.setdefault((value.point, value.subject), []).append(value.value)
    return [Summary(point, subject, interval(values)) for (point, subject), values in replicates.items()]
