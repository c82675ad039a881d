"""Response of a rate to a step (of loss or bandwidth) and to an outage.

RFC 5166 ("Metrics for the evaluation of congestion control mechanisms") calls this the response to
changes. The numbers below are defined here. Rates are taken over intervals of one time scale, long
enough to average a saw-tooth and short enough to show the response. A response time lasts to the
end of the interval in which the condition first holds.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import ROUNDING, Array, Series, measured_time, refuse_finer, series
from ackclock.metrics.subjects import FLOWS
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result.result import Result

#: A rate is near the new steady rate once it has risen to this share of it, or fallen until the
#: steady rate is this share of the rate. Chosen here.
REACHED_SHARE = 0.8

#: Last share of the time after a step over which the new steady rate is the mean. Chosen here.
SETTLED_SHARE = 0.5


class Response(NamedTuple):
    """The response of a rate to a step.

    Attributes:
        before: Mean rate from the end of the warm-up to the step.
        after: The new steady rate: mean over the last half (`SETTLED_SHARE`) of the time after the
            step.
        reached_s: Time from the step until the rate is first near the new steady rate: at least
            `share` times it for a rise, at most 1/`share` times it for a fall. It is always
            reached, at the latest in the last half, of which the steady rate is the mean.
        halved_s: Time from the step until the rate is first at most half of the rate before, the
            measure of responsiveness to persistent congestion; NaN if it never is.
        beyond: Largest overshoot (after a rise) or undershoot (after a fall) once the new rate is
            reached, relative to it. Noise and saw-teeth count too: compare with longer time scales,
            or with the time before the step.
    """

    before: float
    after: float
    reached_s: float
    halved_s: float
    beyond: float


class Outage(NamedTuple):
    """The response of a rate to an outage.

    Attributes:
        before: Mean rate from the end of the warm-up to the outage.
        worst: Highest rate in an interval within the outage, over the rate before. It is at most 1
            if the sender does not speed up without feedback.
        last: Rate in the last interval of the outage, over the rate before.
        recovered_s: Time from the end of the outage until the rate is first `share` of the rate
            before. If it never is, this is the remaining time, a lower bound. NaN if nothing was
            sent before.
    """

    before: float
    worst: float
    last: float
    recovered_s: float


def response(
    edges_s: ArrayLike, rates: ArrayLike, step_s: float, share: float = REACHED_SHARE
) -> Response:
    """Returns the response of a rate to a step.

    Args:
        edges_s: Edges of successive intervals, one more than rates. The step should be at an edge:
            an interval that it cuts counts for neither side.
        rates: Mean rate in each interval.
        step_s: Time of the step.
        share: Share at which a rate is near the new one, above 0 and below 1.

    Raises:
        ValueError: There is no whole interval before or after the step.
    """
    edges, rate = np.asarray(edges_s, float), np.asarray(rates, float)
    earlier, later = edges[1:] <= step_s + ROUNDING, edges[:-1] >= step_s - ROUNDING
    if not (earlier.any() and later.any()):
        raise InputError(
            "no-data",
            "step",
            f"{step_s:g} s has no whole interval before or after it in the measured time",
        )
    before = float(rate[earlier].mean())
    ends, following = edges[1:][later], rate[later]
    begins = edges[-1] - SETTLED_SHARE * (edges[-1] - step_s)
    settled = edges[:-1][later] >= min(begins, edges[:-1][later][-1]) - ROUNDING
    after = float(following[settled].mean())
    rises = after > before
    near = following >= share * after if rises else following * share <= after
    halved = (following <= before / 2) & (before > 0)
    on = following[int(np.argmax(near)) :]
    extreme = on.max() if rises else on.min()
    beyond = float(abs(extreme / after - 1)) if after > 0 and (extreme > after) == rises else 0.0
    reached_s, halved_s = (
        _first(ends, holds, step_s, otherwise=math.nan) for holds in (near, halved)
    )
    return Response(before, after, reached_s, halved_s, beyond)


def outage(
    edges_s: ArrayLike,
    rates: ArrayLike,
    from_s: float,
    until_s: float,
    share: float = REACHED_SHARE,
) -> Outage:
    """Returns the response of a rate to an outage.

    Args:
        edges_s: Edges of successive intervals, one more than rates.
        rates: Mean rate in each interval: sent or allowed, since nothing is delivered in an outage.
        from_s: Time at which the outage begins.
        until_s: Time at which it ends.
        share: Share of the rate before that counts as recovered, 0 to 1.

    Raises:
        ValueError: There is no whole interval before, within or after it.
    """
    edges, rate = np.asarray(edges_s, float), np.asarray(rates, float)
    earlier, later = edges[1:] <= from_s + ROUNDING, edges[:-1] >= until_s - ROUNDING
    within = (edges[:-1] >= from_s - ROUNDING) & (edges[1:] <= until_s + ROUNDING)
    if not (earlier.any() and within.any() and later.any()):
        raise InputError(
            "no-data",
            "outage",
            f"{from_s:g} s to {until_s:g} s has no whole interval before, within or after it in "
            f"the "
            "measured time",
        )
    before = float(rate[earlier].mean())
    worst, last = (
        float(value / before) if before > 0 else math.nan
        for value in (rate[within].max(), rate[within][-1])
    )
    ends = edges[1:][later]
    recovered_s = _first(
        ends, rate[later] >= share * before, until_s, otherwise=float(ends[-1] - until_s)
    )
    return Outage(before, worst, last, recovered_s if before > 0 else math.nan)


#: Label and unit of the fields of a response and of an outage as metrics.
_OF_RESPONSE = {
    "before": ("rate before the step", "bit/s"), "after": ("rate after the step", "bit/s"),
    "reached_s": ("time to the new rate", "s"), "halved_s": ("time to half the rate", "s"),
    "beyond": ("overshoot", ""),
}  # fmt: skip
_OF_OUTAGE = {
    "before": ("rate before the outage", "bit/s"), "worst": ("highest rate in the outage", ""),
    "last": ("last rate in the outage", ""), "recovered_s": ("time to recover", "s"),
}  # fmt: skip


def response_to(
    field: str, step_s: float, time_scale_s: float, source: str = "sent",
    share: float = REACHED_SHARE, within_s: tuple[float, float] = (0.0, math.inf),
) -> Metric:  # fmt: skip
    """Makes a metric of flows from a field of `Response`, for the mean rate per instance.

    It covers the time during which all instances of the flow are active.

    Args:
        field: Name of a field of `Response`.
        step_s: Time of the step.
        time_scale_s: Length of the intervals, at least the sampling interval; one of them ends at
            the step.
        source: Kind of rate, as in `ackclock.metrics.rates.series`.
        share: As in `response`.
        within_s: Part of the run to use, if it has other steps before or after this one.

    Returns:
        A metric for `summarise` and `by_replicate`, with intervals over replicates. It is NaN for a
        flow that is not active before and after the step. Computing its values raises ValueError,
        in one line, if the samples are too coarse for the time scale or the step is not in the
        measured time.

    Raises:
        KeyError: `field` is not a field of `Response`.
    """
    label, unit = _OF_RESPONSE[field]

    def of_flow(edges: Array, rates: Array) -> float:
        return float(getattr(response(edges, rates, step_s, share), field))

    return _metric(
        "response_" + field,
        label,
        unit,
        _values((step_s,), time_scale_s, source, within_s, of_flow),
    )


def outage_of(
    field: str, from_s: float, until_s: float, time_scale_s: float, source: str = "sent",
    share: float = REACHED_SHARE, within_s: tuple[float, float] = (0.0, math.inf),
) -> Metric:  # fmt: skip
    """Makes a metric of flows from a field of `Outage`, as `response_to` does for a step.

    One interval ends at the beginning of the outage.

    Raises:
        KeyError: `field` is not a field of `Outage`.
    """
    label, unit = _OF_OUTAGE[field]

    def of_flow(edges: Array, rates: Array) -> float:
        return float(getattr(outage(edges, rates, from_s, until_s, share), field))

    return _metric(
        "outage_" + field,
        label,
        unit,
        _values((from_s, until_s), time_scale_s, source, within_s, of_flow),
    )


def recovery_rounds(
    from_s: float, until_s: float, time_scale_s: float, source: str = "sent"
) -> Metric:
    """Makes the metric `Outage.recovered_s` in round trips.

    A round trip is the mean smoothed round-trip time between the warm-up and `from_s`. For a
    control whose rounds are not round trips (TFRCP sets their length), divide `recovered_s` by the
    length of its rounds instead.
    """
    recovered = outage_of("recovered_s", from_s, until_s, time_scale_s, source)

    def values(result: Result) -> list[Value]:
        rtt = {}
        keys, names = ("point", "replicate", "flow"), ("time_s", "smoothed_rtt_s")
        for (point, replicate, flow), rows in grouped(result.tables["samples"], keys, names):
            warm = (rows["time_s"] > measured_time(result, point)[0]) & (rows["time_s"] <= from_s)
            rtt[point, replicate, flow] = mean_of_known(rows["smoothed_rtt_s"][warm])
        return [
            value._replace(value=value.value / rtt[value.point, value.replicate, value.subject])
            for value in recovered.values(result)
        ]

    return _metric("recovery_rounds", "round trips to recover", "", values)


def _first(ends: Array, holds: NDArray[np.bool_], since_s: float, otherwise: float) -> float:
    return float(ends[int(np.argmax(holds))] - since_s) if holds.any() else otherwise


def _metric(name: str, label: str, unit: str, values: Callable[[Result], list[Value]]) -> Metric:
    shown = ("Mbit/s", 1e-6) if unit == "bit/s" else (unit, 1.0)
    return Metric(name, label, "", unit, *shown, FLOWS, values, settles=False)


def _values(
    moments_s: tuple[float, ...], time_scale_s: float, source: str, within_s: tuple[float, float],
    of_flow: Callable[[Array, Array], float],
) -> Callable[[Result], list[Value]]:  # fmt: skip
    """Applies `of_flow` to each flow's rate, the mean over its instances in each interval.

    One interval ends at the first moment.
    """

    def values(result: Result) -> list[Value]:
        refuse_finer(result, time_scale_s)
        measured = [measured_time(result, point) for point in range(len(result.points))]
        looked_at = [(max(begin, within_s[0]), min(end, within_s[1])) for begin, end in measured]
        for begin, end in looked_at:
            outside = [moment for moment in moments_s if not begin < moment < end]
            if outside:
                raise InputError(
                    "out-of-range",
                    "at",
                    f"{outside[0]:g} s is not within the measured time, {begin:g} s to {end:g} s",
                )
        flows: dict[tuple[int, int, str], list[Series]] = {}
        for instance in series(result, source):
            flows.setdefault((instance.point, instance.replicate, instance.flow), []).append(
                instance
            )
        computed = []
        for key, instances in flows.items():
            edges = _edges_around(instances, moments_s[0], time_scale_s, *looked_at[key[0]])
            rates = np.mean([instance.rates(edges) for instance in instances], axis=0)
            there = (
                edges.size > 1
                and edges[1] <= moments_s[0] + ROUNDING
                and edges[-2] >= moments_s[-1] - ROUNDING
            )
            computed.append(Value(*key, of_flow(edges, rates) if there else math.nan))
        return computed

    return values


def _edges_around(
    instances: list[Series], anchor_s: float, time_scale_s: float, from_s: float, until_s: float
) -> Array:
    """Returns edges of intervals on both sides of `anchor_s` while all instances are active."""
    begin_s = max(from_s, *(instance.start_s for instance in instances))
    earliest_s = (
        anchor_s - math.floor((anchor_s - begin_s) / time_scale_s + ROUNDING) * time_scale_s
    )
    return instances[0].edges(
        time_scale_s, earliest_s, min(until_s, *(instance.end_s for instance in instances))
    )
