"""How a rate answers a step of what it goes by (loss, bandwidth), and an outage.

What is measured is what RFC 5166 ("Metrics for the evaluation of congestion control mechanisms")
calls the response to changes; the numbers below are defined here. A rate is taken over intervals of
a time scale: long enough to average a saw-tooth, short enough to show the response. A time ends
with the interval in which it is known.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.rates import ROUNDING, Array, Series, measured_time, refuse_finer, series
from ackclock.metrics.tables import grouped, mean_of_known
from ackclock.result import Result

#: How near the new steady rate is near enough: risen to this share of it, or fallen until it is
#: this share of the rate. Chosen here.
REACHED_SHARE = 0.8

#: Over which part of the time after a step the new steady rate is taken: the last half, chosen
#: here.
SETTLED_SHARE = 0.5


class Response(NamedTuple):
    """What a step does to a rate.

    Attributes:
        before: Mean rate from the end of the warm-up to the step.
        after: Mean rate in the last half (`SETTLED_SHARE`) of the time after the step: the new
            steady rate.
        reached_s: From the step until the rate first is near the new steady one: for a rise at
            `share` of it, for a fall at it over `share`. It always is, in the last half at the
            latest, of which that is the mean.
        halved_s: From the step until the rate first is no more than half of what it was before,
            which is what responsiveness to persistent congestion is measured by; not a number if it
            never is.
        beyond: How far it goes beyond the new steady rate at the most, from where it has reached
            it, over that rate: overshoot after a rise, undershoot after a fall. Noise and saw-teeth
            count, too: compare with longer time scales, or with the same before the step.
    """

    before: float
    after: float
    reached_s: float
    halved_s: float
    beyond: float


class Outage(NamedTuple):
    """What an outage does to a rate.

    Attributes:
        before: Mean rate from the end of the warm-up to the outage.
        worst: The highest rate in an interval within the outage, over the rate before: 1 or less if
            a sender does not speed up without any news.
        last: The rate in the outage's last interval, over the rate before.
        recovered_s: From the end of the outage until the rate first is `share` of what it was
            before. All the time that there is if it never is: the true time is longer then. Not a
            number if nothing was sent before.
    """

    before: float
    worst: float
    last: float
    recovered_s: float


def response(
    edges_s: ArrayLike, rates: ArrayLike, step_s: float, share: float = REACHED_SHARE
) -> Response:
    """The response of a rate to a step.

    Args:
        edges_s: The ends of successive intervals, one more than rates. The step is at one of them,
            or what is in the interval that it cuts counts for neither side.
        rates: Mean rate in each interval.
        step_s: When.
        share: How near is near, above 0 and below 1.

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
    """What an outage does to a rate.

    Args:
        edges_s: The ends of successive intervals, one more than rates.
        rates: Mean rate in each interval: what was sent or allowed, since nothing is delivered in
            an outage.
        from_s: When it begins.
        until_s: When it ends.
        share: How much of the rate before counts as recovered, 0 to 1.

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
            f"{from_s:g} s to {until_s:g} s has no whole interval before, within or after it in the "
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


#: The numbers of a response and of an outage, each as a metric: label, unit.
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
    what: str, step_s: float, time_scale_s: float, of: str = "sent", share: float = REACHED_SHARE,
    within_s: tuple[float, float] = (0.0, math.inf),
) -> Metric:  # fmt: skip
    """A number of `Response` as a metric of flows: of a flow's rate per instance, while all of them are active.

    Args:
        what: Which: the name of a field of `Response`.
        step_s: When the step is.
        time_scale_s: Length of the intervals, no shorter than the samples are apart; one of them
            ends at the step.
        of: Which rate: see `ackclock.metrics.rates.series`.
        share: See `response`.
        within_s: From when to when the run is looked at, where it has other steps before or behind
            this one.

    Returns:
        A metric for `summarise` and `by_replicate`, whose intervals are over replicates; not a
        number of a flow that is not there before and after the step. Asking for its values raises
        ValueError, in one line, where the samples do not show the time scale, or the step is not
        within the measured time.

    Raises:
        KeyError: `what` is no field of `Response`.
    """
    label, unit = _OF_RESPONSE[what]

    def of_flow(edges: Array, rates: Array) -> float:
        return float(getattr(response(edges, rates, step_s, share), what))

    return _metric(
        "response_" + what, label, unit, _values((step_s,), time_scale_s, of, within_s, of_flow)
    )


def outage_of(
    what: str, from_s: float, until_s: float, time_scale_s: float, of: str = "sent", share: float = REACHED_SHARE,
    within_s: tuple[float, float] = (0.0, math.inf),
) -> Metric:  # fmt: skip
    """A number of `Outage` as a metric of flows, as `response_to`; one interval ends where the outage begins.

    Raises:
        KeyError: `what` is no field of `Outage`.
    """
    label, unit = _OF_OUTAGE[what]

    def of_flow(edges: Array, rates: Array) -> float:
        return float(getattr(outage(edges, rates, from_s, until_s, share), what))

    return _metric(
        "outage_" + what,
        label,
        unit,
        _values((from_s, until_s), time_scale_s, of, within_s, of_flow),
    )


def recovery_rounds(from_s: float, until_s: float, time_scale_s: float, of: str = "sent") -> Metric:
    """`Outage.recovered_s` in round trips of the time before: over the mean smoothed round-trip time until `from_s`.

    Of a control whose rounds are no round trips (TFRCP's have a length of their own), divide
    `recovered_s` by that.
    """
    recovered = outage_of("recovered_s", from_s, until_s, time_scale_s, of)

    def values(result: Result) -> list[Value]:
        rtt = {}
        keys, names = ("point", "replicate", "flow"), ("time_s", "smoothed_rtt_s")
        for (point, replicate, flow), rows in grouped(result.tables["samples"], keys, names):
            warm = (rows["time_s"] > measured_time(result, point)[0]) & (rows["time_s"] <= from_s)
            rtt[point, replicate, flow] = mean_of_known(rows["smoothed_rtt_s"][warm])
        return [
            one._replace(value=one.value / rtt[one.point, one.replicate, one.subject])
            for one in recovered.values(result)
        ]

    return _metric("recovery_rounds", "round trips to recover", "", values)


def _first(ends: Array, holds: NDArray[np.bool_], since_s: float, otherwise: float) -> float:
    return float(ends[int(np.argmax(holds))] - since_s) if holds.any() else otherwise


def _metric(name: str, label: str, unit: str, values: Callable[[Result], list[Value]]) -> Metric:
    shown = ("Mbit/s", 1e-6) if unit == "bit/s" else (unit, 1.0)
    return Metric(name, label, "", unit, *shown, values)


def _values(
    moments_s: tuple[float, ...], time_scale_s: float, of: str, within_s: tuple[float, float],
    of_flow: Callable[[Array, Array], float],
) -> Callable[[Result], list[Value]]:  # fmt: skip
    """Of each flow's rate, mean over its instances in each of the intervals, of which one ends at the first moment."""

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
        for one in series(result, of):
            flows.setdefault((one.point, one.replicate, one.flow), []).append(one)
        found = []
        for key, instances in flows.items():
            edges = _edges_around(instances, moments_s[0], time_scale_s, *looked_at[key[0]])
            rates = np.mean([one.rates(edges) for one in instances], axis=0)
            there = (
                edges.size > 1
                and edges[1] <= moments_s[0] + ROUNDING
                and edges[-2] >= moments_s[-1] - ROUNDING
            )
            found.append(Value(*key, of_flow(edges, rates) if there else math.nan))
        return found

    return values


def _edges_around(
    instances: list[Series], anchor_s: float, time_scale_s: float, from_s: float, until_s: float
) -> Array:
    """Ends of intervals of that length to both sides of a moment, in the time given, while all are active."""
    begin_s = max(from_s, *(one.start_s for one in instances))
    earliest_s = (
        anchor_s - math.floor((anchor_s - begin_s) / time_scale_s + ROUNDING) * time_scale_s
    )
    return instances[0].edges(
        time_scale_s, earliest_s, min(until_s, *(one.end_s for one in instances))
    )
