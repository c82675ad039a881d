"""Runs a scenario of a judgement, and reduces its tables to few numbers.

This is what happens beside the code of a candidate: in its own process, if that code is Python.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.metrics import METRICS, Metric, by_replicate, queueing_delay_quantile
from ackclock.metrics.rates import even_edges
from ackclock.metrics.sharing import CONVERGED_SHARE, sharing
from ackclock.metrics.tables import grouped
from ackclock.result.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario

Array = NDArray[np.float64]
#: Names of quantities, each a list of paths with a value for each seed.
Quantities = dict[str, Any]

_X, _OTHER, _NEWCOMER = "x", "other", "newcomer"
_BOTTLENECK = "bottleneck"

# Share of a packet that is payload: 1448 of 1500 bytes (a full segment of Linux with timestamps).
_PAYLOAD = 1448 / 1500

# Round trips over which shares are compared when a newcomer joins: a few cycles of short buffers.
_ROUND_TRIPS = 5

# Size of the files beside which a candidate runs, in bits: it takes a round trip and this, alone.
_FILE_BITS = 240e3

# Kinds of events that reduce a window.
_CUTS = ("fast_retransmit", "ecn_reaction")


class Ran:
    """A scenario that was run.

    Attributes:
        result: The result.
        rates: Rate that each path carries, in bit/s.
        round_trips: Round trip of each path without a queue, in s.
    """

    def __init__(self, result: Result, rates: Sequence[float], round_trips: Sequence[float]):
        self.result = result
        self.rates, self.round_trips = np.array(rates), np.array(round_trips)
        self._replicates = int(result.points[0]["scenario"]["replicates"])

    def empty(self) -> Array:
        """Returns unknown values: paths by seeds."""
        return np.full((len(self.rates), self._replicates), math.nan)

    def metric(self, metric: Metric, subject: str) -> Array:
        """Returns the values of a metric."""
        values = self.empty()
        for (point, name), by_seed in by_replicate(self.result, metric).items():
            if name == subject:
                for seed, value in by_seed.items():
                    values[point, seed] = value
        return values

    @property
    def carried(self) -> Array:
        """The payload that each path carries in bit/s; that of a rate that varies, as it was."""
        capacity = self.metric(METRICS["capacity"], _BOTTLENECK)
        rates = np.broadcast_to(self.rates[:, np.newaxis], capacity.shape)
        return np.asarray(_PAYLOAD * np.where(np.isnan(capacity), rates, capacity))


def quantities(ran: Ran) -> Quantities:
    """Returns the quantities of which judgements are made: paths by seeds."""
    flows = {str(name) for name in ran.result.tables["flows"]["flow"].to_pylist()}
    made: Quantities = {}
    carried, round_trips = ran.carried, ran.round_trips[:, np.newaxis]
    for name in sorted(flows):
        made[f"share of {name}"] = ran.metric(METRICS["goodput"], name) / carried
    if _X in flows:
        made["loss"] = ran.metric(METRICS["loss_rate"], _X)
        made["sent"] = ran.metric(METRICS["throughput"], _X) / carried
    delay = ran.metric(queueing_delay_quantile(0.95), _BOTTLENECK)
    made["delay"] = delay / round_trips
    completion = ran.metric(METRICS["completion_time"], _OTHER)
    if not np.isnan(completion).all():
        alone = round_trips + _FILE_BITS / ran.rates[:, np.newaxis]
        made["completion"] = completion / alone
        made["incomplete"] = ran.metric(METRICS["incomplete_share"], _OTHER)
    if _NEWCOMER in flows:
        made["convergence"] = _convergence(ran)
    return {name: values.tolist() for name, values in made.items()}


def windows(ran: Ran) -> Quantities:
    """Returns the windows of each path in segments, at the sampling times of the first seed."""
    rows = ran.result.tables["samples"]
    by_path: dict[int, list[float]] = {}
    for (point, replicate, _), columns in grouped(
        rows, ("point", "replicate", "flow"), ("cwnd_bytes",)
    ):
        if replicate == 0:
            by_path[point] = [round(value / 1448, 3) for value in columns["cwnd_bytes"].tolist()]
    return {"windows": [by_path.get(point, []) for point in range(len(ran.rates))]}


def cuts(ran: Ran) -> Quantities:
    """Returns mean windows, and how many answers to losses left the window as it was."""
    events = ran.result.tables["events"]
    count = kept = 0
    columns = ("kind", "cwnd_before_bytes", "cwnd_after_bytes")
    kinds, before, after = (events[name].to_pylist() for name in columns)
    for kind, was, becomes in zip(kinds, before, after, strict=True):
        if kind in _CUTS:
            count += 1
            kept += becomes >= was
    window = ran.metric(METRICS["cwnd"], _X)
    return {"cuts": count, "kept": kept, "window": float(np.nanmean(window) / 1448)}


def digest(ran: Ran) -> Quantities:
    """Returns a hash of all that was recorded, bytes, and extremes of the window in segments."""
    hashed = hashlib.sha256()
    for name in ("flows", "samples", "events"):
        table, sink = ran.result.tables[name].combine_chunks(), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        hashed.update(sink.getvalue())
    window = ran.result.tables["samples"]["cwnd_bytes"].to_numpy() / 1448
    flows = ran.result.tables["flows"]
    return {
        "digest": hashed.hexdigest(),
        "sent": 1448 * sum(flows["sent_packets"].to_pylist()),
        "delivered": sum(flows["delivered_bytes"].to_pylist()),
        "least": float(np.nanmin(window)),
        "most": float(np.nanmax(window)),
    }


#: What may be asked of a run, by name.
WANTED: Mapping[str, Callable[[Ran], Quantities]] = {
    each.__name__: each for each in (quantities, windows, cuts, digest)
}


def observe(task: Mapping[str, Any], folder: Path, threads: int) -> Quantities:
    """Runs a task.

    Args:
        task: `tree`, `rates`, `round_trips` and `wanted`, as `runs.Task` makes them.
        folder: Folder of the candidate's file.
        threads: Number of threads.

    Raises:
        ScenarioError: The candidate cannot be used, or failed.
    """
    result = simulate(Scenario(task["tree"], folder), threads=threads, progress=_silent)
    return WANTED[task["wanted"]](Ran(result, task["rates"], task["round_trips"]))


def _silent(_share: float) -> None:
    """Takes the progress of a run: a judgement shows its own."""


def _convergence(ran: Ran) -> Array:
    """Returns the round trips until a newcomer has got most of an equal share.

    One that never does counts with the whole time, a lower bound.
    """
    values = ran.empty()
    for (point, seed), instances in sharing(ran.result).items():
        newcomer = next((each for each in instances if each.flow == _NEWCOMER), None)
        if newcomer is None:
            continue
        round_trip = float(ran.round_trips[point])
        edges = even_edges(
            _ROUND_TRIPS * round_trip, newcomer.start_s, newcomer.end_s, newcomer.time_s.size
        )
        if edges.size < 2:
            continue
        own = newcomer.rates(edges)
        mean = np.mean([instance.rates(edges) for instance in instances], axis=0)
        joined = np.flatnonzero((own > 0) & (own >= CONVERGED_SHARE * mean))
        end = edges[joined[0] + 1] if joined.size else newcomer.end_s
        values[point, seed] = (end - newcomer.start_s) / round_trip
    return values
