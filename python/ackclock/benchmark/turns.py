"""Programs that take turns."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

#: Runs a program once. Returns what it does per CPU second.
Program = Callable[[], float]


class Ratio(NamedTuple):
    """A ratio of two speeds.

    Attributes:
        fastest: That of the fastest turn of each.
        low: The lowest ratio of a round.
        high: The highest ratio of a round.
    """

    fastest: float
    low: float
    high: float


@dataclass(frozen=True)
class Turns:
    """The speeds of programs, in their units per CPU second.

    Attributes:
        speeds: By program, one for each round.
    """

    speeds: dict[str, list[float]]

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return min(map(len, self.speeds.values()))

    def fastest(self, name: str) -> float:
        """Returns the speed of a program's fastest turn: disturbances only make it slower."""
        return max(self.speeds[name])

    def ratio(self, name: str, other: str) -> Ratio:
        """Returns how many times as fast as another a program is."""
        rounds = [
            speed / slower
            for speed, slower in zip(self.speeds[name], self.speeds[other], strict=True)
        ]
        return Ratio(self.fastest(name) / self.fastest(other), min(rounds), max(rounds))


def take_turns(
    programs: Mapping[str, Program],
    rounds: int,
    limit_s: float = math.inf,
    tell: Callable[[float], None] | None = None,
) -> Turns:
    """Runs every program once in each round.

    Args:
        programs: By name.
        rounds: Number of rounds.
        limit_s: No round begins that would probably end later. The first one always takes place.
        tell: Takes the share of the rounds that is done.
    """
    speeds: dict[str, list[float]] = {name: [] for name in programs}
    begin = time.monotonic()
    for done in range(rounds):
        for position, (name, program) in enumerate(programs.items()):
            if tell is not None:
                tell((done + position / len(programs)) / rounds)
            speeds[name].append(program())
        lasted_s = time.monotonic() - begin
        if lasted_s * (done + 2) / (done + 1) > limit_s:
            break
    return Turns(speeds)
