"""Windows of HighSpeed TCP at one drop-tail queue, simulated: fluid growth, random losses.

The step is described in `ackclock.models.hstcp_router.window_simulation`. The answer is the mean of
several runs with the seeds 1, 2 and so on. If flows differ it is for the one whose round-trip time
is closest to this flow's.

It is between the saw-tooth and a packet simulation. With equal round-trip times it agrees with the
saw-tooth: 91 to 92 % at 1 Gbit/s and ten flows of about 120 ms with a buffer of 1250 packets, 96 %
with 2500. Its loss rate is ten times that of `mm1k`, because an overflow drops many packets of a
window at once; the rates of loss events are similar. With different round-trip times it is far from
fair: one flow gets most of the link, whereas the rates of `mm1k` are proportional to 1/R.

It makes up to 200,000 steps of some tens of microseconds each. A scenario's flows that share a
router are simulated once.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, Domain
from ackclock.models.hstcp_router import flows as flow_inputs
from ackclock.models.hstcp_router import on_a_path
from ackclock.models.hstcp_router.flows import OF_THE_FLOWS
from ackclock.models.hstcp_router.window_simulation import Simulated, Timing, simulate
from ackclock.models.model import Array, Bound, Input, Model, Output, Rule
from ackclock.models.refusal import refuse_inputs

# In longest round trips. A cycle of the saw-tooth takes about fifty at 1500 segments, so that about
# twenty are measured.
_WARMUP, _DURATION = 300, 1300
# Steps in the shortest round trip. With 10 and with 100, utilisations differ by at most 0.003.
_STEPS = 10
# Allows round-trip times to differ by a factor of fifteen at the default step.
_MOST_STEPS = 200_000


#: Limit on steps of flows in runs. A step of few flows takes as long as one of sixty.
_MOST_WORK = Bound(
    "flows", "steps of a flow", 2e7,
    lambda inputs: (
        np.minimum(inputs["duration"] / inputs["step"], _MOST_STEPS)
        * (60 + inputs["flows"] * np.floor(inputs["runs"]))
    ),
    most_s=13.0,
)  # fmt: skip


def _evaluate(**inputs: Array) -> dict[str, Array]:
    given = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
    flow_inputs.check(given)
    shape = given["rate"].shape
    asked = [{name: float(v[index]) for name, v in given.items()} for index in np.ndindex(shape)]
    buffers: dict[_Router, dict[float, None]] = {}
    for numbers in asked:
        buffers.setdefault(_router(numbers), {})[numbers["buffer"]] = None
    made = {
        (router, buffer): simulated
        for router, limits in buffers.items()
        for buffer, simulated in zip(limits, _simulated(router, tuple(limits)), strict=True)
    }
    rows = [_answer(numbers, made[_router(numbers), numbers["buffer"]]) for numbers in asked]
    return {
        output.name: np.reshape([row[output.name] for row in rows], shape)
        for output in MODEL.outputs
    }


class _Router(NamedTuple):
    """All of a simulation except the buffer."""

    rate: float
    shortest: float
    longest: float
    flows: int
    runs: int
    sync: bool
    timing: Timing


def _router(numbers: Mapping[str, float]) -> _Router:
    steps = numbers["duration"] / numbers["step"]
    if steps > _MOST_STEPS:
        refuse_inputs(
            "out-of-range",
            f"{{step}} makes {steps:.3g} steps; the most is {_MOST_STEPS:,}",
            step=numbers["step"],
        )
    if numbers["step"] > numbers["shortest"] / 2:
        refuse_inputs(
            "contradiction",
            "{step} is more than half of the shortest round trip, {shortest}; give less",
            step=numbers["step"],
            shortest=numbers["shortest"],
        )
    if numbers["duration"] - numbers["warmup"] < numbers["step"]:
        refuse_inputs(
            "contradiction",
            "{warmup} leaves nothing of the duration, {duration}; give less",
            warmup=numbers["warmup"],
            duration=numbers["duration"],
        )
    return _Router(
        numbers["rate"], numbers["shortest"], numbers["longest"], int(numbers["flows"]),
        int(numbers["runs"]), numbers["sync"] == 1,
        Timing(numbers["duration"], numbers["warmup"], numbers["step"]),
    )  # fmt: skip


def _answer(numbers: Mapping[str, float], made: Simulated) -> dict[str, float]:
    rate, rtt = numbers["rate"], numbers["rtt"]
    times = np.linspace(numbers["shortest"], numbers["longest"], int(numbers["flows"]))
    mine = int(np.abs(times - rtt).argmin())
    queue = float(made.queue.mean())
    return {
        "goodput": float(made.rates[:, mine].mean()),
        "utilisation": float(made.utilisation.mean()),
        "loss_rate": float(made.loss.mean()),
        "event_rate": float(made.events.mean()),
        "mean_queue": queue,
        "mean_rtt": rtt + queue / rate,
        "window": float(made.windows[:, mine].mean()),
    }


@lru_cache(maxsize=64)
def _simulated(router: _Router, buffers: tuple[float, ...]) -> list[Simulated]:
    """Returns a cached simulation by buffer, side by side: all flows at a router ask for it."""
    rate, shortest, longest, flows, runs, sync, timing = router
    times, seeds = np.linspace(shortest, longest, flows), np.arange(1, runs + 1)
    made = simulate(
        rate, times, np.repeat(buffers, runs), np.tile(seeds, len(buffers)),
        sync=sync, timing=timing,
    )  # fmt: skip
    parts = (np.split(getattr(made, field.name), len(buffers)) for field in fields(Simulated))
    return [Simulated(*values) for values in zip(*parts, strict=True)]


MODEL = Model(
    name="hstcp_window_sim",
    label="HSTCP windows",
    summary="HighSpeed TCP's windows at a drop-tail queue, step by step, with random losses.",
    reference="RFC 3649 section 5; the simulation is ackclock's own",
    formula="""\
R_i = r_i + q/C,  dw_i/dt = a(w_i)/R_i  (w_i/R_i in slow start),  dq/dt = sum w_i/R_i - C
at q = B: x_i of what flow i sends is dropped, in proportion; with probability 1 - e^(-x_i)
w_i becomes (1 - b(w_i)) w_i after R_i, once per R_i""",
    inputs=(
        *(replace(field, backwards=False) for field in OF_THE_FLOWS),
        Input(
            "buffer", "B", "segments", "queue limit, without the segment being sent",
            domain=NOT_NEGATIVE, on_wire=True, backwards=False,
        ),
        Input(
            "sync", "sync", "", "1 if an overflow hits every flow, 0 for random flows", 0,
            Domain(values=(0, 1)), backwards=False,
        ),
        Input(
            "runs", "runs", "", "number of runs to average; rounded down", 3, AT_LEAST_ONE,
            backwards=False,
        ),
        Input(
            "warmup", "warmup", "s", "warm-up, left out of the results",
            Rule(
                f"{_WARMUP} of the longest round trip", lambda inputs: _WARMUP * inputs["longest"]
            ),
            NOT_NEGATIVE, backwards=False,
        ),
        Input(
            "duration", "duration", "s", "simulated time, with the warm-up",
            Rule(
                f"{_DURATION} of the longest round trip",
                lambda inputs: _DURATION * inputs["longest"],
            ),
            backwards=False,
        ),
        Input(
            "step", "dt", "s", "time step",
            Rule("a tenth of the shortest", lambda inputs: inputs["shortest"] / _STEPS),
            backwards=False,
        ),
    ),
    outputs=(
        Output("goodput", "", "segments/s", "goodput of this flow"),
        Output("utilisation", "", "", "share of the link's rate used by all flows"),
        Output("loss_rate", "", "", "share of segments dropped"),
        Output("event_rate", "", "", "window reductions per segment sent"),
        Output("mean_queue", "", "segments", "queue length, mean over time"),
        Output("mean_rtt", "", "s", "this flow's mean round-trip time", "rtt"),
        Output("window", "", "segments", "this flow's mean window", "cwnd"),
    ),
    goodput="goodput",
    assumptions=(on_a_path.FLUID, on_a_path.QUICK_REPAIR, *on_a_path.OF_THE_FLOWS),
    evaluate=_evaluate,
    bounds=(_MOST_WORK,),
    inputs_of=on_a_path.buffer_of,
    refusal=on_a_path.refusal_at_drop_tail,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.15,
            "measured",
            "1 to 10 flows of HighSpeed TCP that repair quickly, buffers of 0.02 to 3 "
            "bandwidth-delay products",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
        Accuracy(("window",), 0.35, "measured", "the same paths"),
    ),
)  # fmt: skip
