"""Rates of flow instances over successive intervals of time, from the table `samples`."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ackclock import units
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.metrics.tables import column, grouped
from ackclock.result.result import Result

Array = NDArray[np.float64]

#: Kinds of rate, and the columns of `samples` from which they are taken.
SOURCES = {
    "sent": "sent_packets",
    "delivered": "delivered_bytes",
    "allowed": "allowed_rate_bit_per_s",
}

#: Tolerance in s: sampling times are floating-point seconds.
ROUNDING = 1e-6


# Largest number of bins for a sample. Chosen here: a capture of a month has samples each minute.
_BINS_PER_SAMPLE = 100


class Series(NamedTuple):
    """The samples of one flow instance in one replicate.

    Attributes:
        point: Index of the point.
        replicate: Index of the replicate.
        flow: Name of the flow.
        instance: Number of the instance within its flow.
        start_s: Time of its start.
        end_s: Time of its end, or of the last sample.
        time_s: Times of the samples.
        values: Bits since the start, or rates in bit/s, at these times.
        is_rate: True if the values are rates, False if they are counts of bits.
    """

    point: int
    replicate: int
    flow: str
    instance: int
    start_s: float
    end_s: float
    time_s: Array
    values: Array
    is_rate: bool

    def rates(self, edges_s: Array) -> Array:
        """Returns the mean rate between successive edges in bit/s; 0 before the first sample.

        A sampled rate holds until the next sample.
        """
        if edges_s.size < 2:
            return np.empty(0)
        reached = self.values
        if self.is_rate:
            without_nan = np.nan_to_num(self.values)
            reached = np.concatenate([[0.0], np.cumsum(without_nan[:-1] * np.diff(self.time_s))])
        return np.asarray(
            np.diff(np.interp(edges_s, self.time_s, reached, left=0.0)) / np.diff(edges_s)
        )

    def edges(self, time_scale_s: float, from_s: float, until_s: float) -> Array:
        """Returns edges of bins of that length, within the given time and the instance's life.

        Edges are the sampling times nearest to multiples of the length, so that each sample falls
        into one bin.
        """
        from_s, until_s = max(from_s, self.start_s), min(until_s, self.end_s)
        times = self.time_s[
            (self.time_s >= from_s - ROUNDING) & (self.time_s <= until_s + ROUNDING)
        ]
        if times.size < 2:
            return times
        wanted = _multiples(times, time_scale_s)
        after = np.clip(np.searchsorted(times, wanted), 1, times.size - 1)
        return np.unique(
            np.where(
                wanted - times[after - 1] <= times[after] - wanted, times[after - 1], times[after]
            )
        )


def _multiples(times: Array, length: float) -> Array:
    """Returns the multiples of a length, from the first time on, that lie next to a time.

    So there are at most four for each time, however far apart the times are.
    """
    below = np.floor((times - times[0]) / length)
    near = np.unique(below[:, np.newaxis] + np.arange(-1.0, 3.0))
    last = (times[-1] - times[0]) / length + ROUNDING
    return np.asarray(times[0] + length * near[(near >= 0) & (near <= last)])


def even_edges(length_s: float, from_s: float, until_s: float, samples: int) -> Array:
    """Returns edges of bins of that length; none if there are a hundred bins for a sample.

    Most bins then hold no sample. A capture with wrong times would have millions of them.
    """
    if not until_s - from_s < _BINS_PER_SAMPLE * length_s * samples:
        return np.empty(0)
    return np.arange(from_s, until_s, length_s)


def series(result: Result, source: str = "sent") -> Iterator[Series]:
    """Yields every flow instance of every replicate that started and has samples.

    Args:
        result: A result that has samples.
        source: Kind of rate. For `sent` it is the data sent, including retransmissions, in full
            packets without headers, as Floyd and others measure it. For `delivered` it is the data
            that the application got in order, which jumps where TCP repairs a loss. For `allowed`
            it is the rate that a rate control allowed.

    Raises:
        ValueError: `source` is none of these, or the samples lack its column.
    """
    if source not in SOURCES:
        raise InputError.unknown("source", "rate", source, SOURCES)
    name = SOURCES[source]
    if name not in result.tables["samples"].column_names:
        raise InputError(
            "no-data",
            "source",
            f"{source} is unknown: no sample has {name}; choose sent or delivered",
        )
    keys = ("point", "replicate", "flow", "instance")
    active = dict(grouped(result.tables["flows"], keys, ("start_s", "end_s")))
    for key, rows in grouped(result.tables["samples"], keys, ("time_s", name)):
        started = key in active and not math.isnan(active[key]["start_s"][0])
        if started and not np.isnan(rows[name]).all():
            point, replicate, flow, instance = key
            start_s, end_s = (float(active[key][end][0]) for end in ("start_s", "end_s"))
            last_s = float(rows["time_s"][-1]) if math.isnan(end_s) else end_s
            values = rows[name] * (
                1.0 if source == "allowed" else _bits(result, point, flow, source)
            )
            yield Series(
                point,
                replicate,
                flow,
                instance,
                start_s,
                last_s,
                rows["time_s"],
                values,
                source == "allowed",
            )


def _bits(result: Result, point: int, flow: str, source: str) -> float:
    """Returns the bits of payload in one counted unit."""
    if source == "delivered":
        return 8.0
    scenario = result.points[point]["scenario"]
    if scenario is None:
        return 8 * payload_bytes(result)
    [tree] = [tree for tree in scenario["flows"] if tree["name"] == flow]
    return 8 * facts.mss_bytes(tree)


def payload_bytes(result: Result) -> float:
    """Returns the payload of a packet of a session, in bytes."""
    return units.data_bytes(result.run["options"]["--payload"])


def refuse_unknown(result: Result, *flows: str) -> None:
    """Refuses names of flows that do not exist.

    Raises:
        ValueError: A name is unknown; one line.
    """
    names = dict.fromkeys(
        flow["name"] for point in result.points for flow in point["scenario"]["flows"]
    )
    for name in flows:
        if name not in names:
            raise InputError.unknown("flow", "flow", name, names)


def measured_time(result: Result, point: int) -> tuple[float, float]:
    """Returns the end of the warm-up and the end of the run, in seconds.

    Without a scenario it is the first start and the last end of a flow; if none has ended, the last
    sample.
    """
    scenario = result.points[point]["scenario"]
    if scenario is None:
        flows = result.rows("flows", point=point)
        start_s, end_s = pc.min(flows["start_s"]).as_py(), pc.max(flows["end_s"]).as_py()
        if end_s is None:
            end_s = pc.max(result.rows("samples", point=point)["time_s"]).as_py()
        return (start_s or 0.0, end_s or 0.0)
    return units.seconds(scenario["warmup"]), units.seconds(scenario["duration"])


def sample_interval(result: Result, point: int) -> float:
    """Returns the median time between samples of a point, in s; NaN with fewer than two samples."""
    gaps = np.diff(np.unique(column(result.rows("samples", point=point), "time_s")))
    return float(np.median(gaps)) if gaps.size else math.nan


def refuse_finer(result: Result, time_scale_s: float) -> None:
    """Refuses a time scale that is shorter than the sampling interval.

    Raises:
        ValueError: The time scale is not positive and finite, or is too short; one line.
    """
    if not (time_scale_s > 0 and math.isfinite(time_scale_s)):
        raise InputError(
            "out-of-range",
            "time scale",
            f"{time_scale_s:g} s is too short; for example 0.2",
        )
    for point in range(len(result.points)):
        apart = sample_interval(result, point)
        if not is_shown(apart, time_scale_s):
            raise InputError(
                "contradiction",
                "time scale",
                f"{time_scale_s:g} s is finer than the samples, which are {apart:g} s apart; "
                f'run it again with sample_interval = "{time_scale_s:g} s" or shorter',
            )


def is_shown(apart_s: float, time_scale_s: float) -> bool:
    """Returns True if a sampling interval is not longer than a time scale."""
    return not apart_s > time_scale_s * (1 + ROUNDING)
