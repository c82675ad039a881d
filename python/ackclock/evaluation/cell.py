"""One run of a suite as a scenario: a run of a case on a path, with a control in the place of X."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ackclock import engine, units
from ackclock.elements import facts
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.suite import Setup, TestPath
from ackclock.evaluation.trace import PathValues
from ackclock.scenario import Scenario

_NS = 1e9
_PACKET_BYTES = 1500


@dataclass(frozen=True)
class Cell:
    """One run of a case on a path.

    A scenario of a suite has the values `rate` and `round_trip`, and its bottleneck first. For
    checks on a trace it has one flow, a link with steps, and the values `start`, which is drawn,
    `full_segment`, and `payload_share`, the share of the rate that payload can have.

    Attributes:
        case: Name of the case, for titles.
        setup: The run.
        path: The path.
        candidate: The control in the place of X.
        seed: The seed.
        replicates: Number of replicates.
        least_round_trips: Least length of the run in round trips.
        assignments: Values of the grid's fields.
    """

    case: str
    setup: Setup
    path: TestPath
    candidate: Candidate
    seed: int
    replicates: int = 1
    least_round_trips: float = 0.0
    assignments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title of its scenario."""
        return ", ".join(filter(None, (self.case, self.setup.name)))

    @cached_property
    def _tree(self) -> dict[str, Any]:
        """The scenario without events, and with the length that is written."""
        setup = self.setup
        own = {*setup.changes, *setup.grid, *setup.wide_grid, *setup.campaign_grid}
        of_path = {name: value for name, value in self.path.changes.items() if name not in own}
        tree = engine.replace(dict(self.setup.scenario), {**of_path, **self.assignments})
        events = {
            event.name: event.moment.plus.written
            if event.moment.kind == "time"
            else f"{1000 + number} s"
            for number, event in enumerate(self.setup.events)
        }
        values = {**tree.get("values", {}), **events}
        share = self.candidate.payload_share
        if share is not None and "payload_share" in values:
            values["payload_share"] = share
        if "start" in values:
            values["start"] = _time(self._start_s(values))
        return {
            **self.candidate.in_place(tree),
            "name": self.title,
            "seed": self.seed,
            "replicates": self.replicates,
            "values": values,
        }

    def _start_s(self, values: Mapping[str, Any]) -> float:
        """Returns the start of a flow whose control is followed, drawn from one round trip."""
        longest = units.seconds(values["round_trip"])
        drawn = np.random.default_rng(self.seed).uniform(0, longest)
        return round(float(drawn) * _NS) / _NS

    @cached_property
    def _derived(self) -> dict[str, str]:
        """The fields that are expressions, with what they amount to."""
        return {each["field"]: each["value"] for each in Scenario(self._tree).derived()}

    @cached_property
    def values(self) -> dict[str, float]:
        """Values of the scenario in base units."""
        written = {
            name: self._derived.get(f"values.{name}", value)
            for name, value in self._tree["values"].items()
        }
        return {name: units.parse(value).amount for name, value in written.items()}

    @cached_property
    def duration_s(self) -> float:
        """Length of the run in seconds."""
        written = units.seconds(self._derived.get("duration", self._tree["duration"]))
        return max(written, self.least_round_trips * self.values.get("round_trip", 0.0))

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product in full packets; infinite if the scenario does not say."""
        values = self.values
        if "rate" not in values or "round_trip" not in values:
            return float("inf")
        return values["rate"] * values["round_trip"] / 8 / _PACKET_BYTES

    @cached_property
    def packets(self) -> float:
        """About as many packets as the run has at most."""
        hops = self.scenario().resolve().tree["hops"]
        highest = [facts.link(hop)[1]["highest_bit_per_s"] for hop in hops[:1]]
        return self.duration_s * (highest[0] or 0.0) / 8 / _PACKET_BYTES

    def scenario(self, times: Mapping[str, float] | None = None) -> Scenario:
        """Returns the scenario with the events that have a time, in seconds.

        The other events come at its end, one after the other, so that runs are the same before.
        """
        end = _time(self.duration_s)
        moments = {
            event.name: _time(self.duration_s + number)
            for number, event in enumerate(self.setup.events)
            if event.moment.kind != "time"
        }
        moments |= {name: _time(at_s) for name, at_s in (times or {}).items()}
        tree = {**self._tree, "duration": end, "values": {**self._tree["values"], **moments}}
        if self.setup.assertions:
            tree |= self.candidate.records(self.values["round_trip"])
        return Scenario(tree)

    def path_values(self, scenario: Scenario, times: Mapping[str, float]) -> PathValues:
        """Returns the path as checks on a trace know it, with the events at these times."""
        stated = facts.link(scenario.resolve().tree["hops"][0])[1]
        most = units.bit_per_s(self.setup.carries) if self.setup.carries else float("inf")
        share, values = self.values["payload_share"], self.values
        steps = [(step["from_s"], min(step["bit_per_s"], most) * share) for step in stated["steps"]]
        return PathValues(
            tuple(steps),
            values["round_trip"],
            round(values["full_segment"]),
            {**times, "start": values["start"], "end": self.duration_s},
        )


def _time(seconds: float) -> str:
    return f"{round(seconds * _NS)} ns"
