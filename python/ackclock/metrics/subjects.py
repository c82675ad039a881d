"""Subjects: the things that the values of a metric are about, flows and hops."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ackclock.elements import facts

Scenario = Mapping[str, Any]

#: Name of the subject of a metric of all flows together.
TOGETHER = "all flows"


class Subjects(NamedTuple):
    """The kind of thing that the values of a metric are about.

    Attributes:
        nouns: Words for them.
        names: Returns their names in a resolved scenario.
    """

    nouns: str
    names: Callable[[Scenario], list[str]]


def _flows(scenario: Scenario) -> list[str]:
    return [flow["name"] for flow in scenario["flows"]]


def _hops(scenario: Scenario) -> list[str]:
    return [hop["name"] for hop in scenario["hops"] if hop["scope"] == "shared"]


def _at_hops(scenario: Scenario) -> list[str]:
    """Returns all hops, then the classes and flows at each that records delays of packets."""
    subjects = _hops(scenario)
    for hop in scenario["hops"]:
        if not hop.get("packet_delays"):
            continue
        classes = facts.queue(hop)[1]["classes"] or ()
        subjects += [f"{hop['name']}[{name}]" for name in classes]
        crossing = [
            flow for flow in scenario["flows"] if hop["name"] in (*flow["route"], *flow["return"])
        ]
        subjects += [f"{hop['name']}/{flow['name']}" for flow in crossing]
    return subjects


def _instances(scenario: Scenario) -> list[str]:
    """Returns the instances of flows, without those that arrive: a run decides their number."""
    return [
        f"{flow['name']}/{number}"
        for flow in scenario["flows"]
        for number in range(flow.get("count") or 0)
    ]


def _pairs(scenario: Scenario) -> list[str]:
    names = _flows(scenario)
    return [f"{name} and {other}" for name in names for other in names]


FLOWS = Subjects("flows", _flows)
#: A hop with `scope = "per_flow"` has no values.
HOPS = Subjects("shared hops", _hops)
AT_HOPS = Subjects("hops, their classes and flows", _at_hops)
ALL_FLOWS = Subjects("all flows together", lambda _scenario: [TOGETHER])
INSTANCES = Subjects("instances of flows", _instances)
PAIRS = Subjects("pairs of flows", _pairs)
