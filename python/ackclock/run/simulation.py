"""Simulating a scenario packet by packet."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import engine
from ackclock.run.memory import free_bytes
from ackclock.scenario import Scenario

# pyarrow is imported after the run: an engine that has nothing to wait for starts at once.
if TYPE_CHECKING:
    from ackclock.result import Result


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
        LackingError: It needs more memory than is free; nothing has been run.
    """
    points = scenario.expand()
    resolved = [point.scenario.resolve().tree for point in points]
    outcome = engine.simulate(
        [point.scenario.tree for point in points],
        scenario.folder,
        threads=threads or _cores(),
        memory=free_bytes(),
        packets=packets,
        pcap_folder=None if pcap is None else Path(pcap),
        progress=progress,
    )
    if not outcome["tables"]:
        raise KeyboardInterrupt  # before any run had begun
    from ackclock.result import Result
    from ackclock.result.columns import table_of
    from ackclock.run.description import conclude, describe

    run = describe("simulate", scenario, points, resolved)
    conclude(run, complete=outcome["complete"])
    return Result(run, {name: table_of(columns) for name, columns in outcome["tables"].items()})


def _cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
