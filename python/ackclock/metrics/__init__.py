"""Metrics: pure functions of a result's tables. Append new ones to `_ALL`.

They cover the time after the warm-up, unless they say otherwise.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ackclock.errors import InputError
from ackclock.metrics import arrivals, estimates, flows, requests, sharing, smoothness, windows
from ackclock.metrics.confidence import difference, interval
from ackclock.metrics.estimates import settling_time
from ackclock.metrics.fairness import jain
from ackclock.metrics.formula import Formula
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.packet_delays import packet_delay_quantile
from ackclock.metrics.quantiles import queueing_delay_quantile
from ackclock.metrics.rates import Series, series
from ackclock.metrics.response import (
    Outage,
    Response,
    outage,
    outage_of,
    recovery_rounds,
    response,
    response_to,
)
from ackclock.metrics.self_similarity import (
    Hurst,
    arrivals_per_interval,
    hurst_variance_time,
    hurst_wavelet,
)
from ackclock.metrics.sharing import CONVERGED_SHARE, CONVERGENCE_INTERVAL_S, closeness, rate_ratio
from ackclock.metrics.smoothness import (
    TIME_SCALES_S,
    coefficient_of_variation,
    equivalence_of,
    equivalence_ratio,
    rate_cov,
    shown_time_scales,
)
from ackclock.metrics.subjects import ALL_FLOWS, AT_HOPS, FLOWS, HOPS, Subjects
from ackclock.plugins import ByName, Records
from ackclock.result.result import Result
from ackclock.table import Interval

__all__ = [
    "ALL_FLOWS",
    "AT_HOPS",
    "CONVERGED_SHARE",
    "CONVERGENCE_INTERVAL_S",
    "FLOWS",
    "HOPS",
    "METRICS",
    "TIME_SCALES_S",
    "WITH_PARAMETERS",
    "Formula",
    "Hurst",
    "Interval",
    "Metric",
    "Outage",
    "Response",
    "Series",
    "Subjects",
    "Summary",
    "Value",
    "arrivals_per_interval",
    "by_replicate",
    "closeness",
    "coefficient_of_variation",
    "difference",
    "equivalence_of",
    "equivalence_ratio",
    "hurst_variance_time",
    "hurst_wavelet",
    "in_shown_unit",
    "interval",
    "jain",
    "metric",
    "outage",
    "outage_of",
    "packet_delay_quantile",
    "queueing_delay_quantile",
    "rate_cov",
    "rate_ratio",
    "recovery_rounds",
    "response",
    "response_to",
    "series",
    "settling_time",
    "shown_time_scales",
    "summarise",
]

_DROPS = ("drops_queue", "drops_aqm", "drops_impairment", "drops_retries")

_ALL: tuple[Metric, ...] = (
    Metric(
        "goodput", "goodput", "Payload delivered to the application in order, each byte once; sum "
        "over instances. An instance that arrives or ends counts for the time it is active.",
        "bit/s", "Mbit/s", 1e-6, FLOWS,
        Formula("flows", "sum", ("goodput_bit_per_s",), active="measured_s"),
    ),
    Metric(
        "throughput", "throughput", "Everything that arrives at the receiver, including headers "
        "and duplicates; sum over instances, as for goodput.",
        "bit/s", "Mbit/s", 1e-6, FLOWS,
        Formula("flows", "sum", ("throughput_bit_per_s",), active="measured_s"),
    ),
    Metric(
        "rtt", "mean RTT", "Mean round-trip time as measured by the sender.",
        "s", "ms", 1e3, FLOWS, Formula("flows", "mean", ("rtt_mean_s",)),
    ),
    Metric(
        "rtt_p99", "tail RTT", "99th percentile of the round-trip times at the sampling times; "
        "unavailable in emulation: the kernel reports only smoothed RTT.",
        "s", "ms", 1e3, FLOWS, flows.tail_rtt,
    ),
    Metric(
        "smoothed_rtt", "mean smoothed RTT", "Mean of the sender's smoothed round-trip time over "
        "the sampling times.",
        "s", "ms", 1e3, FLOWS, Formula("samples", "mean", ("smoothed_rtt_s",)),
    ),
    Metric(
        "cwnd", "mean cwnd", "Mean congestion window over the sampling times.",
        "bytes", "kB", 1e-3, FLOWS, Formula("flows", "mean", ("cwnd_mean_bytes",)),
    ),
    Metric(
        "retransmissions", "retransmitted", "Retransmitted share of the data packets sent, over "
        "the whole run.",
        "", "%", 100, FLOWS,
        Formula("flows", "sum", ("retransmitted_packets",), over="sent_packets"),
    ),
    Metric(
        "loss_rate", "dropped", "Data packets dropped anywhere on the path, as a share of the data "
        "packets sent, over the whole run; ACKs do not count.",
        "", "%", 100, FLOWS,
        Formula(
            "flows", "sum", ("dropped_packets", "dropped_acks"), (1, -1), over="sent_packets"
        ),
    ),
    Metric(
        "useful_share", "useful packets", "Data packets sent for the first time, as a share "
        "of all data packets sent, over the whole run.",
        "", "%", 100, FLOWS,
        Formula(
            "flows", "sum", ("sent_packets", "retransmitted_packets"), (1, -1), over="sent_packets"
        ),
    ),
    Metric(
        "sent_packets", "packets sent", "Number of data packets sent after the warm-up; sum over "
        "instances.",
        "", "", 1, FLOWS, windows.sent_after_warmup,
        settles=False,
    ),
    Metric(
        "longest_stall", "longest stall", "Longest time after the warm-up in which an instance "
        "gets no data, between sampling times.",
        "s", "s", 1, FLOWS, windows.longest_stall,
        settles=False,
    ),
    Metric(
        "timeouts", "timeouts", "Number of retransmission timeouts in the whole run; sum over "
        "instances.",
        "", "", 1, FLOWS, Formula("flows", "sum", ("timeouts",)),
        settles=False,
    ),
    Metric(
        "cwnd_drift", "drift of cwnd", "Relative increase of the mean congestion window from the "
        "first to the second half of the measured time; 0 in steady state.",
        "", "%", 100, FLOWS, flows.cwnd_drift,
    ),
    Metric(
        "early_retransmissions", "retransmitted early", "Share of all retransmissions that happen "
        "in the first half of the run; 50 % in steady state.",
        "", "%", 100, FLOWS, flows.early,
    ),
    Metric(
        "completion_time", "completion time", "Time from the start of a transfer to the arrival of "
        "its last byte; mean over completed transfers. Arriving transfers count if they start "
        "after the warm-up.",
        "s", "s", 1, FLOWS, arrivals.completion_time,
        settles=False,
    ),
    Metric(
        "completion_time_p95", "p95 completion time", "Time from the start of a transfer to the "
        "arrival of its last byte that 95 % of the completed transfers do not exceed.",
        "s", "s", 1, FLOWS, arrivals.completion_time_quantile(0.95),
        settles=False,
    ),
    Metric(
        "incomplete_share", "not ended", "Share of transfers that are incomplete at the end of the "
        "run. Arriving transfers count if they start after the warm-up. The mean completion time "
        "leaves incomplete transfers out and is therefore too small.",
        "", "%", 100, FLOWS, arrivals.incomplete_share,
        settles=False,
    ),
    Metric(
        "active_flows", "active", "Mean number of active instances of the flow over time.",
        "", "", 1, FLOWS, arrivals.active_flows,
    ),
    Metric(
        "request_time", "mean request time", "Time from a request of a client to the arrival of "
        "its response; mean over the requests that were made after the warm-up and answered.",
        "s", "ms", 1e3, FLOWS, requests.request_time,
    ),
    Metric(
        "request_time_p50", "p50 request time", "Time from a request of a client to the arrival of "
        "its response that 50 % of the answered requests do not exceed.",
        "s", "ms", 1e3, FLOWS, requests.request_time_quantile(0.5),
    ),
    Metric(
        "request_time_p99", "p99 request time", "Time from a request of a client to the arrival of "
        "its response that 99 % of the answered requests do not exceed.",
        "s", "ms", 1e3, FLOWS, requests.request_time_quantile(0.99),
    ),
    Metric(
        "rebuffer_share", "rebuffering", "Share of time in which the playback of a video stands "
        "still, between the arrivals of the first and the last chunk asked for after the warm-up; "
        "only for `chunks`.",
        "", "%", 100, FLOWS, requests.rebuffer_share,
    ),
    Metric(
        "page_time", "page time", "Time from the first request of a page to the arrival of its "
        "last object; mean over the pages that ended; only for `pages`.",
        "s", "s", 1, FLOWS, requests.page_time,
    ),
    Metric(
        "fairness", "Jain's index", "Jain's fairness index of the goodput of all instances under a "
        "congestion or rate control, without flows whose instances arrive: 1 if all are equal, 1/n "
        "if one of n has everything.",
        "", "", 1, ALL_FLOWS, Formula("flows", "jain", ("goodput_bit_per_s",)),
    ),
    Metric(
        "utilisation", "utilisation", "Share of time the link is busy.",
        "", "%", 100, HOPS, Formula("hops", "growth", ("busy_s",), over="time_s"),
    ),
    Metric(
        "capacity", "mean capacity", "Mean rate at which the link could have sent in this run; "
        "only for links whose rate varies.",
        "bit/s", "Mbit/s", 1e-6, HOPS,
        Formula("hops", "growth", ("capacity_bytes",), (8,), over="time_s"),
    ),
    Metric(
        "hop_drops", "dropped at hop", "Share of the packets arriving at the hop that it drops, "
        "for any reason.",
        "", "%", 100, HOPS, Formula("hops", "growth", _DROPS, over="arrivals"),
    ),
    Metric(
        "tail_drop_rate", "dropped at full queue", "Share of the packets arriving at the hop that "
        "it drops because its queue is full.",
        "", "%", 100, HOPS, Formula("hops", "growth", ("drops_queue",), over="arrivals"),
    ),
    Metric(
        "hop_marks", "marked at hop", "Share of the packets arriving at the hop that its queue "
        "marks CE.",
        "", "%", 100, HOPS, Formula("hops", "growth", ("marks",), over="arrivals"),
    ),
    Metric(
        "backlog", "mean backlog", "Mean number of packets in the queue over the sampling times.",
        "packets", "packets", 1, HOPS, Formula("hops", "mean", ("backlog_packets",)),
    ),
    Metric(
        "queueing_delay", "mean queueing delay", "Backlog divided by the link's rate; mean over "
        "the sampling times.",
        "s", "ms", 1e3, HOPS,
        Formula("hops", "mean", ("backlog_bytes",), (8,), over="rate_bit_per_s"),
    ),
    queueing_delay_quantile(0.5),
    queueing_delay_quantile(0.95),
    queueing_delay_quantile(0.99),
    packet_delay_quantile(0.5),
    packet_delay_quantile(0.95),
    packet_delay_quantile(0.99),
    Metric(
        "windowed_fairness", "Jain's index of windows", "Jain's fairness index of the rates in "
        f"windows of {windows.WINDOW_S:g} s, of all instances under a congestion or rate control; "
        "mean over windows.",
        "", "", 1, ALL_FLOWS, windows.windowed_fairness,
    ),
    Metric(
        "starved_share", "starved", f"Share of the windows of {windows.WINDOW_S:g} s in which an "
        f"instance gets less than {windows.STARVED_SHARE * 100:g} % of an equal share of the "
        "controlled traffic; mean over instances.",
        "", "%", 100, FLOWS, windows.starved_share,
    ),
    Metric(
        "friendliness", "friendliness", "Ratio of the mean goodput of the flow's instances to the "
        "mean over all controlled instances, without flows whose instances arrive; 1 for equal "
        "shares.",
        "", "", 1, FLOWS, sharing.friendliness,
    ),
    Metric(
        "equivalence", "equivalence", "Ratio of the smallest to the largest per-instance rate "
        f"among controlled flows, over {smoothness.USUAL_TIME_SCALE_S:g}-s bins; mean over bins, "
        "1 if rates are always equal.",
        "", "", 1, ALL_FLOWS, sharing.equivalence,
    ),
    Metric(
        "max_min_ratio", "most over least", "Ratio of the largest to the smallest goodput among "
        "the flow's instances (FC): 1 if all are equal, infinite if one gets nothing.",
        "", "", 1, FLOWS, sharing.max_min_ratio,
    ),
    Metric(
        "rate_cov", "CoV of the rate", "Coefficient of variation of an instance's sending rate "
        f"over {smoothness.USUAL_TIME_SCALE_S:g}-s bins; mean over instances. It is 0 for a "
        "constant rate, and unknown if the sampling interval is longer than a bin.",
        "", "", 1, FLOWS, smoothness.usual_variation,
    ),
    Metric(
        "convergence_time", "convergence time", "Time from an instance's start until it receives "
        f"{sharing.CONVERGED_SHARE * 100:g} % of an equal share of the controlled traffic, over "
        f"{sharing.CONVERGENCE_INTERVAL_S:g}-s bins. An instance that never does counts with its "
        "whole active time.",
        "s", "s", 1, FLOWS, sharing.convergence_time,
        settles=False,
    ),
    Metric(
        "allowed_rate", "allowed rate", "Mean payload rate that the rate control allows an "
        "instance, over the sampling times.",
        "bit/s", "Mbit/s", 1e-6, FLOWS,
        Formula("samples", "mean", ("allowed_rate_bit_per_s",)),
    ),
    Metric(
        "loss_event_rate", "loss event rate", "Mean of the loss rate estimated by the rate "
        "control, by its own definition, over the sampling times.",
        "", "%", 100, FLOWS, Formula("samples", "mean", ("loss_event_rate",)),
    ),
    Metric(
        "rate_estimate", "rate estimate", "Mean of the path rate estimated by the control, over "
        "the sampling times; only for controls that estimate it.",
        "bit/s", "Mbit/s", 1e-6, FLOWS, estimates.rate_estimate,
    ),
    Metric(
        "estimate_bias", "bias of the estimate", "Relative excess of the mean rate estimate over "
        "an instance's mean goodput.",
        "", "%", 100, FLOWS, estimates.estimate_bias,
    ),
    Metric(
        "estimate_settling_time", "settling time of the estimate", "Time from the first sample "
        f"until the rate estimate stays within {estimates.SETTLED_WITHIN * 100:g} % of its mean "
        f"for {estimates.SETTLED_FOR_S:g} s.",
        "s", "s", 1, FLOWS, estimates.estimate_settling_time,
        settles=False,
    ),
)  # fmt: skip

#: Every metric by name, in the order of tables: `METRICS["utilisation"]`.
METRICS: Mapping[str, Metric] = ByName(Records("ackclock.metrics", Metric, _ALL))

#: Functions that make metrics with parameters. Tables and the command line do not offer these.
WITH_PARAMETERS: tuple[Callable[..., Metric], ...] = (
    rate_ratio,
    closeness,
    rate_cov,
    queueing_delay_quantile,
    packet_delay_quantile,
    equivalence_of,
    response_to,
    outage_of,
    recovery_rounds,
)


class Summary(NamedTuple):
    """A metric of one point and subject over all replicates.

    Attributes:
        point: Index of the point.
        subject: What it is about, one of the metric's subjects.
        interval: Mean and 95 % confidence interval, in the metric's unit.
    """

    point: int
    subject: str
    interval: Interval


def metric(name: str) -> Metric:
    """Returns the metric of that name.

    Raises:
        KeyError: There is no such metric.
    """
    if name in METRICS:
        return METRICS[name]
    raise InputError.unknown("", "metric", name, METRICS)


def summarise(result: Result, metric: Metric) -> list[Summary]:
    """Returns mean and 95 % Student-t interval over replicates, for each point and subject."""
    replicates = by_replicate(result, metric)
    return [
        Summary(point, subject, interval(list(values.values())))
        for (point, subject), values in replicates.items()
    ]


def by_replicate(result: Result, metric: Metric) -> dict[tuple[int, str], dict[int, float]]:
    """Returns the value of each replicate, for each point and subject.

    Unreliable runs are left out here and nowhere else. If all of a point's runs are unreliable, its
    values are unknown.
    """
    replicates: dict[tuple[int, str], dict[int, float]] = {}
    for value in metric.values(result):
        values = replicates.setdefault((value.point, value.subject), {})
        if (value.point, value.replicate) not in result.left_out:
            values[value.replicate] = value.value
    return replicates


def in_shown_unit(interval: Interval | None, name: str) -> Interval | None:
    """Converts an interval of a metric to the unit in which tables show it."""
    if interval is None:
        return None
    scale = metric(name).shown_per_unit
    return Interval(interval.mean * scale, interval.half_width * scale, interval.replicates)
