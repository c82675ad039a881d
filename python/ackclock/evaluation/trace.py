"""The state of a congestion control over time, in the words of a suite: what checks read.

A trace has a row for each ACK and each change. It is plain arrays, so that the trace of any
implementation can be checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Every variable that a check may name: its unit and its meaning. Names are those of the draft
#: where it has one.
VARIABLES: Mapping[str, tuple[str, str]] = {
    "cwnd": ("bytes", "Congestion window."),
    "in_flight": ("bytes", "Payload in flight."),
    "delivered": ("bytes", "Payload delivered since the start."),
    "lost": ("bytes", "Payload deemed lost since the start."),
    "rtt": ("s", "Round-trip time of the last segment that the ACK shows to have arrived."),
    "pacing_rate": ("bit/s", "Pacing rate of the payload."),
    "sample": ("bit/s", "Delivery rate that the ACK shows."),
    "app_limited": ("", "1 if the application limited that sample, else 0."),
    "max_bw": ("bit/s", "Largest delivery rate measured lately."),
    "bw": ("bit/s", "Rate in use, after all bounds."),
    "bw_shortterm": ("bit/s", "Bound on the rate by recent losses; infinite if there is none."),
    "inflight_longterm": ("bytes", "Bound on the data in flight that the path has borne."),
    "inflight_shortterm": ("bytes", "Bound on the data in flight by recent losses."),
    "min_rtt": ("s", "Smallest round-trip time measured lately."),
    "extra_acked": ("bytes", "Payload that arrives beyond what the rate explains."),
    "pacing_gain": ("", "Pacing rate over the rate in use."),
    "cwnd_gain": ("", "Congestion window over the bandwidth-delay product."),
    "round_count": ("", "Round trips so far."),
    "full_bw_count": ("", "Rounds in a row in which the rate has grown by less than 25 %."),
    "full_bw_now": ("", "1 if the rate has stopped growing since the last probe began."),
    "full_bw_reached": ("", "1 if the rate has ever stopped growing."),
    "idle_restart": ("", "1 from sending after an idle time until the next ACK."),
}

#: Variables that follow from others, with their unit and formula.
DERIVED: Mapping[str, tuple[str, str]] = {
    "inflight_1": (
        "bytes",
        "Inflight(1.0) of the draft: the largest of bw · min_rtt, the offload budget of TCP and "
        "four segments; two segments more in UP.",
    ),
    "inflight_with_headroom": (
        "bytes",
        "InflightWithHeadroom() of the draft: inflight_longterm less 15 % of it, or less one "
        "segment if that is more; at least four segments.",
    ),
    "bdp": ("bytes", "bw · min_rtt."),
}

#: Names of the path's own values.
PATH_VALUES = ("path.rate", "path.bdp", "path.round_trip", "segment")


class PathValues(NamedTuple):
    """The path of a run, as checks know it.

    Attributes:
        rate_bit_per_s: Payload rate of the bottleneck, by time: (from, rate).
        round_trip_s: Propagation delay of a round trip.
        segment_bytes: Payload of a full segment.
        events: Times of the events of the set-up in seconds, by name.
    """

    rate_bit_per_s: tuple[tuple[float, float], ...]
    round_trip_s: float
    segment_bytes: int
    events: Mapping[str, float]


class Visit(NamedTuple):
    """A stay in one state: rows from `start` to before `end`.

    Attributes:
        state: The state.
        start: First row.
        end: Row after the last.
        before: The state before; empty at the start.
        after: The state after; empty at the end of the trace.
    """

    state: str
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Trace:
    """The state of a control after each ACK and each change.

    Attributes:
        time_s: Times, which never fall.
        states: Name of the state.
        events: The event of the row: `ack`, `sent`, `lost`, `loss`, `timeout`, `undo` …
        variables: Values by name, each as long as `time_s`. NaN is unknown; a bound that does not
            hold is infinite. A variable that the control has not got is absent.
        path: The path.
    """

    time_s: Array
    states: Array
    events: Array
    variables: Mapping[str, Array]
    path: PathValues

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """The stays in states, in order."""
        if not self.time_s.size:
            return ()
        changes = np.flatnonzero(self.states[1:] != self.states[:-1]) + 1
        starts = [0, *changes.tolist()]
        ends = [*changes.tolist(), len(self.time_s)]
        names = ["", *(str(self.states[start]) for start in starts), ""]
        return tuple(
            Visit(names[index + 1], start, end, names[index], names[index + 2])
            for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        )

    @property
    def known_states(self) -> list[str]:
        """Every state that occurs, in the order of its first occurrence."""
        return list(dict.fromkeys(visit.state for visit in self.visits))

    def visits_to(self, state: str) -> Iterator[Visit]:
        """Returns the visits to a state."""
        return (visit for visit in self.visits if visit.state == state)

    def values(self, name: str) -> Array | None:
        """Returns a variable, row by row; None if the control has not got it."""
        if name in PATH_VALUES:
            return self._path_values(name)
        if name in DERIVED:
            return self._derived(name)
        return self.variables.get(name)

    def row_at(self, time_s: float) -> int:
        """Returns the last row at or before a time; 0 before the first."""
        return max(int(np.searchsorted(self.time_s, time_s, side="right")) - 1, 0)

    def _path_values(self, name: str) -> Array:
        moments, rates = np.array(self.path.rate_bit_per_s).T
        rate = rates[np.searchsorted(moments, self.time_s, side="right") - 1]
        constant = np.ones(len(self.time_s))
        match name:
            case "path.rate":
                return np.asarray(rate)
            case "path.bdp":
                return np.asarray(rate * self.path.round_trip_s / 8)
            case "path.round_trip":
                return constant * self.path.round_trip_s
        return constant * self.path.segment_bytes

    def _derived(self, name: str) -> Array | None:
        if name == "inflight_with_headroom":
            return self._with_headroom()
        bw, min_rtt = (self.values(part) for part in ("bw", "min_rtt"))
        if bw is None or min_rtt is None:
            return None
        product = bw * min_rtt / 8
        return product if name == "bdp" else self._with_budget(product)

    def _with_headroom(self) -> Array | None:
        longterm = self.values("inflight_longterm")
        if longterm is None:
            return None
        segment = self.path.segment_bytes
        finite = np.where(np.isinf(longterm), 0.0, longterm)
        left = np.maximum(finite - np.maximum(segment, 0.15 * finite), 4 * segment)
        return np.where(np.isinf(longterm), np.inf, left)

    def _with_budget(self, product: Array) -> Array | None:
        """Raises the product to the offload budget of TCP and to four segments."""
        segment, pacing = self.path.segment_bytes, self.values("pacing_rate")
        if pacing is None:
            return None
        quantum = np.clip(pacing * 1e-3 / 8, 2 * segment, 64 * 1024)
        capped = np.maximum(np.maximum(product, 3 * quantum), 4 * segment)
        return capped + np.where(self.states == "UP", 2 * segment, 0)


# Columns of the table `control_states` that have another name there.
_COLUMNS = {"sample": "sample", "app_limited": "sample_app_limited"}
_ENDINGS = {"bytes": "_bytes", "s": "_s", "bit/s": "_bit_per_s", "": ""}
# A row that does not know them keeps what was last known.
_HELD = ("in_flight", "rtt", "cwnd", "delivered", "max_bw", "min_rtt")


def of_rows(
    columns: Mapping[str, Sequence[Any] | Array],
    states: Mapping[str, str],
    unbounded: Sequence[str],
    path: PathValues,
) -> Trace:
    """Makes a trace of the table `control_states` of one flow.

    Args:
        columns: The columns by name, in order of time.
        states: Names of the suite by the control's own: `probe_bw up`, or `startup` alone if it has
            no phases. A state that is not listed keeps its name.
        unbounded: Bounds that do not hold where the table has none.
        path: The path.
    """
    variables = {}
    for name, (unit, _) in VARIABLES.items():
        column = _COLUMNS.get(name, name) + _ENDINGS[unit]
        if name == "lost":
            variables[name] = np.nancumsum(_numbers(columns["newly_lost_bytes"]))
            continue
        values = _numbers(columns[column])
        if name in unbounded:
            values = np.where(np.isnan(values), np.inf, values)
        elif np.isnan(values).all():
            continue  # The control has not got it.
        variables[name] = _held(values) if name in _HELD else values
    modes, mode_codes = np.unique(np.asarray(columns["mode"], str), return_inverse=True)
    phases, phase_codes = np.unique(np.asarray(columns["phase"], str), return_inverse=True)
    own = [[f"{mode} {phase}".strip() for phase in phases] for mode in modes]
    named = [
        [states.get(state, states.get(state.split(" ", 1)[0], state)) for state in row]
        for row in own
    ]
    return Trace(
        _numbers(columns["time_s"]),
        np.array(named)[mode_codes, phase_codes],
        np.asarray(columns["event"], str),
        variables,
        path,
    )


# Variables that samples have, and their columns.
_SAMPLED = {
    "cwnd": "cwnd_bytes",
    "in_flight": "in_flight_bytes",
    "delivered": "delivered_bytes",
    "rtt": "smoothed_rtt_s",
    "pacing_rate": "allowed_rate_bit_per_s",
}
# Names of reactions in suites.
_REACTIONS = {"reduction": "loss", "ecn_echo": "ecn", "timeout": "timeout"}


def of_samples(columns: Mapping[str, Any], events: Mapping[str, Any], path: PathValues) -> Trace:
    """Makes a trace of samples of one flow, whose control reports no states.

    Its round-trip time is the smoothed one. A reaction belongs to the next sample.

    Args:
        columns: Columns of the table `samples`, in order of time.
        events: Columns of the table `events`.
        path: The path.
    """
    time_s = _numbers(columns["time_s"])
    variables = {}
    for name, column in _SAMPLED.items():
        values = _numbers(columns[column])
        if not np.isnan(values).all():
            variables[name] = _held(values)
    happened = np.full(len(time_s), "sample", dtype=object)
    for at_s, kind in zip(events["time_s"], events["kind"], strict=True):
        row = int(np.searchsorted(time_s, at_s))
        if row < len(time_s):
            happened[row] = _REACTIONS.get(str(kind), str(kind))
    states = np.full(len(time_s), "", dtype=str)
    return Trace(time_s, states, happened.astype(str), variables, path)


def _numbers(values: Sequence[Any] | Array) -> Array:
    return np.asarray(values, float)


def _held(values: Array) -> Array:
    """Returns the values with unknown ones replaced by the last known."""
    last = np.where(np.isnan(values), 0, np.arange(len(values)))
    return np.asarray(values[np.maximum.accumulate(last)])
