"""BBR alone: bounds on what it has in flight, from start-up to the steady state.

N flows with the same control share a link of product P = c T. All bounds are derived from constants
that the sources state.

- Start-up. The window doubles in each of n rounds until the pipe is full. One more round delivers
  the first full sample, and m rounds without growth end start-up, with at most g P in flight.
- Drain. The rate falls to d c until the queue is empty.
- Probe. A flow alone sends at u times the bandwidth for r rounds. The queue grows to (u^r - 1) P,
  at most (v - 1) P.
- Many flows. Each takes its largest sample for its bandwidth. Together they send more than the link
  does, until the windows stop them at max(k, v) times the estimated product.
- Probe for the round-trip time. Once in each interval I, a flow keeps w segments, or a share s of
  its product, in flight. That lasts for a time h, the round trip in which its window falls, and at
  most one more, as it ends with a round.

The constants of version 1 are those of tcp_bbr.c in Linux 6. They are g = 2/ln 2, d its inverse, k
= v = 2, u = 1.25, r = 1, I = 10 s, h = 0.2 s, w = 4 and s = 0. Those of version 3 are stated by
draft-ietf-ccwg-bbr-06. They are g = 2, d = 0.5, k = 2, v = 2.25, u = 1.25, I = 5 s, h = 0.2 s, w =
4 and s = 0.5. There r = 3 is derived: rounds without growth end a probe. The draft states 0.98 as
the utilisation with I = 5 s and s = 0.5, without the round trips. The effect of many flows' w
segments on the estimated round-trip time is equation 6 of Ware and others, IMC 2019, as restated by
Sarpkaya and others, 2025.

Letters: c link rate (segments/s), T base round-trip time (s), B buffer (segments), N BBR flows, w1
initial window (segments), a share of the estimated bandwidth that is used.
"""

from math import inf, isnan

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
    not_by_path_model,
    rate_varies,
    unless,
    violated_if,
)
from ackclock.models.domain import AT_LEAST_ONE, BELOW_ONE, UP_TO_ONE, Domain
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath


def bounds(
    rate: Array,
    rtt: Array,
    buffer: Array,
    flows: Array,
    initial_window: Array,
    startup_gain: Array,
    full_rounds: Array,
    drain_gain: Array,
    window_gain: Array,
    probe_gain: Array,
    probe_window_gain: Array,
    probe_rounds: Array,
    used_share: Array,
    rtt_probe_interval: Array,
    rtt_probe_time: Array,
    rtt_probe_share: Array,
    rtt_probe_segments: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    c, T, B, N, P = rate, rtt, buffer, flows, rate * rtt
    fill = np.maximum(np.ceil(np.log2(P / (N * initial_window))), 0.0)
    startup_queue = np.minimum((startup_gain - 1) * P, B)
    # The estimated round-trip time includes what all flows keep in flight to measure it.
    product = np.maximum(P, rtt_probe_segments * N)
    cap = np.maximum(window_gain, probe_window_gain) * product
    alone = np.minimum(probe_gain**probe_rounds, probe_window_gain) * P - P
    queue = np.minimum(np.where(N == 1, np.maximum(alone, product - P), cap - P), B)
    kept = np.minimum(np.maximum(rtt_probe_share, rtt_probe_segments * N / P), 1.0)
    lost_time = (1 - kept) * (rtt_probe_time + 2 * T) / rtt_probe_interval
    utilisation = used_share * np.maximum(1 - lost_time, 0.0)
    return {
        "goodput": utilisation * c / N,
        "utilisation": utilisation,
        "startup_in_flight": P + startup_queue,
        "startup_queue": startup_queue,
        "startup_buffer": (startup_gain - 1) * P,
        "startup_rounds": fill + 1 + full_rounds,
        # Paced segments and their ACKs spread over a round trip, so the pipe is full one later.
        "startup_time": (fill + 1) * T + (1 + full_rounds) * (P + startup_queue) / c,
        "drain_time": startup_queue / (c * (1 - drain_gain)),
        "in_flight_cap": cap,
        "steady_queue": queue,
        "steady_rtt": T + queue / c,
        "probing_share": lost_time,
    }


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, model = path.bottleneck, path.control.path_model
    if model is None:
        return {}  # the record asks for inputs only of flows that it does not refuse
    return {
        "rate": bottleneck.segments_per_s, "rtt": path.round_trip.base_s,
        "buffer": bottleneck.buffer_segments, "flows": float(bottleneck.flows),
        "initial_window": path.transfer.initial_window_segments,
        "startup_gain": model.startup_window_gain, "full_rounds": model.startup_full_rounds,
        "drain_gain": model.drain_rate_gain, "window_gain": model.window_gain,
        "probe_gain": model.probe_rate_gain, "probe_window_gain": model.probe_window_gain,
        "probe_rounds": model.probe_rounds, "used_share": model.used_share,
        "rtt_probe_interval": model.rtt_probe_interval_s,
        "rtt_probe_time": model.rtt_probe_time_s, "rtt_probe_share": model.rtt_probe_share,
        "rtt_probe_segments": model.rtt_probe_segments,
    }  # fmt: skip


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    if reason := (needs_tcp(path) or not_by_path_model(path.control) or rate_varies(bottleneck)):
        return reason
    if not 0 < bottleneck.segments_per_s < inf:
        return "the bottleneck's rate is unknown or zero"
    if isnan(bottleneck.buffer_segments):
        return f"{bottleneck.queue} does not state how much it holds"
    for other in bottleneck.competitors:
        if other.control.path_model != path.control.path_model:
            return f"{other.name} shares the bottleneck"
    return ""


def _startup_s(path: FlowPath) -> float:
    says = bounds(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})
    return float(says["startup_time"] + says["drain_time"])


def _not_droptail(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    droptail = (
        None if None in (bottleneck.drops, bottleneck.limit_moves) else bottleneck.is_droptail
    )
    return violated_if(
        None if droptail is None else not droptail,
        f"{bottleneck.queue} may drop before it is full",
        "the queue drops only when it is full",
    )


def _overflows(path: FlowPath) -> str:
    says = bounds(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})
    wanted, held = float(says["startup_buffer"]), path.bottleneck.buffer_segments
    return unless(
        held >= wanted,
        f"start-up may overflow the buffer of {held:.4g} segments; it fills up to {wanted:.4g}",
    )


def _one_by_one(path: FlowPath) -> str:
    recovery = path.sender.recovery
    return unless(recovery in ("sack", "rack"), f"loss recovery is {recovery}")


def _small_window(path: FlowPath) -> str:
    says = bounds(**{name: np.asarray(value) for name, value in _inputs_of(path).items()})
    wanted = max(float(says["in_flight_cap"]), float(says["startup_in_flight"]))
    window = path.sender.receive_window_segments
    return unless(
        window * path.bottleneck.flows >= wanted,
        f"the receive window is {window:g} segments, and {wanted / path.bottleneck.flows:.4g} may "
        "be in flight",
    )


MODEL = Model(
    name="bbr_bounds",
    label="BBR bounds",
    summary="BBR alone: most in flight and in the queue in start-up and afterwards.",
    reference="tcp_bbr.c of Linux 6; draft-ietf-ccwg-bbr-06; derived from their constants",
    formula="""\
P = c T,  n = max(ceil(log2(P/(N w1))), 0)
startup_queue = min((g - 1) P, B),  startup_in_flight = P + startup_queue
startup_rounds = n + 1 + m,  startup_time = (n + 1) T + (1 + m) startup_in_flight/c
drain_time = startup_queue/(c (1 - d))
P' = max(P, w N),  in_flight_cap = max(k, v) P'
steady_queue = min(max((min(u^r, v) - 1) P, P' - P), B) if N = 1, min(in_flight_cap - P, B) if N > 1
s' = min(max(s, w N/P), 1),  probing_share = (1 - s')(h + 2 T)/I
utilisation = a (1 - probing_share),  goodput = utilisation c/N""",
    inputs=(
        Input("rate", "c", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T", "s", "round-trip time without queueing, one segment's service included"),
        Input(
            "buffer",
            "B",
            "segments",
            "queue limit, without the segment being sent; unlimited for none",
            domain=Domain(0, inf, "[]"),
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
        Input("initial_window", "w1", "segments", "initial window", 10, AT_LEAST_ONE),
        Input(
            "startup_gain",
            "g",
            "",
            "gain of the window in start-up (version 3: 2)",
            2.887,
            AT_LEAST_ONE,
        ),
        Input("full_rounds", "m", "", "rounds without growth that end start-up", 3, AT_LEAST_ONE),
        Input(
            "drain_gain",
            "d",
            "",
            "gain of the rate while the queue drains (version 3: 0.5)",
            0.34375,
            BELOW_ONE,
        ),
        Input("window_gain", "k", "", "in-flight cap over the estimated product", 2, AT_LEAST_ONE),
        Input("probe_gain", "u", "", "gain of the rate in a probe", 1.25, AT_LEAST_ONE),
        Input(
            "probe_window_gain",
            "v",
            "",
            "gain of the window in a probe (version 3: 2.25)",
            2,
            AT_LEAST_ONE,
        ),
        Input("probe_rounds", "r", "", "rounds of a probe (version 3: 3)", 1, AT_LEAST_ONE),
        Input("used_share", "a", "", "share of the estimated rate that is used", 0.99, UP_TO_ONE),
        Input(
            "rtt_probe_interval",
            "I",
            "s",
            "time between probes for the round-trip time (version 3: 5 s)",
            10,
        ),
        Input(
            "rtt_probe_time", "h", "s", "time for which such a probe keeps little in flight", 0.2
        ),
        Input(
            "rtt_probe_share",
            "s",
            "",
            "share of the product that it keeps (version 3: 0.5)",
            0,
            BELOW_ONE,
        ),
        Input("rtt_probe_segments", "w", "segments", "window of a flow in such a probe", 4),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "least goodput of each flow without losses"),
        Output("utilisation", "", "", "least share of the link's rate used by all flows"),
        Output("startup_in_flight", "", "segments", "most in flight in start-up"),
        Output("startup_queue", "", "segments", "longest queue in start-up"),
        Output("startup_buffer", "", "segments", "smallest buffer that start-up cannot overflow"),
        Output("startup_rounds", "", "", "rounds of start-up"),
        Output("startup_time", "", "s", "longest time of start-up, without a handshake"),
        Output("drain_time", "", "s", "longest time to drain start-up's queue"),
        Output("in_flight_cap", "", "segments", "most in flight of all flows after start-up"),
        Output("steady_queue", "", "segments", "longest queue after start-up"),
        Output("steady_rtt", "", "s", "longest round-trip time after start-up"),
        Output("probing_share", "", "", "share of the rate lost to probes for the round-trip time"),
    ),
    goodput="goodput",
    assumptions=(
        NO_RANDOM_LOSS,
        Assumption("drop_tail", "the queue drops only when it is full", _not_droptail),
        Assumption("startup_fits", "start-up does not overflow the buffer", _overflows),
        Assumption(
            "sack", "what start-up loses is known from SACK, and repaired at once", _one_by_one
        ),
        SAME_ROUND_TRIPS,
        Assumption(
            "smooth", "bursts, rounding to segments and ACK aggregation add nothing to a window"
        ),
        Assumption(
            "window_is_received", "no receive window is below what is in flight", _small_window
        ),
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        long_run(_startup_s),
        STEADY_FLOWS,
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=bounds,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.05,
            "measured",
            "1 to 4 flows of BBR versions 1 and 3, buffers of 0.7 to 8 bandwidth- delay products",
        ),
    ),
    usual=True,
)
