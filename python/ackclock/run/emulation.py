"""Emulates scenarios in real time with packets of real Linux TCP, and replays the records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock import engine, notebook
from ackclock.errors import InputError
from ackclock.result.columns import table_of
from ackclock.result.interrupted import Interrupted
from ackclock.result.result import Result
from ackclock.result.run_json import read_run
from ackclock.result.writer import GrowingResult
from ackclock.run.description import conclude, describe
from ackclock.run.host import HOST_COMMAND, loader
from ackclock.scenario import Scenario

# Number of setting names that fit into a line.
_FEW = 3


def emulate(
    scenario: Scenario,
    folder: str | Path,
    *,
    device: str = "automatic",
    pcap: bool = True,
    side_by_side: int = 1,
    replace: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
    take: Callable[[pa.Table], None] | None = None,
) -> Result:
    """Runs every replicate of every point with the kernel's own TCP, in real time.

    Args:
        scenario: With or without a sweep.
        folder: For the result. It grows during the run, so that it is usable even if the process is
            killed.
        device: Carries the packets; one of `ackclock.run.device.DEVICES`.
        pcap: True to keep captures of each run.
        side_by_side: Number of runs at once, each between its own hosts. They share the processors;
            each is judged by itself.
        replace: True to replace a result that the folder holds, once this run is known to be
            possible.
        progress: Takes the progress about ten times a second: `fraction` done, the number `run` of
            those of `runs` that have begun, and `rate_bit_per_s`, the recent delivery rate of all.
            In a notebook the default is a bar.
        take: Takes rows of the table `tcp_info` as they come, before each call of `progress`. An
            exception of either ends the run.

    Returns:
        The result in that folder. It has the tables of `simulate`, `fidelity`, `lateness`,
        `settings`, `counters` and, for TCP, `tcp_info`. Unreliable runs are in it, and left out of
        averages. It is partial if a run failed; a warning then says how.

    Raises:
        Interrupted: Ctrl-C; the exception's `result` is the partial one in the folder.
        ScenarioError: Bad input; nothing has been run.
        LackingError: This machine cannot emulate; nothing has been run.
        InputError: The folder holds a result that is not to be replaced, or something else.
    """
    points = scenario.expand()
    resolved = [point.scenario.resolve().tree for point in points]
    files = scenario.folder.resolve()
    with scenario.places():
        machine = engine.prepare_emulation(resolved, files, HOST_COMMAND, loader(), device=device)
    folder = Path(folder)

    def took(name: str, columns: engine.Columns) -> None:
        rows = table_of(columns)
        growing.append(name, rows)
        if take is not None:
            take(rows)

    run = describe("emulate", scenario, points, resolved)
    run["warnings"] += machine.pop("warnings")
    run |= {"machine": machine, "folder": str(files)}
    with (
        GrowingResult(
            folder,
            run,
            "the record without tables, on which ackclock replay works",
            replace=replace,
        ) as growing,
        notebook.progress(f"emulate {run['name']}", progress) as tell,
    ):
        outcome = engine.emulate(
            resolved,
            files,
            folder,
            HOST_COMMAND,
            loader(),
            device=device,
            pcap=pcap,
            side_by_side=side_by_side,
            finished=(),
            progress=tell,
            take=took,
        )
        tables = {name: table_of(columns) for name, columns in outcome["tables"].items()}
        conclude(run, complete=outcome["complete"], failure=outcome["failure"])
        run["failed"] = outcome["failure"] is not None
        run["warnings"] += [
            *dict.fromkeys(outcome["warnings"]),
            *_reservations(Result(run, tables)),
        ]
        growing.finish(run, tables)
    result = Result.load(folder)
    if not outcome["complete"] and outcome["failure"] is None:
        raise Interrupted(result)
    return result


def replay(folder: str | Path) -> list[dict[str, Any]]:
    """Sends the recorded arrivals of an emulation through the hops again; compares the decisions.

    Args:
        folder: A result of `emulate`, even of one that was killed: its tables are not needed.

    Returns:
        One entry per recorded run, with these fields.
        point, replicate: The run.
        arrivals: Number of recorded arrivals.
        decisions: Number of decisions that were the same.
        until_s: Time up to which they were compared.
        duration_s: Duration of the scenario.
        complete: False if the run was killed or interrupted.
        difference: The first difference; None if there is none.

    Raises:
        ValueError: The folder holds no emulation.
        OSError: A record is missing or damaged.
    """
    folder = Path(folder)
    run = read_run(folder)
    if run["method"] != "emulate":
        raise InputError(
            "file",
            f"{folder}",
            f"is a result of {run['method']}; choose one of emulate, which keeps a record",
        )
    runs = engine.replay([point["scenario"] for point in run["points"]], run["folder"], folder)
    if not runs:
        raise InputError("file", f"{folder}", "holds no record; run ackclock emulate again")
    for comparison in runs:  # The engine closes the record of an interrupted run in order, too.
        comparison["complete"] = (
            comparison["complete"] and comparison["until_s"] >= comparison["duration_s"]
        )
    return runs


def _reservations(result: Result) -> list[str]:
    """Returns the warnings about the numbers of an emulation, one line each."""
    warnings = []
    runs = result.tables["fidelity"].select(["point", "replicate"]).to_pylist()
    for point in dict.fromkeys(row["point"] for row in runs):
        if all(
            (row["point"], row["replicate"]) in result.unreliable
            for row in runs
            if row["point"] == point
        ):
            warnings.append(f"point {point}: no run is reliable, so there is nothing to average")
    rows = result.tables["settings"].select(["name", "refusal"]).to_pylist()
    refused = list(dict.fromkeys(row["name"] for row in rows if row["refusal"]))
    if refused:
        few = ", ".join(refused[:_FEW]) + (", …" if len(refused) > _FEW else "")
        settings = "1 setting is" if len(refused) == 1 else f"{len(refused)} settings are"
        warnings.append(f"{settings} not as in the scenario ({few}); the table settings says why")
    return warnings
