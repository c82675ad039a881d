"""Predictions of a buffer: the utilisation that models expect, and the smallest sufficient buffer.

The saw-tooth models and those of HighSpeed TCP at a router are asked. Each is asked about the first
flow that it applies to, over this hop with a drop-tail queue.
"""

from dataclasses import dataclass, replace

from ackclock.advice.buffer.bottleneck import Bottleneck
from ackclock.advice.buffer.measures import Target
from ackclock.models import FlowPath, Model, answer, model

_MODELS = ("sawtooth", "cubic_sawtooth", "hstcp_sawtooth", "mm1k")

# Limit in packets; a model that wants more has no answer.
_MOST = 10**7


@dataclass(frozen=True)
class Says:
    """Prediction of one model.

    Attributes:
        label: Label of the model.
        flow: The flow it was asked about; empty if it applies to none.
        note: Assumptions that the flow violates, or why the model applies to no flow.
        packets: The smallest buffer with the utilisation asked for; None if none was asked for, or
            if no buffer reaches it.
        utilisation: Predicted utilisation with the recommended buffer; None without one.
    """

    label: str
    flow: str
    note: str
    packets: int | None
    utilisation: float | None = None

    def for_buffer(self, hop: Bottleneck, packets: int) -> "Says":
        """Returns the same with the utilisation predicted for a buffer."""
        path = next((candidate for candidate in hop.paths if candidate.flow == self.flow), None)
        which = next(model(name) for name in _MODELS if model(name).label == self.label)
        return (
            self if path is None else replace(self, utilisation=_utilisation(which, path, packets))
        )


def asked(hop: Bottleneck, targets: tuple[Target, ...]) -> list[Says]:
    """Returns the prediction of each model that applies, or why the saw-tooth does not."""
    wanted = next(
        (target.bound for target in targets if target.measure.name == "utilisation"), None
    )
    predictions, declined = [], []
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
            predictions.append(Says(which.label, path.flow, verdict.note, packets))
        elif verdicts:
            declined.append(Says(which.label, "", verdicts[0][1].note, None))
    return predictions or declined[:1]


def _crosses(hop: Bottleneck, path: FlowPath) -> bool:
    """Returns true if this hop has the rate of the path's bottleneck."""
    rate = path.bottleneck.segments_per_s * hop.packet_bytes * 8
    return abs(rate - hop.rate_bit_per_s) <= 0.1 * hop.rate_bit_per_s


def _places(path: FlowPath) -> int:
    """Returns some buffer, to ask whether a model applies at all."""
    return max(1, round(path.share_segments))


def _with(path: FlowPath, packets: int) -> FlowPath:
    return replace(path, bottleneck=path.bottleneck.with_droptail(float(packets)))


def _utilisation(which: Model, path: FlowPath, packets: int) -> float | None:
    outputs = answer(which, _with(path, packets))["outputs"]
    return None if outputs is None else float(outputs["utilisation"])


def _enough(which: Model, path: FlowPath, wanted: float) -> int | None:
    """Returns the smallest buffer with that utilisation.

    In every model it grows with the buffer.
    """
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
