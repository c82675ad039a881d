"""Results of each scheme: efficiency and queueing delay, with intervals.

Each run is one long record, and all runs have the same capacity. Time is cut into cells, replicates
are combined, and blocks of cells are resampled, the same ones for every scheme
(`ackclock.metrics.bootstrap`). The capacity that two schemes share therefore does not blur their
difference. Intervals show how much another stretch of similar capacity might change the results.
"""

from dataclasses import dataclass, field
from math import ceil, log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.advice.time_scale import Estimate
from ackclock.advice.trials import Path, Scheme
from ackclock.elements import facts
from ackclock.metrics.bootstrap import FEWEST_BLOCKS, middle, resampled_sums
from ackclock.result.result import Result

Array = NDArray[np.float64]

# Blocks last at least this many round trips and this many times between capacity changes: the
# memory of a window, and that of the capacity. If there were more blocks than `_MOST_BLOCKS`, they
# are longer. Chosen here.
_ROUND_TRIPS_PER_BLOCK, _SOJOURNS_PER_BLOCK, _MOST_BLOCKS = 10, 2, 24
_CELLS_PER_BLOCK = 4
_RESAMPLES = 4000

# Waiting times are counted in bins that grow by 2 %, from 10 us to 1000 s. Chosen here: two digits.
_SHORTEST_S, _GROWTH, _STEPS = 1e-5, 1.02, 932

#: The share of packets that wait no longer than the delay shown.
QUANTILE = 0.95


@dataclass(frozen=True)
class Outcome:
    """Results of one scheme.

    Attributes:
        scheme: The scheme.
        efficiency: Data delivered, headers included, over what the link could have carried.
        gain: Efficiency minus that without feedback.
        delay_s: 95 % quantile of the delay at the link, transmission included.
        delay_gain_s: Delay minus that without feedback.
    """

    scheme: Scheme
    efficiency: Estimate
    gain: Estimate
    delay_s: Estimate
    delay_gain_s: Estimate


@dataclass(frozen=True)
class Outcomes:
    """Results of all schemes.

    Attributes:
        each: In the order of the runs; the first is without feedback.
        blocks: Number of blocks behind the intervals; 0 if there are too few for intervals.
        block_s: Duration of a block.
        confidence: Confidence of each difference, so high that all differences from one scheme hold
            together with 95 %.
    """

    each: list[Outcome]
    blocks: int
    block_s: float
    confidence: float
    _efficiency: dict[str, Array] = field(repr=False)
    _delay_s: dict[str, Array] = field(repr=False)

    def more_delivered(self, first: Outcome, other: Outcome) -> Estimate:
        """Returns the difference of two efficiencies."""
        return _between(
            self._efficiency[first.scheme.label] - self._efficiency[other.scheme.label],
            self.confidence,
        )

    def longer_wait_s(self, first: Outcome, other: Outcome) -> Estimate:
        """Returns the difference of two delays at the link."""
        return _between(
            self._delay_s[first.scheme.label] - self._delay_s[other.scheme.label], self.confidence
        )


def outcomes(result: Result, path: Path, tried: list[Scheme], sojourn_s: float) -> Outcomes:
    """Reduces the runs to efficiencies and delays.

    Args:
        result: Result of `trials.run`.
        path: The path of the runs.
        tried: The schemes, one point each.
        sojourn_s: Mean time between changes of the capacity.
    """
    grid = _Grid.make(path, sojourn_s)
    weights = grid.weights()
    capacity = grid.capacity(path) @ weights
    efficiency, delay = {}, {}
    for point, scheme in enumerate(tried):
        runs = [_run(result, path, grid, point, replicate) for replicate in range(path.replicates)]
        delivered, waits = (np.mean([run[part] for run in runs], axis=0) for part in range(2))
        efficiency[scheme.label] = delivered @ weights / capacity
        delay[scheme.label] = _quantiles(waits, weights)
    confidence = 1 - 0.05 / max(len(tried) - 1, 1)  # Bonferroni
    none = tried[0].label
    each = [
        Outcome(
            tested,
            _between(efficiency[tested.label]),
            _between(efficiency[tested.label] - efficiency[none], confidence),
            _between(delay[tested.label]),
            _between(delay[tested.label] - delay[none], confidence),
        )
        for tested in tried
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
    """Returns the size of a full packet, headers included."""
    return facts.packet_bytes(result.points[0]["scenario"]["flows"][0])


@dataclass(frozen=True)
class _Grid:
    """Cells of the measured time.

    Attributes:
        first: Sample at which the first cell begins.
        cell: Samples per cell.
        cells: Number of cells.
        blocks: Number of blocks; 0 if there are too few.
    """

    first: int
    cell: int
    cells: int
    blocks: int

    @classmethod
    def make(cls, path: Path, sojourn_s: float) -> "_Grid":
        """Returns blocks that are long enough, and at most `_MOST_BLOCKS` of them."""
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
        """Returns how often each cell occurs in the record and in each resample.

        Rows are cells; the first column is the record.
        """
        whole = np.ones((self.cells, 1))
        drawn = (
            resampled_sums(np.eye(self.cells), _CELLS_PER_BLOCK, _RESAMPLES)
            if self.blocks
            else None
        )
        return whole if drawn is None else np.hstack([whole, drawn])

    def capacity(self, path: Path) -> Array:
        """Returns the bytes that the link can carry in each cell."""
        reached = (
            np.concatenate([[0.0], np.cumsum(path.trace.rates(path.sample_s))]) * path.sample_s / 8
        )
        return np.diff(reached[self.edges])


def _run(
    result: Result, path: Path, grid: _Grid, point: int, replicate: int
) -> tuple[Array, Array]:
    """Returns what one run adds to each cell.

    These are the delivered bytes, headers included, and the number of packets by bin of waiting
    time at the link.
    """
    wanted = {"point": point, "replicate": replicate}
    rows = result.rows("samples", **wanted)
    samples = np.round(rows["time_s"].to_numpy() / path.sample_s)
    payload = np.interp(grid.edges, samples, rows["delivered_bytes"].to_numpy())
    waits = _waits(result.rows("hops", hop="link", **wanted), path, grid)
    return np.diff(payload) * packet_bytes(result) / path.mss_bytes, waits


def _waits(rows: pa.Table, path: Path, grid: _Grid) -> Array:
    """Returns the number of packets by bin of waiting time and cell.

    A packet that arrives between two samples leaves when as many packets have left as had arrived
    by the second sample.
    """
    names = ("time_s", "arrivals", "drops_queue", "departures")
    time_s, arrivals, drops, left = (rows[name].to_numpy().astype(float) for name in names)
    came = arrivals - drops
    index = np.searchsorted(left, came, side="left")
    served = index < left.size
    before, index = np.maximum(index - 1, 0), np.minimum(index, left.size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(
            left[index] > left[before], (came - left[before]) / (left[index] - left[before]), 1.0
        )
    waits = np.where(
        came > left, time_s[before] + part * (time_s[index] - time_s[before]) - time_s, 0.0
    )
    steps = np.ceil(np.log(np.maximum(waits, _SHORTEST_S) / _SHORTEST_S) / log(_GROWTH)).astype(int)
    cells = (np.round(time_s / path.sample_s).astype(int) - 1 - grid.first) // grid.cell
    counted = served & (cells >= 0) & (cells < grid.cells)
    places = np.minimum(steps, _STEPS - 1)[counted] * grid.cells + cells[counted]
    packets = np.diff(came, prepend=0.0)[counted]
    counts = np.bincount(places, packets, _STEPS * grid.cells)
    return np.asarray(counts.reshape(_STEPS, grid.cells), float)


def _quantiles(counts: Array, weights: Array) -> Array:
    """Returns the quantile of each record, in seconds; 0 where no packet arrived.

    Args:
        counts: Counts by bin and cell.
        weights: How often each cell occurs, by cell and record.
    """
    bins = np.flatnonzero(counts.any(axis=1))  # most bins are empty
    if bins.size == 0:
        return np.zeros(weights.shape[1])
    reached = np.cumsum(weights.T @ counts[bins].T, axis=1)
    total = reached[:, -1:]
    step = bins[(reached < QUANTILE * total).sum(axis=1)]
    return np.where((step > 0) & (total[:, 0] > 0), _SHORTEST_S * _GROWTH**step, 0.0)


def _between(values: Array, confidence: float = 0.95) -> Estimate:
    """Returns the value of the record itself, the first, with the interval of the resamples.

    The ends are NaN without resamples.
    """
    low, high = middle(values[1:], confidence)
    return Estimate(float(values[0]), low, high)
