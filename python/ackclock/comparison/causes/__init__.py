"""Causes of differences between methods. Each looks at evidence; append new ones to `CAUSES`."""

from typing import NamedTuple

from ackclock.comparison.causes import definition, model, path, stack, trust
from ackclock.comparison.causes.cause import Cause, Evidence, SeenPath

__all__ = ["CAUSES", "Cause", "Evidence", "Finding", "SeenPath", "cause", "findings"]

CAUSES: tuple[Cause, ...] = (
    trust.UNRELIABLE_RUNS,
    trust.LATE_PACKETS,
    definition.SMOOTHED_ROUND_TRIPS,
    definition.ONE_END,
    definition.LAST_ACK,
    path.CROSS_TRAFFIC,
    path.REORDERING,
    path.RETURN_PATH,
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
        cause: Name of the cause.
        words: How it shows.
    """

    cause: str
    words: str


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Returns every cause that the evidence shows."""
    return tuple(
        Finding(record.name, words) for record in CAUSES if (words := record.finds(evidence))
    )


def cause(name: str) -> Cause:
    """Returns the record of a cause.

    Raises:
        KeyError: There is no cause of that name.
    """
    return {record.name: record for record in CAUSES}[name]
