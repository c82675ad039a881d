"""Judges if the means of a long-lived flow, over the time observed, are those of a steady state.

A confidence interval over replicates says how far replicates differ. Replicates that all end on the
first slope of a saw-tooth agree to 0.01 %, and their mean is still not that of the saw-tooth. All
of these rules must hold. They were chosen before any result was looked at:

- The measured time has at least `EPOCHS` congestion epochs, on the mean over instances and
  replicates. An epoch begins with a reaction to congestion. A loss of retransmissions in the same
  recovery does not begin another epoch.
- A control that probes for a model of the path, as BBR does, waits for no loss. Instead of epochs
  it goes through at least `EPOCHS` cycles of its state. A cycle begins with a return to the mode in
  which it spends most time. After n cycles with a share s of the time outside that mode, another
  cycle changes a mean by about s/n. So s/`NOTICEABLE` cycles suffice if the goodput is steady.
- The goodput has no change point. The cumulative sum of deviations from the mean, over `BATCHES`
  batches, stays within what independent batches exceed once in a thousand runs (Kolmogorov's
  distribution; Page, Biometrika 41, 1954). Their variance comes from successive differences, which
  a single change does not inflate. The source is von Neumann, Annals of Mathematical Statistics
  12(4), 1941.
- MSER-5 cuts off at most half of the measured time. It averages batches of `BATCH` observations,
  then cuts off the first d batch means so that the standard error of the rest is least (White,
  Simulation 69(6), 1997). If d is past the middle, there are too few observations (Hoad, Robinson,
  Davies, Journal of the Operational Research Society 61(9), 2010).

The papers are "An effective truncation heuristic for bias reduction in simulation output" and
"Automating warm-up length estimation". An observation is the goodput between two sampling times,
summed over instances and replicates. The search for d covers the first three quarters, so that the
rest still holds one epoch if there are `EPOCHS`. Fewer than `BATCHES` batches are not judged. A
change of the mean by less than `NOTICEABLE` is ignored.

Only long-lived flows under a control are judged. They always have data to send, never end, and do
not arrive at random times. Epochs are required only if the control states that it reacts to loss
and not to delay, because a window that follows the delay settles. They are also required only if
the window can still grow, because a window limited by the receiver settles too. Cycles are required
only of a control that has modes and leaves them again; a kernel tells none.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.elements import facts
from ackclock.metrics import METRICS
from ackclock.metrics.subjects import AT_HOPS, TOGETHER
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.flows import is_controlled
from ackclock.result.result import Result
from ackclock.table import Cell, Written, assigned, text

#: Congestion epochs that a mean needs. With fewer, the incomplete epochs at both ends weigh too
#: much.
EPOCHS = 5

#: Observations in a batch (the 5 of MSER-5), and the fewest batches that are judged.
BATCH, BATCHES = 5, 20

#: A share of the mean; the same as in comparisons.
NOTICEABLE = 0.01

# Kolmogorov's distribution: the supremum of a Brownian bridge exceeds it once in a thousand times.
_BRIDGE = 1.95

#: Meaning of the mark in a table.
NOTE = (
    "* has not settled: too few congestion epochs or cycles in the measured time, or goodput that "
    "still changes"
)

_LOSSES = ("fast_retransmit", "timeout", "reduction")
_KEYS = ("point", "replicate", "flow", "instance")

#: Columns read of each table, besides the keys. Kernels do not report events.
_READ = {
    "flows": ("start_s", "end_s"),
    "samples": (
        "time_s",
        "delivered_bytes",
        "cwnd_bytes",
        "retransmitted_packets",
        "smoothed_rtt_s",
        "mode",
    ),
    "events": ("time_s", "kind"),
}

_Run = tuple[int, int, str, int]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one flow of one point.

    Attributes:
        settled: True if its means are those of a steady state; None if that is not known.
        reason: The reason if they are not, or if it is not known; else empty.
        epochs: Congestion epochs or cycles in the measured time, mean over instances and
            replicates; None if none are required.
        epoch_s: Duration of an epoch: measured if there was one, else from the facts; None if
            unknown.
        duration_s: A sufficient duration of the run; None if unknown or not needed.
    """

    settled: bool | None
    reason: str = ""
    epochs: float | None = None
    epoch_s: float | None = None
    duration_s: float | None = None

    def row(self) -> dict[str, Any]:
        """Returns the verdict as plain data."""
        values = {"settled": self.settled, "reason": self.reason or None, "epochs": self.epochs}
        return values | {"epoch_s": self.epoch_s, "duration_s": self.duration_s}


@dataclass(frozen=True)
class Stationarity:
    """The verdicts on a result.

    Attributes:
        points: The points of the result.
        verdicts: Verdicts by point and flow; flows that are not judged are absent.
    """

    points: list[dict[str, Any]]
    verdicts: Mapping[tuple[int, str], Verdict] = field(default_factory=dict)

    @cached_property
    def marked(self) -> frozenset[tuple[int, str]]:
        """Point and name of each subject that a flow concerns which has not settled.

        These are the flow, the hops on its route, what waits there, and all flows together.
        """
        subjects = set()
        for (point, flow), verdict in self.verdicts.items():
            if verdict.settled is False:
                scenario = self.points[point]["scenario"]
                hops = {
                    hop
                    for flow_tree in scenario["flows"]
                    if flow_tree["name"] == flow
                    for hop in flow_tree["route"]
                }
                within = tuple(f"{hop}{sign}" for hop in hops for sign in "/[")
                waiting = {
                    subject for subject in AT_HOPS.names(scenario) if subject.startswith(within)
                }
                subjects |= {(point, name) for name in (TOGETHER, flow, *hops, *waiting)}
        return frozenset(subjects)

    def marks(self, metric: str, point: int, subject: str) -> bool:
        """Returns True if a metric's mean is marked; `subject` is one of the metric's."""
        return METRICS[metric].settles and (point, subject) in self.marked

    def row(self, point: int, flow: str) -> dict[str, Any] | None:
        """Returns the verdict on a flow as plain data; None if it is not judged."""
        verdict = self.verdicts.get((point, flow))
        return None if verdict is None else verdict.row()

    @property
    def warning(self) -> str:
        """One line for all flows that have not settled, naming the worst; empty for none."""
        doubtful = {
            key: verdict for key, verdict in self.verdicts.items() if verdict.settled is False
        }
        if not doubtful:
            return ""
        (point, flow), worst = max(doubtful.items(), key=lambda entry: entry[1].duration_s or 0)
        words = assigned(self.points[point]["assignments"]) if len(self.points) > 1 else []
        where = f"{flow} ({', '.join(words)})" if words else flow
        others = (
            f"; {len(doubtful)} of {len(self.verdicts)} means are so, marked *"
            if len(doubtful) > 1
            else ""
        )
        return f"{where}: {worst.reason}{others}"


@dataclass(frozen=True)
class _Cycles:
    """Cycles of a control's state.

    Attributes:
        count: Returns to the mode in which it spends most time.
        outside: Share of the time in other modes.
    """

    count: float
    outside: float


@dataclass(frozen=True)
class _Instance:
    """One instance of one replicate in its measured time."""

    epochs: float  # NaN if unknown
    cycles: "_Cycles"
    times_s: NDArray[np.float64]
    delivered: NDArray[np.float64]
    grows: bool
    from_s: float

    @property
    def measured_s(self) -> float:
        return float(self.times_s[-1] - self.from_s)


def judge(result: Result) -> Stationarity:
    """Judges every long-lived flow of a simulation or an emulation.

    There are no verdicts on results of other methods, nor on results that lack a needed table or
    column.
    """
    if result.run["method"] not in ("simulate", "emulate") or not _tells(result):
        return Stationarity(result.points)
    names = {flow["name"] for point in result.points for flow in _judged(point["scenario"])}
    if not names:
        return Stationarity(result.points)
    instances = _instances(result, sorted(names))
    return Stationarity(
        result.points,
        {
            (index, flow["name"]): _verdict(point["scenario"], flow, instances[index, flow["name"]])
            for index, point in enumerate(result.points)
            for flow in _judged(point["scenario"])
            if (index, flow["name"]) in instances
        },
    )


def starred(cell: Cell, marked: bool) -> Cell:
    """Returns a cell of a table, marked with an asterisk if `marked` and known."""
    return (
        Written(cell.value if isinstance(cell, Written) else cell, f"{text(cell)}*")
        if marked and text(cell) != text(None)
        else cell
    )


def mser(batches: NDArray[np.float64]) -> int:
    """Returns the number of batches that MSER cuts off, at most three quarters of them.

    That is the d that minimises sum((x_i - mean)^2)/(n - d)^2, with sum and mean over the n - d
    batches that are left.
    """
    n = batches.size
    d = np.arange(3 * n // 4 + 1)
    left = n - d
    # Deviations from the overall mean, to avoid cancellation if batches hardly differ.
    x = batches - batches.mean()
    sums, squares = np.cumsum(x[::-1])[::-1][d], np.cumsum(x[::-1] ** 2)[::-1][d]
    return int(np.argmin(np.maximum(squares - sums**2 / left, 0) / left**2))


def _tells(result: Result) -> bool:
    """Returns True if a result has the tables and columns needed; handmade ones may lack some."""
    return all(
        name in result.tables and {*_KEYS, *columns} <= set(result.tables[name].column_names)
        for name, columns in _READ.items()
        if name != "events" or result.run["method"] == "simulate"
    )


def _judged(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the flows under a control that always have data to send."""
    return [
        flow
        for flow in scenario["flows"]
        if "arrivals" not in flow and is_controlled(flow) and facts.traffic(flow)["greedy"] is True
        and facts.traffic(flow)["finite"] is False
    ]  # fmt: skip


def _instances(result: Result, names: list[str]) -> dict[tuple[int, str], list[_Instance]]:
    """Returns the instances of each point and flow within the measured time, of usable runs."""
    flows = result.rows("flows", flow=names)
    there = {
        key: (rows["start_s"][0], rows["end_s"][0])
        for key, rows in grouped(flows, _KEYS, _READ["flows"])
    }
    reactions = _reactions(result, names) if result.run["method"] == "simulate" else None
    warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
    limits = {
        (index, flow["name"]): _receive_window(flow)
        for index, point in enumerate(result.points)
        for flow in point["scenario"]["flows"]
    }
    instances: dict[tuple[int, str], list[_Instance]] = {}
    for key, rows in grouped(result.rows("samples", flow=names), _KEYS, _READ["samples"]):
        point, replicate, flow, _ = key
        start, end = there.get(key, (math.inf, math.nan))
        from_s, to_s = np.fmax(warmups[point], start), np.fmin(math.inf, end)
        late = {
            name: values[(rows["time_s"] >= from_s) & (rows["time_s"] <= to_s)]
            for name, values in rows.items()
        }
        if (point, replicate) in result.left_out or late["time_s"].size < 2:
            continue
        if reactions is None:
            epochs = _recoveries(late)
        else:
            times = reactions.get(key, np.empty(0))
            epochs = float(np.count_nonzero((times > from_s) & (times <= to_s)))
        delivered = late["delivered_bytes"].astype(float)
        grows = _grows(np.minimum(late["cwnd_bytes"], limits[point, flow]))
        cycles = _cycles(late["mode"])
        instance = _Instance(epochs, cycles, late["time_s"], delivered, grows, float(from_s))
        instances.setdefault((point, flow), []).append(instance)
    return instances


def _reactions(result: Result, names: list[str]) -> dict[_Run, NDArray[np.float64]]:
    """Returns the times at which the epochs of each instance began.

    A loss reaction directly after another belongs to the same epoch; an ECN echo always begins one.
    """
    reactions = {}
    for key, rows in grouped(result.rows("events", flow=names), _KEYS, _READ["events"]):
        is_loss = np.isin(rows["kind"].astype(str), _LOSSES)
        begins = is_loss & ~np.concatenate(([False], is_loss[:-1]))
        reactions[key] = rows["time_s"][begins | (rows["kind"].astype(str) == "ecn_echo")]
    return reactions


def _recoveries(rows: Columns) -> float:
    """Counts recoveries: bursts of retransmissions at least a round trip apart.

    A kernel's samples do not tell more.
    """
    sent_again, time_s = rows["retransmitted_packets"].astype(float), rows["time_s"]
    if np.isnan(sent_again).any():
        return math.nan
    when = time_s[1:][np.diff(sent_again) > 0]
    round_trip = np.nan_to_num(rows["smoothed_rtt_s"].astype(float)).max()
    apart = max(round_trip, 1.5 * float(np.median(np.diff(time_s))))
    return float(np.count_nonzero(np.diff(when, prepend=-math.inf) > apart))


def _cycles(modes: NDArray[Any]) -> _Cycles:
    """Returns the cycles in a control's sampled modes; none if they are not known."""
    known_modes = modes[modes != np.array(None)].astype(str)
    if known_modes.size == 0:
        return _Cycles(0, 0.0)
    names, counts = np.unique(known_modes, return_counts=True)
    inside = known_modes == names[np.argmax(counts)]
    returns = np.count_nonzero(inside[1:] & ~inside[:-1])
    return _Cycles(float(returns), float(1 - inside.mean()))


def _receive_window(flow: Mapping[str, Any]) -> float:
    """Returns the most bytes in flight that the receiver is known to permit.

    A sender's congestion window may grow beyond it without a limit.
    """
    window = facts.transport(flow)[1]["congestion_window"]
    segments = window["receive_segments"] if window else None
    return facts.mss_bytes(flow) * segments if segments else math.inf


def _grows(window: NDArray[np.float64]) -> bool:
    """Returns True if the window is larger at the end than in the middle, or if it is unknown."""
    known_window = window[~np.isnan(window)]
    return known_window.size < 2 or bool(known_window[-1] > known_window[known_window.size // 2])


def _verdict(scenario: dict[str, Any], flow: dict[str, Any], instances: list[_Instance]) -> Verdict:
    changes = _changes(instances)
    unknown = Verdict(None, "whether and when it reacts to congestion is not known")
    if facts.transport(flow)[1]["congestion_window"] is None:
        return Verdict(False, changes) if changes else unknown
    if _has_epochs(flow, instances):
        stated = facts.control(flow)[1]
        epochs = _mean(instance.epochs for instance in instances)
        if None in (stated["reacts_to_loss"], stated["reacts_to_delay"]) or math.isnan(epochs):
            return unknown
        return _recurring(
            scenario, instances, epochs, EPOCHS, "congestion epoch",
            changes or "", partial(_from_facts, scenario, flow),
        )  # fmt: skip
    if changes is None:
        return Verdict(None, "there are too few samples")
    outside = _mean(instance.cycles.outside for instance in instances)
    if _has_cycles(flow) and outside > 0:
        cycles = _mean(instance.cycles.count for instance in instances)
        needed = min(EPOCHS, outside / NOTICEABLE)
        return _recurring(
            scenario, instances, cycles, needed, "cycle", changes, lambda: None
        )  # fmt: skip
    return Verdict(not changes, changes)


def _recurring(
    scenario: dict[str, Any], instances: list[_Instance], count: float, needed: float, noun: str,
    changes: str, expected_s: Callable[[], float | None],
) -> Verdict:  # fmt: skip
    """Returns the verdict on a flow that a mean needs several epochs or cycles of.

    Args:
        scenario: Of the run.
        instances: Of the flow.
        count: How many there were, on the mean.
        needed: How many suffice if its goodput does not change; at most `EPOCHS`.
        noun: What they are.
        changes: The reason if its goodput changes; else empty.
        expected_s: Returns the duration of one that was not seen; None if unknown.
    """
    duration = units.seconds(scenario["duration"])
    measured = _mean(instance.measured_s for instance in instances)
    lasts = measured / count if count > 0 else expected_s()
    if count >= EPOCHS or (count >= needed and not changes):
        return Verdict(not changes, changes, count, lasts)
    few = (
        f"{count:.2g} {noun}{'' if count == 1 else 's'} in {float(f'{measured:.3g}'):g} s, a mean "
        f"needs at least {EPOCHS}"
    )
    if lasts is None:
        remedy = f"give it a longer duration (how long {noun}s take is not known)"
        return Verdict(False, f"{few}; {remedy}", count)
    # One more, as the measured time begins and ends within one.
    enough = _rounded_up(max(duration - measured + (EPOCHS + 1) * lasts, duration))
    return Verdict(
        False,
        f"{few}; one takes about {_rounded_up(lasts):g} s: --set 'duration={enough:g} s'",
        count,
        lasts,
        enough,
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _has_cycles(flow: dict[str, Any]) -> bool:
    """Returns True if the control probes for a model of the path, mode after mode."""
    growth = facts.control(flow)[1].get("growth")
    return growth is not None and growth["kind"] == "by_path_model"


def _has_epochs(flow: dict[str, Any], instances: list[_Instance]) -> bool:
    """Returns True if the window follows a saw-tooth, as far as is known."""
    stated = facts.control(flow)[1]
    if (
        not facts.transport(flow)[1]["congestion_window"]
        or _has_cycles(flow)
        or stated["reacts_to_loss"] is False
        or stated["reacts_to_delay"] is True
    ):
        return False
    return any(instance.grows or instance.epochs > 0 for instance in instances)


def _changes(instances: list[_Instance]) -> str | None:
    """Returns how the goodput changes, as a reason; empty if it does not; None if unknown."""
    start, end = (
        max(instance.times_s[0] for instance in instances),
        min(instance.times_s[-1] for instance in instances),
    )
    count = min(instance.times_s.size - 1 for instance in instances) // BATCH
    if count < BATCHES or not start < end:
        return None
    remedy = "give it a longer warm-up and duration"
    batches = _batches(instances, start, end, count)
    cut = mser(batches)
    if cut > count / 2 and _noticeable(batches, cut):
        return f"its goodput still changes in the second half of the measured time; {remedy}"
    few = _batches(instances, start, end, BATCHES)
    changed = _change_point(few)
    if changed is not None and _noticeable(few, changed):
        when = float(f"{start + (end - start) * changed / BATCHES:.2g}")
        return f"its goodput changes in the measured time, at about {when:g} s; {remedy}"
    return ""


def _batches(
    instances: list[_Instance], start: float, end: float, count: int
) -> NDArray[np.float64]:
    """Returns what all instances delivered in each of `count` equal pieces of the time."""
    ends = np.linspace(start, end, count + 1)
    each = [
        np.diff(np.interp(ends, instance.times_s, instance.delivered)) for instance in instances
    ]
    return np.asarray(np.sum(each, axis=0))


def _noticeable(batches: NDArray[np.float64], cut: int) -> bool:
    """Returns True if the mean changes when the first batches are cut off."""
    mean = float(batches.mean())
    return abs(float(batches[cut:].mean()) - mean) > NOTICEABLE * mean


def _change_point(batches: NDArray[np.float64]) -> int | None:
    """Returns the number of batches before their mean changes; None if it does not."""
    sums = np.abs(np.cumsum(batches - batches.mean()))[:-1]
    variance = float(np.mean(np.diff(batches) ** 2)) / 2
    before = int(np.argmax(sums)) + 1
    exceeds = sums[before - 1] > _BRIDGE * math.sqrt(variance * batches.size)
    return before if exceeds else None


def _from_facts(scenario: dict[str, Any], flow: dict[str, Any]) -> float | None:
    """Returns the duration of an epoch if the queue overflows, from the facts; None if unknown.

    For a window that grows linearly it is that of the saw-tooth. For CUBIC it is K = cbrt(Wmax (1 -
    beta)/C) (RFC 9438, equation 2), or that of the saw-tooth in its Reno-friendly region (section
    4.3) if shorter.
    """
    from ackclock.models import flow_path, sawtooth  # Slow to import, and runs have epochs.

    path = flow_path(scenario, flow)
    control, bottleneck = path.control, path.bottleneck
    full = path.share_segments + bottleneck.buffer_segments / bottleneck.flows
    if (
        not math.isfinite(full)
        or not 0 < control.kept_share < 1
        or path.sender.receive_window_segments <= full
    ):
        return None
    beta = control.kept_share
    growth = 3 * (1 - beta) / (1 + beta) if control.growth == "cubic" else control.growth_segments
    tooth = sawtooth.cycle(
        *(np.asarray(value) for value in (
            bottleneck.segments_per_s, path.round_trip.base_s, bottleneck.buffer_segments,
            float(bottleneck.flows), growth, beta, path.sender.segments_per_ack,
        ))
    )["period"]  # fmt: skip
    lasts = _without_nan([float(tooth), float(np.cbrt(full * (1 - beta) / control.cubic_c))])
    return min(lasts, default=None)


def _without_nan(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value) and value > 0]


def _rounded_up(value: float) -> float:
    """Rounds up to two significant digits, as the estimate is no more precise."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(round(value / unit, 6)) * unit:.10g}")
