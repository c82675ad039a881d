"""What a cause says of itself, and the evidence it looks at."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.comparison.predicted import Prediction
from ackclock.metrics import Interval
from ackclock.models import FlowPath

__all__ = ["NOTICEABLE", "OF_THE_WINDOW", "Cause", "Evidence", "percent"]

# What grows and falls with the window.
OF_THE_WINDOW = ("goodput", "cwnd")

# An effect of less than a hundredth is not named as a cause: guessed, as what a reader would not
# stop at.
NOTICEABLE = 0.01
# Nor is one of less than a tenth of the residual, which has another cause then: guessed.
_SHARE_OF_RESIDUAL = 0.1


@dataclass(frozen=True)
class Evidence:
    """What is known about one residual: the number of one way less that of its reference, for one metric and subject.

    Attributes:
        metric: The metric's name.
        method: `predict`, `simulate`, `emulate` or `measure`.
        reference: The way that it is held against.
        difference: The residual and its 95 % interval, in the metric's unit.
        reference_mean: The reference's number, in the metric's unit.
        replicates: How many there are of the one and of the other.
        flow: The flow it is about, of a hop the only one that crosses it, as in a resolved
            scenario; None if there are several.
        path: That flow's, in the terms of the models.
        duration_s: How long a run lasts.
        prediction: What a model says, if the way is `predict`.
        saw: Other metrics' means of the same runs and flow, by name. What is not known is not
            there.
        reference_saw: The same of the reference.
        settings: Rows of the table `settings` of the emulated one of both, as dicts.
        late_s: How much longer than its hops a packet of the emulated one took, half of the packets
            at most.
        unreliable: Runs that are unreliable and are in a mean all the same.
    """

    metric: str
    method: str
    reference: str
    difference: Interval
    reference_mean: float
    replicates: tuple[int, int]
    flow: Mapping[str, Any] | None = None
    path: FlowPath | None = None
    duration_s: float = math.nan
    prediction: Prediction | None = None
    saw: Mapping[str, float] = field(default_factory=dict)
    reference_saw: Mapping[str, float] = field(default_factory=dict)
    settings: Sequence[Mapping[str, Any]] = ()
    late_s: float = math.nan
    unreliable: int = 0

    @property
    def relative(self) -> float:
        """The residual over the reference's number; not a number if that is zero."""
        return self.difference.mean / abs(self.reference_mean) if self.reference_mean else math.nan

    @property
    def more(self) -> bool:
        """Whether the way's number is the larger one."""
        return self.difference.mean > 0

    @property
    def is_kernel_beside_engine(self) -> bool:
        """Whether an emulation is held against a simulation, about one flow."""
        return (self.method, self.reference) == ("emulate", "simulate") and self.flow is not None

    def both(self, name: str) -> tuple[float, float]:
        """A metric's mean of the way and of the reference; not a number where it is not known."""
        return self.saw.get(name, math.nan), self.reference_saw.get(name, math.nan)

    def fits(self, effect: float) -> bool:
        """Whether an effect, relative to the reference's number, has the residual's direction, and a size that counts.

        A larger one than the residual fits, too: another cause may work against it.
        """
        return effect * self.relative > 0 and abs(effect) >= max(
            NOTICEABLE, _SHARE_OF_RESIDUAL * abs(self.relative)
        )

    def share_of_timeouts(self, timeouts: float) -> float:
        """The least share of a run that so many timeouts, of all instances of the flow, take."""
        if (
            self.path is None
            or self.path.instances is None
            or not 0 < self.path.sender.first_timeout_s < math.inf
        ):
            return 0.0
        return timeouts * self.path.sender.first_timeout_s / (self.path.instances * self.duration_s)


@dataclass(frozen=True)
class Cause:
    """The record of one cause.

    A cause is named where its evidence is in the results and where its direction, and its size if
    that is known, fit the residual. That does not prove it.

    Attributes:
        name: As in tables.
        sentence: What it is, whatever the case.
        finds: How the evidence shows it in one case, in words; empty if it does not.
    """

    name: str
    sentence: str
    finds: Callable[[Evidence], str]


def percent(share: float) -> str:
    """`5.3 %`."""
    return f"{share * 100:.2g} %" if abs(share) < 0.1 else f"{share * 100:.0f} %"
