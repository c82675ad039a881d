"""Turns a run of a suite into a scenario."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.controls.evaluation.candidate import Candidate
from ackclock.controls.evaluation.suite import Event, Setup, Share, TestPath
from ackclock.controls.evaluation.trace import PathValues
from ackclock.scenario import Scenario

FLOW = "flow"
_BOTTLENECK, _RETURN = "bottleneck", "return"
# The return path is never congested.
_RETURN_RATE = "400 Gbit/s"
_NS = 1e9


@dataclass(frozen=True)
class Cell:
    """One run of a case on a path, with a control and a seed.

    Attributes:
        name: Name of the case, for titles.
        setup: The run.
        path: The path, with the changes of the run.
        candidate: The control.
        seed: The seed.
        least_round_trips: Least length of the run in round trips.
    """

    name: str
    setup: Setup
    path: TestPath
    candidate: Candidate
    seed: int
    least_round_trips: float = 0.0

    @property
    def duration_s(self) -> float:
        """Length of the run in seconds."""
        written = self.setup.duration.in_s(self.path.round_trip_s)
        return max(written, self.least_round_trips * self.path.round_trip_s)

    @property
    def packets(self) -> float:
        """About as many packets as the run has at most."""
        return self.duration_s * self._highest_rate / 8 / self.path.packet_bytes

    @property
    def start_s(self) -> float:
        """Start of the flow, drawn from one round trip."""
        drawn = np.random.default_rng(self.seed).uniform(0, self.path.round_trip_s)
        return round(float(drawn) * _NS) / _NS

    def values(self, times: Mapping[str, float]) -> PathValues:
        """Returns the path as checks know it, with the events at these times."""
        payload = self.candidate.payload_share(self.path)
        steps = [(at_s, rate * payload) for at_s, rate in self._rate_steps(times)]
        policer = self.path.policer
        if policer is not None:
            most = policer.rate.applied_to(self.path.rate_bit_per_s) * payload
            steps = [(at_s, min(rate, most)) for at_s, rate in steps]
        return PathValues(
            tuple(steps),
            self.path.round_trip_s,
            self.path.segment_bytes,
            {**times, "start": self.start_s, "end": self.duration_s},
        )

    def scenario(self, times: Mapping[str, float]) -> Scenario:
        """Returns the scenario with the events that have a time.

        The other events are put at the end of the run, so that the runs are the same before.
        """
        return Scenario(
            {
                "schema": 1,
                "name": ", ".join(filter(None, (self.name, self.setup.name))),
                "duration": _time(self.duration_s),
                "seed": self.seed,
                "replicates": 1,
                **self.candidate.records(self.path),
                "hops": [self._bottleneck(times), self._return(times)],
                "flows": [self._flow(times)],
            }
        )

    @property
    def _highest_rate(self) -> float:
        changes = [event.to for event in self.setup.events if event.kind == "rate"]
        own = self.path.rate_bit_per_s
        return max([own, *(change.applied_to(own) for change in changes)])

    def _of_kind(self, kind: str, times: Mapping[str, float]) -> list[tuple[float, Event]]:
        """Returns the events of a kind with their times; those without one at the end."""
        return [
            (times.get(event.name, self.duration_s), event)
            for event in self.setup.events
            if event.kind == kind
        ]

    def _rate_steps(self, times: Mapping[str, float]) -> list[tuple[float, float]]:
        own = self.path.rate_bit_per_s
        changes = [(at_s, event.to.applied_to(own)) for at_s, event in self._of_kind("rate", times)]
        return [(0.0, own), *changes]

    def _bottleneck(self, times: Mapping[str, float]) -> dict[str, Any]:
        steps = [
            {"from": _time(at_s), "rate": _rate(rate)} for at_s, rate in self._rate_steps(times)
        ]
        impairments = [*self._policers(), *self._losses(times), *self._delays(times)]
        return {
            "name": _BOTTLENECK,
            "link": {"kind": "scheduled", "steps": steps},
            "queue": {"kind": "droptail", "limit": f"{self.path.buffer_packets} packets"},
            "delay": _time(self.path.round_trip_s / 2),
            "impairments": impairments,
        }

    def _policers(self) -> list[dict[str, Any]]:
        policer = self.path.policer
        if policer is None:
            return []
        rate = _rate(policer.rate.applied_to(self.path.rate_bit_per_s))
        return [{"kind": "policer", "rate": rate, "burst": f"{policer.burst_bytes:.0f} bytes"}]

    def _losses(self, times: Mapping[str, float]) -> list[dict[str, Any]]:
        return [
            {
                "kind": "periodic_loss",
                "every": event.every,
                "from": _time(at_s),
                "until": _time(at_s + event.lasts.in_s(self.path.round_trip_s)),
            }
            for at_s, event in self._of_kind("loss", times)
        ]

    def _delays(self, times: Mapping[str, float]) -> list[dict[str, Any]]:
        round_trip = self.path.round_trip_s
        return [
            {
                "kind": "scheduled_delay",
                "steps": [
                    {"from": _time(at_s), "delay": _time(event.by.in_s(round_trip))},
                    {"from": _time(at_s + event.lasts.in_s(round_trip)), "delay": "0 s"},
                ],
                "reordering": "forbidden" if event.keeps_order else "allowed",
            }
            for at_s, event in self._of_kind("delay", times)
        ]

    def _return(self, times: Mapping[str, float]) -> dict[str, Any]:
        aggregations = [
            {
                "kind": "aggregation",
                "interval": _time(event.by.in_s(self.path.round_trip_s)),
                "from": _time(at_s),
                "applies": "acks",
            }
            for at_s, event in self._of_kind("aggregation", times)
        ]
        return {
            "name": _RETURN,
            "link": {"kind": "constant", "rate": _RETURN_RATE},
            "queue": {"kind": "droptail", "limit": "unlimited"},
            "delay": _time(self.path.round_trip_s / 2),
            "impairments": aggregations,
        }

    def _flow(self, times: Mapping[str, float]) -> dict[str, Any]:
        return {
            "name": FLOW,
            "route": [_BOTTLENECK],
            "return": [_RETURN],
            **self.candidate.flow(self.path),
            "traffic": self._traffic(times),
            "start": _time(self.start_s),
        }

    def _traffic(self, times: Mapping[str, float]) -> dict[str, Any]:
        if self.setup.application is None:
            return {"kind": "bulk"}
        payload = self.path.rate_bit_per_s * self.candidate.payload_share(self.path)
        first = [(0.0, self.setup.application)]
        changes = [
            (at_s - self.start_s, event.to) for at_s, event in self._of_kind("application", times)
        ]
        return {"kind": "scheduled", "steps": _application_steps([*first, *changes], payload)}


def _application_steps(changes: list[tuple[float, Share]], payload: float) -> list[dict[str, str]]:
    """Returns the steps of a source; of changes at the same time, the last one counts."""
    steps = {_time(at_s): _rate(share.applied_to(payload)) for at_s, share in changes}
    return [{"from": begin, "rate": rate} for begin, rate in steps.items()]


def _time(seconds: float) -> str:
    return f"{round(seconds * _NS)} ns"


def _rate(bit_per_s: float) -> str:
    return f"{round(bit_per_s)} bit/s"
