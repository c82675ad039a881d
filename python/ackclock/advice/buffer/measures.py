"""Measures of a buffer: utilisation, queueing delay, loss and completion time.

Each measure has one value per replicate, for the time after the warm-up.

- **Utilisation**: Share of time for which a link of constant rate is busy. For a varying link,
  bytes sent over bytes it could have sent.
- **Queueing delay**: Results have the backlog at the sampling times, not the delay of each packet.
  A packet that arrives at that time would wait until the link has sent that backlog; for a varying
  link its later capacity tells when. The 99 % quantile is therefore over time, not over packets. It
  excludes the packet's own transmission.
- **Loss**: Share of the arriving packets that the queue dropped, because it was full or by its
  discipline.
- **Completion time**: The 95 % quantile over the finite transfers through the hop; for arrivals,
  over those after the warm-up. A transfer that has not ended takes longer than it has lasted, which
  the estimator of Kaplan and Meier (1958) accounts for. If too few have ended, the quantile is
  infinite.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.elements import facts
from ackclock.metrics import HOPS, Formula, Interval, Metric, by_replicate, interval, metric
from ackclock.metrics.hops import per_hop
from ackclock.metrics.metric import Value
from ackclock.metrics.rates import measured_time
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.result import Result

Array = NDArray[np.float64]

#: Values by measure and replicate.
Values = dict[str, dict[int, float]]

_DELAY_QUANTILE, _COMPLETION_QUANTILE = 0.99, 0.95

#: With fewer samples the 99 % quantile is just the largest of them.
FEWEST_SAMPLES = 100

_REDUCTIONS = ("fast_retransmit", "timeout", "ecn_echo", "reduction")

# Rounding of sums of times: a link that is always busy may miss one by 1e-16.
_ROUNDING = 1e-9

MET, MISSED, UNDECIDED = "met", "missed", "undecided"


@dataclass(frozen=True)
class Measure:
    """A quantity that a target may limit.

    Attributes:
        name: Name in JSON; ends in the unit.
        label: Label in tables and figures.
        option: Option of the command line.
        at_least: True if a target is a lower bound.
        shown_unit: Unit in tables and figures.
        shown_per_unit: Shown units per unit.
    """

    name: str
    label: str
    option: str
    at_least: bool
    shown_unit: str
    shown_per_unit: float

    def words(self, value: float) -> str:
        """Formats a value with its unit."""
        return f"{value * self.shown_per_unit:.4g} {self.shown_unit}"


#: In the order of tables.
MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "utilisation",
            "utilisation",
            "--utilisation",
            at_least=True,
            shown_unit="%",
            shown_per_unit=100,
        ),
        Measure(
            "delay_p99_s",
            "p99 delay",
            "--p99-delay",
            at_least=False,
            shown_unit="ms",
            shown_per_unit=1e3,
        ),
        Measure("loss", "loss", "--loss", at_least=False, shown_unit="%", shown_per_unit=100),
        Measure(
            "completion_p95_s",
            "p95 completion",
            "--completion-p95",
            at_least=False,
            shown_unit="s",
            shown_per_unit=1,
        ),
    )
}


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes:
        measure: The measure.
        bound: Its lower or upper bound, in its unit.
    """

    measure: Measure
    bound: float

    @property
    def words(self) -> str:
        """The target in a sentence: `utilisation ≥ 98 %`."""
        return (
            f"{self.measure.label} {'≥' if self.measure.at_least else '≤'} "
            f"{self.measure.words(self.bound)}"
        )

    def judge(self, mean: Interval) -> str:
        """Judges by the whole interval of a mean: met, missed, or undecided if it spans the bound.

        A single value has no interval and decides by itself. An unknown value is missed.
        """
        half = 0.0 if np.isnan(mean.half_width) else mean.half_width
        sign = 1.0 if self.measure.at_least else -1.0
        spare = sign * (mean.mean - self.bound)
        if np.isnan(spare) or spare + half < -_ROUNDING:
            return MISSED
        return MET if spare - half >= -_ROUNDING else UNDECIDED


def intervals(values: Values) -> dict[str, Interval]:
    """Returns the mean and 95 % interval of each measure over replicates."""
    return {name: interval(list(by_replicate.values())) for name, by_replicate in values.items()}


def values(result: Result, hop: str) -> Values:
    """Returns the values of one hop by measure and replicate.

    Completion times are included if there is a finite transfer. Unreliable emulated runs are left
    out.
    """
    scenario = result.points[0]["scenario"]
    steady = next(
        facts.link(other)[1]["varies"] is False
        for other in scenario["hops"]
        if other["name"] == hop
    )
    by_measure: Values = {
        "utilisation": _of_hop(result, hop, metric("utilisation") if steady else _USED),
        "delay_p99_s": _of_hop(result, hop, _DELAY),
        "loss": _of_hop(result, hop, _LOST),
    }
    transfers = finite_flows(scenario, hop)
    if transfers:
        durations = _durations(result, transfers, *measured_time(result, 0))
        by_measure["completion_p95_s"] = {
            replicate: quantile_of_censored(*durations[replicate], _COMPLETION_QUANTILE)
            for replicate in by_measure["utilisation"]
        }
    return by_measure


def mean_rate(result: Result, hop: str) -> float:
    """Returns the mean rate that a hop's link could send, in bit/s; NaN if unknown.

    The mean is over the measured time and over replicates.
    """
    rates = list(_of_hop(result, hop, metric("capacity")).values())
    return float(np.mean(rates)) if rates else nan


def reductions(result: Result, flows: Sequence[str]) -> float:
    """Returns how often flows cut their windows in the measured time, as a mean over replicates."""
    warmup_s, _ = measured_time(result, 0)
    rows = result.rows("events", point=0, flow=list(flows), kind=list(_REDUCTIONS))
    return float((rows["time_s"].to_numpy() > warmup_s).sum() / result.run["replicates"])


def finite_flows(scenario: dict[str, Any], hop: str) -> list[str]:
    """Returns the names of flows that are finite transfers through a hop."""
    return [
        flow["name"]
        for flow in scenario["flows"]
        if facts.traffic(flow)["finite"] and hop in flow["route"]
    ]


def quantile_of_censored(times_s: Array, ended: NDArray[np.bool_], quantile: float) -> float:
    """Returns a quantile of partly censored durations (Kaplan and Meier, JASA 53, 1958).

    Args:
        times_s: Duration of each, or its time until it was censored.
        ended: True for those that were not censored.
        quantile: Between 0 and 1.

    Returns:
        The time by which that share has ended; infinite if too few have ended, NaN if there are
        none.
    """
    if times_s.size == 0:
        return nan
    order = np.lexsort((~ended, times_s))  # Among equal times, those that ended come first.
    left = times_s.size - np.arange(times_s.size)
    surviving = np.cumprod(np.where(ended[order], 1 - 1 / left, 1.0))
    reached = np.flatnonzero(surviving <= 1 - quantile + _ROUNDING)
    return float(times_s[order][reached[0]]) if reached.size else inf


def _of_hop(result: Result, hop: str, metric: Metric) -> dict[int, float]:
    """Returns the values of a hop by replicate."""
    return by_replicate(result, metric).get((0, hop), {})


def _delay_quantile(rows: Columns, warmup_s: float) -> float:
    """Returns the 99 % quantile of the delay; NaN with too few samples.

    Samples whose backlog had not been sent by the end of the run are left out.
    """
    time_s, capacity, backlog = (
        rows[name].astype(float) for name in ("time_s", "capacity_bytes", "backlog_bytes")
    )
    sent_s = np.interp(capacity + backlog, capacity, time_s, right=nan)
    waits = np.where(backlog > 0, np.maximum(sent_s - time_s, 0.0), 0.0)
    present = waits[(time_s > warmup_s) & ~np.isnan(waits)]
    return float(np.quantile(present, _DELAY_QUANTILE)) if present.size >= FEWEST_SAMPLES else nan


def _metric(measure: str, values: Callable[[Result], list[Value]]) -> Metric:
    described = MEASURES[measure]
    return Metric(
        described.name,
        described.label,
        "",
        "",
        described.shown_unit,
        described.shown_per_unit,
        HOPS,
        values,
    )


_USED = _metric("utilisation", Formula("hops", "growth", ("served_bytes",), over="capacity_bytes"))
_DELAY = _metric("delay_p99_s", per_hop(("capacity_bytes", "backlog_bytes"), _delay_quantile))
_LOST = _metric("loss", Formula("hops", "growth", ("drops_queue", "drops_aqm"), over="arrivals"))


def _durations(
    result: Result, transfers: list[str], warmup_s: float, end_s: float
) -> dict[int, tuple[Array, NDArray[np.bool_]]]:
    """Returns by replicate how long each transfer took or has lasted, and whether it ended."""
    flows = result.points[0]["scenario"]["flows"]
    arriving = {flow["name"] for flow in flows if "arrivals" in flow}
    names = ("start_s", "end_s", "completion_time_s")
    by_replicate: dict[int, list[tuple[Array, NDArray[np.bool_]]]] = {}
    for (replicate, flow), rows in grouped(result.tables["flows"], ("replicate", "flow"), names):
        parts = by_replicate.setdefault(replicate, [])
        if flow not in transfers:
            continue
        counted = rows["start_s"] >= (warmup_s if flow in arriving else 0.0)
        start, stopped, took = (rows[name][counted] for name in names)
        ended = ~np.isnan(took)
        there = np.where(np.isnan(stopped), end_s, stopped) - start
        parts.append((np.where(ended, took, there), ended))
    return {
        replicate: (
            np.concatenate([np.empty(0), *(times for times, _ in parts)]),
            np.concatenate([np.empty(0, bool), *(ended for _, ended in parts)]),
        )
        for replicate, parts in by_replicate.items()
    }


def shown_number(measure: Measure, interval: Interval) -> str:
    """Formats a mean with its half width, if four digits show it, in the shown unit."""
    mean, half = (value * measure.shown_per_unit for value in (interval.mean, interval.half_width))
    if not np.isfinite(mean):
        return "unknown" if np.isnan(mean) else "∞"
    if np.isnan(half) or half <= 5e-4 * abs(mean):
        return f"{mean:.4g}"
    digits = int(max(0, 1 - np.floor(np.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
