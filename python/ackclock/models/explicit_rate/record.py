"""The records of TCP over a link of two rates: with INSTCAP, alone, behind a constant source.

A sender without fast retransmit is a round trip away from a link that changes between a high and a
low rate at multiples of the round trip. The outcome of a round trip depends on where the packets
are and on the link's rate, now and a round trip ago: a Markov chain. A round trip without loss
leads to the next. One with a loss leads to a timeout (in the third round trip), slow start and the
state in which that ends. The throughput is the long-run mean of packets over time.

Rates and times become packets and round trips: c_R = floor(R Delta) packets per round trip. To make
up for the rounding, results are shares of the capacity in whole packets.

Confidence: the publication was available without its equations. The recursion and the place of
losses fit its prose word for word; the rest is inferred. We are 90 % sure of the window's growth,
85 % of three round trips of recovery, 80 % of changes with probability 1/psi, and 70 % of evenly
spread arrivals without feedback. What counts as delivered in a round trip with a loss is 85 % sure
for the optimistic results and 55 % for the conservative ones. All alternatives are parameters in
Python (`ackclock.models.explicit_rate`). At small psi the time of recovery matters, at large psi
nothing does.

Accuracy against an independent simulation of that loop (40 packets in a round trip, buffers of 10
and 12): with INSTCAP the conservative efficiency is within 0.013 for psi from 20 on. At psi = 2 and
5 it is 37 and 25 % too low, the optimistic one 18 and 8 %. The reason is that packets do not arrive
back to back, so losses are overestimated by half. Without feedback the conservative one is between
8 % too low and 3 % too high, the optimistic one 6 to 19 % too high. The optimistic one is a bound
and may exceed one.
"""

from collections.abc import Callable, Mapping
from math import floor, inf

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import AT_LEAST_ONE, NOT_NEGATIVE, UP_TO_ONE, Domain
from ackclock.models.explicit_rate import on_a_path
from ackclock.models.explicit_rate.link import TwoRateLink
from ackclock.models.explicit_rate.loop import ROUNDING, Loop, Source
from ackclock.models.explicit_rate.renewal import Renewal, solve
from ackclock.models.explicit_rate.sources import ConstantRate, InstantaneousCapacity, Unregulated
from ackclock.models.explicit_rate.states import TooManyStatesError, enumerate_states
from ackclock.models.model import Array, Input, Model, Output, Rule
from ackclock.models.refusal import RefusedInputsError, refuse_inputs

REFERENCE = "Shakkottai, Kumar, Karnik, Anvekar 2001, reconstructed from its prose"

# The publication's 65 packets over the 40 + 10 of its loop: enough to keep the link busy with an
# empty queue.
_AMPLE = 1.3


def check_rates(low: float, rate: float) -> None:
    """Refuses a low rate that is not below the high rate."""
    if low >= rate:
        refuse_inputs(
            "contradiction",
            "{low_rate} is not below the high rate; give less than {rate}",
            low_rate=low,
            rate=rate,
        )


def _evaluating(
    source_of: Callable[[Mapping[str, float]], Source],
) -> Callable[..., dict[str, Array]]:
    """Returns the formula for a source that follows from the inputs."""

    def evaluate(**inputs: Array) -> dict[str, Array]:
        given = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
        shape = given["psi"].shape
        rows = []
        for index in np.ndindex(shape):
            numbers = {name: float(values[index]) for name, values in given.items()}
            rows.append(_answer(numbers, _renewal(numbers, source_of(numbers))))
        names = rows[0] if rows else ()
        return {name: np.reshape([row[name] for row in rows], shape) for name in names}

    return evaluate


def _renewal(numbers: Mapping[str, float], source: Source) -> Renewal:
    rate, low, rtt = numbers["rate"], numbers["low_rate"], numbers["rtt"]
    check_rates(low, rate)
    if low * rtt < 1 - ROUNDING:
        refuse_inputs(
            "contradiction",
            "{rtt} is less than a segment lasts at the low rate; give at least {least_rtt}",
            rtt=rtt,
            least_rtt=1 / low,
        )
    window = numbers.get("ample_window", numbers.get("window", inf))
    buffer = floor(numbers["buffer"] + ROUNDING)
    loop = Loop(
        rate * rtt,
        buffer,
        rate / low,
        floor(window) if window < inf else inf,
        int(numbers["recovery_rounds"]),
    )
    try:
        states = enumerate_states(loop, source)
    except TooManyStatesError as error:
        words = f"{{rate}} makes {rate * rtt:g} segments in a round trip; {error}"
        raise RefusedInputsError(
            "out-of-range", "rate", words, quantities={"rate": ("rate", rate)}
        ) from None
    return solve(states, TwoRateLink.of_sojourns(numbers["psi"], numbers["low_psi"]))


def _answer(numbers: Mapping[str, float], renewal: Renewal) -> dict[str, float]:
    high, low = renewal.link.shares
    carried = (high * numbers["rate"] + low * numbers["low_rate"]) * numbers.get("cell_share", 1.0)
    conservative, optimistic = renewal.efficiency("conservative"), renewal.efficiency("optimistic")
    return {
        "conservative": conservative * carried,
        "optimistic": optimistic * carried,
        "efficiency": conservative * numbers.get("cell_share", 1.0),
        "optimistic_efficiency": optimistic * numbers.get("cell_share", 1.0),
        "losses": renewal.losses,
        "window_at_loss": renewal.window_at_loss,
        "loss_after_fall": renewal.loss_after_fall,
        "loss_free_buffer": renewal.states.loop.loss_free_buffer,
    }


def _ample_window(inputs: Mapping[str, Array]) -> Array:
    return np.maximum(_AMPLE * (inputs["rate"] * inputs["rtt"] + inputs["buffer"]), 1.0)


RATE = Input("rate", "C", "segments/s", "the link's high rate", on_wire=True, backwards=False)
LOW_RATE = Input(
    "low_rate", "C/r", "segments/s", "the link's low rate",
    Rule("half the high one", lambda inputs: inputs["rate"] / 2), on_wire=True, backwards=False,
)  # fmt: skip
RTT = Input(
    "rtt",
    "Delta",
    "s",
    "round-trip propagation delay, without service times",
    backwards=False,
)
PSI = Input(
    "psi",
    "psi",
    "",
    "mean time of the link at its high rate, in round trips",
    domain=AT_LEAST_ONE,
)
LOW_PSI = Input(
    "low_psi",
    "psi1",
    "",
    "the same at its low rate",
    Rule("psi", lambda inputs: inputs["psi"]),
    AT_LEAST_ONE,
)
BUFFER = Input(
    "buffer",
    "B",
    "segments",
    "queue limit at the link",
    domain=NOT_NEGATIVE,
    on_wire=True,
    backwards=False,
)
_WINDOW = "largest window, unlimited for none"
WINDOW = Input("window", "Wm", "segments", _WINDOW, inf, Domain(1, inf, "[]"), backwards=False)
AMPLE_WINDOW = Input(
    "ample_window",
    "Wm",
    "segments",
    "largest window, by default enough to keep the link busy",
    Rule("1.3 (C Delta + B)", _ample_window),
    AT_LEAST_ONE,
    backwards=False,
)
RECOVERY = Input(
    "recovery_rounds",
    "k",
    "",
    "round trips from a loss to slow start",
    3,
    Domain(values=(2, 3)),
)
CELL_SHARE = Input(
    "cell_share",
    "h",
    "",
    "share of sent bytes that are not cell headers; 48/53 with ATM",
    1,
    UP_TO_ONE,
)

OUTPUTS = (
    Output(
        "conservative", "", "segments/s",
        "goodput if all data of a round trip with a loss is retransmitted",
    ),
    Output(
        "optimistic", "", "segments/s",
        "goodput if little data is retransmitted: a bound, possibly above the link's rate",
    ),
    Output("efficiency", "", "", "conservative goodput over the link's mean rate"),
    Output("optimistic_efficiency", "", "", "optimistic goodput over the link's mean rate"),
    Output("losses", "", "", "losses, each with a timeout, per round trip"),
    Output("window_at_loss", "w", "segments", "mean window reached at a loss; 0 without losses"),
)  # fmt: skip

_FORMULA = """\
every Delta a state (a, b, d, R, S): packets in the host, at the link, in propagation;
    the rate now and a round trip ago
N ~ Binomial(d, 1/W),  W = a + b + d < Wm,  {sent}
a' = a + d + N - n,  s = min(b + n, c_R),  b' = b + n - s,  d' = s
loss if {loss};  m = w/2,  cycle k + ceil(log2 m)
V: d without loss; with a loss d + b (conservative), + q + W + 2^ceil(log2 m) - 1 (optimistic)
goodput = {share}C_mean E V/(c_mean E U)"""

_MEASURED = (
    Accuracy(
        ("conservative",), 0.1, "measured",
        "one sender of 1988, 15 to 60 segments in flight, buffers of 3 to 40, "
        "rates that differ by 1.3 to 3",
    ),
)  # fmt: skip

INSTCAP = Model(
    name="instcap",
    label="INSTCAP",
    summary=(
        "TCP without fast retransmit on a two-rate link, whose rate its host follows a round trip "
        "later."
    ),
    reference=REFERENCE,
    formula=_FORMULA.format(
        share="h ", sent="n = min(a + d + N, c_S)", loss="S > R and b + n (1 - R/S) > B"
    ),
    inputs=(RATE, LOW_RATE, RTT, BUFFER, AMPLE_WINDOW, PSI, LOW_PSI, RECOVERY, CELL_SHARE),
    outputs=(
        *OUTPUTS,
        Output(
            "loss_after_fall", "", "",
            "probability of a loss in the round trip after a fall of the link's rate",
        ),
        Output(
            "loss_free_buffer", "Delta (1 - 1/r)", "segments", "buffer with which nothing is lost"
        ),
    ),
    goodput="conservative",
    assumptions=(
        on_a_path.FOLLOWS_A_ROUND_TRIP_LATER, on_a_path.BACK_TO_BACK, on_a_path.SLOW_CHANGES,
        *on_a_path.OF_THE_LOOP,
    ),
    evaluate=_evaluating(lambda _: InstantaneousCapacity()),
    points=41,
    inputs_of=on_a_path.inputs_with_ample_window,
    refusal=on_a_path.refusal_with_feedback,
    accuracy=_MEASURED,
    usual=True,
)  # fmt: skip

TCP_ALONE = Model(
    name="tcp_alone",
    label="TCP alone",
    summary="TCP without fast retransmit on a two-rate link, without feedback of the rate.",
    reference=REFERENCE,
    formula=_FORMULA.format(share="", sent="n = d + N", loss="b + n - c_R > B"),
    inputs=(RATE, LOW_RATE, RTT, BUFFER, WINDOW, PSI, LOW_PSI, RECOVERY),
    outputs=OUTPUTS,
    goodput="conservative",
    assumptions=(on_a_path.SPREAD, on_a_path.NO_BURSTS, *on_a_path.OF_THE_LOOP),
    evaluate=_evaluating(lambda _: Unregulated()),
    points=41,
    inputs_of=on_a_path.inputs_of,
    refusal=on_a_path.refusal_alone,
    accuracy=_MEASURED,
    usual=True,
)

CONSTANT_SOURCE = Model(
    name="constant_source",
    label="constant source",
    summary="TCP without fast retransmit on a two-rate link, from a host that sends at one rate.",
    reference=REFERENCE,
    formula=_FORMULA.format(
        share="", sent="n = min(a + d + N, g)", loss="g > c_R and b + n (1 - c_R/g) > B"
    ),
    inputs=(
        RATE,
        LOW_RATE,
        RTT,
        BUFFER,
        AMPLE_WINDOW,
        PSI,
        LOW_PSI,
        RECOVERY,
        Input(
            "source_rate",
            "g/Delta",
            "segments/s",
            "the source's rate",
            on_wire=True,
            backwards=False,
        ),
    ),
    outputs=OUTPUTS,
    goodput="conservative",
    assumptions=(on_a_path.BACK_TO_BACK, *on_a_path.OF_THE_LOOP),
    evaluate=_evaluating(lambda numbers: ConstantRate(numbers["source_rate"] * numbers["rtt"])),
    points=41,
    inputs_of=on_a_path.inputs_with_ample_window,
    refusal=on_a_path.refusal_of_constant_source,
    accuracy=(
        Accuracy(
            ("conservative",),
            0.0,
            "proof",
            "the chain is solved exactly for the loop of its assumptions",
        ),
    ),
)
