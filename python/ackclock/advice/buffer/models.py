"""What models say of a buffer: the utilisation they predict, and the smallest buffer that they think enough.

Asked are the saw-tooth and those of HighSpeed TCP at a router, of the first flow to which each
applies, over this hop with a drop-tail queue.
"""

from dataclasses import dataclass, replace

from ackclock.advice.buffer.bottleneck import Bottleneck
from ackclock.advice.buffer.measures import Target
from ackclock.models import FlowPath, Model, answer, model

__all__ = ["Says", "asked"]

_MODELS = ("sawtooth", "hstcp_sawtooth", "mm1k")

# In packets. A model that wants more has no answer.
_MOST = 10**7


@dataclass(frozen=True)
class Says:
    """What one model says.

    Attributes:
        label: The model's.
        flow: The flow it was asked about; empty if it applies to none.
        note: Which of its assumptions that violates, or why it applies to none.
        packets: The smallest buffer that gives the utilisation asked for; None if none was, or none
            does.
        utilisation: What it predicts with the buffer that is advised; None if none is.
    """

    label: str
    flow: str
    note: str
    packets: int | None
    utilisation: float | None = None

    def at(self, hop: Bottleneck, packets: int) -> "Says":
        """The same with what it predicts for a buffer."""
        path = next((one for one in hop.paths if one.flow == self.flow), None)
        which = next(model(name) for name in _MODELS if model(name).label == self.label)
        return (
            self if path is None else replace(self, utilisation=_utilisation(which, path, packets))
        )


def asked(hop: Bottleneck, targets: tuple[Target, ...]) -> list[Says]:
    """What each model says; those of a control that no flow has say nothing."""
    wanted = next(
        (target.bound for target in targets if target.measure.name == "utilisation"), None
    )
    found = []
    for which in (model(name) for name in _MODELS):
        verdicts = [
            (path, which.applies(_with(path, _places(path))))
            for path in hop.paths
            if _crosses(hop, path)
        ]
        applying = [(path, verdict) for path, verdict in verdicts if verdict.applies]
        if applying:
            path, verdict = applying[0]
            packets = None if wanted is None else _enough(which, path, wanted)
            found.append(Says(which.label, path.flow, verdict.note, packets))
        elif verdicts and which.name == "sawtooth":
            found.append(Says(which.label, "", verdicts[0][1].note, None))
    return found


def _crosses(hop: Bottleneck, path: FlowPath) -> bool:
    """Whether this is the hop that the path takes for its bottleneck, by its rate."""
    rate = path.bottleneck.segments_per_s * hop.packet_bytes * 8
    return abs(rate - hop.rate_bit_per_s) <= 0.1 * hop.rate_bit_per_s


def _places(path: FlowPath) -> int:
    """Some buffer, to ask whether a model applies at all."""
    return max(1, round(path.share_segments))


def _with(path: FlowPath, packets: int) -> FlowPath:
    return replace(path, bottleneck=path.bottleneck.with_droptail(float(packets)))


def _utilisation(which: Model, path: FlowPath, packets: int) -> float | None:
    outputs = answer(which, _with(path, packets))["outputs"]
    return None if outputs is None else float(outputs["utilisation"])


def _enough(which: Model, path: FlowPath, wanted: float) -> int | None:
    """The smallest buffer with that utilisation, which grows with the buffer in every model."""
    low, high = 0, 1
    while (reached := _utilisation(which, path, high)) is not None and reached < wanted:
        low, high = high, high * 2
        if high > _MOST:
            return None
    if reached is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = _utilisation(which, path, middle)
        if reached is not None and reached >= wanted:
            high = middle
        else:
            low = middle
    return high
