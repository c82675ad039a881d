"""Digests of what experiments run, to detect that the engine gives other tables.

The digest of a run is that of the tables of one short replicate, see `shortened`. Tables are a
deterministic function of the scenario and the engine. Equal digests therefore mean that the engine
still does the same.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ackclock import units
from ackclock.reproduction.experiment import Experiment, Run
from ackclock.run import simulation

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

__all__ = ["Named", "digest", "key", "owned", "shortened", "table_digest"]

#: Duration of the short replicate as a share of the run's, and its largest: tens of round trips.
SHARE, MOST_S = 1 / 20, 20.0
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
    of a twentieth of the duration, at most 20 s. If something is scheduled (a flow starts or stops,
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
        for element in (hop["link"], *hop["impairments"]):
            yield from (units.seconds(step["from"]) for step in element.get("steps", ()))


def digest(run: Run) -> str:
    """Runs the short replicates of a run; returns the digest of their tables.

    The table `counters` is left out: a new counter does not change a result.
    """
    found = hashlib.sha256()
    for scenario in shortened(run.scenario):
        tables = simulation.simulate(scenario, threads=1).tables
        for name in sorted(tables.keys() - {"counters"}):
            found.update(f"{name}:{table_digest(tables[name])};".encode())
    return found.hexdigest()[:LENGTH]


def table_digest(table: pa.Table) -> str:
    """Returns the digest of a table's content, independent of its storage.

    It covers the names, types and values of its columns.
    """
    found = hashlib.sha256(f"{table.num_rows} rows;".encode())
    for name in table.column_names:
        column = table[name].combine_chunks()
        is_encoded = pa.types.is_dictionary(column.type)
        found.update(f"{name}:{column.type.value_type if is_encoded else column.type};".encode())
        found.update(_content(column))
    return found.hexdigest()


def _content(column: pa.Array) -> bytes:
    """Returns bytes that are equal for equal values; unknown numbers and NaN are the same."""
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        # A list as JSON; each word is written once, as there are few.
        words = [json.dumps(word) for word in (*column.dictionary.to_pylist(), None)]
        unknown = len(words) - 1
        return f"[{', '.join([words[one] for one in _codes(column, unknown)])}]".encode()
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        # NaNs get a single bit pattern.
        values = np.where(np.isnan(values), np.nan, values)
    content: bytes = values.astype(values.dtype.newbyteorder("<")).tobytes()
    return content


def _codes(column: pa.DictionaryArray, unknown: int) -> list[int]:
    """Returns the index of each value in the dictionary; `unknown` where there is none."""
    codes: list[int] = column.indices.fill_null(unknown).to_pylist()
    return codes


def _hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:LENGTH]
