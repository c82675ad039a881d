"""The paths on which learners learn: the points of a scenario's sweep, or of a design.

Training and testing are split by path: a path belongs to one of them by a hash of what it sets.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, ScenarioError
from ackclock.scenario import Point, Scenario, load
from ackclock.sweeps import designs, parameters

#: Share of paths that are for tests, and most paths of an environment: each takes some 20 kB.
TEST_SHARE, MOST_PATHS = 0.2, 50_000

#: Parts of training and testing.
SPLITS = ("all", "train", "test")


@dataclass(frozen=True)
class Paths:
    """Paths with learners on them.

    Attributes:
        points: What each sets, and its scenario as written.
        flow: Name of the learners' flow.
        trees: What the engine runs: scenarios under the control `external`, with a sample at the
            end alone.
    """

    points: tuple[Point, ...]
    flow: str
    trees: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scenario: str | Path | Scenario,
        flow: str | None = None,
        *,
        vary: Sequence[str] = (),
        design: str = "random:256",
        split: str = "all",
        salt: str = "",
    ) -> "Paths":
        """Returns the paths of a scenario.

        Args:
            scenario: A scenario or its file. Its own sweep gives the paths if nothing varies.
            flow: Name of the learners' flow; the first by default.
            vary: Parameters, as for `sweep`: `hops.bottleneck.link.rate=12..96 Mbit/s`.
            design: Kind and number of the paths over what varies.
            split: `all`, `train` or `test`.
            salt: Changes which paths are for tests.

        Raises:
            InputError: There are too many paths, or none in this part.
            ScenarioError: The scenario is wrong, or has no such flow.
        """
        whole = scenario if isinstance(scenario, Scenario) else load(scenario)
        if split not in SPLITS:
            raise InputError.unknown("split", "part", split, SPLITS)
        every = _varied(whole, vary, design) if vary else whole.expand()
        points = [point for point in every if split in ("all", _part(point, salt))]
        if not points or len(points) > MOST_PATHS:
            raise InputError(
                "out-of-range", "split",
                f'"{split}" has {len(points)} of {len(every)} paths; there may be from 1 to '
                f"{MOST_PATHS}", split,
            )  # fmt: skip
        name = _named(points[0].scenario, flow)
        trees = tuple(json.dumps(_steered(point.scenario, name).tree) for point in points)
        return cls(tuple(points), name, trees)

    @property
    def place(self) -> Any:
        """The place at which the engine looks up files."""
        return self.points[0].scenario.place

    def scripted(self, path: int, seed: int) -> Scenario:
        """Returns the scenario of an episode whose learners obey the file `actions.csv`."""
        control = {"kind": "scripted", "file": "actions.csv"}
        return self.points[path].scenario.replace(
            {f"flows.{self.flow}.transport.control": control, "seed": seed, "replicates": 1}
        )


def _varied(scenario: Scenario, vary: Sequence[str], design: str) -> list[Point]:
    read = [parameters.parse(text) for text in parameters.of_each(vary, scenario.tree)]
    assigned = designs.parse(design).points(read, scenario.tree.get("seed", 1))
    some = next(designs.Design("grid", 2).points(read, 1))
    bare = scenario.replace(some).expand()
    if len(bare) > 1:
        sentence = "is of other parameters than those that vary; leave out one of the two"
        raise ScenarioError("contradiction", "sweep", sentence)
    return [Point(values, bare[0].scenario.replace(values)) for values in assigned]


def _part(point: Point, salt: str) -> str:
    """Returns the part to which a path belongs."""
    text = salt + json.dumps(point.assignments, sort_keys=True)
    drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
    return "test" if drawn < TEST_SHARE else "train"


def _named(scenario: Scenario, flow: str | None) -> str:
    flows = scenario.tree.get("flows", [])
    names = [each.get("name") for each in flows if isinstance(each, dict)]
    if flow is None and names:
        flow = names[0]
    if flow not in names:
        raise ScenarioError.unknown("flow", "flow", str(flow), [str(name) for name in names])
    return str(flow)


def _steered(scenario: Scenario, flow: str) -> Scenario:
    """Returns the scenario under `external`, whose only sample is at its end."""
    steered = scenario.replace({f"flows.{flow}.transport.control": {"kind": "external"}})
    duration = steered.tree.get("duration", "")
    return steered.replace({"sample_interval": duration, "replicates": 1})
