"""How much a search for a buffer will do, before it begins: queues, runs, time and disk, from a short trial."""

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
from ackclock.result import Result
from ackclock.run import simulation
from ackclock.scenario import Scenario

__all__ = ["Effort", "Grid", "expected"]

# The trial lasts such a share of a run; where that takes less than so long of a processor, a whole
# run. Chosen here: a result of so little is mostly what every result has, whatever its length.
_SHARE, _SHORT_S = 0.05, 0.25

# Between two neighbours of the grid, a doubling apart, so many looks find an edge.
_LOOKS = ceil(log2(log2(2) / log2(RESOLUTION)))

# What may be tried besides: what models say, the present queue, the buffer within the range that is
# advised.
_BESIDES = 5

# Batches that a search usually takes, and more for each target. Measured: searches for one to three
# targets took 14 to 44, each within a factor of two of this.
_USUALLY, _PER_TARGET = 12, 10


@dataclass(frozen=True)
class Grid:
    """The sizes that are tried before any edge is looked for.

    Attributes:
        farthest: The largest, in bandwidth-delay products.
        no_product: Packets to take for the product where there is none.
    """

    farthest: float
    no_product: float

    def doublings(self, product: float) -> int:
        """How many it has at most, from one packet to the farthest."""
        product = product if isfinite(product) and product > 1 else self.no_product
        return ceil(log2(max(self.farthest * product, 2.0)))


@dataclass(frozen=True)
class Effort:
    """What a search will do.

    Attributes:
        batches: How many batches of replicates it usually takes.
        most_batches: And at most, unless no drop-tail buffer does and active queue management is
            tried.
        replicates: Runs in a batch.
        batch_s: How long a batch takes.
        batch_bytes: What it takes on disk; 0 if nothing is kept.
    """

    batches: int
    most_batches: int
    replicates: int
    batch_s: float
    batch_bytes: float

    @property
    def words(self) -> str:
        """In a line."""
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
    """What a search will do, from a trial that lasts a twentieth of one run, or one run where that is quick.

    Args:
        scenario: Without a sweep.
        hop: Whose buffer it is; None for the one whose link is used most.
        targets: How many.
        grid: Where is looked first.
        kept: Whether runs are kept in a folder.

    Returns:
        The effort; None if a trial says nothing, as of a scenario that cannot be run at all.
    """
    with suppress(ScenarioError, InputError, LackingError, OSError):
        tree = scenario.resolve().tree
        replicates, lasts_s = int(str(tree["replicates"])), units.seconds(str(tree["duration"]))
        short = {"duration": f"{round(_SHARE * lasts_s * 1e9)} ns", "warmup": "0 s"}
        brief = scenario.replace({**short, "replicates": 1})
        simulation.simulate(brief)  # loads what is loaded once
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
                # What a result has whatever its length, and a batch has once.
                frame = max(0.0, part - _SHARE * (size - part) / (1 - _SHARE))
        if result.partial:
            raise KeyboardInterrupt
        at_once = ceil(replicates / simulation.cores())
        found = bottleneck(result, hop)
        doublings = grid.doublings(found.bdp_packets)
        # What is met and what is missed, at both ends, for each target and for all together; the
        # latter may be looked for between two sizes packet by packet.
        edges = 2 * (_LOOKS + ceil(log2(doublings)) + _LOOKS)
        queues = doublings + 2 + len(rules(found)) + edges * (targets + 1) + doublings + _BESIDES
        return Effort(
            _USUALLY + _PER_TARGET * targets, BATCHES * queues, replicates,
            (took_s * at_once + saved_s) / share, frame + (size - frame) * replicates / share,
        )  # fmt: skip
    return None


def _timed(run: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.perf_counter()
    return run(), time.perf_counter() - begun


def _saved(result: Result) -> tuple[int, float]:
    """How many bytes a result has on disk, and how long it takes to write them."""
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        folder = Path(scratch) / "trial"
        begun = time.perf_counter()
        result.save(folder)
        took_s = time.perf_counter() - begun
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), took_s


def _shown(amount: float, base: str) -> str:
    """Two digits: it is an estimate."""
    return units.shown(float(f"{amount:.2g}"), base)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 2:
        return f"{max(1, round(seconds))} s"
    return f"{round(minutes)} min" if minutes < 120 else f"{minutes / 60:.1f} hours"
