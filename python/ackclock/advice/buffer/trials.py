"""Simulates queues at the bottleneck of a scenario, with the same seeds for every queue.

Replicates come in batches as large as those of the scenario. The first batch has its seed, and each
further one the next seed. Every queue therefore meets the same starts, arrivals and link rates
(common random numbers), and replicates can be added without repeating any. With a folder, each run
is kept there under its address. A search that was interrupted, or is repeated, continues from these
runs.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

from ackclock.advice.buffer.bottleneck import Bottleneck
from ackclock.advice.buffer.measures import (
    MET,
    MISSED,
    UNDECIDED,
    Target,
    Values,
    intervals,
    reductions,
    values,
)
from ackclock.metrics import Interval
from ackclock.result.result import Result
from ackclock.run import address, cache, simulation
from ackclock.scenario import Scenario

#: At most this many batches decide whether a target is met. Chosen here: the interval is then half
#: as wide as that of the first.
BATCHES = 4

_SEEDS = 2**64

# Queues whose control waits for an interval, by default that of RFC 8289, and at least twice the
# target. Their limit only bounds bursts: FQ-CoDel and the others have 1000 packets or more.
_WITH_INTERVAL = ("codel", "fq_codel")
_INTERVAL_S, _LEAST_LIMIT = 0.1, 1000

# Below this size Adaptive RED's lower threshold is five packets, whatever its target.
_LEAST_ADAPTIVE = 15


@dataclass(frozen=True)
class Setting:
    """A queue to try.

    Attributes:
        label: Description in words.
        queue: As in a scenario; None for the scenario's own.
        size: Limit of a drop-tail queue, or target length of another, in packets.
        ecn: True if the senders that cross it are made ECN-capable.
        is_droptail: True for a drop-tail queue that was tried.
    """

    label: str
    queue: dict[str, Any] | None
    size: int = 0
    ecn: bool = False
    is_droptail: bool = False

    @property
    def key(self) -> str:
        """Key of its runs."""
        return json.dumps([self.queue, self.ecn], sort_keys=True)


#: Maps a size to a setting of one kind.
Discipline = Callable[[int], Setting]


@dataclass(frozen=True)
class Outcome:
    """Result of a queue.

    Attributes:
        setting: The queue.
        values: By measure and replicate.
        intervals: Means and intervals by measure.
        folders: Names of the folders of its runs.
        reductions: Window reductions of all flows of `Bottleneck.saw_teeth` in the measured time,
            per replicate of the first batch; NaN if not counted.
    """

    setting: Setting
    values: Values
    intervals: dict[str, Interval]
    folders: tuple[str, ...]
    reductions: float = nan

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return len(self.values["utilisation"])

    def judge(self, target: Target) -> str:
        """Returns whether it meets a target: `met`, `missed` or `undecided`."""
        return target.judge(self.intervals[target.measure.name])

    def meets_all(self, targets: tuple[Target, ...]) -> bool:
        """Returns true if it was shown to meet every target."""
        return all(self.judge(target) == MET for target in targets)


def goes_on(folder: str | Path | None) -> str:
    """Returns the message of an interrupted search; empty if runs are not kept in a folder."""
    return "interrupted: the same command goes on" if folder else ""


class Runs:
    """Simulates, or loads results that are kept.

    Args:
        folder: Where results are kept; None for nowhere.
        tell: Takes the name of the current run, about ten times a second.
    """

    def __init__(self, folder: Path | None, tell: Callable[[str], None]) -> None:
        self._folder, self._tell = folder, tell
        self._last: tuple[str, Result] | None = None

    def result(self, scenario: Scenario, words: str, *, keep: bool = True) -> tuple[Result, str]:
        """Returns the result of a scenario, and the name under which it is or would be kept.

        Raises:
            KeyboardInterrupt: Interrupted; runs that had finished are kept.
        """
        made_of = address.of_run(scenario)
        place = None if self._folder is None else self._folder / made_of
        result = self._last[1] if self._last is not None and self._last[0] == made_of else None
        kept = None if place is None else cache.complete_result(place, made_of)
        if kept is not None:
            return kept, made_of
        if result is None:
            result = self._simulated(scenario, words)
        self._last = made_of, result
        return (
            cache.keep(result, place, made_of) if keep and place is not None else result
        ), made_of

    def _simulated(self, scenario: Scenario, words: str) -> Result:
        self._tell(words)
        try:
            return simulation.simulate(scenario, progress=lambda _share: self._tell(words))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(goes_on(self._folder)) from None


@dataclass
class Trials:
    """Queues at one hop of a scenario.

    Attributes:
        scenario: Without a sweep.
        seed: Seed of its first batch.
        hop: The hop.
        runs: Runs the simulations.
        batches: Largest number of batches that decide.
    """

    scenario: Scenario
    seed: int
    hop: Bottleneck
    runs: Runs
    batches: int = BATCHES
    _outcomes: dict[str, list[Outcome]] = field(default_factory=dict)

    def outcome(self, setting: Setting, batches: int = 1) -> Outcome:
        """Returns the result of a queue from at least that many batches."""
        batched = self._outcomes.setdefault(setting.key, [])
        while len(batched) < batches:
            batched.append(self._more(setting, batched[-1] if batched else None, len(batched)))
        return batched[-1]

    def judge(self, setting: Setting, *targets: Target) -> str:
        """Judges whether a queue meets all targets, from as many batches as the verdict needs.

        All targets are judged by the same replicates, so a verdict of fewer does not mix with one
        of more.
        """
        for batches in range(1, self.batches + 1):
            outcome = self.outcome(setting, batches)
            verdicts = {outcome.judge(target) for target in targets}
            if MISSED in verdicts:
                return MISSED
            if UNDECIDED not in verdicts:
                return MET
        return UNDECIDED

    def every(self) -> list[Outcome]:
        """Returns the results of all queues that were tried, each with all its replicates."""
        return [batched[-1] for batched in self._outcomes.values()]

    def tried(self, setting: Setting) -> bool:
        """Returns true if a queue has been tried."""
        return setting.key in self._outcomes

    def with_queue(self, setting: Setting, batch: int = 0) -> Scenario:
        """Returns the scenario of a batch."""
        changes: dict[str, Any] = {}
        if setting.queue is not None:
            changes[f"hops.{self.hop.name}.queue"] = setting.queue
        if setting.ecn:
            marked = [path.flow for path in self.hop.paths if path.sender.transport == "tcp"]
            changes |= {f"flows.{flow}.transport.ecn": True for flow in marked}
        if batch:
            changes["seed"] = str((self.seed + batch) % _SEEDS)
        return self.scenario.replace(changes)

    def _more(self, setting: Setting, before: Outcome | None, batch: int) -> Outcome:
        words = f"{setting.label}{f', batch {batch + 1} of replicates' if batch else ''}"
        result, folder = self.runs.result(self.with_queue(setting, batch), words)
        first = batch * int(result.run["replicates"])
        new = {
            name: {first + replicate: value for replicate, value in by_replicate.items()}
            for name, by_replicate in values(result, self.hop.name).items()
        }
        if before is not None:
            new = {name: before.values[name] | by_replicate for name, by_replicate in new.items()}
        cut = (
            before.reductions
            if before
            else reductions(result, [path.flow for path in self.hop.saw_teeth])
        )
        return Outcome(
            setting, new, intervals(new), (*(before.folders if before else ()), folder), cut
        )


def droptail(hop: Bottleneck) -> Discipline:
    """Returns drop-tail queues by size; the packet in service counts as in the scenario."""
    own = hop.counts_packet_in_service

    def sized(size: int) -> Setting:
        queue = {"kind": "droptail", "limit": f"{size} packets", "counts_packet_in_service": own}
        return Setting(f"drop-tail of {size} packets", queue, size, is_droptail=True)

    return sized


def adaptive_red(hop: Bottleneck, limit: int, *, ecn: bool) -> Discipline:
    """Returns Adaptive RED queues by mean target length.

    The length is given as a time at the link's mean rate.
    """

    def sized(size: int) -> Setting:
        queue = {
            "kind": "adaptive_red", "limit": f"{max(limit, _LEAST_ADAPTIVE)} packets",
            "target_delay": f"{round(size * hop.packet_s * 1e6)} us", "ecn": ecn,
            "typical_packet": f"{round(hop.packet_bytes)} bytes",
        }  # fmt: skip
        label = f"Adaptive RED{' with ECN' if ecn else ''} ({size * hop.packet_s * 1e3:.3g} ms)"
        return Setting(label, queue, size, ecn)

    return sized


def delay_queue(hop: Bottleneck, kind: str, label: str, limit: int) -> Discipline:
    """Returns queues of a kind with a `target` of the delay, by the packets sent in that time."""

    def sized(size: int) -> Setting:
        target_s = size * hop.packet_s
        queue = {
            "kind": kind, "limit": f"{max(limit, _LEAST_LIMIT)} packets",
            "target": f"{round(target_s * 1e6)} us",
        }  # fmt: skip
        if kind in _WITH_INTERVAL:
            queue["interval"] = f"{round(max(_INTERVAL_S, 2 * target_s) * 1e6)} us"
        return Setting(f"{label} ({target_s * 1e3:.3g} ms)", queue, size)

    return sized


def red(hop: Bottleneck, limit: int) -> Discipline:
    """Returns gentle RED queues with the thresholds of Adaptive RED: 0.5 and 1.5 times the size."""

    def sized(size: int) -> Setting:
        low = max(1, size // 2)
        queue = {
            "kind": "red", "limit": f"{max(limit, 3 * low)} packets",
            "minimum_threshold": f"{low} packets", "maximum_threshold": f"{3 * low} packets",
            "gentle": True, "typical_packet": f"{round(hop.packet_bytes)} bytes",
        }  # fmt: skip
        return Setting(f"RED from {low} to {3 * low} packets", queue, size)

    return sized
