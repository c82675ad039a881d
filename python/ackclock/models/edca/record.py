"""The records of saturated 802.11: identical stations, and stations of two classes.

Both describe one cell whose stations always have data to send. The model `dcf` is Bianchi's
analysis with a retry limit, in closed form but for one equation
(`ackclock.models.edca.saturation`). The model `edca` follows the remaining backoff of stations of
two classes, which differ in windows, AIFSN, or both (`ackclock.models.edca.classes`, with its
accuracy). With freezing it is closer to real 802.11.
Without, identical classes get exactly the result of `dcf`.

Inputs are times of exchanges, so any physical layer, rate, RTS/CTS and EIFS can be used. Python
computes them from profiles (`ackclock.models.edca.exchange`). The defaults are those of 802.11g:
1500 bytes of payload at 54 Mbit/s, MAC acknowledgements at 24 Mbit/s, EIFS after a collision.
"""

from dataclasses import replace
from functools import lru_cache
from math import inf

import numpy as np

from ackclock.errors import InputError
from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, Domain
from ackclock.models.edca import on_a_path, saturation
from ackclock.models.edca.access_class import AIFSN, WINDOW, AccessClass
from ackclock.models.edca.backoff import RETRIES, Backoff
from ackclock.models.edca.classes import Contention, solve
from ackclock.models.edca.phy import ERP_OFDM, LLC_BYTES, MAC_HEADER_BYTES, exchange
from ackclock.models.model import Array, Assumption, Bound, Input, Model, Output, Rule

_TIMES = exchange(ERP_OFDM, 1500 + MAC_HEADER_BYTES + LLC_BYTES, 54e6, 24e6)
_WITH_DIFS = saturation.with_aifs(ERP_OFDM, _TIMES, 2)

# The standard's dot11ShortRetryLimit of 7 counts transmissions, including the first.
_RETRIES = 6

STATIONS = Input("stations", "n", "", "stations that contend", domain=AT_LEAST_ONE, whole=True)
RTT = Input(
    "rtt", "T", "s", "round-trip time for the bandwidth-delay product", domain=NOT_NEGATIVE
)  # fmt: skip
FLOWS = Input(
    "flows", "F", "", "flows that share the queue of a station", 1, AT_LEAST_ONE, whole=True
)
EACH_FLOW = Output("flow_goodput", "", "segments/s", "goodput of each flow of such a station")
SLOT = Input("slot", "sigma", "s", "slot of the backoff", ERP_OFDM.slot)
AS_SUCCESS = Rule("success", lambda inputs: inputs["success"])
RETRY_LIMIT = Input(
    "retries", "m", "", "retries before a frame is given up, unlimited for never", _RETRIES, RETRIES
)

OF_A_CELL = (
    on_a_path.SATURATED,
    on_a_path.NO_INTERNAL_COLLISIONS,
    on_a_path.EVEN_SHARES,
    on_a_path.ACKS_DO_NOT_COLLIDE,
    Assumption(
        "ideal_channel", "all stations hear each other, and frames are lost only by collisions"
    ),
    Assumption("no_rate_adaptation", "exchanges of a station all take the same time"),
    Assumption(
        "one_frame_at_a_time", "there is no aggregation, and one frame per transmit opportunity"
    ),
)


def _not_below(inputs: dict[str, Array], prefix: str = "") -> None:
    """Refuses a CWmax below CWmin."""
    low, high = np.broadcast_arrays(inputs[f"{prefix}cw_min"], inputs[f"{prefix}cw_max"])
    if (bad := high < low).any():
        raise InputError(
            "contradiction",
            f"{prefix}cw_max",
            f"{high[bad][0]:g} is below {prefix}cw_min; give at least {low[bad][0]:g}",
        )


def _evaluate_dcf(**inputs: Array) -> dict[str, Array]:
    _not_below(inputs)
    n = inputs["stations"]
    fixed_point = saturation.solve(
        n, Backoff(inputs["cw_min"], inputs["cw_max"], inputs["retries"]), slot=inputs["slot"],
        success=inputs["success"], collision=inputs["collision"], priority=inputs["priority"],
    )  # fmt: skip
    idle, succeeding, colliding = fixed_point.airtime
    return {
        "goodput": fixed_point.rate,
        "flow_goodput": fixed_point.rate / inputs["flows"],
        "total": n * fixed_point.rate,
        "service_time": fixed_point.service_time,
        "bdp": inputs["rtt"] * fixed_point.rate,
        "collision_probability": fixed_point.collision_probability,
        "attempt_rate": fixed_point.attempt_rate,
        "collided": fixed_point.collision / (fixed_point.collision + fixed_point.success),
        "idle": idle,
        "succeeding": succeeding,
        "colliding": colliding,
    }


DCF = Model(
    name="dcf",
    label="DCF",
    summary="Rate of each of n identical saturated stations of 802.11.",
    reference="Bianchi 2000; with finite retries Wu et al. 2002",
    formula="""\
tau = sum_{k<=m} p^k / sum_{k<=m} p^k ((W_k - 1)/2 + 1),  W_k = min((CWmin + 1) 2^k, CWmax + 1)
p = 1 - (1 - tau)^(n-1)
P_i = (1 - tau)^n,  P_s = n tau (1 - tau)^(n-1),  P_c = 1 - P_i - P_s
E = P_i sigma + P_s (T_s + T_a) + P_c T_c
goodput = P_s/(n E),  service_time = 1/goodput,  bdp = T goodput,  flow_goodput = goodput/F""",
    inputs=(
        STATIONS,
        RTT,
        SLOT,
        Input(
            "success",
            "T_s",
            "s",
            "time of a successful exchange and the AIFS after it",
            _WITH_DIFS["success"],
        ),
        Input("collision", "T_c", "s", "time of a collision and the AIFS after it", AS_SUCCESS),
        Input(
            "priority",
            "T_a",
            "s",
            "time that a class of absolute priority adds to each success",
            0,
            NOT_NEGATIVE,
        ),
        Input("cw_min", "CWmin", "", "largest first draw", 15, WINDOW),
        Input("cw_max", "CWmax", "", "largest draw, at least CWmin", 1023, WINDOW),
        RETRY_LIMIT,
        FLOWS,
    ),
    outputs=(
        Output("goodput", "", "segments/s", "goodput of each station"),
        EACH_FLOW,
        Output("total", "", "segments/s", "goodput of all stations"),
        Output("service_time", "T_serv", "s", "time from one frame of a station to its next"),
        Output("bdp", "", "segments", "bandwidth-delay product of a station"),
        Output("collision_probability", "p", "", "probability that an attempt collides"),
        Output("attempt_rate", "tau", "", "probability that a station attempts in a slot"),
        Output("collided", "", "", "share of busy periods that are collisions"),
        Output("idle", "", "", "share of time in idle slots"),
        Output("succeeding", "", "", "share of time in successes and the ACKs after them"),
        Output("colliding", "", "", "share of time in collisions"),
    ),
    goodput="flow_goodput",
    assumptions=(
        Assumption("alike", "all stations have the same windows, AIFSN and times"),
        Assumption(
            "decoupled", "an attempt collides with the same probability, whatever its history"
        ),
        Assumption("every_slot_alike", "the slot after a busy period is like any other"),
        *OF_A_CELL,
    ),
    evaluate=_evaluate_dcf,
    inputs_of=on_a_path.dcf_inputs_of,
    refusal=on_a_path.dcf_refusal,
    accuracy=(
        Accuracy(
            ("flow_goodput",),
            0.05,
            "measured",
            "1 to 12 saturated stations of 802.11g, AIFSN of 2 to 6, CWmin of 15 to 63",
        ),
    ),
    usual=True,
)

_CLASSES = ("", "other_")
# Number of stations that an access point can distinguish (IEEE 802.11, association IDs 1 to 2007).
_ASSOCIATED = Domain(1, 2007, "[]")


def _evaluate_edca(rtt: Array, flows: Array, **inputs: Array) -> dict[str, Array]:
    for prefix in _CLASSES:
        _not_below(inputs, prefix)
    *given, T, F = np.broadcast_arrays(*inputs.values(), rtt, flows)
    answers = {output.name: np.empty(T.shape) for output in EDCA.outputs}
    for index in np.ndindex(T.shape):
        contention = _contention(
            tuple((name, float(values[index])) for name, values in zip(inputs, given, strict=True))
        )
        for name, value in _outputs(contention, float(T[index]), float(F[index])).items():
            answers[name][index] = value
    return answers


@lru_cache(maxsize=1024)
def _contention(given: tuple[tuple[str, float], ...]) -> Contention:
    """Returns a cached solution: flows and points often share one, and each takes long."""
    numbers = dict(given)
    for name in ("stations", "aifsn", "cw_min", "cw_max"):
        for prefix in _CLASSES:
            if numbers[prefix + name] % 1 != 0:
                raise InputError(
                    "out-of-range",
                    prefix + name,
                    f"{numbers[prefix + name]:g} is out of its domain; give a whole number",
                )
    if numbers["retries"] < inf and numbers["retries"] % 1 != 0:
        raise InputError(
            "out-of-range",
            "retries",
            f"{numbers['retries']:g} is out of its domain; give a whole number",
        )
    every = [
        AccessClass(
            stations=int(numbers[f"{prefix}stations"]), aifsn=int(numbers[f"{prefix}aifsn"]),
            cw_min=int(numbers[f"{prefix}cw_min"]), cw_max=int(numbers[f"{prefix}cw_max"]),
            retries=numbers["retries"], success=numbers[f"{prefix}exchange"],
            collision=numbers[f"{prefix}collided_exchange"],
        )
        for prefix in _CLASSES
    ]  # fmt: skip
    try:
        return solve(every, numbers["slot"], numbers["sifs"], freezing=bool(numbers["freezing"]))
    except InputError as error:
        if error.field != "classes":
            raise
        raise InputError(
            error.code,
            "stations",
            f"{numbers['stations']:g} and {numbers['other_stations']:g} stations have no solution "
            "with these windows; give fewer, or larger windows",
        ) from None


def _outputs(contention: Contention, rtt: float, flows: float) -> dict[str, float]:
    outputs = {"flow_goodput": float(contention.rate[0]) / flows}
    for place, prefix in enumerate(_CLASSES):
        outputs |= {
            f"{prefix}goodput": contention.rate[place],
            f"{prefix}bdp": rtt * contention.rate[place],
            f"{prefix}collision_probability": contention.collision_probability[place],
            f"{prefix}retry_drop_rate": contention.retry_drop_rate[place],
            f"{prefix}succeeding": contention.airtime[1 + place],
        }
    return outputs | {
        "idle": contention.airtime[0],
        "colliding": contention.airtime[-1],
        "idle_slots": contention.idle_slots,
    }


#: A step of the iteration convolves the laws of all slots, and there are some tens of steps. The
#: time was measured with the largest windows.
_SLOTS = Bound(
    "cw_max", "squares of slots", 2 * 32768.0**2,
    lambda inputs: (inputs["cw_max"] + 1) ** 2 + (inputs["other_cw_max"] + 1) ** 2,
    most_s=60.0,
)  # fmt: skip


def _of_a_class(prefix: str, whose: str, success: float | Rule) -> tuple[Input, ...]:
    letter = "2" if prefix else "1"
    return (
        Input(
            f"{prefix}stations", f"n{letter}", "", f"stations of {whose}", domain=_ASSOCIATED,
            backwards=False,
        ),
        Input(
            f"{prefix}aifsn", f"AIFSN{letter}", "", f"AIFSN of {whose}", domain=AIFSN,
            backwards=False,
        ),
        Input(
            f"{prefix}cw_min", f"CWmin{letter}", "", f"largest first draw of {whose}",
            None if prefix else 15, WINDOW, backwards=False,
        ),
        Input(
            f"{prefix}cw_max", f"CWmax{letter}", "", f"largest draw of {whose}",
            None if prefix else 1023, WINDOW, backwards=False,
        ),
        Input(
            f"{prefix}exchange", f"t{letter}", "s",
            f"time of a successful exchange of {whose}, without AIFS", success, POSITIVE,
            backwards=False,
        ),
        Input(
            f"{prefix}collided_exchange", f"c{letter}", "s",
            f"time of a collision in which {whose} has the longest frame, without AIFS",
            Rule(f"{prefix}exchange", lambda inputs: inputs[f"{prefix}exchange"]), POSITIVE,
            backwards=False,
        ),
    )  # fmt: skip


def _outputs_of_a_class(prefix: str, whose: str) -> tuple[Output, ...]:
    return (
        Output(f"{prefix}goodput", "", "segments/s", f"goodput of each station of {whose}"),
        Output(
            f"{prefix}bdp",
            "",
            "segments",
            f"bandwidth-delay product of such a station, T {prefix}goodput",
        ),
        Output(f"{prefix}collision_probability", "", "", "probability that its attempt collides"),
        Output(f"{prefix}retry_drop_rate", "", "", "share of its frames that are given up"),
        Output(f"{prefix}succeeding", "", "", f"share of time in successes of {whose}"),
    )


EDCA = Model(
    name="edca",
    label="EDCA",
    summary="Rates of saturated stations of two classes of 802.11e.",
    reference=(
        "after Robinson, Randhawa 2004 and Bianchi, Tinnirello, Scalia 2005; the law of the "
        "counters is ackclock's own"
    ),
    formula="""\
a station with remaining backoff b sends in slot AIFSN + b after a busy period, if it is the first
g(b): remaining backoff at the ends of busy periods;  f(i): the others are first in slot AIFSN + i
b -> b - i if f(i) with i < b,  collision with f(b),  else success
p_k: mean probability of a collision over draws of 0 ... W_k - 1
g ~ visits of b,  draws of stage k weighted with p_0 ... p_(k-1);  f from all g;  fixed point
E = SIFS + sigma E(first slot) + t,  goodput = P(success)/(n E),  flow_goodput = goodput/F""",
    inputs=(
        *_of_a_class("", "the first class", _TIMES.success),
        *_of_a_class(
            "other_", "the second class", Rule("exchange", lambda inputs: inputs["exchange"])
        ),
        RTT,
        replace(FLOWS, meaning="flows that share the queue of a station of the first class"),
        Input("slot", "sigma", "s", "slot of the backoff", ERP_OFDM.slot, backwards=False),
        Input("sifs", "SIFS", "s", "short interframe space", ERP_OFDM.sifs, backwards=False),
        Input("retries", "m", "", RETRY_LIMIT.meaning, _RETRIES, RETRIES, backwards=False),
        Input(
            "freezing", "", "", "1 if counters stop while others send; 0 as in dcf", 1,
            Domain(values=(0, 1)), backwards=False,
        ),
    ),
    outputs=(
        *_outputs_of_a_class("", "the first class"),
        replace(EACH_FLOW, meaning="goodput of each flow of a station of the first class"),
        *_outputs_of_a_class("other_", "the second class"),
        Output("idle", "", "", "share of time in SIFS and idle slots"),
        Output("colliding", "", "", "share of time in collisions"),
        Output("idle_slots", "", "", "mean slots from SIFS after a busy period to the next"),
    ),
    goodput="flow_goodput",
    assumptions=(
        Assumption(
            "independent_counters", "the stations' backoffs after a busy period are independent"
        ),
        on_a_path.NOT_STARVED,
        *OF_A_CELL,
    ),
    evaluate=_evaluate_edca,
    bounds=(_SLOTS,),
    inputs_of=on_a_path.edca_inputs_of,
    refusal=on_a_path.edca_refusal,
    accuracy=(
        Accuracy(
            ("flow_goodput",),
            0.1,
            "measured",
            "1 to 12 saturated stations of 802.11g and 1 to 7 of another class",
        ),
    ),
    usual=True,
)  # fmt: skip
