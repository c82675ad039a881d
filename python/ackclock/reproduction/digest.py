"""Digests of what experiments run and conclude, to detect that their numbers change.

The digest of a run is that of the tables of one short replicate, see `shortened`. Tables are a
deterministic function of the scenario and the engine. Equal digests therefore mean that the engine
still does the same.

The digest of a conclusion is that of the numbers that it draws from brief runs, see `brief`. It
covers every metric and model that the conclusion uses by what they return, whatever their code.
"""

import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import engine, units
from ackclock.elements import facts
from ackclock.plot import Drawing
from ackclock.reproduction.experiment import QUICK_REPLICATES, Experiment, Run
from ackclock.reproduction.outcome import plain
from ackclock.run.simulation import simulate

if TYPE_CHECKING:
    from ackclock.reproduction.outcome import Outcome
    from ackclock.scenario import Scenario

#: Duration of the short replicate as a share of the run's, and its largest: tens of round trips.
SHARE, MOST_S = 1 / 20, 10.0
#: Samples of the shortest measured time of a brief run.
SAMPLES = 20
#: Significant digits of a conclusion's numbers, and the largest number that counts as none: sums of
#: the same numbers differ in their last bits between processors.
DIGITS, NONE = 6, 1e-12
#: Length of keys and digests in characters: 64 bits.
LENGTH = 16


@dataclass(frozen=True)
class Named:
    """A simulated run, with the names of its experiment and of the run."""

    experiment: str
    name: str
    run: Run


def owned(experiments: Iterable[Experiment]) -> Iterator[Named]:
    """Yields each simulated run once; shared runs belong to the first experiment."""
    seen: set[str] = set()
    for experiment in experiments:
        for name, run in experiment.runs().items():
            if run.method == "simulate" and key(run) not in seen:
                seen.add(key(run))
                yield Named(experiment.name, name, run)


def key(run: Run) -> str:
    """Returns the key of a run's digest: a hash of its scenario as written."""
    return _hex(json.dumps(run.scenario.tree, sort_keys=True).encode())


def shortened(scenario: "Scenario") -> "list[Scenario]":
    """Returns the scenarios whose tables are digested.

    They are the first, the middle and the last point of a sweep. Each has one replicate, the first,
    of a twentieth of the duration, at most 10 s. If something is scheduled (a flow starts or stops,
    a link or an impairment changes), the replicate ends as long after the last such event.
    Warm-up and sample interval shrink by the same factor.
    """
    points = scenario.expand()
    chosen = sorted({0, len(points) // 2, len(points) - 1})
    return [_shortened(points[position].scenario) for position in chosen]


def _shortened(point: "Scenario") -> "Scenario":
    tree = point.resolve().tree
    duration_s = units.seconds(tree["duration"])
    short_s = min(SHARE * duration_s, MOST_S)
    share = min(1.0, (max(_scheduled_s(tree), default=0.0) + short_s) / duration_s)
    changes = {
        name: f"{_nanoseconds(tree[name], share)} ns"
        for name in ("duration", "warmup", "sample_interval")
    }
    return point.replace({"replicates": 1, **changes})


def _nanoseconds(duration: str, share: float) -> int:
    return round(units.seconds(duration) * share * 1e9)


def _scheduled_s(tree: Mapping[str, Any]) -> Iterator[float]:
    """Yields when flows start and stop, and when links and impairments change, in seconds."""
    for flow in tree["flows"]:
        for name in ("start", "stop"):
            times = flow[name] if isinstance(flow[name], list) else [flow[name]]
            yield from (units.seconds(time) for time in times if time != "end")
    for hop in tree["hops"]:
        for element in (facts.whole(hop, "link"), *facts.whole(hop, "impairments")):
            yield from (units.seconds(step["from"]) for step in element.get("steps", ()))


def digest(run: Run) -> str:
    """Runs the short replicates of a run; returns the digest of their tables.

    The table `counters` is left out: a new counter does not change a result.
    """
    outcome = engine.simulate(
        [scenario.tree for scenario in shortened(run.scenario)],
        run.scenario.folder,
        threads=1,
        memory=None,
        packets=False,
        pcap_folder=None,
        finished=(),
        take=None,
        progress=None,
    )
    if not outcome["complete"]:
        raise KeyboardInterrupt
    tables = outcome["tables"]
    return columns_digest({name: tables[name] for name in sorted(tables.keys() - {"counters"})})


def columns_digest(tables: Mapping[str, engine.Columns]) -> str:
    """Returns the digest of the engine's tables: of names, types and values of their columns."""
    digest = hashlib.sha256()
    for table, columns in tables.items():
        for name, (kind, content, *words) in columns.items():
            values = _with_one_nan(content) if kind == "f8" else content
            digest.update(f"{json.dumps([table, name, kind, len(values), *words])}:".encode())
            digest.update(values)
    return digest.hexdigest()[:LENGTH]


def _with_one_nan(content: bytes) -> bytes:
    """Returns the bytes of numbers, with a single bit pattern for NaN, which processors choose."""
    numbers = np.frombuffer(content, "<f8")
    unknown = np.isnan(numbers)
    return np.where(unknown, np.nan, numbers).tobytes() if unknown.any() else content


def brief(scenario: "Scenario") -> "Scenario":
    """Returns a scenario from which a conclusion can be drawn within seconds.

    It has all points, two replicates, and the whole warm-up, as conclusions select times and points
    by themselves. After the warm-up, and after the last scheduled event, it lasts as long as the
    scenario of `shortened`.
    """
    trees = [point.scenario.resolve().tree for point in scenario.expand()]
    duration_s, warmup_s, apart_s = (
        units.seconds(trees[0][name]) for name in ("duration", "warmup", "sample_interval")
    )
    short_s = min(SHARE * duration_s, MOST_S)
    begun_s = max(warmup_s, *(time_s for tree in trees for time_s in _scheduled_s(tree)))
    changes = {
        "duration": min(duration_s, begun_s + short_s),
        "sample_interval": min(apart_s, short_s / SAMPLES),
    }
    return scenario.replace(
        {name: f"{round(time_s * 1e9)} ns" for name, time_s in changes.items()}
        | {"replicates": min(trees[0]["replicates"], QUICK_REPLICATES)}
    )


def outcome_digest(experiment: Experiment) -> str:
    """Concludes from brief runs, which must be simulated; returns the digest of the numbers.

    Words do not count, only the numbers in them, the curves of the figure, and what holds.
    """
    outcome = brief_outcome(experiment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = [*_numbers(plain(outcome)), *_drawn(outcome)]
    return _hex(json.dumps(numbers).encode())


def brief_outcome(experiment: Experiment) -> "Outcome":
    """Concludes from brief runs, which must be simulated."""
    results = {name: simulate(brief(run.scenario)) for name, run in experiment.runs().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some means of so short a time are of nothing.
        return experiment.outcome(results)


def _numbers(part: object) -> Iterator[str]:
    """Yields the numbers of plain data and of texts in it, rounded to `DIGITS`, and what holds."""
    if isinstance(part, bool):
        yield str(part)
    elif isinstance(part, int | float):
        yield f"{part if abs(part) > NONE else 0.0:.{DIGITS}g}"
    elif isinstance(part, str):
        yield from re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", part)
    elif isinstance(part, Mapping):
        yield from _numbers(list(part.values()))
    elif isinstance(part, Iterable):
        for inner in part:
            yield from _numbers(inner)


def _drawn(outcome: "Outcome") -> Iterator[str]:
    """Yields the numbers of the curves that a figure shows."""
    figure = None if outcome.draw is None else outcome.draw()
    spec = figure.spec if isinstance(figure, Drawing) else None
    for series in () if spec is None else spec.series:
        for values in (series.x, series.y, series.half):
            yield from _numbers([] if values is None else values.tolist())


def _hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:LENGTH]
