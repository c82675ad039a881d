"""BBR version 1 against loss-based flows: the share that its in-flight cap leaves to them.

Loss-based flows keep the queue full. BBR does not give way at a loss, so it gains until what it has
in flight reaches its cap: k times its estimate of the bandwidth-delay product. It estimates the
round-trip time R while its own data is out of the queue, but not that of the others. They hold a
share p of the queue and of the link. For all BBR flows together:

    In flight:           (1 - p) (q + c l).
    Estimated RTT:       R = l + (p q + w N)/c.
    Cap:                 k (1 - p) c R.
    Both are equal if:   p = 1/k - (1 - 1/k)/X - w N/q with X = q/(c l).

For k = 2 and w = 4 this is 1/2 - 1/(2 X) - 4 N/q. It does not depend on the number of loss-based
flows. If p is negative, the cap exceeds what link and queue hold, and nothing is left to the
others. To measure the round-trip time again, BBR stops once in each interval I. It stops for the
time in which a full queue drains, a further time h and a round trip.

    Share of BBR:        (1 - p) (1 - (q/c + h + l)/I).

The source is R. Ware, M. K. Mukerjee, S. Seshan and J. Sherry, "Modeling BBR's interactions with
loss-based congestion control", IMC 2019, equations 8 to 11. The paper itself was not at hand. The
formulas are those of a reproduction, which numbers them as the paper does: F. B. Sarpkaya and
others, "BBR's sharing behavior with CUBIC and Reno", 2025, file ware_model.py. It evaluates queues
of 1 to 64 BDP. The first author's account (CMU CSD blog, 2024) derives the same for a deep buffer.
Beside the simulator, whose loss-based flows leave the queue less than full, the share is mostly too
high; the band of the record says how far. A gain k other than two is our generalisation.

Letters: c link rate (segments/s), l base round-trip time (s), q buffer (segments), N BBR flows, k
gain of the window. While BBR measures the round-trip time, each flow keeps w segments in flight.
"""

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    NO_RANDOM_LOSS,
    QUEUE_ALONE_DELAYS,
    SAME_ROUND_TRIPS,
    STEADY_FLOWS,
    long_run,
    needs_tcp,
    no_droptail,
    not_by_path_model,
    rate_varies,
    unless,
)
from ackclock.models.domain import AT_LEAST_ONE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import Competitor, Control, FlowPath


def shares(
    rate: Array,
    rtt: Array,
    buffer: Array,
    flows: Array,
    window_gain: Array,
    rtt_probe_interval: Array,
    rtt_probe_time: Array,
    rtt_probe_segments: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    c, l, q, k, w = rate, rtt, buffer, window_gain, rtt_probe_segments  # noqa: E741
    X = q / (c * l)
    p = np.maximum(1 / k - (1 - 1 / k) / X - w * flows / q, 0.0)
    probing = np.minimum((q / c + rtt_probe_time + l) / rtt_probe_interval, 1.0)
    share = (1 - p) * (1 - probing)
    R = l + (p * q + w * flows) / c
    return {
        "goodput": share * c / flows,
        "share": share,
        "others_goodput": (1 - share) * c,
        "queue_share": 1 - p,
        "probing_share": probing,
        "estimated_rtt": R,
        "in_flight_cap": k * (1 - p) * c * R,
        "full_rtt": l + q / c,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, model = path.bottleneck, path.control.path_model
    if model is None:
        return {}  # the record asks for inputs only of flows that it does not refuse
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "buffer": bottleneck.buffer_segments,
        "flows": float(
            sum(other.instances for other in bottleneck.competitors if _like(other, path))
        ),
        "window_gain": model.window_gain,
        "rtt_probe_interval": model.rtt_probe_interval_s,
        "rtt_probe_time": model.rtt_probe_time_s,
        "rtt_probe_segments": model.rtt_probe_segments,
    }  # fmt: skip


def _like(other: Competitor, path: FlowPath) -> bool:
    return other.transport == "tcp" and other.control.path_model == path.control.path_model


def _ignores_losses(control: Control) -> str:
    """Returns the reason why only the cap limits a control; empty if only the cap does."""
    if control.kept is None:
        return control.unstated
    if control.kept != "all":
        return f"{control.name} reacts to losses, so not only its in-flight cap limits it"
    keeps = control.path_model is not None and control.path_model.rtt_probe_share > 0
    return f"{control.name} keeps data in the queue while it measures the RTT" if keeps else ""


def _competition(path: FlowPath) -> str:
    """Returns the reason why the others at the bottleneck are not known to be loss-based."""
    others = [other for other in path.bottleneck.competitors if not _like(other, path)]
    for other in others:
        if other.transport != "tcp":
            return f"{other.name} shares the bottleneck and is not TCP"
        if other.control.path_model is not None:
            return f"{other.name} shares the bottleneck and has other gains"
        if other.control.kept is None or other.control.reacts_to_delay is None:
            return f"{other.name} does not state that it reacts to losses alone"
        if not other.control.is_loss_based:
            return f"{other.name} shares the bottleneck and is not loss-based"
    return unless(bool(others), "no loss-based flow shares the bottleneck")


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    if reason := (
        needs_tcp(path)
        or not_by_path_model(path.control)
        or _ignores_losses(path.control)
        or rate_varies(bottleneck)
        or no_droptail(bottleneck)
        or _competition(path)
    ):
        return reason
    reasons = {
        "the bottleneck sends nothing": bottleneck.segments_per_s == 0,
        "the bottleneck has no buffer": bottleneck.buffer_segments == 0,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _shallow(path: FlowPath) -> str:
    held = path.bottleneck.buffer_segments
    product = path.bottleneck.segments_per_s * path.round_trip.base_s
    return unless(
        held >= product,
        f"the buffer holds {held:.4g} segments, less than the bandwidth-delay product of "
        f"{product:.4g}",
    )


def _small_window(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    mine = shares(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})
    held = bottleneck.buffer_segments + bottleneck.segments_per_s * path.round_trip.base_s
    wanted = float(mine["queue_share"]) * held / _inputs_of(path)["flows"]
    return unless(
        path.sender.receive_window_segments >= wanted,
        f"the receive window is {path.sender.receive_window_segments:g} segments, less than the "
        f"{wanted:.4g} that a flow would have in flight",
    )


MODEL = Model(
    name="bbr_share",
    label="BBR share",
    summary="BBR version 1 against loss-based flows: its share of the link.",
    reference="Ware, Mukerjee, Seshan, Sherry 2019, as restated by Sarpkaya and others 2025",
    formula="""\
X = q/(c l),  p = max(1/k - (1 - 1/k)/X - w N/q, 0)
probing = min((q/c + h + l)/I, 1)
share = (1 - p)(1 - probing),  goodput = share c/N,  others_goodput = (1 - share) c
R = l + (p q + w N)/c,  in_flight_cap = k (1 - p) c R""",
    inputs=(
        Input("rate", "c", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "l", "s", "round-trip time without queueing, one segment's service included"),
        Input(
            "buffer",
            "q",
            "segments",
            "queue limit, without the segment being sent",
            on_wire=True,
        ),
        Input(
            "flows",
            "N",
            "",
            "BBR flows that share the link, all identical",
            1,
            AT_LEAST_ONE,
            whole=True,
        ),
        Input("window_gain", "k", "", "in-flight cap over the estimated product", 2, AT_LEAST_ONE),
        Input("rtt_probe_interval", "I", "s", "time between probes for the round-trip time", 10),
        Input(
            "rtt_probe_time", "h", "s", "time for which such a probe keeps little in flight", 0.2
        ),
        Input("rtt_probe_segments", "w", "segments", "window of a flow in such a probe", 4),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "goodput of each BBR flow"),
        Output("share", "", "", "share of the link that all BBR flows get"),
        Output("others_goodput", "", "segments/s", "goodput of all loss-based flows together"),
        Output("queue_share", "1-p", "", "share of the queue, and of the link between probes"),
        Output("probing_share", "", "", "share of time in which BBR measures the round-trip time"),
        Output("estimated_rtt", "R", "s", "round-trip time that BBR estimates"),
        Output("in_flight_cap", "", "segments", "most that all BBR flows have in flight"),
        Output("full_rtt", "", "s", "round-trip time with a full queue"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption(
            "a_product_of_buffer",
            "the buffer holds at least the bandwidth-delay product",
            _shallow,
        ),
        SAME_ROUND_TRIPS,
        NO_RANDOM_LOSS,
        Assumption("full_queue", "the loss-based flows keep the queue full"),
        Assumption("probes_in_step", "all BBR flows measure the round-trip time together"),
        Assumption(
            "window_is_received", "no receive window is below the in-flight cap", _small_window
        ),
        STEADY_FLOWS,
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(lambda path: _inputs_of(path)["rtt_probe_interval"]),
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=shares,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            1.0,
            "measured",
            "1 to 3 BBR flows beside 1 to 5 of CUBIC or Reno, buffers of 1 to 12 "
            "bandwidth-delay products",
        ),
    ),
    divides_link=True,
)
