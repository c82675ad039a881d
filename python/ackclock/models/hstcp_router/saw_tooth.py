"""The saw-tooth of HighSpeed TCP: synchronised flows, with increase and decrease at their share.

As `sawtooth`, with the increase a(w) and the decrease b(w) of RFC 3649 fixed at w = C T/n segments,
where T is the mean round-trip time. This is a flow's window when all flows together just fill the
link. The window falls to beta = 1 - b(w) of its size. Utilisation is therefore one for buffers of
at least C T b/(1 - b), 0.45 of the bandwidth-delay product at 1500 segments per flow. At 1 Gbit/s
and ten flows of 120 ms it is 90.7 % with 1250 packets and 95.0 % with 2500.
"""

import numpy as np

from ackclock.models import sawtooth
from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import NOT_NEGATIVE
from ackclock.models.hstcp_response import decrease, increase
from ackclock.models.hstcp_router import flows as flow_inputs
from ackclock.models.hstcp_router import on_a_path
from ackclock.models.hstcp_router.flows import OF_THE_FLOWS
from ackclock.models.model import Array, Input, Model, Output


def _evaluate(
    rate: Array, rtt: Array, flows: Array, shortest: Array, longest: Array, buffer: Array
) -> dict[str, Array]:
    flow_inputs.check({"rtt": rtt, "flows": flows, "shortest": shortest, "longest": longest})
    T = (shortest + longest) / 2
    w = np.maximum(rate * T / flows, 1.0)
    of_all = sawtooth.cycle(rate, T, buffer, flows, increase(w), 1 - decrease(w), np.asarray(1.0))
    waiting = of_all["mean_queue"] / rate
    return of_all | {
        "mean_rtt": rtt + waiting,
        "largest_rtt": rtt + buffer / rate,
        "share": w,
        "decrease": decrease(w),
    }


_BUFFER = Input(
    "buffer",
    "B",
    "segments",
    "queue limit, without the segment being sent",
    domain=NOT_NEGATIVE,
    on_wire=True,
)

MODEL = Model(
    name="hstcp_sawtooth",
    label="HSTCP saw-tooth",
    summary="HighSpeed TCP with synchronised flows at a drop-tail queue: a regular saw-tooth.",
    reference="Villamizar, Song 1994; RFC 3649 section 5",
    formula="""\
T = (r1 + rn)/2,  w = max(C T/n, 1),  alpha = a(w),  beta = 1 - b(w)
the outputs of `sawtooth` with mu = C,  N = n,  b = 1
mean_rtt = r + mean_queue/C,  largest_rtt = r + B/C""",
    inputs=(*OF_THE_FLOWS, _BUFFER),
    outputs=(
        *sawtooth.MODEL.outputs,
        Output("share", "w", "segments", "a flow's share of the pipe, at which a and b are taken"),
        Output("decrease", "b(w)", "", "share of the window given up at an overflow"),
    ),
    goodput="goodput",
    assumptions=(on_a_path.IN_STEP, on_a_path.QUICK_REPAIR, *on_a_path.OF_THE_FLOWS),
    evaluate=_evaluate,
    inputs_of=on_a_path.buffer_of,
    refusal=on_a_path.refusal_at_drop_tail,
    accuracy=(
        Accuracy(
            ("goodput",),
            0.05,
            "measured",
            "one flow of HighSpeed TCP, buffers of 0.1 to 3 bandwidth-delay products "
            "of 60 to 2000 segments",
        ),
        Accuracy(("mean_rtt",), 0.1, "measured", "the same paths"),
    ),
    usual=True,
)
