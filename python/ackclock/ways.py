"""The ways of answering a scenario.

`predict` asks the models, `simulate` runs it packet by packet, `emulate` sends real packets of Linux through it, and
`measure` asks what packets that were captured somewhere have done.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _native
from ackclock._native import CaptureError, LackingError
from ackclock.doctor import HOST_COMMAND
from ackclock.registry import registry
from ackclock.scenario import Point, Scenario

# pyarrow, numpy and scipy are imported where they are first needed: an engine that has nothing to wait for starts at
# once.
if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.captures import Capture, Source
    from ackclock.estimators import Estimators
    from ackclock.models import Model
    from ackclock.result import Result

__all__ = [
    "DEVICES", "MODELS_OF_CAPTURES", "CaptureError", "LackingError", "emulate", "measure", "predict", "replay",
    "simulate", "version",
]  # fmt: skip

# What may carry an emulation's packets.
DEVICES = ("automatic", "tun", "packet_socket")

# What is asked about captured connections: of the usual models those that need not know how a link moves; and the
# chain takes the whole law of the round-trip time, which is theirs to give.
MODELS_OF_CAPTURES = "square_root,pftk,cardwell,sawtooth,cubic_response,aimd_chain"

# Of so many connections, the largest, models are asked. Chosen here: more than anybody reads.
_CONNECTIONS = 10

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
    return Result(run, {name: table_of(columns) for name, columns in outcome["tables"].items()})


def emulate(
    scenario: Scenario,
    folder: str | Path,
    *,
    device: str = "automatic",
    pcap: bool = True,
    side_by_side: int = 1,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> "Result":
    """Runs every replicate of every point with the kernel's own TCP, in real time.

    Args:
        scenario: With or without a sweep.
        folder: For the result, which grows there while it is run, so that what there is can be used even if everything
            is killed. A result that is there already is replaced, once it is known that this one can be run.
        device: What carries the packets; one of `DEVICES`.
        pcap: Whether to keep captures of each run.
        side_by_side: How many runs at once, each between hosts of its own. They share the processors; each is judged
            by itself.
        progress: Is told about ten times a second how far it is: `fraction` done, how many of the `runs` have
            begun (`run`), and `rate_bit_per_s`, what has just been delivered by all.

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
    with GrowingResult(folder, run, "the record without tables, on which ackclock replay works") as growing:
        outcome = _native.emulate(
            trees,
            files,
            str(folder),
            HOST_COMMAND,
            device=device,
            pcap=pcap,
            side_by_side=side_by_side,
            progress=None if progress is None else lambda text: progress(json.loads(text)),
            take=lambda name, columns: growing.append(name, table_of(columns)),
        )
        tables = {name: table_of(columns) for name, columns in outcome["tables"].items()}
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


def measure(
    source: str | Path,
    folder: str | Path,
    *,
    interval: str = "100 ms",
    segments: bool = False,
    estimators: "Estimators" = (),
    models: str = MODELS_OF_CAPTURES,
    top: int = _CONNECTIONS,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> "Result":
    """Says what packet captures show of their TCP connections.

    Args:
        source: A pcap or pcapng file, perhaps packed with gzip; `-` for standard input; or the folder of a result of
            `simulate` with captures or of `emulate`, whose captures at the senders are taken.
        folder: For the result, which grows there while the captures are read: they may be longer than memory. A result
            that is there already is replaced, once there is something to write.
        interval: Time between two rows of the table `samples`.
        segments: Whether to fill the table `segments`, one row for each mark of a time-sequence plot.
        estimators: Which rate estimators run along with the ACKs of each connection and fill the table
            `rate_estimates`, as for `ackclock.rate_estimates`; of connections captured near their sender. The window
            they are told is what was outstanding.
        models: Which are asked about the connections, as for `predict`.
        top: How many connections they are asked about, those with the most payload.
        progress: Is told about ten times a second how far it is: `fraction` of the bytes read, None if that is not
            known, and `packets`.

    Returns:
        The result in that folder, with the tables `flows`, `samples`, `connections`, `stretches`, `rtt_law`, on request
        `rate_estimates` and `segments`, `estimates` and `predictions`; rows of a run's captures have the same keys as
        the run's own tables. It is marked partial if it was interrupted (Ctrl-C).

    Raises:
        CaptureError: A file is no capture or holds nothing to be measured; nothing has been written.
        ScenarioError: There is no such estimator, or it cannot be so.
        ValueError: There is no such model, or the folder holds no captures.
        FileExistsError: There is something in the folder that is not ackclock's.
    """
    from ackclock import captures, quantity
    from ackclock.estimators import asked as asked_estimators
    from ackclock.estimators import described
    from ackclock.growing import GrowingResult
    from ackclock.models import chosen

    asked = chosen(models)
    running = asked_estimators(estimators)
    interval_s = quantity.seconds(interval)
    found = captures.find(source)
    folder = Path(folder)
    _refuse_own_place(found, folder)
    run = _describe_captures(source, found)
    run["estimators"] = described(running)
    with GrowingResult(folder, run, "nothing yet; run ackclock measure again", with_first_rows=True) as growing:
        outcome = _native.measure(
            [(list(one.files), one.point, one.replicate) for one in found.captures],
            [] if found.run is None else [_flows_and_warmup(found.run, one) for one in found.captures],
            "" if found.run is None else found.run["way"],
            interval_s=interval_s,
            segments=segments,
            estimators=running,
            progress=None if progress is None else lambda text: progress(json.loads(text)),
            take=lambda name, columns: growing.append(name, table_of(columns)),
        )
        run["captures"] = json.loads(outcome["captures"])
        run["partial"] = run["partial"] or not outcome["complete"]
        if not growing.begun:
            raise _nothing(run, complete=outcome["complete"])
        for name, columns in outcome["tables"].items():
            growing.append(name, table_of(columns))
        growing.settle()
        growing.finish(run, _concluded(run, found, folder, asked, top))
    from ackclock.result import Result

    return Result.load(folder)


def predict(source: "Scenario | Result", models: str = "all", *, top: int = _CONNECTIONS) -> "Result":
    """Asks models about every flow of every point, or about captured connections.

    Args:
        source: A scenario, or the result of a run of one, or of `measure`.
        models: Which: `all`, `usual` (what is shown beside a simulation), or names with commas between them.
        top: Of a measurement, how many connections they are asked about, those with the most payload.

    Returns:
        A result with the table `predictions`; see `ackclock.models.predictions` for its columns, and
        `ackclock.predicted.predictions` for those of captured connections.

    Raises:
        ScenarioError: Bad input.
        ValueError: There is no model of that name.
    """
    from ackclock.models import chosen, predictions
    from ackclock.result import Result

    asked = chosen(models)
    if isinstance(source, Result) and source.run["way"] == "measure":
        run = source.run | {"way": "predict"}
        return Result(run, {"predictions": _of_connections(source, asked, top)["predictions"]})
    if isinstance(source, Result):
        run = source.run | {"way": "predict", "partial": False, "warnings": []}
    else:
        points = source.expand()
        run = _describe("predict", source, points, [point.scenario.resolve().tree for point in points])
    answers = predictions([point["scenario"] for point in run["points"]], asked)
    return Result(run, {"predictions": _prediction_table(answers)})


def _prediction_table(columns: dict[str, list[Any]]) -> "pa.Table":
    import pyarrow as pa

    types = dict.fromkeys(("point", "replicate", "instance", "instances"), pa.int64())
    types |= {name: pa.float64() for name in columns if name.endswith("_bit_per_s")}
    types |= dict.fromkeys(("inputs", "outputs"), pa.map_(pa.string(), pa.float64()))
    types |= {"violated": pa.list_(pa.string())}
    return pa.table({name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()})


def _of_connections(measured: "Result", models: "tuple[Model, ...]", top: int) -> "dict[str, pa.Table]":
    """The tables `estimates` and `predictions` of a measurement's largest connections."""
    from ackclock import estimates, predicted
    from ackclock.measured import apart, largest

    connections = largest(measured, top)
    alone = apart(measured, connections)
    found = [estimates.estimate(result, row) for result, row in zip(alone, connections, strict=True)]
    rows = [
        row
        for result, connection, estimate in zip(alone, connections, found, strict=True)
        for row in predicted.predictions(result, connection, estimate, models)
    ]
    columns = {name: [row[name] for row in rows] for name in predicted.COLUMNS}
    return {"estimates": estimates.table(found), "predictions": _prediction_table(columns)}


def _flows_and_warmup(run: dict[str, Any], capture: "Capture") -> tuple[list[tuple[str, int]], float]:
    """What is needed to name what a capture of a run holds."""
    from ackclock import quantity

    return list(capture.flows), quantity.seconds(run["points"][capture.point]["scenario"]["warmup"])


def _refuse_own_place(found: "Source", folder: Path) -> None:
    """Raises `FileExistsError` if the result would replace what it is made of."""
    from ackclock.captures import STANDARD_INPUT
    from ackclock.folder import refuse_foreign_folder

    refuse_foreign_folder(folder)
    files = [Path(file) for one in found.captures for file in one.files if file != STANDARD_INPUT]
    if any(folder.resolve() in file.resolve().parents for file in files):
        raise FileExistsError(f"{folder}: holds the capture that is to be measured; choose another folder")


def _describe_captures(source: str | Path, found: "Source") -> dict[str, Any]:
    """What run.json says of a measurement; of a run's captures what the run says of itself."""
    from ackclock.result import SCHEMA

    own = found.run or {
        "seed": None,
        "replicates": 1,
        "partial": False,
        "controls": [],
        "scenario": None,
        "points": [{"assignments": {}, "scenario": None}],
    }
    kept = ("seed", "replicates", "partial", "controls", "scenario", "points")
    return {"schema": SCHEMA, "way": "measure", "name": found.name} | {name: own[name] for name in kept} | {
        "versions": {"ackclock": version()}, "warnings": [], "source": str(source), "captures": [],
    }  # fmt: skip


def _nothing(run: dict[str, Any], *, complete: bool) -> BaseException:
    """Why there is no result of captures in which no TCP was found."""
    from ackclock.measured import passed_over

    if not complete:
        return KeyboardInterrupt()
    what = passed_over(run["captures"])
    return CaptureError(
        f"{run['source']}: holds no TCP segment{f' ({what})' if what else ''}; capture with tcpdump -w FILE tcp"
    )


def _concluded(
    run: dict[str, Any], found: "Source", folder: Path, models: "tuple[Model, ...]", top: int
) -> "dict[str, pa.Table]":
    """What follows from the tables that lie in the folder; the warnings go into `run`."""
    from ackclock.measured import reservations
    from ackclock.result import Result, tables_in

    measured = Result(run, tables_in(folder))
    run["warnings"] += reservations(measured)
    tables = _of_connections(measured, models, top)
    if found.run is not None and found.run["way"] == "emulate" and not found.run.get("partial"):
        # A run that is not to be trusted is in no average of what was measured of it either.
        tables["fidelity"] = Result.load(run["source"]).tables["fidelity"]
    return tables


def _cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def controls() -> list[dict[str, Any]]:
    """Name and label of each control of this version, the order of which is that of their looks in figures."""
    return [
        {"name": entry["name"], "label": entry["label"]}
        for kind in ("controls", "rate_controls")
        for entry in registry()[kind]
    ]


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
        "controls": controls(),
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


def table_of(columns: dict[str, tuple[Any, ...]]) -> "pa.Table":
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
