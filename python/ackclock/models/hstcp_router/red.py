"""HighSpeed TCP at a RED router with Poisson arrivals: consistent windows, round trips and loss.

As `mm1k`, but an arrival that finds j packets is dropped with probability d(j), with j itself
instead of RED's average. Dropped packets do not enter, so that the law of j is not that of M/M/1/K.
The publication uses that law nevertheless; `shortcut_utilisation` and `shortcut_loss_rate` are the
results. They are lower by up to 0.3 % of the link's rate at 1 Gbit/s and ten flows of 120 ms. The
solution is unique for the same reason as that of `mm1k`.

The publication's thresholds are 0.4 and 1 times the smaller of the bandwidth-delay product, at the
mean round-trip time, and the buffer. Its p_max is unknown; Adaptive RED, which it used, keeps it
between 0.01 and 0.5.

Use it for trends, not for levels. A simulation of windows with these thresholds, which averages the
queue and lets windows overshoot, is reported to give 78 % to 94 % for buffers of 1 to 40 % of
12,500 packets. This model gives 88 % to 99.8 %. The simulation is below drop-tail, this model close
to it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import NOT_NEGATIVE, UP_TO_ONE
from ackclock.models.hstcp_router import flows as flow_inputs
from ackclock.models.hstcp_router import mm1k, on_a_path
from ackclock.models.hstcp_router.fixed_point import solve
from ackclock.models.hstcp_router.flows import OF_THE_FLOWS, PLACES, REFERENCE
from ackclock.models.hstcp_router.occupancy import Red
from ackclock.models.model import Array, Bound, Input, Model, Output, Rule
from ackclock.models.refusal import refuse_inputs

# From the publication, as described above; p_max is a guess.
_LOW, _P_MAX = 0.4, 0.1


def _largest_threshold(inputs: Mapping[str, Array]) -> Array:
    mean = (inputs["shortest"] + inputs["longest"]) / 2
    return np.minimum(inputs["rate"] * mean, inputs["places"])


def _evaluate(**inputs: Array) -> dict[str, Array]:
    given = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
    flow_inputs.check(given)
    if (wrong := given["min_th"] >= given["max_th"]).any():
        low, high = given["min_th"][wrong][0], given["max_th"][wrong][0]
        refuse_inputs(
            "contradiction",
            "{min_th} is not below max_th; give less than {max_th}",
            min_th=float(low),
            max_th=float(high),
        )
    shape = given["rate"].shape
    rows = [
        _answer({name: float(v[index]) for name, v in given.items()}) for index in np.ndindex(shape)
    ]
    return {
        output.name: np.reshape([row[output.name] for row in rows], shape) for output in RED.outputs
    }


def _answer(numbers: Mapping[str, float]) -> dict[str, float]:
    rate, rtt = np.asarray(numbers["rate"]), np.asarray(numbers["rtt"])
    ends = np.asarray(numbers["shortest"]), np.asarray(numbers["longest"])
    times = flow_inputs.round_trips(*ends, int(numbers["flows"]))
    profile = int(numbers["places"]), numbers["min_th"], numbers["max_th"], numbers["p_max"]
    exact, short = (solve(Red(*profile, shortcut), rate, times) for shortcut in (False, True))
    given = mm1k.outputs(exact, rate, rtt) | {
        "shortcut_utilisation": short.utilisation, "shortcut_loss_rate": short.loss,
    }  # fmt: skip
    return {name: float(value) for name, value in given.items()}


# Limit on the places of a call, as each is evaluated about two hundred times.
_MOST_PLACES = Bound(
    "places",
    "places",
    1e6,
    lambda inputs: np.broadcast_arrays(*inputs.values())[0] * 0 + inputs["places"],
)

_LAW = """\
d(j) = 0 up to min_th,  p_max (j - min_th)/(max_th - min_th) up to max_th,  1 above and at K
pi(j) ~ rho^j prod_{i<j} (1-d(i)),  p = sum pi(j) d(j),  N = sum j pi(j)
shortcut: pi(j) ~ rho^j"""

RED = Model(
    name="hstcp_red",
    label="RED, Poisson",
    summary="HighSpeed TCP at a RED router with Poisson arrivals, exact and by a shortcut.",
    reference=REFERENCE,
    formula=mm1k.FORMULA.format(queue="N", law=_LAW),
    inputs=(
        *(replace(field, backwards=False) for field in (*OF_THE_FLOWS, PLACES)),
        Input(
            "max_th", "max_th", "segments", "queue length above which everything is dropped",
            Rule("the smaller of C (r1 + rn)/2 and K", _largest_threshold), on_wire=True,
            backwards=False,
        ),
        Input(
            "min_th", "min_th", "segments", "queue length up to which nothing is dropped",
            Rule("0.4 max_th", lambda inputs: _LOW * inputs["max_th"]), NOT_NEGATIVE, on_wire=True,
            backwards=False,
        ),
        Input(
            "p_max", "p_max", "", "drop probability at max_th; 0.1 is a guess", _P_MAX, UP_TO_ONE,
            backwards=False,
        ),
    ),
    outputs=(
        *mm1k.OUTPUTS,
        Output("shortcut_utilisation", "", "", "utilisation by the shortcut"),
        Output("shortcut_loss_rate", "", "", "loss rate by the shortcut"),
    ),
    goodput="goodput",
    assumptions=(
        on_a_path.POISSON, on_a_path.NO_AVERAGE, on_a_path.NOT_GENTLE, *on_a_path.OF_THE_FLOWS,
    ),
    evaluate=_evaluate,
    bounds=(flow_inputs.MOST_FLOWS, _MOST_PLACES),
    inputs_of=on_a_path.red_of,
    refusal=on_a_path.refusal_at_red,
    accuracy=(
        Accuracy(
            ("goodput", "window"),
            0.5,
            "measured",
            "1 to 10 flows of HighSpeed TCP at a RED that averages, buffers of 0.3 to 1 "
            "bandwidth-delay product of 60 to 4000 segments",
        ),
        Accuracy(("mean_rtt",), 0.35, "measured", "the same paths"),
    ),
)  # fmt: skip
