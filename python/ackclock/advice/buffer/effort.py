"""Estimates the cost of a search for a buffer from a short trial: runs, time and disk space."""

import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, isfinite, log2
from pathlib import Path

from ackclock import units
from ackclock.advice.buffer.bottleneck import bottleneck, rules
from ackclock.advice.buffer.search import RESOLUTION
from ackclock.advice.buffer.trials import BATCHES
from ackclock.errors import InputError, LackingError, ScenarioError
from ackclock.result.result import Result
from ackclock.run import simulation
from ackclock.scenario import Scenario

# The trial covers this share of a run. If that takes less processor time than the second value, a
# whole run is tried: the cost of a very short one is mostly fixed. Chosen here.
_SHARE, _SHORT_S = 0.05, 0.25

# Trials needed to find an edge between two neighbours of the grid, which are a doubling apart.
_LOOKS = ceil(log2(log2(2) / log2(RESOLUTION)))

# Other queues that may be tried: those of models, the present queue, the recommended one.
_BESIDES = 5

# Usual number of batches, and of further ones for each target. Measured: searches for one to three
# targets took 14 to 44, each within a factor of two of this.
_USUALLY, _PER_TARGET = 12, 10


@dataclass(frozen=True)
class Grid:
    """The sizes that are tried before the search for edges.

    Attributes:
        farthest: The largest, in bandwidth-delay products.
        no_product: Packets to use if there is no product.
    """

    farthest: float
    no_product: float

    def doublings(self, product: float) -> int:
        """Returns the largest number of doublings, from one packet to the farthest size."""
        product = product if isfinite(product) and product > 1 else self.no_product
        return ceil(log2(max(self.farthest * product, 2.0)))


@dataclass(frozen=True)
class Effort:
    """Expected cost of a search.

    Attributes:
        batches: Usual number of batches of replicates.
        most_batches: Largest number, unless no drop-tail buffer is enough and active queue
            management is tried.
        replicates: Runs in a batch.
        batch_s: Duration of a batch.
        batch_bytes: Its size on disk; 0 if nothing is kept.
    """

    batches: int
    most_batches: int
    replicates: int
    batch_s: float
    batch_bytes: float

    @property
    def words(self) -> str:
        """The cost in one line."""
        return (
            f"usually some {self.batches * self.replicates} runs, {self._costs(self.batches)}; "
            f"at most {self.most_batches * self.replicates}, {self._costs(self.most_batches)} "
            "(more if active queue management is tried)"
        )

    def _costs(self, batches: int) -> str:
        disk = (
            f" and {_shown(batches * self.batch_bytes, 'bytes')} on disk"
            if self.batch_bytes
            else ""
        )
        return f"about {_duration(batches * self.batch_s)}{disk}"


def expected(
    scenario: Scenario, hop: str | None, targets: int, grid: Grid, *, kept: bool
) -> Effort | None:
    """Estimates the cost from a trial of a twentieth of one run, or of one run if that is quick.

    Args:
        scenario: Without a sweep.
        hop: The hop with the buffer; None for the one whose link is used most.
        targets: Number of targets.
        grid: The first sizes to try.
        kept: True if runs are kept in a folder.

    Returns:
        The cost; None if the trial fails, for example because the scenario cannot be run.
    """
    with suppress(ScenarioError, InputError, LackingError, OSError):
        tree = scenario.resolve().tree
        replicates, lasts_s = int(str(tree["replicates"])), units.seconds(str(tree["duration"]))
        short = {"duration": f"{round(_SHARE * lasts_s * 1e9)} ns", "warmup": "0 s"}
        brief = scenario.replace({**short, "replicates": 1})
        simulation.simulate(brief)  # Loads modules that are loaded once.
        busy_s = time.process_time()
        result, took_s = _timed(lambda: simulation.simulate(brief))
        share, size, saved_s, frame = _SHARE, 0.0, 0.0, 0.0
        if kept:
            size, saved_s = _saved(result)
        if time.process_time() - busy_s < _SHORT_S:
            part = size
            result, took_s = _timed(lambda: simulation.simulate(scenario.replace(replicates=1)))
            share = 1.0
            if kept:
                size, saved_s = _saved(result)
                # The fixed size of a result, which a batch has once.
                frame = max(0.0, part - _SHARE * (size - part) / (1 - _SHARE))
        at_once = ceil(replicates / simulation.cores())
        present_hop = bottleneck(result, hop)
        doublings = grid.doublings(present_hop.bdp_packets)
        # Edges of met and of missed, at both ends, for each target and for all together. The latter
        # may be sought packet by packet between two sizes.
        edges = 2 * (_LOOKS + ceil(log2(doublings)) + _LOOKS)
        queues = (
            doublings + 2 + len(rules(present_hop)) + edges * (targets + 1) + doublings + _BESIDES
        )
        return Effort(
            _USUALLY + _PER_TARGET * targets, BATCHES * queues, replicates,
            (took_s * at_once + saved_s) / share, frame + (size - frame) * replicates / share,
        )  # fmt: skip
    return None


def _timed(run: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.perf_counter()
    return run(), time.perf_counter() - begun


def _saved(result: Result) -> tuple[int, float]:
    """Returns the size of a result on disk, and the time to write it."""
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        folder = Path(scratch) / "trial"
        begun = time.perf_counter()
        result.save(folder)
        took_s = time.perf_counter() - begun
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), took_s


def _shown(amount: float, base: str) -> str:
    """Formats with two digits, as it is an estimate."""
    return units.shown(float(f"{amount:.2g}"), base)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 2:
        return f"{max(1, round(seconds))} s"
    return f"{round(minutes)} min" if minutes < 120 else f"{minutes / 60:.1f} hours"
