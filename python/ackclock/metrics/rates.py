"""Rates of flow instances over successive intervals of time, from the table `samples`."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ackclock import units
from ackclock.errors import InputError
from ackclock.metrics.tables import column, grouped
from ackclock.result import Result

Array = NDArray[np.float64]

#: What a rate can be of, and the columns of `samples` that it is taken from.
SOURCES = {
    "sent": "sent_packets",
    "delivered": "delivered_bytes",
    "allowed": "allowed_rate_bit_per_s",
}

#: Sampling times are written as seconds in floating point.
ROUNDING = 1e-6


class Series(NamedTuple):
    """What was sampled of one flow instance in one replicate.

    Attributes:
        point: Index of the point.
        replicate: Which replicate.
        flow: Name of its group.
        instance: Its number there.
        start_s: When it started.
        end_s: When it ended, or the last sample's time.
        time_s: Of the samples.
        values: At these times: bits since the start, or a rate in bit/s.
        is_rate: Whether the values are a rate, and no count of bits.
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
        """Mean rate between successive edges in bit/s; a rate that was sampled counts until the next sample.

        Nothing is counted before the first sample.
        """
        if edges_s.size < 2:
            return np.empty(0)
        reached = self.values
        if self.is_rate:
            known = np.nan_to_num(self.values)
            reached = np.concatenate([[0.0], np.cumsum(known[:-1] * np.diff(self.time_s))])
        return np.asarray(
            np.diff(np.interp(edges_s, self.time_s, reached, left=0.0)) / np.diff(edges_s)
        )

    def edges(self, time_scale_s: float, from_s: float, until_s: float) -> Array:
        """The ends of intervals of that length within the time given and that in which the instance was active.

        They are the sampling times nearest to multiples of the length, so that no sample is cut in
        two.
        """
        from_s, until_s = max(from_s, self.start_s), min(until_s, self.end_s)
        times = self.time_s[
            (self.time_s >= from_s - ROUNDING) & (self.time_s <= until_s + ROUNDING)
        ]
        if times.size < 2:
            return times
        wanted = np.arange(times[0], times[-1] + time_scale_s * ROUNDING, time_scale_s)
        after = np.clip(np.searchsorted(times, wanted), 1, times.size - 1)
        return np.unique(
            np.where(
                wanted - times[after - 1] <= times[after] - wanted, times[after - 1], times[after]
            )
        )


def series(result: Result, of: str = "sent") -> Iterator[Series]:
    """Every flow instance of every replicate that started and has samples, in the order of the table.

    Args:
        result: Of any way that has samples.
        of: `sent`, what the sender sent, retransmissions too, in full packets without headers,
            which is what Floyd and others measure; `delivered`, what the application got in order,
            which comes in leaps where TCP repairs a loss; `allowed`, what a rate control allowed,
            of flows that have one.

    Raises:
        ValueError: `of` is none of these, or no sample tells it.
    """
    if of not in SOURCES:
        raise InputError(
            "unknown-name", "of", f'unknown rate "{of}"; choose from {", ".join(SOURCES)}'
        )
    name = SOURCES[of]
    if name not in result.tables["samples"].column_names:
        raise InputError(
            "no-data", "of", f"{of} is unknown: no sample has {name}; choose sent or delivered"
        )
    keys = ("point", "replicate", "flow", "instance")
    active = dict(grouped(result.tables["flows"], keys, ("start_s", "end_s")))
    for key, rows in grouped(result.tables["samples"], keys, ("time_s", name)):
        started = key in active and not math.isnan(active[key]["start_s"][0])
        if started and not np.isnan(rows[name]).all():
            point, replicate, flow, instance = key
            start_s, end_s = (float(active[key][end][0]) for end in ("start_s", "end_s"))
            last_s = float(rows["time_s"][-1]) if math.isnan(end_s) else end_s
            values = rows[name] * (1.0 if of == "allowed" else _bits(result, point, flow, of))
            yield Series(
                point,
                replicate,
                flow,
                instance,
                start_s,
                last_s,
                rows["time_s"],
                values,
                of == "allowed",
            )


def _bits(result: Result, point: int, flow: str, of: str) -> float:
    """How many bits of payload one of what was counted is."""
    if of == "delivered":
        return 8.0
    scenario = result.points[point]["scenario"]
    if scenario is None:
        return 8 * payload_bytes(result)
    [found] = [one for one in scenario["flows"] if one["name"] == flow]
    return 8 * units.data_bytes(found["transport"]["mss"])


def payload_bytes(result: Result) -> float:
    """Of a session, how much data is in a packet."""
    return units.data_bytes(result.run["options"]["--payload"])


def refuse_unknown(result: Result, *flows: str) -> None:
    """Refuses names that no flow has.

    Raises:
        ValueError: One is such a name; one line.
    """
    known = dict.fromkeys(
        flow["name"] for point in result.points for flow in point["scenario"]["flows"]
    )
    for name in flows:
        if name not in known:
            raise InputError(
                "unknown-name",
                "flow",
                f'unknown flow "{name}"; choose from {", ".join(known)}',
            )


def measured_time(result: Result, point: int) -> tuple[float, float]:
    """From the end of the warm-up to the end, in seconds; without a scenario, from the first start to the last end."""
    scenario = result.points[point]["scenario"]
    if scenario is None:
        flows = result.rows("flows", point=point)
        start_s, end_s = pc.min(flows["start_s"]).as_py(), pc.max(flows["end_s"]).as_py()
        return (start_s, end_s) if flows.num_rows else (0.0, 0.0)
    return units.seconds(scenario["warmup"]), units.seconds(scenario["duration"])


def sample_interval(result: Result, point: int) -> float:
    """How far samples of a point are apart, in seconds; not a number if there are not two."""
    gaps = np.diff(np.unique(column(result.rows("samples", point=point), "time_s")))
    return float(np.median(gaps)) if gaps.size else math.nan


def refuse_finer(result: Result, time_scale_s: float) -> None:
    """Refuses a time scale that the samples do not show.

    Raises:
        ValueError: It is no time, or finer than the samples of a point; one line.
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
                f"{time_scale_s:g} s is shorter than the sample interval of {apart:g} s; run again "
                f'with sample_interval = "{time_scale_s:g} s" or shorter',
            )


def is_shown(apart_s: float, time_scale_s: float) -> bool:
    """Whether samples that far apart show a time scale."""
    return not apart_s > time_scale_s * (1 + ROUNDING)
