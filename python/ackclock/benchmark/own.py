"""The engine and its floor in this process, in packets per CPU second."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ackclock import engine
from ackclock.benchmark.network import START_UP_S
from ackclock.scenario import Scenario

_Result = TypeVar("_Result")

# Less time is shorter than what the clock of a process tells apart.
_SHORTEST_S = 1e-6


def short(scenario: Scenario, seconds: float) -> Scenario:
    """Returns a scenario that is one run of so many seconds, without warm-up."""
    return scenario.replace(duration=f"{seconds} s", warmup="0 s", replicates=1)


def cpu_s(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Returns the result of some work, and its CPU time in all threads of this process."""
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def simulated(scenario: Scenario, *, packets: bool = False, pcap: Path | None = None) -> int:
    """Simulates one run. Returns the number of data packets that arrived at a receiver."""
    with scenario.places():
        outcome = engine.simulate(
            [scenario.tree],
            scenario.place,
            threads=1,
            memory=None,
            packets=packets,
            pcap_folder=pcap,
            finished=(),
            take=None,
            progress=None,
        )
    if not outcome["complete"]:
        raise KeyboardInterrupt
    return int(outcome["data_packets"])


def speed(scenario: Scenario, seconds: float, run: Callable[[Scenario], int] = simulated) -> float:
    """Returns the data packets per CPU second of a scenario of so many seconds.

    The CPU time of a run of hardly any simulated time is subtracted. One before it loads what later
    runs find loaded, and is not measured.
    """
    idle = short(scenario, min(START_UP_S, seconds))
    run(idle)
    _, idle_s = cpu_s(lambda: run(idle))
    packets, whole_s = cpu_s(lambda: run(short(scenario, seconds)))
    return packets / max(whole_s - idle_s, _SHORTEST_S)


def floor_speed(flows: int, packets: int) -> float:
    """Returns the data packets per CPU second of the floor: what any such engine must do."""
    (delivered, _), lasted_s = cpu_s(lambda: engine.floor(flows, packets))
    return delivered / max(lasted_s, _SHORTEST_S)
