"""Figure 7: the speed and smoothness of ABSE's estimate while UDP comes and goes.

The paper does not give the pattern of the UDP flow, so there are three: a step, a square wave, and
a ramp of several flows. Samples are from the last pair of ACKs, as in the figure, which isolates
the filter. Its time constant is adaptive or fixed.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, plot
from ackclock.metrics import Interval, interval, settling_time
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock_papers.replicates import Rows, measured, quotient
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_time import Series
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    BE,
    DURATION_S,
    RE,
    Control,
    scenario,
    settings,
    tcp,
    udp,
)

Array = NDArray[np.float64]

PATH = one_bottleneck(5)
SENDER = "sender"
#: Interval in which the sender is alone and its estimate has settled; before it is the start-up.
ALONE_S = (25.0, 30.0)
STEP_S = (40.0, 70.0)
STEP_MBIT_PER_S = 2.5
WAVE_S = 5.0
RAMP_FLOWS, RAMP_EVERY_S = 4, 5.0
REPLICATES = 10

#: Tolerance and duration that count as settled. Chosen here: before a loss the estimate fluctuates
#: by less.
SETTLED_WITHIN, SETTLED_FOR_S = 0.15, 0.5


class Pattern(NamedTuple):
    """A pattern of UDP traffic.

    Attributes:
        flows: Flows, as in the scenario.
        rate: Rate on the wire as a function of time, in Mbit/s.
    """

    flows: list[dict[str, Any]]
    rate: Callable[[Array], Array]

    def left(self, time_s: Array) -> Array:
        """Returns the available rate of the link, in Mbit/s of payload."""
        return (
            (PATH.rate_mbit_per_s - self.rate(time_s))
            * PATH.goodput_mbit_per_s
            / PATH.rate_mbit_per_s
        )


def _on(since_s: float, until_s: float, time_s: Array) -> Array:
    return np.where((time_s > since_s) & (time_s <= until_s), 1.0, 0.0)


def _ramp_times(number: int) -> tuple[float, float]:
    """Returns start and end of one flow of the ramp: the first to start is the last to end."""
    return ALONE_S[1] + number * RAMP_EVERY_S, 90 - number * RAMP_EVERY_S


_LINK = ["bottleneck"]
_SQUARE = {
    "kind": "on_off", "mean_on": f"{WAVE_S:g} s", "mean_off": f"{WAVE_S:g} s",
    "on_distribution": "constant",
    "off_distribution": "constant",
}  # fmt: skip

PATTERNS = {
    "step": Pattern(
        [udp("UDP", STEP_MBIT_PER_S, _LINK, start=f"{STEP_S[0]:g} s", stop=f"{STEP_S[1]:g} s")],
        lambda time_s: STEP_MBIT_PER_S * _on(*STEP_S, time_s),
    ),
    "square wave": Pattern(
        [udp("UDP", STEP_MBIT_PER_S, _LINK, _SQUARE, start=f"{ALONE_S[1]:g} s")],
        lambda time_s: (
            STEP_MBIT_PER_S
            * _on(ALONE_S[1], DURATION_S, time_s)
            * ((time_s - ALONE_S[1]) % (2 * WAVE_S) < WAVE_S)
        ),
    ),
    "ramp": Pattern(
        [
            udp(f"UDP {number}", 1, _LINK, start=f"{since:g} s", stop=f"{until:g} s")
            for number in range(RAMP_FLOWS)
            for since, until in [_ramp_times(number)]
        ],
        lambda time_s: sum(
            (_on(*_ramp_times(number), time_s) for number in range(RAMP_FLOWS)),
            np.zeros(time_s.shape),
        ),
    ),
}


def _filtered(label: str, **values: str) -> Control:
    return Control(
        label,
        {"kind": "westwood_abse", "estimator": {"kind": "abse", "sampling": "ack_pair"} | values},
    )


ADAPTIVE = _filtered("adaptive τ")
#: The constant of the early papers on BE (from memory), with which the figure presumably compares.
#: The others are the ends of the range of τ by equation (6) with N = 10: RTT and 11 RTT.
FIXED, SWIFT, SMOOTH = (_filtered(f"τ = {tau}", tau=tau) for tau in ("0.5 s", "70 ms", "770 ms"))
CONTROLS = (ADAPTIVE, SWIFT, FIXED, SMOOTH, BE, RE)


def runs() -> Mapping[str, Run]:
    """Returns runs of a sender with each filter, under each pattern."""
    return {
        f"{control.label}, {name}": Run(
            scenario(
                name, PATH, [tcp(SENDER, control, PATH), *pattern.flows], warmup_s=ALONE_S[0],
                replicates=REPLICATES, sample_interval_s=0.02,
            )
        )
        for control in CONTROLS
        for name, pattern in PATTERNS.items()
    }  # fmt: skip


def _each(result: Result, measure: Callable[[Series], float]) -> list[float]:
    return [
        measure(over_time.estimate(result, SENDER, replicate))
        for replicate in over_time.replicates(result)
    ]


def error(result: Result, pattern: Pattern) -> list[float]:
    """Returns the mean distance of the estimate from the available rate by replicate.

    It is relative to the rate of the link.
    """

    def mean_distance(estimate: Series) -> float:
        later = estimate.time_s > ALONE_S[0]
        off = np.abs(estimate.values[later] - pattern.left(estimate.time_s[later]))
        return float(np.mean(off)) / PATH.rate_mbit_per_s

    return _each(result, mean_distance)


def roughness(result: Result) -> list[float]:
    """Returns the standard deviation of the estimate of a lone sender by replicate, in Mbit/s."""

    def deviation(estimate: Series) -> float:
        alone = (estimate.time_s > ALONE_S[0]) & (estimate.time_s <= ALONE_S[1])
        return float(np.std(estimate.values[alone]))

    return _each(result, deviation)


def settling(result: Result) -> list[float]:
    """Returns the time from UDP's step until the estimate stays near the available rate.

    It is in seconds, by replicate.
    """
    left = float(PATTERNS["step"].left(np.array([STEP_S[1]]))[0])

    def settled_after(estimate: Series) -> float:
        during = (estimate.time_s >= STEP_S[0]) & (estimate.time_s < STEP_S[1])
        return settling_time(
            estimate.time_s[during],
            estimate.values[during],
            left,
            within=SETTLED_WITHIN,
            for_s=SETTLED_FOR_S,
        )

    return _each(result, settled_after)


class Quality(NamedTuple):
    """Compared quantities, by replicate.

    Attributes:
        errors: Mean errors, by filter and pattern.
        settled: Settling times after the step, by filter.
        rough: Standard deviations for a lone sender, by filter.
    """

    errors: dict[tuple[str, str], list[float]]
    settled: dict[str, list[float]]
    rough: dict[str, list[float]]


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares errors, settling times and roughness of the filters."""
    labels = [control.label for control in CONTROLS]
    quality = Quality(
        {
            (label, name): error(results[f"{label}, {name}"], pattern)
            for label in labels
            for name, pattern in PATTERNS.items()
        },
        {label: settling(results[f"{label}, step"]) for label in labels},
        {label: roughness(results[f"{label}, step"]) for label in labels},
    )
    rows: Rows = {
        (label,): {f"error, {name}, %": _percent(quality.errors[label, name]) for name in PATTERNS}
        | {
            "settled after the step, s": interval(quality.settled[label]),
            "deviation when alone, kbit/s": interval(1000 * np.array(quality.rough[label])),
        }
        for label in labels
    }
    rests = basis("the fixed τ, which is not printed, is 0.5 s")
    table = measured("Estimates beside what UDP leaves", ("filter",), rows)
    return Outcome(
        rests, (), partial(_draw, results), _claims(quality), _settings(results), (table,)
    )


def _claims(quality: Quality) -> tuple[Claim, ...]:
    def over(measure: dict[str, list[float]], fixed: Control) -> Interval:
        return quotient(measure[ADAPTIVE.label], measure[fixed.label])

    near = Band(0, 100 * words.ABOUT)
    tracking = [
        Claim.of(
            f"ABSE tracks what is left, {name}: mean error",
            _percent(quality.errors[ADAPTIVE.label, name]),
            near,
            "% of the link",
            origin=Origin.INFERRED,
        )
        for name in PATTERNS
    ]

    def claim(
        statement: str, measure: dict[str, list[float]], fixed: Control, unit: str, **how: Any
    ) -> Claim:
        words_ = f"{statement} than with fixed {fixed.label}"
        return Claim.of(words_, over(measure, fixed), Band(most=1), unit, than=1.0, **how)

    time, deviation = "times the time", "times the deviation"
    return (
        claim("The response is faster", quality.settled, FIXED, time),
        claim("There is less oscillation", quality.rough, FIXED, deviation),
        *tracking,
        claim("The response is faster", quality.settled, SMOOTH, time, origin=Origin.INFERRED),
        *(
            claim(
                "There is less oscillation",
                quality.rough,
                control,
                deviation,
                origin=Origin.INFERRED,
            )
            for control in (SWIFT, SMOOTH)
        ),
    )


def _percent(shares: list[float]) -> Interval:
    return interval(100 * np.array(shares))


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    wave = f"{STEP_MBIT_PER_S:g} Mbit/s"
    ramp = (
        f"{RAMP_FLOWS} flows of 1 Mbit/s join every {RAMP_EVERY_S:g} s from {ALONE_S[1]:g} s on, "
        "and leave likewise"
    )
    own = (
        Setting("sampling", "the last pair of ACKs", Origin.PRINTED),
        Setting("step", f"{wave} from {STEP_S[0]:g} to {STEP_S[1]:g} s", Origin.GUESSED),
        Setting(
            "square wave",
            f"{wave}, {WAVE_S:g} s on, {WAVE_S:g} s off, from {ALONE_S[1]:g} s on",
            Origin.GUESSED,
        ),
        Setting("ramp", ramp, Origin.GUESSED),
        Setting("fixed τ", "RTT, 0.5 s and 11 RTT", Origin.GUESSED),
        Setting("settled", f"within {SETTLED_WITHIN:.0%} for {SETTLED_FOR_S:g} s", Origin.GUESSED),
    )
    return settings(PATH, results, own=own)


def _draw(results: Mapping[str, Result]) -> Figure:
    name = "square wave"
    time_s = np.linspace(ALONE_S[0], 75, 2501)
    curves = [plot.Curve("what UDP leaves", time_s, PATTERNS[name].left(time_s), "reference")]
    for control in (ADAPTIVE, FIXED):
        estimate = over_time.estimate(results[f"{control.label}, {name}"], SENDER)
        shown = (estimate.time_s >= time_s[0]) & (estimate.time_s <= time_s[-1])
        curves.append(
            plot.Curve(f"ABSE, {control.label}", estimate.time_s[shown], estimate.values[shown])
        )
    title = "UDP, 5 s on and 5 s off: estimates on 5 Mbit/s"
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", title)


EXPERIMENT = entry(
    "7",
    "Does an adaptive time constant track the bandwidth that UDP leaves sooner and more smoothly "
    "than fixed ones?",
    "One sender and UDP of varying rate on 5 Mbit/s: an adaptive time constant compared with "
    "fixed ones.",
    9.0,
    conclude,
    runs,
)
