"""The cost of what is recorded of a scenario."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ackclock import units
from ackclock.benchmark import own
from ackclock.benchmark.turns import Program, Turns, take_turns
from ackclock.errors import InputError
from ackclock.run import cache
from ackclock.scenario import Scenario

#: The name of the scenario as it is written.
AS_WRITTEN = "as written"
# A run is made longer until it has so many packets or takes so long, or is whole. More packets fill
# the memory with their table, fewer are over before the clock of the process has ticked.
_PACKETS = 200_000
_LONG_S = 1.0
_FIRST_S = 0.1


def length_s(scenario: Scenario) -> tuple[float, int]:
    """Returns the length of the runs that are measured, and the data packets of each.

    Raises:
        InputError: Not one packet arrives.
    """
    whole_s = units.seconds(scenario.resolve().tree["duration"])
    seconds = min(_FIRST_S, whole_s)
    while True:
        packets, lasted_s = own.cpu_s(partial(own.simulated, own.short(scenario, seconds)))
        if packets >= _PACKETS or lasted_s >= _LONG_S or seconds == whole_s:
            break
        seconds = min(2 * seconds, whole_s)
    if packets == 0:
        raise InputError("no-data", "--scenario", "no data packet arrives; start a flow earlier")
    return seconds, packets


def compare_features(
    scenario: Scenario, rounds: int, limit_s: float, tell: Callable[[float], None] | None = None
) -> tuple[Turns, float]:
    """Runs a scenario as it is written, and with more and less of what is recorded, in turn.

    Args:
        scenario: Without a sweep.
        rounds: Number of rounds.
        limit_s: As for `take_turns`.
        tell: Takes the share of the rounds that is done.

    Returns:
        The speeds, in data packets per CPU second, and the seconds simulated in each turn.
    """
    seconds, packets = length_s(scenario)
    once = scenario.replace(sample_interval=f"{seconds} s")
    with tempfile.TemporaryDirectory(prefix="ackclock-bench-") as folder:
        programs: dict[str, Program] = {
            AS_WRITTEN: partial(own.speed, scenario, seconds),
            "without samples": partial(own.speed, once, seconds),
            "with the files of the result": partial(
                own.speed,
                scenario,
                seconds,
                partial(_saved, folder=Path(folder) / "result", packets=packets),
            ),
            "with the table of packets": partial(
                own.speed, scenario, seconds, partial(own.simulated, packets=True)
            ),
            "with captures": partial(
                own.speed, scenario, seconds, partial(own.simulated, pcap=Path(folder))
            ),
        }
        return take_turns(programs, rounds, limit_s, tell), seconds


def _saved(scenario: Scenario, folder: Path, packets: int) -> int:
    """Simulates a run and writes its result, as `ackclock simulate` does.

    Returns:
        `packets`, the data packets of the run; a result does not count them.
    """
    cache.Simulation(scenario).run(folder, lambda _: None, 1)
    return packets
