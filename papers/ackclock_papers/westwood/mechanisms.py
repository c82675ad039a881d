"""Two experiments of our own, behind two notes: BE's bias, and the bistability of ABSE as printed.

The first needs no network: estimators run on synthetic traces of ACKs in trains. The second looks
into the senders of figure 19 of the ABSE paper.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, plot, rate_estimates
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    analytic,
)
from ackclock_papers.replicates import measured, of_replicates
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_parameter import JITTER_S
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    DURATION_S,
    WARMUP_S,
    Control,
    scenario,
    settings,
    tcp,
)

SOURCE = "ackclock, notes on TCP Westwood, 2026"
GROUP = "mechanisms"

Array = NDArray[np.float64]

# Settings of the trains of ACKs.

TRAIN = 8
#: Mean time between two segments: 1000 bytes at 4 Mbit/s.
SPACING_S = 0.002
SEGMENT_BYTES = 1000
ROUND_TRIP_S = 0.070
TAU_S = 0.5
TRAINS = 1500
#: Averages leave out the first half, in which the filters settle.
SETTLED = TRAINS * TRAIN // 2

#: The mean gap over the gap within a train, and BE's reading in the note. 26 is a segment of 1040
#: bytes over an ACK of 40: the spacing of ACKs that leave a queue in which they have waited.
SAID = {"1": "1.00", "2": "1.44", "4": "2.44", "8": "4.44", "16": "8.44", "26": "13.4"}
RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 16.0, 20.0, 26.0)


def times_of_trains(ratio: float) -> Array:
    """Returns arrival times of ACKs in trains, with gaps `ratio` times shorter than the mean."""
    short = SPACING_S / ratio
    long = TRAIN * SPACING_S - (TRAIN - 1) * short
    gaps = np.tile(np.array([*[short] * (TRAIN - 1), long]), TRAINS)
    return np.concatenate(([0.0], np.cumsum(gaps)))


def expected_of_be(ratio: float) -> float:
    """Returns BE's reading over the true rate if τ is long for a train.

    In a train of n ACKs n − 1 gaps are short and one is long. Half of the trapezoid is each sample
    times its own gap: one segment for any gap. The other half is the previous sample times this
    gap. That is one segment where the two gaps are equal, long over short where the long one
    follows, and the reverse.
    """
    long_over_short = TRAIN * ratio - (TRAIN - 1)
    return (TRAIN + TRAIN - 2 + long_over_short + 1 / long_over_short) / (2 * TRAIN)


def held(times: Array) -> Array:
    """Returns the reading, in bit/s, of a filter that holds each sample for its own gap.

    This zero-order hold is for contrast: ŝ ← e^(−Δ/τ) ŝ + (1 − e^(−Δ/τ)) s. The same continuous
    filter responds like this to a rate that is constant over a gap.
    """
    estimates = [0.0]
    for gap in np.diff(times):
        kept = np.exp(-gap / TAU_S)
        estimates.append(kept * estimates[-1] + (1 - kept) * 8 * SEGMENT_BYTES / gap)
    return np.array(estimates)


class Read(NamedTuple):
    """Readings of estimators in trains over the true rate, each by spacing ratio."""

    be: Array
    held: Array
    re: Array
    plus: Array


def read() -> Read:
    """Returns the readings of the estimators on each trace."""
    rows = [_read(ratio) for ratio in RATIOS]
    return Read(*(np.array(column) for column in zip(*rows, strict=True)))


def _read(ratio: float) -> tuple[float, ...]:
    times = times_of_trains(ratio)
    count = len(times)
    trace = {
        "time_s": times,
        "ack": SEGMENT_BYTES * np.arange(count),
        "rtt_s": np.full(count, ROUND_TRIP_S),
        "smoothed_rtt_s": np.full(count, ROUND_TRIP_S),
        "cwnd_bytes": np.full(count, SEGMENT_BYTES * ROUND_TRIP_S / SPACING_S),
    }
    table = rate_estimates(trace, "be,re,westwood_plus", mss=SEGMENT_BYTES)
    estimates = {
        name: table[f"{name}_bit_per_s"].to_numpy() for name in ("be", "re", "westwood_plus")
    }
    true = 8 * SEGMENT_BYTES / SPACING_S

    def mean(rates: Array) -> float:
        # Average over time: an estimate holds until the next ACK.
        return float(np.average(rates[SETTLED:-1], weights=np.diff(times)[SETTLED:]) / true)

    return (
        mean(estimates["be"]),
        mean(held(times)),
        mean(estimates["re"]),
        mean(estimates["westwood_plus"]),
    )


def conclude_trains() -> Outcome:
    """Compares readings with those derived from the weights of the trapezoid."""
    reading = read()
    row_of = {f"{ratio:g}": row for row, ratio in enumerate(RATIOS)}
    read_by_be = {ratio: float(reading.be[row_of[ratio]]) for ratio in SAID}
    cells = tuple(
        Cell.of((ratio,), "BE / true rate", text, read_by_be[ratio], 0.03)
        for ratio, text in SAID.items()
    )
    comparison = Comparison(
        "BE in trains of eight ACKs",
        Origin.STATED,
        ("mean gap / gap in a train",),
        cells,
        "within 3 %",
    )

    def claim(statement: str, values: Array, band: Band) -> Claim:
        words = f"{values.min():.3f} to {values.max():.3f}"
        holds = band.holds(float(values.min())) and band.holds(float(values.max()))
        return Claim(statement, words, holds, origin=Origin.STATED, accepted=str(band))

    derived = np.array([expected_of_be(ratio) for ratio in RATIOS])
    claims = (
        claim(
            "The weights of the trapezoid are all of it: BE over what follows from them",
            reading.be / derived, Band(0.97, 1.03),
        ),
        claim("Held for their own gap the same samples have no bias", reading.held,
              Band(0.97, 1.03)),
        claim(
            "RE is high by no more than a train at the edge of its interval", reading.re,
            Band(0.97, 1.1),
        ),
        claim("Westwood+ is within a tenth", reading.plus, Band(0.9, 1.1)),
    )  # fmt: skip
    made_of = (
        Setting(
            "ACKs",
            f"trains of {TRAIN}, a segment each, on the mean one in {SPACING_S * 1000:g} ms",
            Origin.CHOSEN,
        ),
        Setting("BE", f"tustin, τ = {TAU_S:g} s, virtual samples after τ/2", Origin.CHOSEN),
        Setting(
            "round trip",
            f"{ROUND_TRIP_S * 1000:g} ms: T of RE, a sample of Westwood+",
            Origin.CHOSEN,
        ),
    )
    return Outcome(Basis(), (comparison,), partial(_draw_trains, reading, derived), claims, made_of)


def _draw_trains(reading: Read, derived: Array) -> Figure:
    curves = [
        plot.Curve("from the weights", RATIOS, derived, "reference"),
        plot.Curve("BE", RATIOS, reading.be, "points"),
        plot.Curve("held for its gap", RATIOS, reading.held),
        plot.Curve("RE", RATIOS, reading.re),
        plot.Curve("Westwood+", RATIOS, reading.plus),
    ]
    title = "What estimators read of ACKs in trains of eight"
    return plot.curves(
        curves, "spacing (mean gap over gap within a train)", "estimate (over the true rate)", title
    )


# Settings of the ten senders.

PATH = one_bottleneck(10, counts_in_service=False)
FLOW = "senders"
SENDERS = 10
#: Above `ABOVE`, a sender's estimate says that nearly all of its window fits the path without a
#: queue. Below `BELOW`, it says that much of the window is queued.
ABOVE, BELOW = 0.9, 0.6
#: Number of senders in between if all shares were equally likely, as with a single state and
#: chance.
EVENLY = round(SENDERS * (ABOVE - BELOW), 1)

PRINTED = "ABSE as printed, in trains"
READING = "ABSE, in trains"
SPREAD = "ABSE as printed, trains broken up"


def runs_of_ten() -> Mapping[str, Run]:
    """Returns runs of ten senders with each reading, and as printed with trains broken up."""

    def run(name: str, control: Control, jitter_s: float | None = None) -> Run:
        flows = [tcp(FLOW, control, PATH, count=SENDERS, jitter_s=jitter_s)]
        return Run(scenario(name, PATH, flows))

    return {
        PRINTED: run(PRINTED, ABSE),
        READING: run(READING, ABSE_LATER),
        SPREAD: run(SPREAD, ABSE, JITTER_S),
    }


def share_that_fits(result: Result, replicate: int, instance: int) -> over_time.Series:
    """Returns ŝ RTTmin / cwnd of a sender over time.

    It is the share of its window that fits the path by equation 2.
    """
    keys = {"flow": FLOW, "replicate": replicate, "instance": instance}
    [flow] = result.rows("flows", **keys).to_pylist()
    rate = over_time.series(result, over_time.ESTIMATE, FLOW, replicate, instance)
    cwnd = over_time.series(result, "cwnd_bytes", FLOW, replicate, instance)
    return over_time.Series(rate.time_s, rate.values / 8 * flow["rtt_min_s"] / cwnd.values)


class Sender(NamedTuple):
    """One of the ten senders.

    Attributes:
        fits: Median over time of the share of its window that fits the path by its estimate.
        goodput: Goodput, in Mbit/s.
    """

    fits: float
    goodput: float


def senders(result: Result, replicate: int) -> list[Sender]:
    """Returns the ten senders of a replicate."""
    ten = []
    for instance in range(SENDERS):
        time_s, values = share_that_fits(result, replicate, instance)
        goodput = over_time.goodput(result, FLOW, replicate, instance).mean(WARMUP_S, DURATION_S)
        ten.append(Sender(float(np.nanmedian(values[time_s > WARMUP_S])), goodput))
    return ten


def _advantage(ten: list[Sender]) -> float:
    """Returns the mean goodput of the senders above over that of those below."""
    above = [sender.goodput for sender in ten if sender.fits >= ABOVE]
    below = [sender.goodput for sender in ten if sender.fits <= BELOW]
    return float(np.mean(above) / np.mean(below)) if above and below else float("nan")


def conclude_ten(results: Mapping[str, Result]) -> Outcome:
    """Compares the states of the senders, and their goodput."""
    ten = {
        name: [senders(result, number) for number in over_time.replicates(result)]
        for name, result in results.items()
    }
    jain = {
        name: interval(of_replicates(result, "fairness", "all flows"))
        for name, result in results.items()
    }

    def counted(name: str, low: float, high: float) -> Interval:
        return interval(
            [sum(low <= sender.fits <= high for sender in replicate) for replicate in ten[name]]
        )

    between = counted(PRINTED, BELOW, ABOVE)
    above = {name: counted(name, ABOVE, float("inf")) for name in results}
    advantage = interval([_advantage(replicate) for replicate in ten[PRINTED]])
    stated = partial(Claim.of, origin=Origin.STATED)
    claims = (
        stated("As printed, the ten share unevenly: Jain's index", jain[PRINTED], Band(most=0.6)),
        stated("Some are above, of ten", above[PRINTED], Band(1, 5), "senders"),
        stated(
            "Fewer are between the two than of an even spread, of ten",
            between,
            Band(most=EVENLY),
            "senders",
        ),
        stated("One above gets more than one below", advantage, Band(5), "times as much"),
        stated("Comparing what is delivered, none is above", above[READING], Band(0, 0), "senders"),
        stated("and the ten share evenly: Jain's index", jain[READING], Band(0.97)),
        stated(
            "As printed, but trains broken up, they share evenly too: Jain's index",
            jain[SPREAD],
            Band(0.97),
        ),
    )
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {"Jain's index": jain[name], "senders above": above[name]} for name in results
    }
    broken = Setting(
        "trains broken up", f"packets sent up to {JITTER_S * 1000:g} ms later", Origin.CHOSEN
    )
    return Outcome(
        Basis(), (), partial(_draw_ten, results), claims, _chosen(results, broken),
        (measured("Ten senders", ("reading",), rows),),
    )  # fmt: skip


def _chosen(results: Mapping[str, Result], own: Setting) -> tuple[Setting, ...]:
    """Returns the settings: those of the paper's figures, which here are our own choice."""
    return (*(replace(setting, origin=Origin.CHOSEN) for setting in settings(PATH, results)), own)


def _draw_ten(results: Mapping[str, Result]) -> Figure:
    curves = [plot.Curve("all of the window fits", [0, DURATION_S], [1, 1], "reference")]
    for name in (PRINTED, READING):
        result = results[name]
        order = np.argsort([sender.goodput for sender in senders(result, 0)])
        for word, instance in (("most", order[-1]), ("least", order[0])):
            time_s, values = share_that_fits(result, 0, int(instance))
            # Means over seconds: the saw-tooth would hide the state.
            seconds = np.arange(1.0, DURATION_S + 1)
            means = [
                np.nanmean(values[(time_s > second - 1) & (time_s <= second)]) for second in seconds
            ]
            curves.append(
                plot.Curve(f"{name.removesuffix(', in trains')}: {word} goodput", seconds, means)
            )
    title = "What two of ten senders take to fit the path (ŝ RTTmin / cwnd)"
    return plot.curves(curves, "time (s)", "what fits (share of the window)", title)


TRAINS_OF_ACKS = Experiment(
    name="mechanisms-figure-1",
    group=GROUP,
    source=SOURCE,
    shows="Figure 1",
    question="Why does BE estimate more than the path's rate?",
    says=(
        "BE's filter also weights each sample by the next gap: for trains of eight ACKs at 1/26 "
        "of the spacing it reads 13 times the rate."
    ),
    cost_s=2.0,
    conclude=analytic(conclude_trains),
)

TEN_SENDERS = Experiment(
    name="mechanisms-figure-2",
    group=GROUP,
    source=SOURCE,
    shows="Figure 2",
    question="Why do ten senders share unevenly with ABSE as printed?",
    says=(
        "Once a sender's estimate says that its window fits the path, it samples over the last "
        "pair of ACKs only, and stays so."
    ),
    cost_s=4.0,
    conclude=conclude_ten,
    runs=runs_of_ten,
)

EXPERIMENTS = (TRAINS_OF_ACKS, TEN_SENDERS)
