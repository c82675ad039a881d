"""Metrics: pure functions of a result's tables. Append new ones to `METRICS`.

Of the time after the warm-up, unless they say otherwise.
"""

from collections.abc import Callable
from typing import NamedTuple

from ackclock.errors import InputError
from ackclock.metrics import arrivals, estimates, flows, hops, sharing, smoothness
from ackclock.metrics.confidence import Interval, difference, interval
from ackclock.metrics.estimates import settling_time
from ackclock.metrics.fairness import fairness, jain
from ackclock.metrics.metric import Metric, Value
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
from ackclock.result import Result

__all__ = [
    "CONVERGED_SHARE",
    "CONVERGENCE_INTERVAL_S",
    "METRICS",
    "TIME_SCALES_S",
    "WITH_PARAMETERS",
    "Hurst",
    "Interval",
    "Metric",
    "Outage",
    "Response",
    "Series",
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
    "interval",
    "jain",
    "metric",
    "outage",
    "outage_of",
    "rate_cov",
    "rate_ratio",
    "recovery_rounds",
    "response",
    "response_to",
    "series",
    "settling_time",
    "shown_time_scales",
    "summarise",
]  # fmt: skip

METRICS: tuple[Metric, ...] = (
    Metric(
        "goodput", "goodput", "Payload delivered in order to the application, each byte once; "
                              "summed over instances.",
        "bit/s", "Mbit/s", 1e-6, flows.total_rate("goodput_bit_per_s"),
    ),
    Metric(
        "throughput", "throughput", "Everything that arrived at the receiver, headers and "
                                    "duplicates included; summed over instances.",
        "bit/s", "Mbit/s", 1e-6, flows.total_rate("throughput_bit_per_s"),
    ),
    Metric(
        "rtt", "mean RTT", "Round-trip time as the sender measures it.", "s", "ms", 1e3, flows.mean("rtt_mean_s")
    ),
    Metric(
        "rtt_p99", "tail RTT", "99th percentile of the round-trip time at the sampling times; "
                               "unknown in emulation, where the kernel reports only smoothed RTT.",
        "s", "ms", 1e3, flows.tail_rtt,
    ),
    Metric(
        "smoothed_rtt", "mean smoothed RTT", "The sender's smoothed round-trip time, mean over the sampling times.",
        "s", "ms", 1e3, flows.smoothed_rtt,
    ),
    Metric(
        "cwnd", "mean cwnd", "Congestion window and slow-start threshold over time, with timeouts"
                             " marked. For comparisons, a panel per flow and a line per method.",
        "bytes", "kB", 1e-3, flows.mean("cwnd_mean_bytes"),
    ),
    Metric(
        "retransmissions", "retransmitted", "Share of the data packets sent that were "
                                            "retransmissions, over the whole run.",
        "", "%", 100, flows.share("retransmitted_packets", "sent_packets"),
    ),
    Metric(
        "loss_rate", "dropped", "Packets dropped anywhere on the way to the receiver, over data "
                                "packets sent, in the whole run; ACKs are not counted.",
        "", "%", 100, flows.dropped,
    ),
    Metric(
        "timeouts", "timeouts", "Expirations of the retransmission timer in the whole run; summed"
                                " over instances.",
        "", "", 1, flows.total("timeouts"),
    ),
    Metric(
        "cwnd_drift", "drift of cwnd", "Relative change of the mean congestion window from the "
                                       "first to the second half of the measured time: 0 in "
                                       "steady state.",
        "", "%", 100, flows.cwnd_drift,
    ),
    Metric(
        "early_retransmissions", "retransmitted early", "Share of retransmissions sent in the "
                                                        "first half of the whole run: one half in"
                                                        " steady state.",
        "", "%", 100, flows.early,
    ),
    Metric(
        "completion_time", "completion time", "Time from the start to the last byte's arrival of "
                                              "completed transfers; of arrivals, those after the "
                                              "warm-up.",
        "s", "s", 1, arrivals.completion_time,
    ),
    Metric(
        "incomplete_share", "not ended", "Share of transfers not completed at the end of the run."
                                         " Completion time excludes them and so is biased low.",
        "", "%", 100, arrivals.incomplete_share,
    ),
    Metric(
        "active_flows", "active", "Number of active instances of the flow, averaged over time.",
        "", "", 1, arrivals.active_flows,
    ),
    Metric(
        "fairness", "Jain's index", "Jain's fairness index over all instances under a control, "
                                    "arrivals excluded: 1 for equal shares, 1/n if one has "
                                    "everything.",
        "", "", 1, fairness,
    ),
    Metric("utilisation", "utilisation", "Share of time the link is busy.", "", "%", 100, hops.utilisation),
    Metric(
        "capacity", "mean capacity", "Mean rate that the link could have sent at; for links whose"
                                     " rate varies.",
        "bit/s", "Mbit/s", 1e-6, hops.capacity,
    ),
    Metric(
        "hop_drops", "dropped at hop", "Share of the packets arriving at the hop that it dropped.",
        "", "%", 100, hops.drop_rate,
    ),
    Metric(
        "tail_drop_rate", "dropped at full queue", "Share of the packets arriving at the hop that"
                                                   " it dropped because its queue was full.",
        "", "%", 100, hops.overflow_rate,
    ),
    Metric(
        "backlog", "mean backlog", "Packets in the queue at the sampling times.",
        "packets", "packets", 1, hops.backlog_packets,
    ),
    Metric(
        "queueing_delay", "mean queueing delay", "Backlog over the link's rate at the sampling times.",
        "s", "ms", 1e3, hops.queueing_delay,
    ),
    Metric(
        "friendliness", "friendliness", "Mean goodput of the flow's instances over that of all "
                                        "instances under a control, arrivals excluded: 1 for "
                                        "equal shares.",
        "", "", 1, sharing.friendliness,
    ),
    Metric(
        "equivalence", "equivalence", "Ratio of the smallest to the largest per-instance rate among "
        f"controlled flows, over {smoothness.USUAL_TIME_SCALE_S:g}-s bins: 1 if always equal.",
        "", "", 1, sharing.equivalence,
    ),
    Metric(
        "max_min_ratio", "most over least", "Ratio of the largest to the smallest goodput among "
                                            "the flow's instances (FC): 1 if equal, infinite if "
                                            "one gets nothing.",
        "", "", 1, sharing.max_min_ratio,
    ),
    Metric(
        "rate_cov", "CoV of the rate", "Coefficient of variation of an instance's sending rate over "
        f"{smoothness.USUAL_TIME_SCALE_S:g}-s bins, averaged over instances: 0 if constant; unknown "
        "for longer sample intervals.",
        "", "", 1, smoothness.usual_variation,
    ),
    Metric(
        "convergence_time", "convergence time", "Time from an instance's start until it gets "
        f"{sharing.CONVERGED_SHARE * 100:g} % of an equal share over "
        f"{sharing.CONVERGENCE_INTERVAL_S:g} s; its whole lifetime if it never does.",
        "s", "s", 1, sharing.convergence_time,
    ),
    Metric(
        "allowed_rate", "allowed rate", "Payload rate that the rate control allows an instance, "
                                        "at the sampling times.",
        "bit/s", "Mbit/s", 1e-6, flows.allowed_rate,
    ),
    Metric(
        "loss_event_rate", "loss event rate", "Loss rate that the rate control works with, by its"
                                              " own definition, at the sampling times.",
        "", "%", 100, flows.loss_event_rate,
    ),
    Metric(
        "rate_estimate", "rate estimate", "The control's estimate of the path's rate at the "
                                          "sampling times; only for controls that estimate it.",
        "bit/s", "Mbit/s", 1e-6, estimates.rate_estimate,
    ),
    Metric(
        "estimate_bias", "bias of the estimate", "Relative difference between the mean rate "
                                                 "estimate and the goodput of an instance.",
        "", "%", 100, estimates.estimate_bias,
    ),
    Metric(
        "estimate_settling_time", "settling time of the estimate", "Time from the first sample until the "
        f"rate estimate stays within {estimates.SETTLED_WITHIN * 100:g} % of its mean for "
        f"{estimates.SETTLED_FOR_S:g} s.",
        "s", "s", 1, estimates.estimate_settling_time,
    ),
)  # fmt: skip

#: What makes metrics that have parameters, which tables and the command line do not ask for.
WITH_PARAMETERS: tuple[Callable[..., Metric], ...] = (
    rate_ratio,
    closeness,
    rate_cov,
    equivalence_of,
    response_to,
    outage_of,
    recovery_rounds,
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
    raise InputError(
        "unknown-name",
        "",
        f'unknown metric "{name}"; choose from {", ".join(entry.name for entry in METRICS)}',
    )


def summarise(result: Result, what: Metric) -> list[Summary]:
    """Means over replicates with 95 % Student-t confidence intervals, for each point and subject."""
    replicates = by_replicate(result, what)
    return [
        Summary(point, subject, interval(list(values.values())))
        for (point, subject), values in replicates.items()
    ]


def by_replicate(result: Result, what: Metric) -> dict[tuple[int, str], dict[int, float]]:
    """For each point and subject the value of each replicate.

    This is where runs that are unreliable are left out; where none is left, nothing is known.
    """
    replicates: dict[tuple[int, str], dict[int, float]] = {}
    for value in what.values(result):
        values = replicates.setdefault((value.point, value.subject), {})
        if (value.point, value.replicate) not in result.left_out:
            values[value.replicate] = value.value
    return replicates
