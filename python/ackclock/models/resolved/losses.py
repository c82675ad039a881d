"""The random loss of a route."""

from collections.abc import Iterable
from math import nan

from ackclock.elements import facts
from ackclock.models.loss_window import loss_window
from ackclock.models.path import Control, Loss
from ackclock.models.resolved.topology import Hop, Route

Impairments = list[tuple[str, facts.Facts]]


#: Spacings of losses; where several hops lose, the first of them that occurs decides.
_SPACINGS = ("bursty", None, "even", "independent")


def loss(
    route: Route,
    measured_s: tuple[float, float],
    control: Control,
    round_trip_s: float,
    segments_per_ack: float,
) -> Loss:
    """Returns the random loss of a route.

    Args:
        route: The hops of a flow.
        measured_s: Beginning and end of the time over which scheduled loss is averaged.
        control: The control of the flow.
        round_trip_s: Its round-trip time without queueing.
        segments_per_ack: b, as in `ackclock.models.path.Sender`.
    """
    on_data, on_acks = impairments_of(route.data, "data"), impairments_of(route.acks, "acks")
    losing = [stated for _, stated in on_data if stated["mean_loss"] != 0]
    spacings = [stated["spacing"] for stated in losing] or ["independent"]
    rate, ack_rate = loss_rates(route, measured_s)
    return Loss(
        rate=rate,
        ack_rate=ack_rate,
        spacing=min(spacings, key=_SPACINGS.index),
        changes=any_of(stated["changes"] for stated in losing),
        window_segments=loss_window(control, rate, round_trip_s, segments_per_ack),
        unknown=_unknown(on_data + on_acks),
    )


def loss_rates(route: Route, measured_s: tuple[float, float]) -> tuple[float, float]:
    """Returns the shares of data and of ACKs lost; NaN if not stated."""
    data, acks = (
        _of_all(impairments_of(hops, packets), measured_s)
        for hops, packets in ((route.data, "data"), (route.acks, "acks"))
    )
    return data, acks


def impairments_of(hops: list[Hop], packets: str) -> Impairments:
    """Returns the impairments of `data` or `acks`, and those that do not state which."""
    every = (impairment for hop in hops for impairment in facts.impairments(hop))
    return [
        impairment for impairment in every if impairment[1]["applies_to"] in (packets, "all", None)
    ]


def any_of(stated: Iterable[bool | None]) -> bool | None:
    """Returns True if a fact holds; None if none is known to hold and one is not stated."""
    values = list(stated)
    return None if None in values and True not in values else True in values


def _unknown(impairments: Impairments) -> str:
    """Returns the reason why the loss rate is unknown; empty if it is known."""
    for name, stated in impairments:
        mean = stated["mean_loss"]
        if (mean is None or mean is facts.NONE) and not stated["loss_steps"]:
            return f"{name} does not state how much it loses"
        if mean != 0 and stated["applies_to"] is None:
            return f"{name} does not state which packets it loses"
    return ""


def _of_all(impairments: Impairments, measured_s: tuple[float, float]) -> float:
    passed = 1.0
    for _, stated in impairments:
        passed *= 1 - _mean_loss(stated, measured_s)
    return 1 - passed


def _mean_loss(impairment: facts.Facts, measured_s: tuple[float, float]) -> float:
    mean, steps = impairment["mean_loss"], impairment["loss_steps"]
    if steps:
        return _mean_of_steps(steps, *measured_s)
    return nan if mean is None or mean is facts.NONE else float(mean)


def _mean_of_steps(steps: list[dict[str, float]], from_s: float, until_s: float) -> float:
    """Returns the mean over time of a probability that is zero before the first step."""
    begins = [min(max(step["from_s"], from_s), until_s) for step in steps]
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], until_s], strict=True)]
    shares = [step["probability"] for step in steps]
    lost = sum(share * last for share, last in zip(shares, lasts, strict=True))
    return lost / (until_s - from_s) if until_s > from_s else shares[-1]
