"""Simulates scenarios packet by packet."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import engine, notebook
from ackclock.result.interrupted import Interrupted
from ackclock.run.finished import FinishedRuns
from ackclock.run.memory import free_bytes
from ackclock.scenario import Scenario

# pyarrow is imported after the run, so that the engine starts at once.
if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result.result import Result

    Batch = dict[str, pa.Table]


def simulate(
    scenario: Scenario,
    *,
    threads: int | None = None,
    packets: bool = False,
    pcap: str | Path | None = None,
    qlog: str | Path | None = None,
    kept: FinishedRuns | None = None,
    progress: Callable[[float], None] | None = None,
) -> "Result":
    """Runs every replicate of every point. The result does not depend on the number of threads.

    Args:
        scenario: With or without a sweep.
        threads: Number of threads; by default one per core.
        packets: True to keep the table `packets`, one row per event of each packet. With `kept` it
            may be larger than memory.
        pcap: An existing folder for a capture of each replicate of each point.
        qlog: An existing folder for the qlog files of each connection of quinn, one for each side.
        kept: Runs that are already finished; more are kept there as they finish.
        progress: Takes the share done of what is left, about ten times a second. In a notebook the
            default is a bar.

    Returns:
        A result with the tables `flows`, `samples`, `hops`, `events` and perhaps `packets`.

    Raises:
        Interrupted: Ctrl-C; the exception's `result` has the finished runs and is partial.
        ScenarioError: Bad input, or a control that only a kernel has; nothing has been run.
        LackingError: The run needs more memory than is free; nothing has been run.
    """
    points = scenario.expand()
    resolved = [point.scenario.resolve().tree for point in points]
    finished = [] if kept is None else kept.keys
    batches = [] if kept is None else kept.tables()

    def take(keys: list[tuple[int, int]], tables: dict[str, engine.Columns]) -> None:
        batches.append(_batch(tables))
        if kept is not None:
            kept.keep(keys, batches[-1])

    streamed = kept if packets else None
    with scenario.places(), notebook.progress(f"simulate {resolved[0]['name']}", progress) as tell:
        outcome = engine.simulate(
            [point.scenario.tree for point in points],
            scenario.place,
            threads=threads or cores(),
            memory=free_bytes(),
            packets=packets,
            pcap_folder=None if pcap is None else Path(pcap),
            qlog_folder=None if qlog is None else Path(qlog),
            finished=list(finished),
            take=None if kept is None else take,
            take_packets=_appending_to(streamed),
            progress=tell,
        )
    if outcome["keys"] and outcome["complete"]:
        batches.append(_batch(outcome["tables"]))
    elif outcome["keys"]:
        take(outcome["keys"], outcome["tables"])
    if outcome["stopped"]:
        batches.append(_batch(outcome["stopped"]))
    if not batches:
        raise KeyboardInterrupt  # Interrupted before any run had begun.
    from ackclock.result.result import Result
    from ackclock.run.description import conclude, describe

    run = describe("simulate", scenario, points, resolved)
    conclude(run, complete=outcome["complete"])
    result = Result(run, _with_packets(_in_order(batches), streamed))
    if not outcome["complete"]:
        raise Interrupted(result)
    return result


def _appending_to(
    kept: FinishedRuns | None,
) -> Callable[[tuple[int, int], engine.Columns], None] | None:
    """Returns what takes the rows of the table `packets` as they come; None to hold them all."""
    return None if kept is None else lambda run, rows: kept.append(run, _table(rows))


def _with_packets(tables: "Batch", kept: FinishedRuns | None) -> "Mapping[str, pa.Table]":
    """Returns the tables, and beside them `packets` in files."""
    if kept is None:
        return tables
    from ackclock.result.spool import SpooledTables

    return SpooledTables(tables, {"packets": kept.packets()})


def _batch(tables: dict[str, engine.Columns]) -> "Batch":
    return {name: _table(columns) for name, columns in tables.items()}


def _table(columns: engine.Columns) -> "pa.Table":
    from ackclock.result.columns import table_of

    return table_of(columns)


def _in_order(batches: "list[Batch]") -> "Batch":
    """Returns the rows of all batches by point and replicate, as in a single batch."""
    if len(batches) == 1:
        return batches[0]
    import pyarrow as pa

    names = dict.fromkeys(name for batch in batches for name in batch)
    together = {
        name: pa.concat_tables(
            [batch[name] for batch in batches if name in batch]
        ).unify_dictionaries()
        for name in names
    }
    # The sort is stable: rows of a run keep their order.
    keys: Any = [("point", "ascending"), ("replicate", "ascending")]
    return {name: table.sort_by(keys) for name, table in together.items()}


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
