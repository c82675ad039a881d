"""DualPI2: the rates of scalable and of classic flows that share a link.

RFC 9332 couples the two queues: scalable (L4S) flows are marked with k p', classic ones dropped or
marked with p'^2. A scalable control has two marks per round trip, W_L = 2/(k p') (RFC 9332 appendix
A.1; DCTCP and Prague). Prague acts below 25 ms as if that were its round-trip time, T_P, and then
has two marks in T_P. A Reno flow has W_C = C/p' with C = sqrt(3/2). The controller steers the
classic queue to its target D. The low-latency queue has a delay d. The link is busy:

    N_L W_L/R_L + N_C W_C/R_C = mu,   R_C = T_C + D,   R_L = max(T_L + d, T_P).

Hence p' = (2 N_L/(k R_L) + C N_C/R_C)/mu. With equal round-trip times and k = 2, the windows are as
0.82 to 1. Derived here from these laws.
"""

import numpy as np

from ackclock.models import cubic_response, mark_response, square_root
from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    FREE_ACKS,
    FREQUENT_ACKS,
    GREEDY,
    LIKE,
    LONG_RUN,
    NO_RANDOM_LOSS,
    QUEUE_ALONE_DELAYS,
    STEADY_FLOWS,
    lacks,
    needs_tcp,
    not_cubic,
    rate_varies,
    unless,
)
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, Domain
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule
from ackclock.models.path import Bottleneck, Competitor, FlowPath

#: Marks per round trip of a scalable control.
MARKS_PER_ROUND = 2.0

#: Below this window, drops lead to timeouts, which the laws ignore.
FEWEST_SEGMENTS = 10

# Where p' was found nearly constant. Simulated at 20 ms, p_L is 0.75, 0.86, 0.91 and 0.96 times
# k sqrt(p_C) with 1, 2, 3 and 5 Reno flows and as many of Prague. At 80 ms it is 0.56 with ten.
_FEWEST_FLOWS, _LONGEST_RTT_S = 5, 0.025


def shares(
    rate: Array,
    rtt: Array,
    low_latency_rtt: Array,
    least_rtt: Array,
    low_latency_flows: Array,
    classic_flows: Array,
    classic_target: Array,
    low_latency_delay: Array,
    coupling: Array,
    of_scalable: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    low, classic = low_latency_rtt + low_latency_delay, rtt + classic_target
    scalable = MARKS_PER_ROUND / (coupling * np.maximum(low, least_rtt))
    reno = square_root.PERIODIC / classic
    base = (low_latency_flows * scalable + classic_flows * reno) / rate
    return {
        "goodput": np.where(of_scalable == 1, scalable, reno) / base,
        "base_probability": base,
        "mark_probability": coupling * base,
        "classic_probability": base**2,
        "low_latency_rate": scalable / base,
        "classic_rate": reno / base,
        "low_latency_window": scalable * low / base,
        "classic_window": reno * classic / base,
        "rate_ratio": np.broadcast_to(scalable / reno, np.shape(base)),
    }


def _classes(bottleneck: Bottleneck) -> tuple[list[Competitor], list[Competitor]]:
    """Returns the competitors in the queue for low latency, and those in the classic one."""
    classes: tuple[list[Competitor], list[Competitor]] = [], []
    for other in bottleneck.competitors:
        joins = bottleneck.coupling and bottleneck.coupling.takes(other.codepoint)
        classes[0 if joins else 1].append(other)
    return classes


def _inputs_of(path: FlowPath) -> dict[str, float]:
    bottleneck, coupling = path.bottleneck, path.bottleneck.coupling
    if not coupling:
        return {}  # the record asks for inputs only of flows that it does not refuse
    low, classic = _classes(bottleneck)
    inputs = {
        "rate": bottleneck.segments_per_s,
        "rtt": classic[0].round_trip_s,
        "low_latency_flows": float(sum(other.instances for other in low)),
        "classic_flows": float(sum(other.instances for other in classic)),
        "classic_target": coupling.classic_target_s,
        "coupling": coupling.ratio,
        "of_scalable": float(coupling.takes(path.sender.codepoint)),
    }
    if low:
        inputs["low_latency_rtt"] = low[0].round_trip_s
        inputs["least_rtt"] = _least_rtt(low[0])
    return inputs


def _refusal(path: FlowPath) -> str:
    bottleneck = path.bottleneck
    if reason := needs_tcp(path) or rate_varies(bottleneck):
        return reason
    if not bottleneck.coupling:
        return lacks(bottleneck, bottleneck.coupling, "a coupled queue for low latency")
    low, classic = _classes(bottleneck)
    return (
        _misplaced(low, classic)
        or unless(bool(classic), "no classic flow shares the bottleneck, and the coupling is idle")
        or _unlike("scalable", low)
        or _unlike("classic", classic)
    )


def _misplaced(low: list[Competitor], classic: list[Competitor]) -> str:
    """Returns the first flow that does not behave as its queue expects."""
    for other in (*low, *classic):
        if other.transport != "tcp" or other.arrive:
            return f"{other.name} shares the bottleneck, and the model knows long TCP flows"
    for other in low:
        if not other.is_scalable:
            return f"{other.name} joins the low-latency queue and is not known to be scalable"
    for other in classic:
        if not other.control.is_reno and not_cubic(other.control):
            return f"{other.name} joins the classic queue and is not known to be Reno or CUBIC"
    return ""


def _unlike(which: str, competitors: list[Competitor]) -> str:
    """Returns a reason if the flows of a queue are not known to have equal rates."""
    times = [other.round_trip_s for other in competitors]
    if max(times, default=0.0) > LIKE * min(times, default=0.0):
        return (
            f"the {which} flows have round-trip times from {min(times) * 1e3:.4g} to "
            f"{max(times) * 1e3:.4g} ms, and the model knows one"
        )
    least = {_least_rtt(other) for other in competitors}
    return unless(len(least) <= 1, f"the {which} flows depend differently on the round-trip time")


def _least_rtt(other: Competitor) -> float:
    grows_by_rounds = other.control.growth == "linear"  # CUBIC grows by the time
    return other.control.least_rtt_s if grows_by_rounds else 0.0


def _answer(path: FlowPath) -> dict[str, float]:
    arrays = {
        name: np.asarray(value) for name, value in MODEL.completed(**_inputs_of(path)).items()
    }
    return {name: float(value) for name, value in shares(**arrays).items()}


def _overload(path: FlowPath) -> str:
    marked = _answer(path)["mark_probability"]
    return unless(marked <= 1, f"the coupled probability would be {marked:.3g}")


def _not_as_reno(path: FlowPath) -> str:
    """Says if a classic flow is CUBIC with a larger window than Reno, or gives up less at marks."""
    inputs, answer = _inputs_of(path), _answer(path)
    lost, longest = answer["classic_probability"], inputs["rtt"] + inputs["classic_target"]
    for other in _classes(path.bottleneck)[1]:
        control = other.control
        if other.codepoint and control.kept_after_mark is None:
            return f"{other.name} does not state what a mark leaves of its window"
        if other.codepoint and control.kept_share_after_mark != control.kept_share:
            return f"a mark leaves {control.kept_share_after_mark:g} of {other.name}'s window"
        if control.growth == "cubic" and lost <= 1:
            window = cubic_response.cubic_window(lost, longest, control.cubic_c, control.kept_share)
            if window > answer["classic_window"]:
                return (
                    f"{other.name}'s window would be {window:.4g} segments at these drops, and "
                    f"Reno's {answer['classic_window']:.4g}"
                )
    return ""


def _unsteady(path: FlowPath) -> str:
    inputs = _inputs_of(path)
    flows, rtt = inputs["classic_flows"], inputs["rtt"]
    return unless(
        flows >= _FEWEST_FLOWS and rtt <= _LONGEST_RTT_S,
        f"it varies with {flows:.0f} classic flow{'s' if flows > 1 else ''} at {rtt * 1e3:.4g} ms, "
        "and the mean of its square, which drops them, is more than the square of its mean",
    )


def _small_windows(path: FlowPath) -> str:
    window = _answer(path)["classic_window"]
    return unless(
        window >= FEWEST_SEGMENTS,
        f"classic windows are {window:.3g} segments, and timeouts are ignored",
    )


MODEL = Model(
    name="dualpi2_shares",
    label="DualPI2's shares",
    summary="Scalable flows beside Reno through DualPI2: probabilities, windows and rates.",
    reference="RFC 9332 section 2.1 and appendix A.1",
    formula="""\
R_L = max(T_L + d, T_P),  R_C = T_C + D,  C = sqrt(3/2)
p' = (2 N_L/(k R_L) + C N_C/R_C)/mu,  p_L = k p',  p_C = p'^2
rates = 2/(p_L R_L) and C/(p' R_C),  W_L = (T_L + d) rate,  W_C = R_C rate
goodput = the scalable flow's rate if s = 1, else the classic flow's""",
    inputs=(
        Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T_C", "s", "round-trip time of the classic flows, no queueing"),
        Input("low_latency_rtt", "T_L", "s", "round-trip time of the scalable flows, no queueing",
              Rule("that of the classic flows", lambda inputs: inputs["rtt"])),
        Input("least_rtt", "T_P", "s", "scalable flows with a shorter round-trip time behave as if "
              "theirs were this", 0, NOT_NEGATIVE),
        Input("low_latency_flows", "N_L", "", "number of scalable flows", 1, NOT_NEGATIVE),
        Input("classic_flows", "N_C", "", "number of Reno flows", 1, AT_LEAST_ONE),
        Input("classic_target", "D", "s", "delay to which the classic queue is steered", 0.015,
              NOT_NEGATIVE),
        Input("low_latency_delay", "d", "s", "mean delay of the low-latency queue", 0.0005,
              NOT_NEGATIVE),
        Input("coupling", "k", "", "ratio of the coupled probability to p'", 2),
        Input("of_scalable", "s", "", "1 for the goodput of a scalable flow, 0 for that of a "
              "classic one", 0, Domain(values=(0, 1))),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "rate of new data of the flow in question"),
        Output("base_probability", "p'", "", "base probability"),
        Output("mark_probability", "p_L", "", "marking probability of scalable flows"),
        Output("classic_probability", "p_C", "", "drop or mark probability of classic flows"),
        Output("low_latency_rate", "", "segments/s", "rate of a scalable flow"),
        Output("classic_rate", "", "segments/s", "rate of a Reno flow"),
        Output("low_latency_window", "W_L", "segments", "window of a scalable flow"),
        Output("classic_window", "W_C", "segments", "window of a Reno flow"),
        Output("rate_ratio", "", "", "rate of a scalable over that of a Reno flow"),
    ),
    goodput="goodput",
    assumptions=(
        Assumption(
            "every_round",
            "a scalable flow is marked, and reduced, in every round trip: twice on average",
            lambda _path: (
                "marks are random, and some round trips have none; if they are independent, "
                f"windows are {mark_response.INDEPENDENT / MARKS_PER_ROUND:.2g} times as large"
            ),
        ),
        Assumption(
            "reno", "classic controls are Reno, or CUBIC with no larger window", _not_as_reno
        ),
        Assumption("few_timeouts", "classic windows are large: no timeouts", _small_windows),
        Assumption("coupled", "the coupling decides: the low-latency queue marks less by itself"),
        Assumption("steady_probability", "p' is nearly constant", _unsteady),
        Assumption("no_overload", "the coupled probability is at most 1", _overload),
        Assumption("steered", "the classic queue's mean delay is its target"),
        FREE_ACKS,
        FREQUENT_ACKS,
        GREEDY,
        LONG_RUN,
        STEADY_FLOWS,
        NO_RANDOM_LOSS,
        AN_ACK_EACH,
        QUEUE_ALONE_DELAYS,
    ),
    evaluate=shares,
    inputs_of=_inputs_of,
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.15,
            "measured",
            "where no probability varies and every round trip is marked, which no "
            "scenario shows",
        ),
    ),
    usual=True,
    divides_link=True,
)  # fmt: skip
