"""The ways of answering a scenario.

`predict` asks the models, `simulate` runs it packet by packet, `emulate` sends real packets of Linux through it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _native
from ackclock._native import LackingError
from ackclock.doctor import HOST_COMMAND
from ackclock.registry import registry
from ackclock.scenario import Point, Scenario

# pyarrow, numpy and scipy are imported where they are first needed: an engine that has nothing to wait for starts at
# once.
if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result import Result

__all__ = ["DEVICES", "LackingError", "emulate", "predict", "replay", "simulate", "version"]

# What may carry an emulation's packets.
DEVICES = ("automatic", "tun", "packet_socket")

# So many names of settings are enough for a line.
_FEW = 3


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
    _conclude(run, complete=outcome["complete"])
    return Result(run, {name: _table(columns) for name, columns in outcome["tables"].items()})


def emulate(
    scenario: Scenario,
    folder: str | Path,
    *,
    device: str = "automatic",
    pcap: bool = True,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> "Result":
    """Runs every replicate of every point with the kernel's own TCP, in real time, one after the other.

    Args:
        scenario: With or without a sweep.
        folder: For the result, which grows there while it is run, so that what there is can be used even if everything
            is killed. A result that is there already is replaced, once it is known that this one can be run.
        device: What carries the packets; one of `DEVICES`.
        pcap: Whether to keep captures of each run.
        progress: Is told about ten times a second how far it is: `fraction` done, `run` of how many `runs`, and
            `rate_bit_per_s`, what has just been delivered.

    Returns:
        The result in that folder, with the tables of `simulate`, `fidelity`, `lateness`, `settings` and, of TCP,
        `tcp_info`. Runs that are not to be trusted are in it, and left out of averages. It is marked partial if it was
        interrupted (Ctrl-C) or a run failed; then a warning says how.

    Raises:
        ScenarioError: Bad input; nothing has been run.
        LackingError: This machine cannot; nothing has been run.
        FileExistsError: There is something in the folder that is not ackclock's.
    """
    points = scenario.expand()
    resolved = [point.scenario.resolve().tree for point in points]
    trees = [json.dumps(tree, ensure_ascii=False) for tree in resolved]
    files = str(scenario.folder.resolve())
    machine = json.loads(_native.prepare_emulation(trees, files, HOST_COMMAND, device=device))
    from ackclock.growing import GrowingResult
    from ackclock.result import Result

    folder = Path(folder)
    run = _describe("emulate", scenario, points, resolved)
    run["warnings"] += machine.pop("warnings")
    run |= {"machine": machine, "folder": files}
    with GrowingResult(folder, run) as growing:
        outcome = _native.emulate(
            trees,
            files,
            str(folder),
            HOST_COMMAND,
            device=device,
            pcap=pcap,
            progress=None if progress is None else lambda text: progress(json.loads(text)),
            take=lambda name, columns: growing.append(name, _table(columns)),
        )
        tables = {name: _table(columns) for name, columns in outcome["tables"].items()}
        _conclude(run, complete=outcome["complete"], failure=outcome["failure"])
        run["failed"] = outcome["failure"] is not None
        run["warnings"] += [*dict.fromkeys(outcome["warnings"]), *_reservations(Result(run, tables))]
        growing.finish(run, tables)
    return Result.load(folder)


def replay(folder: str | Path) -> list[dict[str, Any]]:
    """Pushes the recorded arrivals of an emulation through the hops again, which must decide the same.

    Args:
        folder: A result of `emulate`, even of one that was killed: its tables are not needed.

    Returns:
        Of each recorded run `point`, `replicate`, `arrivals`, `decisions` that were the same, whether the record is
        `complete` (that of a killed run is not), and the first `difference`, None if there is none.

    Raises:
        ValueError: The folder holds no emulation.
        OSError: A record is missing or damaged.
    """
    from ackclock.result import read_run

    folder = Path(folder)
    run = read_run(folder)
    if run["way"] != "emulate":
        raise ValueError(f"{folder}: is of ackclock {run['way']}, which keeps no record; give a result of emulate")
    trees = [json.dumps(point["scenario"], ensure_ascii=False) for point in run["points"]]
    runs: list[dict[str, Any]] = json.loads(_native.replay(trees, run["folder"], str(folder)))
    if not runs:
        raise OSError(f"{folder}: holds no record; run ackclock emulate again")
    return runs


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
    """What run.json says. No clock, no host, no number of threads: the same simulation gives the same bytes."""
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


def _conclude(run: dict[str, Any], *, complete: bool, failure: str | None = None) -> None:
    """Writes into a run's description how it went."""
    run["partial"] = not complete or failure is not None
    if run["replicates"] == 1:
        run["warnings"].append("one replicate: no confidence interval; set replicates = 5 or more")
    if failure is not None:
        run["warnings"].append(f"a run failed, replicates or points are missing: {failure}")
    elif not complete:
        run["warnings"].append("interrupted: replicates or points are missing")


def _reservations(result: "Result") -> list[str]:
    """What is to be known of an emulation's figures, one line each."""
    warnings = []
    runs = result.tables["fidelity"].select(["point", "replicate"]).to_pylist()
    for point in dict.fromkeys(row["point"] for row in runs):
        if all((row["point"], row["replicate"]) in result.untrusted for row in runs if row["point"] == point):
            warnings.append(f"point {point}: none of its runs is to be trusted, so that there is nothing to average")
    rows = result.tables["settings"].select(["name", "refusal"]).to_pylist()
    refused = list(dict.fromkeys(row["name"] for row in rows if row["refusal"]))
    if refused:
        few = ", ".join(refused[:_FEW]) + (", …" if len(refused) > _FEW else "")
        said = "1 setting is" if len(refused) == 1 else f"{len(refused)} settings are"
        warnings.append(f"{said} not as asked ({few}); the table settings says why")
    return warnings


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
