"""HighSpeed TCP at a drop-tail router modelled as M/M/1/K: consistent windows, delays and loss.

Packets arrive as a Poisson process and have exponential service times. The module
`ackclock.models.hstcp_router.fixed_point` shows that there is one solution and how it is found.
Every letter is of that solution. All flows have the window w(p) of RFC 3649, extended beyond p =
10^-7 along its straight line, so that rates are proportional to 1/R.

For small buffers the result is far too optimistic. At 1 Gbit/s and ten flows of about 120 ms, a
router of 88 packets (0.7 % of 12,500) is predicted to carry 90 %. The publication claims more than
90 % with 10 % of that buffer and about 98 % with 20 %, the level of its simulated curve. The
saw-tooth's 90.7 % and 95.0 % are closer to that (`hstcp_sawtooth`). Poisson arrivals have neither
bursts nor a saw-tooth.

If customers are bursts of g packets, K becomes floor(K/g), and N customers are g N packets. Nothing
else changes. With g = 8 (89 %, 95 %, 98 % and 99 % with 5, 10, 20 and 40 %) the curve is closest to
the published shape. This g is fitted to that curve and is not a value of the publication.

The slope F'(rho) tells if plain substitution, rho <- F(rho), converges. It diverges where the slope
is below -1, as for every router of more than a few places.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import AT_LEAST_ONE
from ackclock.models.hstcp_router import flows as flow_inputs
from ackclock.models.hstcp_router import on_a_path
from ackclock.models.hstcp_router.fixed_point import FixedPoint, solve
from ackclock.models.hstcp_router.flows import OF_THE_FLOWS, PLACES, REFERENCE
from ackclock.models.hstcp_router.occupancy import DropTail
from ackclock.models.model import Array, Input, Model, Output
from ackclock.models.refusal import refuse_inputs

# Fitted to the shape of a published curve, as described above.
_FITTED_BURST = 8

OUTPUTS = (
    Output("goodput", "w (1-p)/R", "segments/s", "goodput of this flow"),
    Output("utilisation", "rho (1-p)", "", "share of the link's rate used by all flows"),
    Output("load", "rho", "", "offered load over the link's rate"),
    Output("loss_rate", "p", "", "share of segments dropped"),
    Output("queue", "N", "segments", "mean number at the router, with the one being sent"),
    Output("mean_rtt", "R", "s", "this flow's mean round-trip time", "rtt"),
    Output("window", "w", "segments", "mean window", "cwnd"),
    Output(
        "slope",
        "F'",
        "",
        "slope of F at the solution; plain substitution converges only between -1 and 1",
    ),
)


def outputs(solution: FixedPoint, rate: Array, rtt: Array) -> dict[str, Array]:
    """Returns the outputs by name for a flow of this round-trip time."""
    R = rtt + solution.queue / rate
    return {
        "goodput": solution.window * -np.expm1(np.log(solution.loss)) / R,
        "utilisation": solution.utilisation,
        "load": solution.load,
        "loss_rate": solution.loss,
        "queue": solution.queue,
        "mean_rtt": R,
        "window": solution.window,
        "slope": solution.slope,
    }


def _evaluate(**inputs: Array) -> dict[str, Array]:
    given = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
    flow_inputs.check(given)
    burst = given.get("burst", np.ones_like(given["rate"]))
    if (too_large := burst > given["places"]).any():
        refuse_inputs(
            "contradiction",
            "{burst} is more than the router holds; give at most {places}",
            burst=float(burst[too_large][0]),
            places=float(given["places"][too_large][0]),
        )
    answer = {output.name: np.empty(given["rate"].shape) for output in OUTPUTS}
    for count in np.unique(given["flows"]):
        chosen = given["flows"] == count
        numbers = {name: values[chosen] for name, values in given.items()}
        for name, values in _solved(numbers, burst[chosen], int(count)).items():
            answer[name][chosen] = values
    return answer


def _solved(numbers: Mapping[str, Array], burst: Array, count: int) -> dict[str, Array]:
    times = flow_inputs.round_trips(numbers["shortest"], numbers["longest"], count)
    solution = solve(DropTail(np.floor(numbers["places"] / burst)), numbers["rate"], times, burst)
    return outputs(solution, numbers["rate"], numbers["rtt"])


FORMULA = """\
R_i = r_i + {queue}/C,  rho = (1/C) sum_i w(p)/R_i =: F(rho),  w(p) of RFC 3649
{law}
utilisation = rho (1-p),  goodput = w (1-p)/R,  load = rho,  loss_rate = p
queue = {queue},  mean_rtt = R"""

_LAW = """\
p = rho^{K} (1-rho)/(1-rho^({K}+1)),   1/({K}+1) at rho = 1
N = rho/(1-rho) - ({K}+1) rho^({K}+1)/(1-rho^({K}+1)),   {K}/2 at rho = 1"""

MM1K = Model(
    name="mm1k",
    label="M/M/1/K",
    summary="HighSpeed TCP at a drop-tail router, Poisson arrivals; too high for small buffers.",
    reference=REFERENCE,
    formula=FORMULA.format(queue="N", law=_LAW.format(K="K")),
    inputs=(*OF_THE_FLOWS, PLACES),
    outputs=OUTPUTS,
    goodput="goodput",
    assumptions=(on_a_path.POISSON_AT_DROP_TAIL, *on_a_path.OF_THE_FLOWS),
    evaluate=_evaluate,
    bounds=(flow_inputs.MOST_FLOWS,),
    inputs_of=on_a_path.places_of,
    refusal=on_a_path.refusal_at_drop_tail,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.3,
            "measured",
            "1 to 10 flows of HighSpeed TCP that repair quickly, buffers of 0.02 to 3 "
            "bandwidth-delay products",
        ),
        Accuracy(("mean_rtt",), 0.5, "measured", "the same paths"),
        Accuracy(("window",), 1.0, "measured", "the same paths"),
    ),
)

MM1K_BURST = replace(
    MM1K,
    name="mm1k_burst",
    label="M/M/1/K, bursts",
    summary="`mm1k` with bursts of g packets, of which the router holds K/g.",
    reference=REFERENCE + "; bursts are an addition",
    formula=FORMULA.format(queue="g N", law="k = floor(K/g)\n" + _LAW.format(K="k")),
    inputs=(
        *OF_THE_FLOWS,
        PLACES,
        Input(
            "burst", "g", "segments", "packets per burst; 8 is fitted to a published curve",
            _FITTED_BURST, AT_LEAST_ONE, on_wire=True,
        ),
    ),
    assumptions=(on_a_path.POISSON_BURSTS, *on_a_path.OF_THE_FLOWS),
    accuracy=(replace(MM1K.accuracy[0], within=1.0), *MM1K.accuracy[1:]),
)  # fmt: skip
