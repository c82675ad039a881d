"""The record of a cause, and the evidence that it looks at."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.metrics import Interval
from ackclock.models import FlowPath
from ackclock.models.prediction import Prediction

# Metrics that grow and fall with the congestion window.
OF_THE_WINDOW = ("goodput", "cwnd")

# Effects below one percent are not named as causes. Guessed: nobody would stop to look at them.
NOTICEABLE = 0.01
# Effects below a tenth of the difference are not named either: it has another cause. Guessed.
_SHARE_OF_RESIDUAL = 0.1


@dataclass(frozen=True)
class SeenPath:
    """The path of a flow and the flows that share it, as runs show them.

    Unknown numbers are absent.

    Attributes:
        scenario: The resolved scenario.
        goodput: Of each other flow whose data crosses a hop of this flow's data, in bit/s, all
            instances together.
        capacity: Mean capacity of each hop, in bit/s.
        utilisation: Of each hop.
        queueing_delay: Mean of each hop, in seconds.
    """

    scenario: Mapping[str, Any]
    goodput: Mapping[str, float]
    capacity: Mapping[str, float]
    utilisation: Mapping[str, float]
    queueing_delay: Mapping[str, float]


@dataclass(frozen=True)
class Evidence:
    """Evidence about one difference between a method and its reference.

    It concerns one metric and one subject.

    Attributes:
        metric: Name of the metric.
        method: `predict`, `simulate`, `emulate` or `measure`.
        reference: The method that it is compared with.
        difference: Method minus reference with its 95 % interval, in the metric's unit.
        reference_mean: The reference's number, in the metric's unit.
        replicates: Number of replicates of the method and of the reference.
        flow: The flow as in a resolved scenario; for a hop, the only flow that crosses it. None if
            there are several.
        path: Path of that flow, as models see it.
        duration_s: Duration of a run.
        prediction: Prediction of a model, if the method is `predict`.
        saw: Means of other metrics of the same runs and flow, by name; unknown ones are absent.
        reference_saw: The same for the reference.
        reference_path: What the reference's runs say of the hops and of the other flows.
        settings: Rows of the table `settings` of the emulated side, as dicts.
        late_s: Median extra time that an emulated packet took beyond that of its hops.
        unreliable: Number of unreliable runs that are included in a mean.
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
    reference_path: "SeenPath | None" = None
    settings: Sequence[Mapping[str, Any]] = ()
    late_s: float = math.nan
    unreliable: int = 0

    @property
    def relative(self) -> float:
        """The difference over the reference's number; NaN if that is zero."""
        return self.difference.mean / abs(self.reference_mean) if self.reference_mean else math.nan

    @property
    def more(self) -> bool:
        """True if the method's number is the larger one."""
        return self.difference.mean > 0

    @property
    def is_kernel_beside_engine(self) -> bool:
        """True if an emulation is compared with a simulation, for one flow."""
        return (self.method, self.reference) == ("emulate", "simulate") and self.flow is not None

    def both(self, name: str) -> tuple[float, float]:
        """Returns a metric's mean for the method and for the reference; NaN where unknown."""
        return self.saw.get(name, math.nan), self.reference_saw.get(name, math.nan)

    def fits(self, effect: float) -> bool:
        """Returns true if an effect has the sign of the difference and is large enough to count.

        The effect is relative to the reference's number. An effect larger than the difference fits
        too: another cause may work against it.
        """
        return effect * self.relative > 0 and abs(effect) >= max(
            NOTICEABLE, _SHARE_OF_RESIDUAL * abs(self.relative)
        )

    def share_of_timeouts(self, timeouts: float) -> float:
        """Returns the smallest share of a run that these timeouts take.

        Args:
            timeouts: Number of timeouts of all instances of the flow.
        """
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

    A cause is named if its evidence is in the results, and if its sign, and its size where known,
    fit the difference. That does not prove it.

    Attributes:
        name: Name in tables.
        sentence: What it is in general.
        finds: Returns how the evidence shows it in one case, in words; empty if it does not.
        is_of_path: True if it is what the path does. Other causes may follow from it, so it is
            listed before them.
    """

    name: str
    sentence: str
    finds: Callable[[Evidence], str]
    is_of_path: bool = False


def percent(share: float) -> str:
    """Formats a share as `5.3 %`."""
    return f"{share * 100:.2g} %" if abs(share) < 0.1 else f"{share * 100:.0f} %"
