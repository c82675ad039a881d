"""Inputs about a router's flows, shared by the records."""

from collections.abc import Mapping

import numpy as np

from ackclock.models.domain import AT_LEAST_ONE
from ackclock.models.model import Array, Bound, Input, Rule
from ackclock.models.refusal import refuse_inputs

REFERENCE = "Barman, Smaragdakis, Matta 2004, re-derived from a later summary"

RATE = Input("rate", "C", "segments/s", "the link's rate", on_wire=True)
RTT = Input(
    "rtt", "r", "s", "this flow's round-trip time without queueing, one segment's service included"
)
FLOWS = Input(
    "flows",
    "n",
    "",
    "flows that share the link, including this one",
    1,
    AT_LEAST_ONE,
    backwards=False,
)
SHORTEST = Input(
    "shortest", "r1", "s", "the shortest round-trip time among them",
    Rule("r", lambda inputs: inputs["rtt"]), backwards=False,
)  # fmt: skip
LONGEST = Input(
    "longest", "rn", "s", "the longest; those between are evenly spaced",
    Rule("r", lambda inputs: inputs["rtt"]), backwards=False,
)  # fmt: skip
PLACES = Input(
    "places", "K", "segments", "capacity of the router, with the segment being sent; rounded down",
    domain=AT_LEAST_ONE, on_wire=True,
)  # fmt: skip

OF_THE_FLOWS = (RATE, RTT, FLOWS, SHORTEST, LONGEST)


#: Limit on the flows of a call, as each has a round-trip time of its own.
MOST_FLOWS = Bound(
    "flows",
    "flows",
    1e6,
    lambda inputs: np.broadcast_arrays(*inputs.values())[0] * 0 + inputs["flows"],
)


def check(numbers: Mapping[str, Array]) -> None:
    """Refuses inputs about the flows that contradict each other.

    Raises:
        InputError: An input is wrong, or contradicts another.
    """
    flows, rtt = numbers["flows"], numbers["rtt"]
    shortest, longest = numbers["shortest"], numbers["longest"]
    for name, code, wrong, problem in (
        ("flows", "out-of-range", flows % 1 != 0, "{flows} is not a whole number of flows"),
        (
            "shortest",
            "contradiction",
            shortest > rtt,
            "{shortest} is longer than this flow's own; give at most {rtt}",
        ),
        (
            "longest",
            "contradiction",
            longest < rtt,
            "{longest} is shorter than this flow's own; give at least {rtt}",
        ),
        (
            "flows",
            "contradiction",
            (flows == 1) & (shortest < longest),
            "{flows} flow has one round-trip time; remove shortest and longest",
        ),
    ):
        if np.any(wrong):
            bad = {
                each: float(np.broadcast_to(numbers[each], np.shape(wrong))[wrong].flat[0])
                for each in (name, "rtt")
            }
            refuse_inputs(code, problem, **bad)


def round_trips(shortest: Array, longest: Array, flows: int) -> Array:
    """Returns evenly spaced round-trip times along a last axis."""
    return np.linspace(shortest, longest, flows, axis=-1)
