"""The engine beside other programs, on the dumbbell."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ackclock.benchmark import ns2, own
from ackclock.benchmark.network import DUMBBELL, SECONDS, dumbbell
from ackclock.benchmark.turns import Program, Turns, take_turns
from ackclock.scenario import load

#: The name of the engine among programs.
ENGINE = "engine"
#: Packets of the floor, by number of flows: about as many as the engine's.
_FLOOR_PACKETS = 1_200_000
_PUBLISHED = Path(__file__).parent / "published.json"


def others(flows: int) -> dict[str, Program]:
    """Returns the programs beside the engine that this machine has, by name."""
    programs: dict[str, Program] = {"floor": partial(own.floor_speed, flows, _FLOOR_PACKETS)}
    if ns2.installed():
        for headers in ns2.HEADERS:
            programs[f"ns-2, headers: {headers}"] = partial(
                ns2.speed, flows, SECONDS[flows], headers
            )
    return programs


def compare_programs(
    flows: int, rounds: int, limit_s: float, tell: Callable[[float], None] | None = None
) -> Turns:
    """Runs the dumbbell with so many flows, a key of `SECONDS`, in all programs in turn."""
    scenario = load(DUMBBELL)
    scenario = scenario.replace(dumbbell(flows, SECONDS[flows]))
    programs = {ENGINE: partial(own.speed, scenario, SECONDS[flows])}
    return take_turns(programs | others(flows), rounds, limit_s, tell)


def published() -> dict[str, float]:
    """Returns how many times as fast as each program the engine was when `make bench` was run."""
    ratios: dict[str, float] = json.loads(_PUBLISHED.read_text(encoding="utf-8"))
    return ratios


def publish(ratios: dict[str, float]) -> None:
    """Writes the ratios that `published` returns."""
    text = json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}, indent=2)
    _PUBLISHED.write_text(f"{text}\n", encoding="utf-8")
