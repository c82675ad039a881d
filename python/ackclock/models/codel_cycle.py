"""CoDel with one flow: a saw-tooth with one signal in each cycle.

The window rises until the delay has been above the target D for an interval I. CoDel (RFC 8289)
then drops a packet. If the round-trip time is below I, the window is halved and the queue drains
before a second drop is due. So the cycle is that of a drop-tail queue (`sawtooth`) that overflows
where CoDel drops. Its buffer is mu D plus the growth of the window in the interval and in the round
trip until the sender hears of the drop. This growth is alpha (I/(T + D) + 1)/b. Derived here:
RFC 8289 section 4.3 argues in the same way and prints no formula. The round trip that the repair
takes is left out.

Without that growth and D, the window falls to half of P = mu T and the cycle takes mu T^2/2 for
alpha = 1, beta = 1/2.
"""

import numpy as np

from ackclock.models import sawtooth
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    FIRST_REPAIR,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    MARKS_AS_LOSSES,
    NO_RANDOM_LOSS,
    QUEUE_ALONE_DELAYS,
    QUICK_RECOVERY,
    lacks,
    long_run,
    needs_tcp,
    not_aimd,
    not_received,
    queue_lasts_s,
    rate_varies,
    unless,
)
from ackclock.models.domain import AT_LEAST_ONE, PROPER_SHARE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath


def cycle(
    rate: Array,
    rtt: Array,
    target: Array,
    interval: Array,
    additive_increase: Array,
    decrease_factor: Array,
    segments_per_ack: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    grown = additive_increase * (interval / (rtt + target) + 1) / segments_per_ack
    top = rate * target + grown
    outputs_of_tooth = sawtooth.cycle(
        rate, rtt, top, rate / rate, additive_increase, decrease_factor, segments_per_ack
    )
    names = (
        "goodput", "utilisation", "mean_queue", "mean_rtt", "loss_rate", "period", "peak_window"
    )  # fmt: skip
    outputs = {name: outputs_of_tooth[name] for name in names}
    return outputs | {"longest_queue": top, "queueing_delay": outputs_of_tooth["mean_queue"] / rate}


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, control = path.bottleneck, path.control
    steering = bottleneck.steering
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "target": steering.target_s if steering else 0.0,
        "interval": steering.interval_s if steering else 0.0,
        "additive_increase": control.growth_segments,
        "decrease_factor": control.kept_share,
        "segments_per_ack": path.sender.segments_per_ack,
    }  # fmt: skip


def _answer(path: FlowPath) -> dict[str, Array]:
    return cycle(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    steering = bottleneck.steering
    if reason := needs_tcp(path) or not_aimd(path.control) or rate_varies(bottleneck):
        return reason
    if not steering:
        return lacks(bottleneck, steering, "a law that steers its delay to a target")
    if steering.law != "controlled_delay":
        return f"{bottleneck.queue} has another control law than CoDel's"
    if bottleneck.flows != 1:
        return f"{bottleneck.flows} flows share the queue, and the model knows one"
    return ""


# Round-trip times up to this share of the interval leave time for the reaction. Chosen here.
_BELOW = 0.8


def _one_signal(path: FlowPath) -> str:
    steering = path.bottleneck.steering
    if not steering:
        return ""
    longest = path.round_trip.base_s + steering.target_s
    return unless(
        longest < _BELOW * steering.interval_s,
        f"the round-trip time, {longest * 1e3:.4g} ms, is not well below CoDel's interval, "
        f"{steering.interval_s * 1e3:.4g} ms, so that several drops may be due in a cycle",
    )


# Simulated slow starts leave a queue for a second with beta = 1/2, and for 8 s with 0.7, as CoDel
# drops one packet at a time.
_DRAINS_S = 1.0


# Whole segments matter in smaller windows. Chosen here.
_FEWEST_SEGMENTS = 16.0


def _small_windows(path: FlowPath) -> str:
    window, steering = float(_answer(path)["peak_window"]), path.bottleneck.steering
    if steering and steering.target_s * path.bottleneck.segments_per_s < 1:
        return f"a segment takes longer than the target of {steering.target_s * 1e3:.3g} ms"
    return unless(window >= _FEWEST_SEGMENTS, f"the window reaches {window:.3g} segments")


def _queue_left(path: FlowPath) -> str:
    lasts_s = queue_lasts_s(path, _DRAINS_S)
    settles_s = path.transfer.settles_s
    return unless(
        settles_s >= lasts_s,
        f"slow start fills the queue for up to {lasts_s:.3g} s, and the warm-up ends after "
        f"{settles_s:.3g} s",
    )


MODEL = Model(
    name="codel_cycle",
    label="CoDel's cycle",
    summary="One AIMD flow through CoDel: utilisation, delay and time between drops.",
    reference="RFC 8289; the cycle is that of Villamizar, Song 1994",
    formula="""\
B = mu D + alpha (I / (T + D) + 1) / b,  then the saw-tooth of one flow with a buffer of B
period = about mu T^2 / 2 for alpha = 1, beta = 1/2 and a small B""",
    inputs=(
        Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T", "s", "round-trip time without queueing"),
        Input("target", "D", "s", "CoDel's target"),
        Input("interval", "I", "s", "CoDel's interval"),
        Input(
            "additive_increase", "alpha", "segments",
            "growth of the window per round trip if b = 1", 1,
        ),
        Input(
            "decrease_factor", "beta", "", "share of the window kept after a loss", 0.5,
            PROPER_SHARE,
        ),
        Input(
            "segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, AT_LEAST_ONE
        ),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "rate of new data"),
        Output("utilisation", "", "", "share of time the link is busy"),
        Output("mean_queue", "", "segments", "mean number of packets in the queue"),
        Output("longest_queue", "B", "segments", "queue at which CoDel drops"),
        Output("queueing_delay", "", "s", "mean queueing delay"),
        Output("mean_rtt", "", "s", "mean round-trip time", "rtt"),
        Output("loss_rate", "", "", "share of the segments dropped"),
        Output("period", "", "s", "time between drops"),
        Output("peak_window", "", "segments", "window before a drop"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption("aimd", "additive increase, multiplicative decrease"),
        Assumption(
            "one_signal", "the queue drains before a second drop is due: the round-trip time is "
            "below CoDel's interval", _one_signal,
        ),
        FIRST_REPAIR,
        QUICK_RECOVERY,
        Assumption(
            "no_window_limit", "the receive window is above the largest window",
            lambda path: not_received(path, float(_answer(path)["peak_window"])),
        ),
        Assumption(
            "large_windows",
            f"the window reaches {_FEWEST_SEGMENTS:g} segments, and CoDel's target is more than "
            "one of them takes",
            _small_windows,
        ),
        Assumption(
            "settled", "the queue of the first slow start is gone after the warm-up", _queue_left
        ),
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(lambda path: float(_answer(path)["period"])),
        MARKS_AS_LOSSES,
        NO_RANDOM_LOSS,
        AN_ACK_EACH,
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=cycle,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.05,
            "measured",
            "AIMD through CoDel, bandwidth-delay products of 30 to 600 segments, 8 to "
            "100 ms",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
        Accuracy(("loss_rate",), 0.15, "measured", "the same paths, after the warm-up"),
    ),
    usual=True,
)  # fmt: skip
