"""What became of each scheme: efficiency and queueing delay, with intervals.

Each run is one long record, and all have the same capacity. So the time is cut into cells,
replicates are taken together, and blocks of cells are drawn again, the same for every scheme
(`ackclock.metrics.bootstrap`): a difference between schemes is not blurred by what both owe to the
capacity. Intervals say how far another stretch of the same kind of capacity might lead.
"""

from dataclasses import dataclass, field
from math import ceil, log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.advice.time_scale import Estimate
from ackclock.advice.trials import Path, Scheme
from ackclock.metrics.bootstrap import FEWEST_BLOCKS, middle, resampled_sums
from ackclock.result import Result
from ackclock.units import data_bytes

Array = NDArray[np.float64]

# Blocks are so many round trips, and times between changes of the capacity, long at least: a
# window's memory, and the capacity's. If that leaves many of them they are longer. Chosen here.
_ROUND_TRIPS_PER_BLOCK, _SOJOURNS_PER_BLOCK, _MOST_BLOCKS = 10, 2, 24
_CELLS_PER_BLOCK = 4
_RESAMPLES = 4000

# Waiting times are counted in steps that grow by 2 % from 10 us to 1000 s. Chosen here: two digits.
_SHORTEST_S, _GROWTH, _STEPS = 1e-5, 1.02, 932

#: The share of packets that wait no longer than what is shown.
QUANTILE = 0.95


@dataclass(frozen=True)
class Outcome:
    """What became of one scheme.

    Attributes:
        scheme: Which.
        efficiency: What was delivered, headers included, over what the link could have carried.
        gain: The same less that without feedback.
        delay_s: What 95 % of the packets wait at the link at most, their own transmission included.
        delay_gain_s: The same less that without feedback.
        host_delay_s: The same in the host, for the rate that is fed back; 0 without feedback.
    """

    scheme: Scheme
    efficiency: Estimate
    gain: Estimate
    delay_s: Estimate
    delay_gain_s: Estimate
    host_delay_s: Estimate


@dataclass(frozen=True)
class Outcomes:
    """Of all schemes.

    Attributes:
        each: In the order in which they were run; the first is that without feedback.
        blocks: From how many blocks the intervals come; 0 if there are too few for any.
        block_s: How long each is.
        confidence: Of each difference: so high that all differences from one scheme hold together
            with 95 %.
    """

    each: list[Outcome]
    blocks: int
    block_s: float
    confidence: float
    _efficiency: dict[str, Array] = field(repr=False)
    _delay_s: dict[str, Array] = field(repr=False)

    def more_delivered(self, one: Outcome, other: Outcome) -> Estimate:
        """The difference of their efficiencies."""
        return _between(
            self._efficiency[one.scheme.label] - self._efficiency[other.scheme.label],
            self.confidence,
        )

    def longer_wait_s(self, one: Outcome, other: Outcome) -> Estimate:
        """The difference of their delays at the link."""
        return _between(
            self._delay_s[one.scheme.label] - self._delay_s[other.scheme.label], self.confidence
        )


def outcomes(result: Result, path: Path, tried: list[Scheme], sojourn_s: float) -> Outcomes:
    """Reduces what was run.

    Args:
        result: Of `trials.run`.
        path: What was run over.
        tried: The schemes, a point each.
        sojourn_s: Mean time between changes of the capacity.
    """
    grid = _Grid.of(path, sojourn_s)
    weights = grid.weights()
    capacity = grid.capacity(path) @ weights
    efficiency, delay, host_delay = {}, {}, {}
    for point, scheme in enumerate(tried):
        runs = [_run(result, path, grid, point, replicate) for replicate in range(path.replicates)]
        delivered, link, host = (
            sum(one[part] for one in runs) / path.replicates for part in range(3)
        )
        efficiency[scheme.label] = delivered @ weights / capacity
        delay[scheme.label] = _quantiles(link @ weights)
        host_delay[scheme.label] = _quantiles(host @ weights)
    confidence = 1 - 0.05 / max(len(tried) - 1, 1)  # Bonferroni
    none = tried[0].label
    each = [
        Outcome(
            one,
            _between(efficiency[one.label]),
            _between(efficiency[one.label] - efficiency[none], confidence),
            _between(delay[one.label]),
            _between(delay[one.label] - delay[none], confidence),
            _between(host_delay[one.label]),
        )
        for one in tried
    ]
    return Outcomes(
        each,
        grid.blocks,
        grid.cell * _CELLS_PER_BLOCK * path.sample_s,
        confidence,
        efficiency,
        delay,
    )


def packet_bytes(result: Result) -> float:
    """A full packet, headers included."""
    transport = result.points[0]["scenario"]["flows"][0]["transport"]
    return data_bytes(transport["mss"]) + data_bytes(transport["header"])


@dataclass(frozen=True)
class _Grid:
    """How the measured time is cut.

    Attributes:
        first: The sample at which it begins.
        cell: Samples in a cell.
        cells: How many cells.
        blocks: How many blocks there are; 0 if too few.
    """

    first: int
    cell: int
    cells: int
    blocks: int

    @classmethod
    def of(cls, path: Path, sojourn_s: float) -> "_Grid":
        """As long blocks as they must be, or as give enough of them."""
        first = round(path.warmup_s / path.sample_s)
        samples = path.samples - first
        needed = (
            max(_ROUND_TRIPS_PER_BLOCK * path.rtt_s, _SOJOURNS_PER_BLOCK * sojourn_s)
            / path.sample_s
        )
        cell = ceil(max(needed, samples / _MOST_BLOCKS) / _CELLS_PER_BLOCK)
        cells = samples // cell
        blocks = cells // _CELLS_PER_BLOCK
        if blocks < FEWEST_BLOCKS:
            cell, cells, blocks = samples, 1, 0
        return cls(first, cell, cells, blocks)

    @property
    def edges(self) -> NDArray[np.int64]:
        """Samples at which cells begin, and the end of the last."""
        return self.first + self.cell * np.arange(self.cells + 1)

    def weights(self) -> Array:
        """How often each cell is in the record itself, and in each resample: cells by records."""
        whole = np.ones((self.cells, 1))
        drawn = (
            resampled_sums(np.eye(self.cells), _CELLS_PER_BLOCK, _RESAMPLES)
            if self.blocks
            else None
        )
        return whole if drawn is None else np.hstack([whole, drawn])

    def capacity(self, path: Path) -> Array:
        """Bytes that the link can carry in each cell."""
        reached = (
            np.concatenate([[0.0], np.cumsum(path.trace.rates(path.sample_s))]) * path.sample_s / 8
        )
        return np.diff(reached[self.edges])


def _run(
    result: Result, path: Path, grid: _Grid, point: int, replicate: int
) -> tuple[Array, Array, Array]:
    """What one run adds in each cell: bytes delivered with headers, and packets by the steps of their waits."""
    wanted = {"point": point, "replicate": replicate}
    rows = result.rows("samples", **wanted)
    samples = np.round(rows["time_s"].to_numpy() / path.sample_s)
    payload = np.interp(grid.edges, samples, rows["delivered_bytes"].to_numpy())
    link, host = (
        _waits(result.rows("hops", hop=name, **wanted), path, grid) for name in ("link", "host")
    )
    return np.diff(payload) * packet_bytes(result) / path.mss_bytes, link, host


def _waits(rows: pa.Table, path: Path, grid: _Grid) -> Array:
    """How many packets wait for so many steps, by steps and cells.

    A packet that comes between two samples leaves when as many have left as had come by the second
    of them.
    """
    names = ("time_s", "arrivals", "drops_queue", "departures")
    time_s, arrivals, drops, left = (rows[name].to_numpy().astype(float) for name in names)
    came = arrivals - drops
    at = np.searchsorted(left, came, side="left")
    known = at < left.size
    before, at = np.maximum(at - 1, 0), np.minimum(at, left.size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(
            left[at] > left[before], (came - left[before]) / (left[at] - left[before]), 1.0
        )
    waits = np.where(
        came > left, time_s[before] + part * (time_s[at] - time_s[before]) - time_s, 0.0
    )
    steps = np.ceil(np.log(np.maximum(waits, _SHORTEST_S) / _SHORTEST_S) / log(_GROWTH)).astype(int)
    cells = (np.round(time_s / path.sample_s).astype(int) - 1 - grid.first) // grid.cell
    counted = known & (cells >= 0) & (cells < grid.cells)
    places = np.minimum(steps, _STEPS - 1)[counted] * grid.cells + cells[counted]
    packets = np.diff(came, prepend=0.0)[counted]
    counts = np.bincount(places, packets, _STEPS * grid.cells)
    return np.asarray(counts.reshape(_STEPS, grid.cells), float)


def _quantiles(counts: Array) -> Array:
    """Of records of counts by steps and records, in seconds; 0 where nothing came."""
    reached = np.cumsum(counts, axis=0)
    step = (reached < QUANTILE * reached[-1]).sum(axis=0)
    return np.where(step > 0, _SHORTEST_S * _GROWTH**step, 0.0)


def _between(values: Array, confidence: float = 0.95) -> Estimate:
    """The record's own value, the first, and the ends between which resamples lie; not a number if there are none."""
    low, high = middle(values[1:], confidence)
    return Estimate(float(values[0]), low, high)
