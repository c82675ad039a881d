"""DualPI2: the rates of scalable and of classic flows that share a link.

RFC 9332 couples the two queues: scalable (L4S) flows are marked with k p', classic ones dropped or
marked with p'^2. A scalable control has two marks per round trip, W_L = 2/(k p') (RFC 9332 appendix
A.1; DCTCP and Prague). A Reno flow has W_C = C/p' with C = sqrt(3/2). The controller steers the
classic queue to its target D. The low-latency queue has a delay d. The link is busy:

    N_L W_L/R_L + N_C W_C/R_C = mu,   R_C = T_C + D,   R_L = T_L + d.

Hence p' = (2 N_L/(k R_L) + C N_C/R_C)/mu. With equal
round-trip times and k = 2, the windows are as 0.82 to 1. Derived here from these laws.
"""

import numpy as np

from ackclock.models import square_root
from ackclock.models.assumptions import needs_tcp
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule
from ackclock.models.path import FlowPath

__all__ = ["MODEL"]

#: Marks per round trip of a scalable control.
MARKS_PER_ROUND = 2.0


def shares(
    rate: Array,
    rtt: Array,
    low_latency_rtt: Array,
    low_latency_flows: Array,
    classic_flows: Array,
    classic_target: Array,
    low_latency_delay: Array,
    coupling: Array,
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    low, classic = low_latency_rtt + low_latency_delay, rtt + classic_target
    scalable = MARKS_PER_ROUND / (coupling * low)
    reno = square_root.PERIODIC / classic
    base = (low_latency_flows * scalable + classic_flows * reno) / rate
    return {
        "base_probability": base,
        "mark_probability": coupling * base,
        "classic_probability": base**2,
        "low_latency_rate": scalable / base,
        "classic_rate": reno / base,
        "low_latency_window": scalable * low / base,
        "classic_window": reno * classic / base,
        "rate_ratio": np.broadcast_to(scalable / reno, np.shape(base)),
    }


def _refusal(path: FlowPath) -> str:
    return needs_tcp(path) or "needs the numbers of scalable and of classic flows; give numbers"


MODEL = Model(
    name="dualpi2_shares",
    label="DualPI2's shares",
    summary="Scalable flows beside Reno through DualPI2: probabilities, windows and rates.",
    reference="RFC 9332 section 2.1 and appendix A.1",
    formula="""\
R_L = T_L + d,  R_C = T_C + D,  p' = (2 N_L/(k R_L) + C N_C/R_C)/mu,  C = sqrt(3/2)
p_L = k p',  p_C = p'^2,  W_L = 2/p_L,  W_C = C/p',  rates = W_L/R_L and W_C/R_C""",
    inputs=(
        Input("rate", "mu", "segments/s", "the link's rate", on_wire=True),
        Input("rtt", "T_C", "s", "round-trip time without queueing"),
        Input("low_latency_rtt", "T_L", "s", "round-trip time of the scalable flows, no queueing",
              Rule("that of the classic flows", lambda known: known["rtt"])),
        Input("low_latency_flows", "N_L", "", "number of scalable flows", 1, NOT_NEGATIVE),
        Input("classic_flows", "N_C", "", "number of Reno flows", 1, AT_LEAST_ONE),
        Input("classic_target", "D", "s", "delay to which the classic queue is steered", 0.015,
              NOT_NEGATIVE),
        Input("low_latency_delay", "d", "s", "mean delay of the low-latency queue", 0.0005,
              NOT_NEGATIVE),
        Input("coupling", "k", "", "ratio of the coupled probability to p'", 2),
    ),
    outputs=(
        Output("base_probability", "p'", "", "base probability"),
        Output("mark_probability", "p_L", "", "marking probability of scalable flows"),
        Output("classic_probability", "p_C", "", "drop or mark probability of classic flows"),
        Output("low_latency_rate", "", "segments/s", "rate of a scalable flow"),
        Output("classic_rate", "", "segments/s", "rate of a Reno flow"),
        Output("low_latency_window", "W_L", "segments", "window of a scalable flow"),
        Output("classic_window", "W_C", "segments", "window of a Reno flow"),
        Output("rate_ratio", "", "", "rate of a scalable over that of a Reno flow"),
    ),
    goodput="classic_rate",
    assumptions=(
        Assumption("scalable", "scalable controls have two marks per round trip"),
        Assumption("reno", "classic controls are Reno, with windows large enough for no timeouts"),
        Assumption("coupled", "the coupling decides: the low-latency queue marks less by itself"),
        Assumption("no_overload", "the coupled probability is at most 1"),
        Assumption("steered", "the classic queue's mean delay is its target"),
        Assumption("greedy", "there is always data to send"),
    ),
    evaluate=shares,
    inputs_of=lambda _path: {},
    refusal=_refusal,
)  # fmt: skip
