"""The records of 802.11 in saturation: alike stations, and stations of two classes.

Both are about one cell whose stations all have something to send all the time. `dcf` is Bianchi's
analysis with retries that end, in closed form but for one equation
(`ackclock.models.edca.saturation`). `edca` follows what stations of two classes have left to count
(`ackclock.models.edca.classes`, which says how right it is): other windows, other AIFSN, or both.
With freezing it is the nearer to what 802.11 does; without, classes that are alike get just what
`dcf` says.

Times are of exchanges, so that any physical layer, rate, RTS/CTS and EIFS can be put in; Python
reckons them from profiles (`ackclock.models.edca.exchange`). The defaults are of 802.11g: 1500
bytes of payload at 54 Mbit/s, MAC acknowledgements at 24 Mbit/s, EIFS after a collision.
"""

from dataclasses import replace
from functools import lru_cache
from math import inf

import numpy as np

from ackclock.errors import InputError
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, Domain
from ackclock.models.edca import on_a_path, saturation
from ackclock.models.edca.access_class import AIFSN, WINDOW, AccessClass
from ackclock.models.edca.backoff import RETRIES, Backoff
from ackclock.models.edca.classes import Contention, solve
from ackclock.models.edca.phy import ERP_OFDM, LLC_BYTES, MAC_HEADER_BYTES, exchange
from ackclock.models.model import Array, Assumption, Input, Model, Output, Rule

_TIMES = exchange(ERP_OFDM, 1500 + MAC_HEADER_BYTES + LLC_BYTES, 54e6, 24e6)
_WITH_DIFS = saturation.with_aifs(ERP_OFDM, _TIMES, 2)

# The standard's dot11ShortRetryLimit of 7 counts transmissions, the first among them.
_RETRIES = 6

STATIONS = Input("stations", "n", "", "stations that contend", domain=AT_LEAST_ONE)
RTT = Input(
    "rtt", "T", "s", "round-trip time for which the bandwidth-delay product is told", domain=NOT_NEGATIVE
)  # fmt: skip
FLOWS = Input("flows", "F", "", "flows that share the queue of a station", 1, AT_LEAST_ONE)
EACH_FLOW = Output("flow_goodput", "", "segments/s", "what each flow of such a station gets")
SLOT = Input("slot", "sigma", "s", "slot of the backoff", ERP_OFDM.slot)
AS_SUCCESS = Rule("success", lambda known: known["success"])
RETRY_LIMIT = Input(
    "retries", "m", "", "retries before a frame is given up, unlimited for never", _RETRIES, RETRIES
)

OF_A_CELL = (
    on_a_path.SATURATED,
    on_a_path.NO_INTERNAL_COLLISIONS,
    on_a_path.EVEN_SHARES,
    on_a_path.ACKS_DO_NOT_COLLIDE,
    Assumption("ideal_channel", "everybody hears everybody, and nothing is lost but by collisions"),
    Assumption("no_rate_adaptation", "an exchange of a station always lasts as long"),
    Assumption(
        "one_frame_at_a_time", "there is neither aggregation nor a burst in one opportunity"
    ),
)


def _not_below(known: dict[str, Array], of: str = "") -> None:
    """Refuses a CWmax below CWmin."""
    low, high = np.broadcast_arrays(known[f"{of}cw_min"], known[f"{of}cw_max"])
    if (bad := high < low).any():
        raise InputError(
            "contradiction",
            f"{of}cw_max",
            f"{high[bad][0]:g} is below {of}cw_min; give at least {low[bad][0]:g}",
        )


def _evaluate_dcf(**known: Array) -> dict[str, Array]:
    _not_below(known)
    n = known["stations"]
    found = saturation.solve(
        n, Backoff(known["cw_min"], known["cw_max"], known["retries"]), slot=known["slot"], success=known["success"],
        collision=known["collision"], priority=known["priority"],
    )  # fmt: skip
    idle, succeeding, colliding = found.airtime
    return {
        "goodput": found.rate,
        "flow_goodput": found.rate / known["flows"],
        "total": n * found.rate,
        "service_time": found.service_time,
        "bdp": known["rtt"] * found.rate,
        "collision_probability": found.collision_probability,
        "attempt_rate": found.attempt_rate,
        "collided": found.collision / (found.collision + found.success),
        "idle": idle,
        "succeeding": succeeding,
        "colliding": colliding,
    }


DCF = Model(
    name="dcf",
    label="DCF",
    summary="The share of each of n equal saturated stations of 802.11.",
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
            "an exchange that succeeds and the AIFS after it",
            _WITH_DIFS["success"],
        ),
        Input("collision", "T_c", "s", "a collision and the AIFS after it", AS_SUCCESS),
        Input(
            "priority",
            "T_a",
            "s",
            "what a class of absolute priority adds to each success",
            0,
            NOT_NEGATIVE,
        ),
        Input("cw_min", "CWmin", "", "largest draw at first", 15, WINDOW),
        Input("cw_max", "CWmax", "", "largest draw at all, not below CWmin", 1023, WINDOW),
        RETRY_LIMIT,
        FLOWS,
    ),
    outputs=(
        Output("goodput", "", "segments/s", "what each station gets"),
        EACH_FLOW,
        Output("total", "", "segments/s", "what all of them get"),
        Output("service_time", "T_serv", "s", "from one frame of a station to its next"),
        Output("bdp", "", "segments", "the bandwidth-delay product of a station"),
        Output("collision_probability", "p", "", "that an attempt collides"),
        Output("attempt_rate", "tau", "", "that a station attempts in a slot"),
        Output("collided", "", "", "share of busy periods that are collisions"),
        Output("idle", "", "", "share of time in idle slots"),
        Output("succeeding", "", "", "share of time in successes with what follows them"),
        Output("colliding", "", "", "share of time in collisions"),
    ),
    goodput="flow_goodput",
    assumptions=(
        Assumption("alike", "all stations have the same windows, AIFSN and times"),
        Assumption(
            "decoupled", "an attempt collides with the same probability, whatever was before it"
        ),
        Assumption("every_slot_alike", "the slot after a busy period is one like any other"),
        *OF_A_CELL,
    ),
    evaluate=_evaluate_dcf,
    inputs_of=on_a_path.dcf_inputs_of,
    refusal=on_a_path.dcf_refusal,
    usual=True,
)

_CLASSES = ("", "other_")
# So many an access point can tell apart (IEEE 802.11, association identifiers from 1 to 2007).
_ASSOCIATED = Domain(1, 2007, "[]")


def _evaluate_edca(rtt: Array, flows: Array, **known: Array) -> dict[str, Array]:
    for of in _CLASSES:
        _not_below(known, of)
    *given, T, F = np.broadcast_arrays(*known.values(), rtt, flows)
    answers = {one.name: np.empty(T.shape) for one in EDCA.outputs}
    for index in np.ndindex(T.shape):
        found = _contention(
            tuple((name, float(values[index])) for name, values in zip(known, given, strict=True))
        )
        for name, value in _told(found, float(T[index]), float(F[index])).items():
            answers[name][index] = value
    return answers


@lru_cache(maxsize=1024)
def _contention(given: tuple[tuple[str, float], ...]) -> Contention:
    """Kept, as flows and points of a scenario often ask the same, and each answer is work."""
    numbers = dict(given)
    for name in ("stations", "aifsn", "cw_min", "cw_max"):
        for of in _CLASSES:
            if numbers[of + name] % 1 != 0:
                raise InputError(
                    "out-of-range",
                    of + name,
                    f"{numbers[of + name]:g} is out of its domain; give a whole number",
                )
    if numbers["retries"] < inf and numbers["retries"] % 1 != 0:
        raise InputError(
            "out-of-range",
            "retries",
            f"{numbers['retries']:g} is out of its domain; give a whole number",
        )
    every = [
        AccessClass(
            stations=int(numbers[f"{of}stations"]), aifsn=int(numbers[f"{of}aifsn"]),
            cw_min=int(numbers[f"{of}cw_min"]), cw_max=int(numbers[f"{of}cw_max"]), retries=numbers["retries"],
            success=numbers[f"{of}exchange"], collision=numbers[f"{of}collided_exchange"],
        )
        for of in _CLASSES
    ]  # fmt: skip
    return solve(every, numbers["slot"], numbers["sifs"], freezing=bool(numbers["freezing"]))


def _told(found: Contention, rtt: float, flows: float) -> dict[str, float]:
    told = {"flow_goodput": float(found.rate[0]) / flows}
    for place, of in enumerate(_CLASSES):
        told |= {
            f"{of}goodput": found.rate[place],
            f"{of}bdp": rtt * found.rate[place],
            f"{of}collision_probability": found.collision_probability[place],
            f"{of}retry_drop_rate": found.retry_drop_rate[place],
            f"{of}succeeding": found.airtime[1 + place],
        }
    return told | {
        "idle": found.airtime[0],
        "colliding": found.airtime[-1],
        "idle_slots": found.idle_slots,
    }


def _of_a_class(of: str, whose: str, success: float | Rule) -> tuple[Input, ...]:
    letter = "2" if of else "1"
    return (
        Input(f"{of}stations", f"n{letter}", "", f"stations of {whose}", domain=_ASSOCIATED, backwards=False),
        Input(f"{of}aifsn", f"AIFSN{letter}", "", f"slots of AIFS of {whose}", domain=AIFSN, backwards=False),
        Input(
            f"{of}cw_min", f"CWmin{letter}", "", f"largest draw at first of {whose}", None if of else 15, WINDOW,
            backwards=False,
        ),
        Input(
            f"{of}cw_max", f"CWmax{letter}", "", f"largest draw at all of {whose}", None if of else 1023, WINDOW,
            backwards=False,
        ),
        Input(
            f"{of}exchange", f"t{letter}", "s", f"an exchange of {whose} that succeeds, without AIFS", success,
            POSITIVE, backwards=False,
        ),
        Input(
            f"{of}collided_exchange", f"c{letter}", "s", f"a collision in which {whose} is the longest, without AIFS",
            Rule(f"{of}exchange", lambda known: known[f"{of}exchange"]), POSITIVE, backwards=False,
        ),
    )  # fmt: skip


def _outputs_of_a_class(of: str, whose: str) -> tuple[Output, ...]:
    return (
        Output(f"{of}goodput", "", "segments/s", f"what each station of {whose} gets"),
        Output(
            f"{of}bdp",
            "",
            "segments",
            f"the bandwidth-delay product of such a station, T {of}goodput",
        ),
        Output(f"{of}collision_probability", "", "", "that its attempt collides"),
        Output(f"{of}retry_drop_rate", "", "", "share of its frames that are given up"),
        Output(f"{of}succeeding", "", "", f"share of time in successes of {whose}"),
    )


EDCA = Model(
    name="edca",
    label="EDCA",
    summary="The shares of saturated stations of two classes of 802.11e.",
    reference="after Robinson, Randhawa 2004 and Bianchi, Tinnirello, Scalia 2005; the law of the counters is our own",
    formula="""\
a station of a class that has b left sends in slot AIFSN + b after a busy period, if nobody was earlier
g(b): what stations have left at the ends of busy periods;  f(i): the others are first in slot AIFSN + i
b -> b - i if f(i) with i < b,  collision with f(b),  else success;  p_k its mean over draws of 0 ... W_k - 1
g ~ visits of b,  draws of stage k weighted with p_0 ... p_(k-1);  f from the g of all;  fixed point
E = SIFS + sigma E(first slot) + t,  goodput = P(success)/(n E),  flow_goodput = goodput/F""",
    inputs=(
        *_of_a_class("", "the first class", _TIMES.success),
        *_of_a_class("other_", "the second class", Rule("exchange", lambda known: known["exchange"])),
        RTT,
        replace(FLOWS, meaning="flows that share the queue of a station of the first class"),
        Input("slot", "sigma", "s", "slot of the backoff", ERP_OFDM.slot, backwards=False),
        Input("sifs", "SIFS", "s", "short interframe space", ERP_OFDM.sifs, backwards=False),
        Input("retries", "m", "", RETRY_LIMIT.meaning, _RETRIES, RETRIES, backwards=False),
        Input(
            "freezing", "", "", "whether counters stand still while others send; 0 as in dcf", 1, Domain(values=(0, 1)),
            backwards=False,
        ),
    ),
    outputs=(
        *_outputs_of_a_class("", "the first class"),
        replace(EACH_FLOW, meaning="what each flow of a station of the first class gets"),
        *_outputs_of_a_class("other_", "the second class"),
        Output("idle", "", "", "share of time in SIFS and idle slots"),
        Output("colliding", "", "", "share of time in collisions"),
        Output("idle_slots", "", "", "mean slots from SIFS after a busy period to the next"),
    ),
    goodput="flow_goodput",
    assumptions=(
        Assumption("independent_counters", "what stations have left to count after a busy period is independent"),
        *OF_A_CELL,
    ),
    evaluate=_evaluate_edca,
    inputs_of=on_a_path.edca_inputs_of,
    refusal=on_a_path.edca_refusal,
    usual=True,
)  # fmt: skip
