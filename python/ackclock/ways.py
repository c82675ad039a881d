"""The ways of answering a scenario: `simulate` runs it packet by packet, `predict` asks the models."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _native
from ackclock.registry import registry
from ackclock.scenario import Point, Scenario

# pyarrow, numpy and scipy are imported where they are first needed: an engine that has nothing to wait for starts at
# once.
if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result import Result

__all__ = ["predict", "simulate", "version"]


def version() -> str:
    """The version of ackclock, which is the engine's."""
    return _native.version()


def simulate(
    scenario: Scenario,
    *,
    threads: int | None = None,
    packets: bool = False,
    pcap: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> "Result":
    """Runs every replicate of every point. The result does not depend on the number of threads.

    Args:
        scenario: With or without a sweep.
        threads: How many to use; by default one for each core.
        packets: Whether to keep the table `packets`, one row for each event of each packet.
        pcap: An existing folder to write a capture of each replicate of each point to.
        progress: Is told the share done, about ten times a second.

    Returns:
        A result with the tables `flows`, `samples`, `hops`, `events` and perhaps `packets`; marked partial if it was
        interrupted (Ctrl-C).

    Raises:
        ScenarioError: Bad input; nothing has been run.
    """
    points = scenario.expand()
    resolved = [point.scenario.resolve().tree for point in points]
    outcome = _native.simulate(
        [point.scenario.to_json() for point in points],
        str(scenario.folder),
        threads=threads or _cores(),
        packets=packets,
        pcap_folder=None if pcap is None else str(pcap),
        progress=progress,
    )
    if not outcome["tables"]:
        raise KeyboardInterrupt  # before any run had begun
    from ackclock.result import Result

    run = _describe("simulate", scenario, points, resolved)
    run["partial"] = not outcome["complete"]
    if run["replicates"] == 1:
        run["warnings"].append("one replicate: no confidence interval; set replicates = 5 or more")
    if run["partial"]:
        run["warnings"].append("interrupted: replicates or points are missing")
    return Result(run, {name: _table(columns) for name, columns in outcome["tables"].items()})


def predict(source: "Scenario | Result", models: str = "all") -> "Result":
    """Asks models about every flow of every point.

    Args:
        source: A scenario, or the result of a run of one.
        models: Which: `all`, `usual` (what is shown beside a simulation), or names with commas between them.

    Returns:
        A result with the table `predictions`; see `ackclock.models.predictions` for its columns.

    Raises:
        ScenarioError: Bad input.
        ValueError: There is no model of that name.
    """
    import pyarrow as pa

    from ackclock.models import chosen, predictions
    from ackclock.result import Result

    asked = chosen(models)
    if isinstance(source, Result):
        run = source.run | {"way": "predict", "partial": False, "warnings": []}
    else:
        points = source.expand()
        run = _describe("predict", source, points, [point.scenario.resolve().tree for point in points])
    answers = predictions([point["scenario"] for point in run["points"]], asked)
    types = {"point": pa.int64(), "instances": pa.int64()}
    types |= {"goodput_bit_per_s": pa.float64(), "model_bit_per_s": pa.float64(), "violated": pa.list_(pa.string())}
    types |= dict.fromkeys(("inputs", "outputs"), pa.map_(pa.string(), pa.float64()))
    columns = {name: pa.array(values, types.get(name, pa.string())) for name, values in answers.items()}
    return Result(run, {"predictions": pa.table(columns)})


def _cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _describe(way: str, scenario: Scenario, points: list[Point], resolved: list[dict[str, Any]]) -> dict[str, Any]:
    """What run.json says. No clock, no host, no number of threads: the same run gives the same bytes."""
    from ackclock.result import SCHEMA

    first = resolved[0]
    return {
        "schema": SCHEMA,
        "way": way,
        "name": first["name"],
        "seed": str(first["seed"]),
        "replicates": first["replicates"],
        "versions": {"ackclock": version()},
        "partial": False,
        "warnings": [],
        "controls": [{"name": entry["name"], "label": entry["label"]} for entry in registry()["controls"]],
        "scenario": scenario.tree,
        "points": [
            {"assignments": point.assignments, "scenario": tree} for point, tree in zip(points, resolved, strict=True)
        ],
    }


def _table(columns: dict[str, tuple[Any, ...]]) -> "pa.Table":
    import pyarrow as pa

    return pa.table({name: _array(column) for name, column in columns.items()})


def _array(column: tuple[Any, ...]) -> "pa.Array":
    """A column from the engine's bytes; not a number means unknown, which is null."""
    import numpy as np
    import pyarrow as pa

    kind, data = column[0], column[1]
    if kind == "str":
        indices = np.frombuffer(data, "<i4")
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, pa.int32(), mask=indices < 0), pa.array(column[2], pa.string())
        )
    if kind == "f8":
        return pa.array(np.frombuffer(data, "<f8"), from_pandas=True)
    return pa.array(np.frombuffer(data, "<i8"))
