"""Why ways differ: named causes, each of which looks at the evidence. Append new ones to `CAUSES`."""

from typing import NamedTuple

from ackclock.comparison.causes import definition, model, stack, trust
from ackclock.comparison.causes.cause import Cause, Evidence

__all__ = ["CAUSES", "Cause", "Evidence", "Finding", "cause", "findings"]

CAUSES: tuple[Cause, ...] = (
    trust.TOO_FEW_REPLICATES,
    trust.UNRELIABLE_RUNS,
    trust.LATE_PACKETS,
    definition.SMOOTHED_ROUND_TRIPS,
    definition.ONE_END,
    definition.LAST_ACK,
    model.VIOLATED_ASSUMPTION,
    model.TIMEOUTS_SEEN,
    model.NOT_SETTLED,
    model.OTHER_ROUND_TRIPS,
    model.OTHER_LOSS,
    model.SENDING_RATE,
    stack.KERNEL_SETTINGS,
    stack.FRIENDLY_GROWTH,
    stack.HYSTART,
    stack.BURSTS,
    stack.WHOLE_SEGMENTS,
    stack.DELAYED_ACKS,
    stack.RECOVERY,
)


class Finding(NamedTuple):
    """A cause that the evidence shows.

    Attributes:
        cause: Its name.
        words: How it shows.
    """

    cause: str
    words: str


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Every cause that the evidence shows; none if it shows none."""
    return tuple(Finding(one.name, words) for one in CAUSES if (words := one.finds(evidence)))


def cause(name: str) -> Cause:
    """The record of that name.

    Raises:
        KeyError: There is none.
    """
    return {one.name: one for one in CAUSES}[name]
